"""OAuth2 client credentials: a token is got with a client's id and secret, and kept in memory."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict

from toolplan.sources.replies import json_object, refusal_code
from toolplan.tools import ToolError, ToolObjectError
from toolplan_openapi._addresses import origin_of
from toolplan_openapi._answers import Response
from toolplan_openapi._request import Request
from toolplan_openapi._security import Credentials, Scheme, together

EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds, or in the last tenth of its life."""

_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")


class ClientCredentials(BaseModel):
    """How a machine gets a token for a security scheme.

    Attributes:
        token_url: where the token is asked for. It is the user's word and not the document's,
            because the secret is sent there.
        client_id: the name of the environment variable that holds the client's id.
        client_secret: the name of the one that holds its secret.
        scope: what is asked for; "" is what the authorization server gives by itself.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""


class Sends(Protocol):
    """As much of a transport as is needed to get a token."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the response."""
        ...


def read_clients(
    schemes: Mapping[str, Scheme],
    auth: Mapping[str, object],
    environment: Mapping[str, str],
) -> dict[str, Credentials]:
    """Return the credentials of each scheme that `auth` has a client for.

    Raises:
        ToolObjectError: the scheme takes no token, or the client cannot be used.
    """
    found: dict[str, Credentials] = {}
    for name, client in auth.items():
        if isinstance(client, ClientCredentials):
            if schemes[name].kind != "bearer":
                raise ToolObjectError(
                    f"The security scheme {name!r} takes no token of OAuth2.",
                    "Give the name of a variable: `auth` in [openapi.NAME] of the settings.",
                )
            found[name] = Credentials(tokens=(TokenSource(name, client, environment),))
    return found


async def with_tokens(credentials: Credentials, transport: Sends) -> Credentials:
    """Return `credentials` with the tokens that they need.

    Raises:
        ToolError: there is none; the call was not made.
    """
    if not credentials.tokens:
        return credentials
    got = [
        await each.credentials(transport)
        for each in credentials.tokens
        if isinstance(each, TokenSource)
    ]
    return together((credentials, *got))


class TokenSource:
    """Returns the token of one client, and gets a new one where it expires or is refused."""

    def __init__(
        self,
        name: str,
        client: ClientCredentials,
        environment: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the id and the secret.

        Raises:
            ToolObjectError: a variable is not set, or the address cannot be used.
        """
        values = [environment.get(each, "") for each in (client.client_id, client.client_secret)]
        for variable, value in zip((client.client_id, client.client_secret), values, strict=True):
            if not value:
                raise ToolObjectError(
                    f"The environment variable {variable!r} for the security scheme {name!r} is "
                    "not set.",
                    f"Set it: export {variable}=…",
                )
        try:
            self._origin, parts = origin_of(client.token_url)
        except ValueError as error:
            raise ToolObjectError(
                f"The token_url of the security scheme {name!r} cannot be used: {error}."
            ) from None
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        pair = ":".join(quote(each, safe="") for each in values)
        basic = base64.b64encode(pair.encode()).decode()
        self._login = Credentials(
            headers=(("Authorization", f"Basic {basic}"),),
            secrets=frozenset({values[1], quote(values[1], safe=""), basic}),
        )
        self._scope = client.scope
        self._clock = clock
        self._token = ""
        self._ends = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def credentials(self, transport: Sends) -> Credentials:
        """Return what a request carries.

        Raises:
            ToolError: there is no token; the call was not made.
        """
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            if not self._token or self._clock() >= self._ends:
                await self._get(transport)
            secrets = self._login.secrets | {self._token}
            return Credentials(
                headers=(("Authorization", f"Bearer {self._token}"),), secrets=secrets
            )

    def refused(self, credentials: Credentials) -> None:
        """Record that a service does not take the token in `credentials`."""
        if self._token in credentials.secrets:
            self._token = ""

    async def _get(self, transport: Sends) -> None:
        form = {"grant_type": "client_credentials"}
        if self._scope:
            form["scope"] = self._scope
        asked_at = self._clock()
        response = await transport.send(
            Request(
                "POST",
                self._origin,
                self._target,
                headers=(("Content-Type", "application/x-www-form-urlencoded"),),
                content=urlencode(form).encode(),
                credentials=self._login,
                has_effects=False,
            )
        )
        answer = json_object(response.content)
        token, life = answer.get("access_token"), answer.get("expires_in")
        kind = answer.get("token_type", "Bearer")
        if not 200 <= response.status < 300:
            code = refusal_code(response.content)
            raise ToolError(
                f"{self._origin} gives no token: HTTP {response.status}{code}. The call was not"
                " made."
            )
        is_token = isinstance(token, str) and _SENDABLE.fullmatch(token) is not None
        if not is_token or not isinstance(kind, str) or kind.lower() != "bearer":
            raise ToolError(
                f"{self._origin} gives no bearer token that can be used. The call was not made."
            )
        self._token = str(token)
        life_s = float("inf")
        if isinstance(life, int | float) and not isinstance(life, bool):
            life_s = float(life)
        self._ends = asked_at + life_s - min(EARLY_S, life_s / 10)
