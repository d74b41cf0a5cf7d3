"""Approval of plans with effects by the user of a client, through a form (`elicitation`).

It is off by default, because the client must be trusted to ask a person and not a model.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from typing import Any, Final, TypeAlias

from mcp.server import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from toolplan.approval import Approver, effect_steps, said_yes
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._plans import Wanted
from toolplan.render.approval_view import approval_text
from toolplan.tools import Toolbox

MOST_SHOWN: Final = 20_000
"""The maximum size of a form, in characters; longer lists of effects are shown in a terminal."""

_MOST_QUESTIONS: Final = 200
_FIELD: Final = "run_it"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {_FIELD: {"type": "boolean", "title": "Run this plan, once, exactly as shown"}},
    "required": [_FIELD],
}

Request: TypeAlias = ServerRequestContext[str, Any]


class ApprovalPrompt:
    """Asks for approval through clients that can ask their user."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._asked: OrderedDict[str, tuple[str, Wanted]] = OrderedDict()

    def answered(self, params: CallToolRequestParams) -> tuple[Wanted, Approver] | None:
        """Return what was asked about, and the approval that a request brings; None if none.

        An answer counts once, and only in the request that was asked about.

        Raises:
            CallRefused: the user refused.
        """
        for key, response in (params.input_responses or {}).items():
            call, wanted = self._asked.pop(key, ("", None))
            if wanted is None or wanted.plan is None or call != call_text(params):
                continue
            if isinstance(response, ElicitResult):
                return wanted, _approver(response, wanted.plan)
        return None

    async def ask(
        self, request: Request, params: CallToolRequestParams, wanted: Wanted
    ) -> Approver | InputRequiredResult | None:
        """Return the user's approval, or the question to send first; None if nobody can be asked.

        Raises:
            CallRefused: the user refused.
        """
        plan = wanted.plan
        if plan is None or not plan.effects or not can_ask(request):
            return None
        text = approval_text(effect_steps(plan, self._toolbox), plan.digest)
        if len(text) > MOST_SHOWN:
            return None
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await request.session.elicit_form(text, _FORM, request.request_id)
            return _approver(answer, plan)
        key = f"approve-{uuid.uuid4().hex}"
        self._asked[key] = call_text(params), wanted
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        form = ElicitRequestFormParams(message=text, requested_schema=_FORM)
        return InputRequiredResult(input_requests={key: ElicitRequest(params=form)})


def _approver(answer: ElicitResult, plan: ExecutionPlan) -> Approver:
    if answer.action != "accept" or (answer.content or {}).get(_FIELD) is not True:
        raise CallRefused(
            "approval-required",
            "The user did not approve the plan; nothing was run.",
            "Ask the user what to do instead.",
            {"digest": plan.digest},
        )

    return said_yes(plan.digest)


def call_text(params: CallToolRequestParams) -> str:
    """Return a call as text, to compare it with another."""
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)


def can_ask(request: Request) -> bool:
    """Return whether the client can ask its user."""
    able = request.session.client_capabilities
    return able is not None and able.elicitation is not None
