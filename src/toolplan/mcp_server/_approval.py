"""Approval of plans with effects by the user of a client, through a form (`elicitation`).

It is off by default, because the client must be trusted to ask a person and not a model.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping
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

from toolplan.approval import Approval, Approver, approve
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._reports import effects_report
from toolplan.path import Json
from toolplan.render.printable import printable, visible
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
        self._asked: OrderedDict[str, str] = OrderedDict()  # key of a question to a digest

    async def ask(
        self, request: Request, params: CallToolRequestParams, plan: ExecutionPlan
    ) -> Approver | InputRequiredResult | None:
        """Return the user's approval, or the question to send first; None if nobody can be asked.

        Raises:
            CallRefused: the user refused.
        """
        able = request.session.client_capabilities
        if not plan.effects or able is None or able.elicitation is None:
            return None
        text = _effects_text(effects_report(plan, self._toolbox), plan.digest)
        if len(text) > MOST_SHOWN:
            return None
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await request.session.elicit_form(text, _FORM, request.request_id)
            return _approver(answer, plan)
        for key, response in (params.input_responses or {}).items():
            # an answer counts once, and only for the plan of its question
            if self._asked.pop(key, None) == plan.digest and isinstance(response, ElicitResult):
                return _approver(response, plan)
        key = f"approve-{uuid.uuid4().hex}"
        self._asked[key] = plan.digest
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

    def approver(asked: ExecutionPlan) -> Approval | None:
        return approve(asked) if asked.digest == plan.digest else None

    return approver


def _effects_text(effects: Json, digest: str) -> str:
    lines = ["This plan changes something. Run it?", ""]
    for step in effects if isinstance(effects, list) else ():
        if isinstance(step, Mapping):
            lines += _step_lines(step)
    return "\n".join([*lines, "", f"digest {digest}"])


def _step_lines(step: Mapping[str, Json]) -> list[str]:
    kind = "destructive" if step["effects"] == "unknown" else step["effects"]
    most = "" if step["exact"] else "at most "
    lines = [
        f"{_plain(step['step'])}: {_plain(step['tool'])}, {kind}, {most}{step['calls']} call(s)"
    ]
    if step["for_each"] is not None:
        lines.append(f"    for each of {_json(step['for_each'])}")
    if step["conditional"]:
        lines.append("    only if its condition holds")
    arguments = step["args"]
    if isinstance(arguments, Mapping):
        lines += [f"    {_plain(name)} = {_json(value)}" for name, value in arguments.items()]
    return lines


def _plain(value: Json) -> str:
    return printable(str(value))


def _json(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
