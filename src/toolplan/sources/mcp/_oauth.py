"""OAuth providers of the SDK, one for each server, with tokens that outlive the process.

The SDK's provider finds the authorization server, registers, exchanges and renews. What it does not
do is decided here: only `toolplan login` asks a person, a token is renewed before it ends, and a
sign-in is kept.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, oauth2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from toolplan.errors import ToolplanError
from toolplan.sources.mcp._oauth_settings import OAuth
from toolplan.sources.mcp._texts import clean
from toolplan.sources.mcp.servers import HttpServer
from toolplan.sources.mcp.sign_ins import SignIn, SignIns
from toolplan.tools import ToolObjectError

EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds: the way to the server takes time.

One that lives shortly is renewed in the last tenth of its life.
"""

_PUBLIC_CLIENT: Final = "none"  # how a client without a secret names itself (RFC 7591)
_PATH: Final = "/callback"
_UNASKED_REDIRECT: Final = f"http://127.0.0.1{_PATH}"
_DONE: Final = "You can close this page, and go back to the terminal."
_FOREIGN: Final = "This is not the sign-in that toolplan waits for. Nothing was done."

# what it logs holds answers of authorization servers, with tokens in them
logging.getLogger(oauth2.__name__).addFilter(lambda _: False)


class NotAuthorised(Exception):
    """A request was refused, and there is no token for it. Nothing was done for the request.

    The message is a clause without secrets.
    """


class Redirects:
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
    ) -> Generator[Redirects]:
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
            NotAuthorised: no browser came back in time, or it brought a refusal.
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
    """One request of a browser; it is neither logged nor shown."""

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


class _OwnStorage:
    """The storage of a provider that keeps everything in its context."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass  # kept with the tokens


class Machine(_OwnStorage, ClientCredentialsOAuthProvider):
    """Gets tokens with a client's id and secret; they are in memory only."""

    def __init__(self, server: HttpServer, oauth: OAuth) -> None:
        super().__init__(
            server.url,
            self,
            oauth.client_id,
            oauth.client_secret,
            scope=oauth.scope or None,
            issuer=oauth.issuer,
        )
        self._scope = oauth.scope

    async def load(self, *, again: bool = False) -> None:
        """Do nothing: nothing is kept."""

    async def _perform_authorization(self) -> httpx2.Request:
        self.context.client_metadata.scope = self._scope or self.context.client_metadata.scope
        return await super()._perform_authorization()


class Person(_OwnStorage, OAuthClientProvider):
    """Gets tokens for a person who has signed in, or signs in now."""

    def __init__(self, server: HttpServer, sign_ins: SignIns, asks: Redirects | None) -> None:
        """Use only a sign-in that is kept where `asks` is None."""
        self._server = server
        self._oauth = server.oauth or OAuth()
        self._sign_ins = sign_ins
        self._fresh = asks is not None
        redirect = _UNASKED_REDIRECT if asks is None else asks.redirect_uri
        super().__init__(
            server.url,
            OAuthClientMetadata(
                redirect_uris=[AnyUrl(redirect)],
                client_name="toolplan",
                token_endpoint_auth_method=_PUBLIC_CLIENT,
            ),
            self,
            None if asks is None else asks.show,
            None if asks is None else asks.answer,
            self._oauth.client_metadata_url or None,
        )

    async def load(self, *, again: bool = False) -> None:
        """Read what is kept; `again`, since another process may have renewed it.

        Raises:
            NotAuthorised: it cannot be used.
        """
        if again or not self._initialized:
            try:
                await self._initialize()
            except ToolObjectError as error:
                raise NotAuthorised(error.with_help) from None

    async def _initialize(self) -> None:
        context, oauth = self.context, self._oauth
        kept = None
        if not self._fresh:
            kept = await anyio.to_thread.run_sync(self._sign_ins.get, self._server)
        if kept is not None:
            context.current_tokens, context.token_expiry_time = kept.tokens, kept.expires_at
            context.client_info, context.oauth_metadata = kept.client, kept.metadata
            context.protected_resource_metadata = kept.resource
            context.auth_server_url = kept.issuer or None
        elif oauth.client_id:
            context.client_info = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret or None,
                redirect_uris=context.client_metadata.redirect_uris,
                token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
                issuer=oauth.issuer,
            )
        self._initialized = True

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._oauth.issuer
        if not issuer:
            return advertised[0]
        for each in advertised:
            if issuers_match(each, issuer):
                return each
        raise OAuthFlowError(f"it names {advertised[0]}, not the 'issuer' {issuer} of its entry")

    async def _perform_authorization(self) -> httpx2.Request:
        context, oauth = self.context, self._oauth
        if oauth.issuer and not (
            context.oauth_metadata
            and issuers_match(str(context.oauth_metadata.issuer), oauth.issuer)
        ):
            raise OAuthFlowError(f"the authorization server is not the 'issuer' {oauth.issuer}")
        context.client_metadata.scope = oauth.scope or context.client_metadata.scope
        return await super()._perform_authorization()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, and what it takes to renew them."""
        context = self.context
        if context.client_info is None:
            return
        sign_in = SignIn(
            tokens=tokens,
            expires_at=context.token_expiry_time,
            client=context.client_info,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            issuer=context.auth_server_url or "",
        )
        await anyio.to_thread.run_sync(self._sign_ins.keep, self._server, sign_in)


Provider = Machine | Person


def token_of(provider: Provider, *, to_its_end: bool = False) -> str | None:
    """Return the access token that is valid now; None where there is none.

    One that comes to its end soon is good only `to_its_end`.
    """
    context = provider.context
    tokens, end = context.current_tokens, context.token_expiry_time
    if tokens is None:
        return None
    early_s = 0.0 if to_its_end else min(EARLY_S, (tokens.expires_in or 0) / 10)
    return None if end is not None and time.time() > end - early_s else tokens.access_token
