"""Questions to the person behind a client: effects of a plan, calls with values, or a page to open.

A form is shown only where the server trusts its clients to ask a person and not a model
(`elicit`). A link approves nothing: who opens it decides in the studio, with a session of its own.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from typing import Any, Final, Generic, TypeAlias, TypeVar

from mcp.server import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

RUN_IT: Final = "run_it"
MAKE_CALLS: Final = "make_calls"
REASON: Final = "reason"
_YES_TO: Final = {
    RUN_IT: "Run this plan, once, exactly as shown",
    MAKE_CALLS: "Make these calls, exactly as shown",
}
_WHY_NOT: Final = {"type": "string", "title": "If not: why", "maxLength": 1_000}

_MOST_SHOWN: Final = 20_000
"""The maximum size of a form, in characters; longer lists of effects are shown in a terminal."""

_MOST_QUESTIONS: Final = 200

Request: TypeAlias = ServerRequestContext[str, Any]
Shown: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams
T = TypeVar("T")


class Questions(Generic[T]):
    """Asks through clients, and recognises their answers; a `T` is how a call goes on with one.

    An answer counts once, for what was shown, in the request that was asked about.

    Attributes:
        about_plans: whether forms may ask for the approval of plans.
        about_values: whether forms may ask about calls with their values.
        studio: the address of the studio, whose page of a run clients may open.
    """

    def __init__(self, *, about_plans: bool, about_values: bool, studio: str | None) -> None:
        self.about_plans = about_plans
        self.about_values = about_values
        self.studio = studio
        self._asked: OrderedDict[str, tuple[str, T]] = OrderedDict()

    def answered(self, params: CallToolRequestParams) -> tuple[T, ElicitResult] | None:
        """Return how a call goes on with the answer that it brings; None if it brings none."""
        for key, answer in (params.input_responses or {}).items():
            asked = self._asked.pop(key, None)
            if asked is None or asked[0] != _call_text(params):
                continue
            if isinstance(answer, ElicitResult):
                return asked[1], answer
        return None

    async def ask(
        self, request: Request, params: CallToolRequestParams, shown: Shown, goes_on: T
    ) -> ElicitResult | InputRequiredResult:
        """Return the answer, or what the client gets if it answers with another request."""
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            session, message = request.session, shown.message
            if isinstance(shown, ElicitRequestFormParams):
                form = shown.requested_schema
                return await session.elicit_form(message, form, request.request_id)
            name = shown.elicitation_id or ""
            return await session.elicit_url(message, shown.url, name, request.request_id)
        key = f"ask-{uuid.uuid4().hex}"
        self._asked[key] = _call_text(params), goes_on
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        return InputRequiredResult(input_requests={key: ElicitRequest(params=shown)})


def can_ask(request: Request) -> bool:
    """Return whether the client can ask its user by a form."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return able.elicitation.form is not None or able.elicitation.url is None


def form(request: Request, text: str, yes: str) -> ElicitRequestFormParams | None:
    """Return a form that asks `yes` about `text`; None if the client cannot show it."""
    if not can_ask(request) or len(text) > _MOST_SHOWN:
        return None
    fields: dict[str, Any] = {yes: {"type": "boolean", "title": _YES_TO[yes]}}
    if yes == MAKE_CALLS:
        fields[REASON] = _WHY_NOT
    schema = {"type": "object", "properties": fields, "required": [yes]}
    return ElicitRequestFormParams(message=text, requested_schema=schema)


def link(request: Request, run: str, studio: str) -> ElicitRequestURLParams | None:
    """Return the link to the page of a run in the studio; None if the client opens no links."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None or able.elicitation.url is None:
        return None
    said = "A plan has effects and waits for you. Look at them, and decide, in the studio."
    url = f"{studio.rstrip('/')}/#/approve/{run}"
    return ElicitRequestURLParams(message=said, url=url, elicitation_id=uuid.uuid4().hex)


def _call_text(params: CallToolRequestParams) -> str:
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)
