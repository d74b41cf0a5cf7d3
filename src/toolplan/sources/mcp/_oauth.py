"""OAuth of the SDK, one for each server: tokens that are kept, and who may be asked for one.

The SDK's provider finds the authorization server, registers, exchanges and renews. What it does not
do is decided here: nobody is asked unless `toolplan login` asks, a token is renewed before it is
asked for, and a sign-in outlives the process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

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

from toolplan.sources.mcp._oauth_settings import OAuth
from toolplan.sources.mcp.servers import HttpServer
from toolplan.sources.mcp.sign_ins import SignIn, SignIns
from toolplan.tools import ToolObjectError

EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds: the way to the server takes time.

One that lives shortly is renewed in the last tenth of its life.
"""

_PUBLIC_CLIENT: Final = "none"  # how a client without a secret names itself (RFC 7591)
_UNASKED_REDIRECT: Final = "http://127.0.0.1/callback"

# what it logs holds answers of authorization servers, with tokens in them
logging.getLogger(oauth2.__name__).addFilter(lambda _: False)


class NotAuthorised(Exception):
    """A request was refused, and there is no token for it. Nothing was done for the request.

    The message is a clause without secrets.
    """


class Asks(Protocol):
    """Asks a person to sign in: shows an address, and waits for who comes back from it."""

    @property
    def redirect_uri(self) -> str:
        """Where the browser comes back to."""
        ...

    async def show(self, url: str) -> None:
        """Show the address at which the person signs in."""
        ...

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brought back.

        Raises:
            NotAuthorised: nobody came back, or with a refusal.
        """
        ...


class _Memory:
    """What the SDK wants to keep; `on_tokens` is called with new tokens."""

    def __init__(self, on_tokens: Callable[[], Awaitable[None]] | None = None) -> None:
        self._on_tokens = on_tokens
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        if self._on_tokens is not None:
            await self._on_tokens()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass  # it is kept with the tokens


class Machine(ClientCredentialsOAuthProvider):
    """Gets tokens with a client's id and secret; they are in memory only."""

    def __init__(self, server: HttpServer, oauth: OAuth) -> None:
        super().__init__(
            server.url,
            _Memory(),
            oauth.client_id,
            oauth.client_secret,
            scope=oauth.scope or None,
            issuer=oauth.issuer,
        )
        self._scope = oauth.scope

    async def load(self) -> None:
        """Do nothing: nothing is kept."""

    async def _perform_authorization(self) -> httpx2.Request:
        self.context.client_metadata.scope = self._scope or self.context.client_metadata.scope
        return await super()._perform_authorization()


class Person(OAuthClientProvider):
    """Gets tokens for somebody who has signed in, or signs in now."""

    def __init__(self, server: HttpServer, sign_ins: SignIns, asks: Asks | None) -> None:
        """Ask nobody where `asks` is None: only what is kept is used then."""
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
            _Memory(self._keep),
            None if asks is None else asks.show,
            None if asks is None else asks.answer,
            self._oauth.client_metadata_url or None,
        )

    async def load(self) -> None:
        """Read what is kept, unless it was read already.

        Raises:
            NotAuthorised: it cannot be used.
        """
        if not self._initialized:
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

    async def _keep(self) -> None:
        context = self.context
        if context.current_tokens is None or context.client_info is None:
            return
        sign_in = SignIn(
            tokens=context.current_tokens,
            expires_at=context.token_expiry_time,
            client=context.client_info,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            issuer=context.auth_server_url or "",
        )
        await anyio.to_thread.run_sync(self._sign_ins.keep, self._server, sign_in)

    def reload(self) -> None:
        """Have what is kept read again: another process may have renewed it."""
        self._initialized = False


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
