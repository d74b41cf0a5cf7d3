"""OAuth providers of the SDK, one for each server, and the requests that carry their tokens.

The SDK's provider finds the authorization server, registers, exchanges and renews. The rest is
decided here: only `toolplan login` asks a person, a token is renewed before it ends, and a
sign-in is kept. Its own flow holds a lock while a request is under way, so that calls on one
connection would wait for each other: here it only gets tokens, and the requests go past it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, oauth2
from mcp.client.auth.exceptions import OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import extract_field_from_www_auth, issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp._wire import clean
from toolplan.tools.mcp.servers import HttpServer, OAuth, is_loopback, is_machine, is_safe
from toolplan.tools.mcp.sign_ins import SignIn, SignIns
from toolplan.tools.replies import json_object, refusal_code
from toolplan.tools.secrets import Mask

MAX_ANSWER_BYTES: Final = 1_000_000
ANSWER_TIMEOUT_S: Final = 20.0

_TOKEN_LENGTH: Final = 16
_SECRET_FIELDS: Final = frozenset({
    "access_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier",
    "id_token", "refresh_token", "registration_access_token"
})  # fmt: skip
_ENCODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_PUBLIC_CLIENT: Final = "none"  # how a client without a secret names itself (RFC 7591)
_PATH: Final = "/callback"
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

# its log holds answers of authorization servers, with tokens in them
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
        """Return the authorization code that the browser brought back."""
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


class Access(OAuthClientProvider):
    """The tokens of one server, for all its connections; no storage of the SDK's form.

    Attributes:
        mask_tokens: hides the tokens, which are long and random, in results too.
        wants_sign_in: whether the server gives nothing before a sign-in.
    """

    oauth: OAuth
    wants_sign_in = False
    _is_machine = False
    _has_asked = False
    _fault: NotAuthorised | None = None
    _asks: Redirects | None = None
    _login = ""

    def _begin(self, server: HttpServer, mask: Mask) -> None:
        self.mask_tokens = Mask(())
        self._server = server
        self._mask = mask
        self._renewing = anyio.Lock()

    @property
    def token(self) -> str | None:
        """The access token that is valid now, or None."""
        valid = self.context.current_tokens if self.context.is_token_valid() else None
        return None if valid is None else valid.access_token

    async def load(self, *, again: bool = False) -> None:
        """Read the kept sign-in; `again`, since another process may have renewed it."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass  # kept with the tokens

    async def _perform_authorization(self) -> httpx2.Request:
        metadata = self.context.client_metadata
        metadata.scope = self.oauth.scope or metadata.scope
        return await super()._perform_authorization()

    async def send(
        self, request: httpx2.Request, inner: httpx2.AsyncBaseTransport
    ) -> httpx2.Response:
        """Return the answer to `request`, sent with a token of the server over `inner`."""
        url, server = request.url, httpx2.URL(self._server.url)
        token, is_second = await self._token(request, inner), False
        while True:
            if token is not None and (url.scheme, url.netloc) == (server.scheme, server.netloc):
                self._hide([token])
                request.headers["Authorization"] = f"Bearer {token}"
            response = await inner.handle_async_request(request)
            if not self._is_refusal(request, response):
                return response
            refusal = await whole(response, request, MAX_ANSWER_BYTES)
            if is_second or (token := await self._token(request, inner, refusal, token)) is None:
                break
            is_second = True
        if (why := self._refused(refusal)) is None:
            return refusal
        raise why

    def _hide(self, secrets: Iterable[str]) -> None:
        """Have `secrets` shown nowhere; the long ones not in results either."""
        found = [*secrets]
        self._mask.add(found)
        self.mask_tokens.add(each for each in found if len(each) >= _TOKEN_LENGTH)

    def _is_refusal(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Return whether a request was refused for want of a token, or of rights."""
        if request.method == "GET" and self._server.transport != "sse":
            return False  # the stream of notifications: a connection works without it
        if response.status_code == 403:
            return extract_field_from_www_auth(response, "error") == "insufficient_scope"
        return response.status_code == 401

    def _failure(self, error: Exception, answer: str) -> NotAuthorised:
        """Return why there is no token: of an `answer` only its status and its code."""
        match error:
            case NotAuthorised():
                what = str(error)
            case OAuthRegistrationError() | OAuthTokenError():
                what = f"the authorization server refuses: {answer}"
            case OAuthFlowError():
                what = clean(self._mask(str(error)), 300)
            case OSError():
                what = f"the sign-in cannot be kept: {error.strerror or type(error).__name__}"
            case _:
                kind = type(error).__name__
                what = f"what it says of signing in cannot be read ({kind}): {answer}"
        fault = NotAuthorised(what.removesuffix(": "))
        if self._has_asked:
            self._fault = fault
        return fault

    def _refused(self, response: httpx2.Response) -> NotAuthorised | None:
        """Return the error where no token can be had; None where the refusal has another cause."""
        if self._fault is not None:
            return self._fault
        if self._has_asked or self._is_machine:
            return NotAuthorised(
                f"it refuses the token that it led to (HTTP {response.status_code}), which may be"
                " meant for another server"
            )
        challenge = response.headers.get("www-authenticate", "").lower().startswith("bearer")
        has_signed_in = self.context.current_tokens is not None
        if not (challenge or has_signed_in or self._server.oauth is not None):
            return None
        self.wants_sign_in = True
        why = "does not take your sign-in any more" if has_signed_in else "wants you to sign in"
        if response.status_code == 403:
            why = "wants more rights than you have given"
        return NotAuthorised(f"it {why}: `{self._login}`")

    async def _token(
        self,
        request: httpx2.Request,
        inner: httpx2.AsyncBaseTransport,
        refusal: httpx2.Response | None = None,
        used: str | None = None,
    ) -> str | None:
        """Return a token other than `used`, which `refusal` refuses; renewed where it ends."""
        context = self.context
        if refusal is None and self.token is not None:
            return self.token
        async with self._renewing:
            for again in (False, True):  # another call may have renewed it, or another process
                await self.load(again=again)
                if self.token not in (None, used):
                    return self.token
            is_renewable = context.can_refresh_token()
            is_expired = is_renewable if refusal is None else refusal.status_code == 401
            if is_expired:
                context.token_expiry_time = 1.0  # expired, despite its stated end
            if refusal is not None or is_renewable:
                await self._fetch(request, inner, refusal)
        return None if self.token == used else self.token

    async def _fetch(
        self,
        request: httpx2.Request,
        inner: httpx2.AsyncBaseTransport,
        refusal: httpx2.Response | None,
    ) -> None:
        """Run the SDK's flow up to where it would send `request`: with a token, or without."""
        failed = ""
        flow = self.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    answer = await self._asked(outgoing, inner)
                    if answer.status_code >= 400:
                        failed = f"HTTP {answer.status_code}{refusal_code(answer.content)}"
                elif refusal is None or (refusal.status_code == 401 and self.token is not None):
                    return
                elif self._is_machine or (self._asks is not None and not self._has_asked):
                    self._has_asked = not self._is_machine  # a person is asked once
                    answer, refusal = refusal, None
                else:
                    return
                outgoing = await flow.asend(answer)
        except StopAsyncIteration:
            return
        except Exception as error:  # of many kinds: the answers are another program's
            raise self._failure(error, failed) from None
        finally:
            await flow.aclose()

    async def _asked(
        self, request: httpx2.Request, inner: httpx2.AsyncBaseTransport
    ) -> httpx2.Response:
        """Return the answer of an authorization server, or the metadata of the server."""
        url = request.url
        if not is_safe(str(url), near_loopback=is_loopback(self._server.url)):
            raise NotAuthorised(f"it leads to {url.scheme}://{url.host}, which is not https")
        kind, _, credentials = request.headers.get("authorization", "").partition(" ")
        form = parse_qsl(request.content.decode("utf-8", "replace"))
        if kind:
            self._hide([credentials])
        self._hide(value for name, value in form if name in _SECRET_FIELDS)
        request.extensions["timeout"] = httpx2.Timeout(ANSWER_TIMEOUT_S).as_dict()
        place = f"the authorization server at {url.host}"
        try:
            with anyio.fail_after(ANSWER_TIMEOUT_S):
                response = await inner.handle_async_request(request)
                answer = await whole(response, request, MAX_ANSWER_BYTES)
        except (httpx2.RequestError, TimeoutError) as error:
            why = f"{place} cannot be reached ({type(error).__name__})"
            raise NotAuthorised(why) from None
        found = json_object(answer.content)
        self._hide(v for k, v in found.items() if k in _SECRET_FIELDS and isinstance(v, str))
        if answer.status_code >= 500 and request.method == "POST":
            raise NotAuthorised(f"{place} failed: HTTP {answer.status_code}")
        return answer


class Machine(Access, ClientCredentialsOAuthProvider):
    """Gets tokens with a client's id and secret; they are in memory only."""

    _is_machine = True

    def __init__(self, server: HttpServer, oauth: OAuth, mask: Mask) -> None:
        self._begin(server, mask)
        self.oauth = oauth
        client = oauth.client_id, oauth.client_secret
        super().__init__(server.url, self, *client, scope=oauth.scope or None, issuer=oauth.issuer)


class Person(Access):
    """Gets tokens for a person who has signed in, or signs in now."""

    def __init__(
        self, name: str, server: HttpServer, mask: Mask, sign_ins: SignIns, asks: Redirects | None
    ) -> None:
        """Use only a sign-in that is kept where `asks` is None."""
        self._begin(server, mask)
        self._sign_ins, self._asks, self._login = sign_ins, asks, sign_ins.login_command(name)
        self.oauth = server.oauth or OAuth()
        redirect = f"http://127.0.0.1{_PATH}" if asks is None else asks.redirect_uri
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
        if self._initialized and not again:
            return
        context, oauth, kept = self.context, self.oauth, None
        try:
            if self._asks is None:
                kept = await anyio.to_thread.run_sync(self._sign_ins.get, self._server)
        except ToolObjectError as error:
            raise NotAuthorised(error.with_help) from None
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
        return await super()._perform_authorization()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, and the data to renew them."""
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


def access_to(
    name: str, server: HttpServer, mask: Mask, sign_ins: SignIns | None, asks: Redirects | None
) -> Access | None:
    """Return the tokens of `server`, or None where its entry has them, or none are sent.

    A sign-in in `sign_ins` is used; `mask` gets each secret, `asks` asks a person once.
    """
    if server.has_own_header:
        return None
    if server.oauth is not None and is_machine(server):
        return Machine(server, server.oauth, mask)
    if sign_ins is not None and is_safe(server.url, near_loopback=True):
        return Person(name, server, mask, sign_ins, asks)
    return None


async def whole(response: httpx2.Response, request: httpx2.Request, most: int) -> httpx2.Response:
    """Return a response with all of its content, and close the connection's.

    Raises:
        ReadError: the content has more than `most` bytes.
        DecodingError: it is not compressed as its headers say.
    """
    content = bytearray()
    try:
        async for part in response.aiter_bytes():
            content += part
            if len(content) > most:
                raise httpx2.ReadError(f"More than {most} bytes")
    finally:
        await response.aclose()
    status, headers = response.status_code, plain_headers(response)
    return httpx2.Response(status, headers=headers, content=bytes(content), request=request)


def plain_headers(response: httpx2.Response) -> dict[str, str]:
    """Return the headers without those that say how the content was sent."""
    return {name: each for name, each in response.headers.items() if name not in _ENCODED}
