"""Calls that wait with their values: a client's user sees them in a form, and decides.

An answer counts once, for the calls that were shown, in the request that was asked about.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import Any, Final

from mcp.types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from toolplan.consent import Effect, effects_of
from toolplan.events import Run
from toolplan.mcp_server._approval import MOST_SHOWN, Request, call_text
from toolplan.render.effects_view import effects_text

_MOST_QUESTIONS: Final = 200
_FIELD: Final = "make_calls"
_REASON: Final = "reason"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _FIELD: {"type": "boolean", "title": "Make these calls, exactly as shown"},
        _REASON: {"type": "string", "title": "If not: why", "maxLength": 1_000},
    },
    "required": [_FIELD],
}


class Decision(Struct, frozen=True):
    """What a person decided about the calls of a run that wait; nothing is allowed by default."""

    run: str
    allow: tuple[Effect, ...] = ()
    deny: tuple[Effect, ...] = ()
    reason: str = ""

    @property
    def leaves(self) -> bool:
        """Whether the calls still wait."""
        return not self.allow and not self.deny


class _Question(Struct, frozen=True):
    call: str
    run: str
    effects: tuple[Effect, ...]


class ValuesPrompt:
    """Asks about calls that wait, through clients that can ask their user."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, _Question] = OrderedDict()

    def answered(self, params: CallToolRequestParams) -> Decision | None:
        """Return the decision that a request brings; None if it brings none."""
        for key, response in (params.input_responses or {}).items():
            question = self._asked.pop(key, None)
            if (
                question is not None
                and question.call == call_text(params)
                and isinstance(response, ElicitResult)
            ):
                return _decision(question.run, question.effects, response)
        return None

    async def ask(
        self, request: Request, params: CallToolRequestParams, run: Run
    ) -> Decision | InputRequiredResult | None:
        """Return the user's decision, or the question to send; None if nobody can be asked."""
        able, effects = request.session.client_capabilities, effects_of(run.waiting)
        if not effects or able is None or able.elicitation is None:
            return None
        text = effects_text(effects)
        if len(text) > MOST_SHOWN:
            return None
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await request.session.elicit_form(text, _FORM, request.request_id)
            return _decision(run.run, effects, answer)
        key = f"values-{uuid.uuid4().hex}"
        self._asked[key] = _Question(call_text(params), run.run, effects)
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        form = ElicitRequestFormParams(message=text, requested_schema=_FORM)
        return InputRequiredResult(input_requests={key: ElicitRequest(params=form)})


def _decision(run: str, effects: tuple[Effect, ...], answer: ElicitResult) -> Decision:
    said = answer.content or {}
    match answer.action, said.get(_FIELD):
        case "accept", True:
            return Decision(run, allow=effects)
        case ("decline", _) | ("accept", False):
            return Decision(run, deny=effects, reason=str(said.get(_REASON) or ""))
        case _:
            return Decision(run)
