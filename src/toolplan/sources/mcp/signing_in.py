"""Signing in to a server, with a browser, and out of it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.shared.auth import AuthorizationCodeResult

from toolplan.errors import ToolplanError
from toolplan.sources.mcp._authorised import revoke
from toolplan.sources.mcp._oauth import NotAuthorised
from toolplan.sources.mcp._oauth_settings import OAuth, is_safe
from toolplan.sources.mcp._texts import clean
from toolplan.sources.mcp.servers import HttpServer, Server, is_machine
from toolplan.sources.mcp.sign_ins import SignIns, Standing, standing
from toolplan.sources.mcp.source import connected
from toolplan.tools import ToolObjectError

DEFAULT_WAIT_S: Final = 300.0

_PATH: Final = "/callback"
_HELP: Final = "docs/mcp.md says how servers are signed in to."
_DONE: Final = "You can close this page, and go back to the terminal."
_FOREIGN: Final = "This is not the sign-in that toolplan waits for. Nothing was done."


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
        server: what is signed in to.
        sign_ins: where the sign-in is kept.
        show: called with the address at which the person signs in.
        wait_s: how long is waited for that person, in seconds.

    Raises:
        ToolplanError: the server takes no sign-in of a person, or it came to none.
    """
    known = _for_people(name, server)
    before = sign_ins.get(known)
    try:
        with (
            _Redirects.listening((known.oauth or OAuth()).redirect_port, show, wait_s) as redirects,
            connected(
                {name: server}, sign_ins=sign_ins, asks=redirects, start_timeout_s=wait_s + 60
            ) as source,
        ):
            source.toolbox()
    except ToolObjectError as error:
        if before is None:
            sign_ins.forget(known)
        else:
            sign_ins.keep(known, before)
        raise ToolplanError("sign-in-failed", str(error), _HELP) from None
    return standing(server, sign_ins)


def sign_out(name: str, server: Server, sign_ins: SignIns) -> bool:
    """Forget the sign-in to `server`, and have its tokens revoked; return whether there was one.

    Raises:
        ToolplanError: nobody can be signed in to it, or the sign-in cannot be deleted.
    """
    known = _for_people(name, server)
    kept = sign_ins.get(known)
    sign_ins.forget(known)
    if kept is not None:
        anyio.run(revoke, kept)
    return kept is not None


def _for_people(name: str, server: Server) -> HttpServer:
    """Return `server`, where a person can sign in to it.

    Raises:
        ToolplanError: nobody can.
    """
    why = ""
    if not isinstance(server, HttpServer):
        why = "it is a process on this machine"
    elif server.has_own_header:
        why = "its entry has the header 'Authorization'"
    elif is_machine(server):
        why = "it is signed in to by a machine, with client_credentials"
    elif not is_safe(server.url, near_loopback=True):
        why = "its address is not https"
    if why or not isinstance(server, HttpServer):
        raise ToolplanError("no-sign-in", f"Nobody signs in to the server {name!r}: {why}.", _HELP)
    return server


class _Redirects:
    """Listens on 127.0.0.1 for the browser that comes back from a sign-in."""

    def __init__(self, port: int, show: Callable[[str], None], wait_s: float) -> None:
        self._show = show
        self._wait_s = wait_s
        self._state = ""
        self._came: concurrent.futures.Future[dict[str, str]] = concurrent.futures.Future()
        self.foreign = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Page, self.take))

    @classmethod
    @contextmanager
    def listening(
        cls, port: int, show: Callable[[str], None], wait_s: float
    ) -> Generator[_Redirects]:
        """Yield a listener on `port`, or on any free one where it is 0.

        Raises:
            ToolplanError: the port is taken.
        """
        try:
            redirects = cls(port, show, wait_s)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ToolplanError(
                "sign-in-failed",
                f"Nothing can listen on 127.0.0.1:{port} for the browser: {why}.",
                "End what uses the port, or give another 'redirect_port'.",
            ) from None
        threading.Thread(target=redirects.server.serve_forever, daemon=True).start()
        try:
            yield redirects
        finally:
            redirects.server.shutdown()
            redirects.server.server_close()

    @property
    def redirect_uri(self) -> str:
        """Where the browser comes back to."""
        return f"http://127.0.0.1:{self.server.server_address[1]}{_PATH}"

    async def show(self, url: str) -> None:
        """Show the address at which the person signs in."""
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        self._show(url)

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brought back.

        Raises:
            NotAuthorised: nobody came back in time, or with a refusal.
        """
        try:
            async with asyncio.timeout(self._wait_s):
                came = await asyncio.wrap_future(self._came)
        except TimeoutError:
            foreign = "; a browser came that was not sent by this sign-in" if self.foreign else ""
            raise NotAuthorised(
                f"nobody came back from the browser within {self._wait_s:g} s{foreign}"
            ) from None
        if "error" in came:
            code = clean(came["error"], 60)
            raise NotAuthorised(f"the authorization server did not let you sign in ({code})")
        return AuthorizationCodeResult(
            code=came.get("code", ""), state=self._state, iss=came.get("iss")
        )

    def take(self, query: str) -> bool:
        """Take the query of a redirect; return whether it belongs to this sign-in."""
        fields = {name: values[0] for name, values in parse_qs(query).items()}
        state = fields.get("state", "")
        is_ours = bool(self._state) and secrets.compare_digest(state.encode(), self._state.encode())
        if not is_ours or self._came.done():
            self.foreign += not is_ours
            return False
        self._came.set_result(fields)
        return True


class _Page(BaseHTTPRequestHandler):
    """One request of a browser. Nothing of it is logged, and nothing of it is shown."""

    timeout = 10.0

    def __init__(self, take: Callable[[str], bool], *connection: object) -> None:
        self._take = take
        super().__init__(*cast("tuple[Any, Any, Any]", connection))

    def do_GET(self) -> None:
        """Take a redirect."""
        parts = urlsplit(self.path)
        taken = parts.path == _PATH and self._take(parts.query)
        body = (_DONE if taken else _FOREIGN).encode()
        self.send_response(200 if taken else 400)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the address holds the code."""
