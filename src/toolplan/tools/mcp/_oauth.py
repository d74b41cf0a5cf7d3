"""OAuth providers of the SDK, one for each server, with tokens that outlive the process.

The SDK's provider finds the authorization server, registers, exchanges and renews. What it does not
do is decided here: only `toolplan login` asks a person, a token is renewed before it ends, and a
sign-in is kept.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable
from typing import Final
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

from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp._oauth_settings import OAuth
from toolplan.tools.mcp._texts import clean
from toolplan.tools.mcp.servers import HttpServer
from toolplan.tools.mcp.sign_ins import SignIn, SignIns

_PUBLIC_CLIENT: Final = "none"  # how a client without a secret names itself (RFC 7591)
_PATH: Final = "/callback"
_UNASKED_REDIRECT: Final = f"http://127.0.0.1{_PATH}"
_BROWSER_S: Final = 10.0
_PAGE: Final = (
    "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\r\n{}"
)
_DONE: Final = ("200 OK", "You can close this page, and go back to the terminal.")
_FOREIGN: Final = (
    "400 Bad Request",
    "This is not the sign-in that toolplan waits for. Nothing was done.",
)

# what it logs holds answers of authorization servers, with tokens in them
logging.getLogger(oauth2.__name__).addFilter(lambda _: False)


class NotAuthorised(Exception):
    """A request was refused, and there is no token for it. Nothing was done for the request.

    The message is a clause without secrets.
    """


class Redirects:
    """Listens on 127.0.0.1 for the browser that comes back from a sign-in."""

    def __init__(self, port: int, show: Callable[[str], None], wait_s: float) -> None:
        """Listen on `port`, or on any free one where it is 0."""
        self._show, self._wait_s, self._state = show, wait_s, ""
        self._came: asyncio.Future[dict[str, str]]
        self._server: asyncio.Server
        self._socket = socket.create_server(("127.0.0.1", port))
        self.redirect_uri = f"http://127.0.0.1:{self._socket.getsockname()[1]}{_PATH}"

    def close(self) -> None:
        """Listen no longer."""
        self._socket.close()

    async def show(self, url: str) -> None:
        """Show the address at which the person signs in, and listen from then on."""
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        self._came = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._page, sock=self._socket)
        await anyio.to_thread.run_sync(self._show, url)  # some browsers keep the terminal

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brought back."""
        try:
            fields = await asyncio.wait_for(self._came, self._wait_s)
        except TimeoutError:
            why = f"nobody came back from the browser within {self._wait_s:g} s"
            raise NotAuthorised(why) from None
        finally:
            self._server.close()
        if "error" in fields:
            code = clean(fields["error"], 60)
            raise NotAuthorised(f"the authorization server did not let you sign in ({code})")
        return AuthorizationCodeResult(
            code=fields.get("code", ""), state=self._state, iss=fields.get("iss")
        )

    async def _page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser; take the one that has the state of this sign-in."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _BROWSER_S)
            target = urlsplit(head.split(b" ", 2)[1].decode("ascii", "replace"))
            fields = {name: values[0] for name, values in parse_qs(target.query).items()}
            state = fields.get("state", "").encode()
            is_ours = bool(self._state) and secrets.compare_digest(state, self._state.encode())
            is_taken = is_ours and target.path == _PATH and not self._came.done()
            writer.write(_PAGE.format(*(_DONE if is_taken else _FOREIGN)).encode())
            await writer.drain()
            if is_taken and not self._came.done():
                self._came.set_result(fields)
        except (OSError, EOFError, ValueError, IndexError, TimeoutError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()


class _Kept:
    """What both providers have in common: no storage of the SDK's form, and the entry's scope."""

    oauth: OAuth

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass  # kept with the tokens


class Machine(_Kept, ClientCredentialsOAuthProvider):
    """Gets tokens with a client's id and secret; they are in memory only."""

    def __init__(self, server: HttpServer, oauth: OAuth) -> None:
        self.oauth = oauth
        client = oauth.client_id, oauth.client_secret
        super().__init__(server.url, self, *client, scope=oauth.scope or None, issuer=oauth.issuer)

    async def load(self, *, again: bool = False) -> None:
        """Do nothing: nothing is kept."""

    async def _perform_authorization(self) -> httpx2.Request:
        metadata = self.context.client_metadata
        metadata.scope = self.oauth.scope or metadata.scope
        return await super()._perform_authorization()


class Person(_Kept, OAuthClientProvider):
    """Gets tokens for a person who has signed in, or signs in now."""

    def __init__(self, server: HttpServer, sign_ins: SignIns, asks: Redirects | None) -> None:
        """Use only a sign-in that is kept where `asks` is None."""
        self._server, self._sign_ins, self._fresh = server, sign_ins, asks is not None
        self.oauth = server.oauth or OAuth()
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
            self.oauth.client_metadata_url or None,
        )

    async def load(self, *, again: bool = False) -> None:
        """Read what is kept; `again`, since another process may have renewed it."""
        if again or not self._initialized:
            try:
                await self._initialize()
            except ToolObjectError as error:
                raise NotAuthorised(error.with_help) from None

    async def _initialize(self) -> None:
        context, oauth = self.context, self.oauth
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
        issuer = self.oauth.issuer
        found = (each for each in advertised if not issuer or issuers_match(each, issuer))
        if (each := next(found, None)) is None:
            raise OAuthFlowError(
                f"it names {advertised[0]}, not the 'issuer' {issuer} of its entry"
            )
        return each

    async def _perform_authorization(self) -> httpx2.Request:
        metadata, issuer = self.context.oauth_metadata, self.oauth.issuer
        if issuer and not (metadata and issuers_match(str(metadata.issuer), issuer)):
            raise OAuthFlowError(f"the authorization server is not the 'issuer' {issuer}")
        client = self.context.client_metadata
        client.scope = self.oauth.scope or client.scope
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


def token_of(provider: Provider) -> str | None:
    """Return the access token that is valid now; None where there is none."""
    context = provider.context
    valid = context.current_tokens if context.is_token_valid() else None
    return None if valid is None else valid.access_token
