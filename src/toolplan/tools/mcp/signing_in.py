"""Signing in to a server, with a browser, and out of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

import anyio
import httpx2

from toolplan.base.errors import ToolplanError
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp._oauth import ANSWER_TIMEOUT_S, Redirects
from toolplan.tools.mcp.servers import (
    HttpServer,
    OAuth,
    Server,
    is_loopback,
    is_machine,
    is_safe,
)
from toolplan.tools.mcp.sign_ins import SignIn, SignIns, Standing
from toolplan.tools.mcp.source import connected

DEFAULT_WAIT_S: Final = 300.0

_HELP: Final = "docs/mcp.md says how servers are signed in to."


def sign_in(
    name: str,
    server: Server,
    sign_ins: SignIns,
    show: Callable[[str], None],
    wait_s: float = DEFAULT_WAIT_S,
) -> Standing | None:
    """Sign in to `server`, and keep that; None where the server asks for no sign-in.

    The earlier sign-in is replaced only by one that the server takes.

    Args:
        name: of the server.
        server: the server.
        sign_ins: where the sign-in is kept.
        show: called with the address at which the person signs in.
        wait_s: seconds to wait for that person.

    Raises:
        ToolplanError: the server takes no sign-in of a person, or the sign-in failed.
    """
    known = _for_people(name, server)
    before, port = sign_ins.get(known), (known.oauth or OAuth()).redirect_port
    try:
        redirects = Redirects(port, show, wait_s)
    except OSError as error:
        raise ToolplanError(
            "sign-in-failed",
            f"Nothing can listen on 127.0.0.1:{port} for the browser: {error.strerror}.",
            "End what uses the port, or give another 'redirect_port'.",
        ) from None
    limit_s = wait_s + 60
    try:
        with (
            closing(redirects),
            connected(
                {name: server}, sign_ins=sign_ins, asks=redirects, start_timeout_s=limit_s
            ) as source,
        ):
            source.toolbox()
    except ToolObjectError as error:
        if before is None:
            sign_ins.forget(known)
        else:
            sign_ins.keep(known, before)
        raise ToolplanError("sign-in-failed", str(error), _HELP) from None
    return sign_ins.standing(server)


def sign_out(name: str, server: Server, sign_ins: SignIns) -> bool:
    """Forget the sign-in to `server`, and have its tokens revoked; return whether there was one.

    Raises:
        ToolplanError: it takes no sign-in of a person, or the sign-in cannot be deleted.
    """
    known = _for_people(name, server)
    kept = sign_ins.get(known)
    sign_ins.forget(known)
    if kept is not None:
        anyio.run(_revoke, kept)
    return kept is not None


def _for_people(name: str, server: Server) -> HttpServer:
    """Return `server`, where a person can sign in to it."""
    if not isinstance(server, HttpServer):
        why = "it is a process on this machine"
    elif server.has_own_header:
        why = "its entry has the header 'Authorization'"
    elif is_machine(server):
        why = "it is signed in to by a machine, with client_credentials"
    elif not is_safe(server.url, near_loopback=True):
        why = "its address is not https"
    else:
        return server
    raise ToolplanError("no-sign-in", f"Nobody signs in to the server {name!r}: {why}.", _HELP)


async def _revoke(sign_in: SignIn) -> None:
    """Have the tokens of `sign_in` revoked (RFC 7009), where the authorization server does that."""
    metadata, tokens, client = sign_in.metadata, sign_in.tokens, sign_in.client
    url = str(metadata.revocation_endpoint or "") if metadata is not None else ""
    if metadata is None or not is_safe(url, near_loopback=is_loopback(str(metadata.issuer))):
        return
    form = {"token": tokens.refresh_token or tokens.access_token, "client_id": client.client_id}
    if client.client_secret:
        form["client_secret"] = client.client_secret
    with suppress(httpx2.HTTPError, OSError):  # it is forgotten here all the same
        async with httpx2.AsyncClient(timeout=ANSWER_TIMEOUT_S) as http:
            await http.post(url, data=form)
