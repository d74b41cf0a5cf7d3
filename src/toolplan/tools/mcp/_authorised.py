"""Requests that carry an access token; a refused one is sent again with a new token.

The SDK's own flow holds a lock while a request is under way, so that calls on one connection would
wait for each other. Here the flow only gets tokens; the requests themselves go past it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.exceptions import OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import extract_field_from_www_auth

from toolplan.tools.mcp._oauth import (
    Machine,
    NotAuthorised,
    Person,
    Provider,
    Redirects,
    token_of,
)
from toolplan.tools.mcp._oauth_settings import is_loopback, is_safe
from toolplan.tools.mcp._texts import clean
from toolplan.tools.mcp.servers import HttpServer
from toolplan.tools.mcp.sign_ins import SignIn, SignIns
from toolplan.tools.replies import json_object, refusal_code
from toolplan.tools.secrets import Mask

MAX_ANSWER_BYTES: Final = 1_000_000
ANSWER_TIMEOUT_S: Final = 20.0

_TIMES: Final = httpx2.Timeout(ANSWER_TIMEOUT_S).as_dict()
_TOKEN_LENGTH: Final = 16
_SECRET_FIELDS: Final = frozenset({
    "access_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier",
    "id_token", "refresh_token", "registration_access_token"
})  # fmt: skip


class Access:
    """The tokens of one server, whatever connection uses them.

    Attributes:
        mask_tokens: hides the tokens, which are long and random, in results too.
        wants_sign_in: whether the server gives nothing before somebody signs in.
        provider: fetches tokens; None for a server without sign-in.
    """

    def __init__(
        self,
        name: str,
        server: HttpServer,
        mask: Mask,
        sign_ins: SignIns | None,
        asks: Redirects | None,
    ) -> None:
        """Use what `sign_ins` keeps; `mask` gets every secret, and `asks` asks a person once."""
        self.mask_tokens = Mask(())
        self.wants_sign_in = False
        self._name = name
        self._mask = mask
        self._fault: NotAuthorised | None = None
        self._server = server
        self._sign_ins = sign_ins
        self._asks = asks
        self._has_asked = False
        self._renewing = anyio.Lock()
        self.provider: Provider | None = None
        if server.oauth is not None and server.oauth.grant == "client_credentials":
            self.provider = Machine(server, server.oauth)
        elif sign_ins is not None and is_safe(server.url, near_loopback=True):
            self.provider = Person(server, sign_ins, asks)

    async def send(
        self, request: httpx2.Request, inner: httpx2.AsyncBaseTransport
    ) -> httpx2.Response:
        """Return the answer to `request`, sent with a token of the server over `inner`."""
        if self.provider is None:
            return await inner.handle_async_request(request)
        refusal: httpx2.Response | None = None
        token: str | None = None
        for _ in range(2):
            token = await self._token(self.provider, request, inner, refusal, token)
            if refusal is not None and token is None:
                break
            if token is not None and _origin(request.url) == _origin(httpx2.URL(self._server.url)):
                self._hide([token])
                request.headers["Authorization"] = f"Bearer {token}"
            response = await inner.handle_async_request(request)
            if not self._is_refusal(request, response):
                return response
            refusal = await _read(response, request)
        if refusal is None or (why := self._refused(refusal)) is None:
            return refusal or httpx2.Response(401)
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

    def _may_ask(self) -> bool:
        """Return whether new tokens may be asked for: a person only once."""
        if isinstance(self.provider, Machine):
            return True
        may_ask = self._asks is not None and not self._has_asked
        self._has_asked |= may_ask
        return may_ask

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
        provider = self.provider
        if self._fault is not None:
            return self._fault
        if self._has_asked or isinstance(provider, Machine):
            return NotAuthorised(
                f"it refuses the token that it led to (HTTP {response.status_code}), which may be"
                " meant for another server"
            )
        challenge = response.headers.get("www-authenticate", "").lower().startswith("bearer")
        has_signed_in = provider is not None and provider.context.current_tokens is not None
        if self._sign_ins is None or not (
            challenge or has_signed_in or self._server.oauth is not None
        ):
            return None
        self.wants_sign_in = True
        why = "does not take your sign-in any more" if has_signed_in else "wants you to sign in"
        if response.status_code == 403:
            why = "wants more rights than you have given"
        return NotAuthorised(f"it {why}: `{self._sign_ins.login_command(self._name)}`")

    async def _token(
        self,
        provider: Provider,
        request: httpx2.Request,
        inner: httpx2.AsyncBaseTransport,
        refusal: httpx2.Response | None,
        used: str | None,
    ) -> str | None:
        """Return a token other than `used`, which `refusal` refuses; renewed where it ends."""
        context = provider.context
        if refusal is None and (token := token_of(provider)) is not None:
            return token
        async with self._renewing:
            for again in (False, True):  # another call may have renewed it, or another process
                await provider.load(again=again)
                token = token_of(provider)
                if token not in (None, used):
                    return token
            is_renewable = context.can_refresh_token()
            is_expired = is_renewable if refusal is None else refusal.status_code == 401
            if is_expired:
                context.token_expiry_time = 1.0  # its time has come, whatever it says
            if refusal is not None or is_renewable:
                await self._flow(provider, request, inner, refusal)
        token = token_of(provider)
        return None if token == used else token

    async def _flow(
        self,
        provider: Provider,
        request: httpx2.Request,
        inner: httpx2.AsyncBaseTransport,
        refusal: httpx2.Response | None,
    ) -> None:
        """Run the SDK's flow up to where it would send `request`: with a token, or without."""
        failed = ""
        flow = provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    answer = await self._asked(outgoing, inner)
                    if answer.status_code >= 400:
                        failed = f"HTTP {answer.status_code}{refusal_code(answer.content)}"
                elif (
                    refusal is None
                    or (refusal.status_code == 401 and token_of(provider) is not None)
                    or not self._may_ask()
                ):
                    return
                else:
                    answer, refusal = refusal, None
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
        request.extensions["timeout"] = _TIMES
        place = f"the authorization server at {url.host}"
        try:
            with anyio.fail_after(ANSWER_TIMEOUT_S):
                answer = await _read(await inner.handle_async_request(request), request)
        except (httpx2.TransportError, TimeoutError) as error:
            why = f"{place} cannot be reached ({type(error).__name__})"
            raise NotAuthorised(why) from None
        found = json_object(answer.content)
        self._hide(v for k, v in found.items() if k in _SECRET_FIELDS and isinstance(v, str))
        if answer.status_code >= 500 and request.method == "POST":
            raise NotAuthorised(f"{place} failed: HTTP {answer.status_code}")
        return answer


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return (url.scheme, url.host, url.port)


async def _read(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """Return the whole answer."""
    content = await body_of(response, MAX_ANSWER_BYTES)
    return httpx2.Response(
        response.status_code, headers=response.headers, content=content, request=request
    )


async def body_of(response: httpx2.Response, most: int) -> bytes:
    """Return the body as it was sent, and close the response."""
    content = bytearray()
    try:
        async for part in response.aiter_raw():
            content += part
            if len(content) > most:
                raise httpx2.ReadError(f"More than {most} bytes")
    finally:
        await response.aclose()
    return bytes(content)


async def revoke(sign_in: SignIn) -> None:
    """Have the tokens of `sign_in` revoked (RFC 7009), where the authorization server does that."""
    metadata, tokens, client = sign_in.metadata, sign_in.tokens, sign_in.client
    if metadata is None or metadata.revocation_endpoint is None:
        return
    url = str(metadata.revocation_endpoint)
    if not is_safe(url, near_loopback=is_loopback(str(metadata.issuer))):
        return
    form = {"token": tokens.refresh_token or tokens.access_token, "client_id": client.client_id}
    if client.client_secret:
        form["client_secret"] = client.client_secret
    try:
        async with httpx2.AsyncClient(timeout=ANSWER_TIMEOUT_S) as http:
            await http.post(url, data=form)
    except (httpx2.HTTPError, OSError):
        return  # it is forgotten here all the same
