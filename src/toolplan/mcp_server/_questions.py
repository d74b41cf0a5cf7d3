"""Questions to the person behind a client: effects of a plan, calls with values, or a page to open.

A form is shown only where the server trusts its clients to ask a person and not a model
(`elicit`). A link approves nothing: who opens it decides in the studio, with a session of its own.
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
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from toolplan.events import Run
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._plans import Wanted
from toolplan.policy.approval import Approver, effect_steps, said_yes
from toolplan.policy.consent import Effect, effects_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.show.approval_view import approval_text
from toolplan.show.effects_view import effects_text

_MOST_SHOWN: Final = 20_000
"""The maximum size of a form, in characters; longer lists of effects are shown in a terminal."""

_MOST_QUESTIONS: Final = 200
_RUN_IT: Final = "run_it"
_MAKE_CALLS: Final = "make_calls"
_REASON: Final = "reason"
_PLAN_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {_RUN_IT: {"type": "boolean", "title": "Run this plan, once, exactly as shown"}},
    "required": [_RUN_IT],
}
_VALUES_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _MAKE_CALLS: {"type": "boolean", "title": "Make these calls, exactly as shown"},
        _REASON: {"type": "string", "title": "If not: why", "maxLength": 1_000},
    },
    "required": [_MAKE_CALLS],
}

Request: TypeAlias = ServerRequestContext[str, Any]


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


class InputRequired(Exception):
    """The answer comes with another request of the client, which is sent `result` first."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__()
        self.result = result


class PlanQuestion(Struct, frozen=True):
    """Whether a plan may run."""

    wanted: Wanted
    plan: ExecutionPlan
    shown: ElicitRequestFormParams

    def approver(self, answer: ElicitResult) -> Approver:
        """Return the approval in `answer`.

        Raises:
            CallRefused: the user refused.
        """
        if answer.action == "accept" and (answer.content or {}).get(_RUN_IT) is True:
            return said_yes(self.plan.digest)
        raise CallRefused(
            "approval-required",
            "The user did not approve the plan; nothing was run.",
            "Ask the user what to do instead.",
            {"digest": self.plan.digest},
        )


class ValuesQuestion(Struct, frozen=True):
    """Whether calls that wait may be made."""

    run: str
    effects: tuple[Effect, ...]
    shown: ElicitRequestFormParams

    def decision(self, answer: ElicitResult) -> Decision:
        """Return the decision in `answer`."""
        said = answer.content or {}
        match answer.action, said.get(_MAKE_CALLS):
            case "accept", True:
                return Decision(self.run, allow=self.effects)
            case ("decline", _) | ("accept", False):
                reason = str(said.get(_REASON) or "")
                return Decision(self.run, deny=self.effects, reason=reason)
            case _:
                return Decision(self.run)


class LinkQuestion(Struct, frozen=True):
    """Whether the person wants to open the studio's page of a run that waits."""

    run: str
    shown: ElicitRequestURLParams


Question: TypeAlias = PlanQuestion | ValuesQuestion | LinkQuestion


class Questions:
    """Asks through clients, and recognises their answers.

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
        self._asked: OrderedDict[str, tuple[str, Question]] = OrderedDict()

    def answered(self, params: CallToolRequestParams) -> tuple[Question, ElicitResult] | None:
        """Return the question whose answer a request brings, and the answer; None if none."""
        for key, response in (params.input_responses or {}).items():
            call, question = self._asked.pop(key, ("", None))
            if question is None or call != _call_text(params):
                continue
            if isinstance(response, ElicitResult):
                return question, response
        return None

    async def ask(
        self, request: Request, params: CallToolRequestParams, question: Question
    ) -> ElicitResult:
        """Return the answer.

        Raises:
            InputRequired: it comes with another request.
        """
        shown = question.shown
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            if isinstance(shown, ElicitRequestFormParams):
                form = shown.requested_schema
                return await request.session.elicit_form(shown.message, form, request.request_id)
            return await request.session.elicit_url(
                shown.message, shown.url, shown.elicitation_id or "", request.request_id
            )
        key = f"ask-{uuid.uuid4().hex}"
        self._asked[key] = _call_text(params), question
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        raise InputRequired(InputRequiredResult(input_requests={key: ElicitRequest(params=shown)}))


def plan_question(
    request: Request, wanted: Wanted, plan: ExecutionPlan, toolbox: Toolbox
) -> PlanQuestion | None:
    """Return the form with the effects of a plan; None if it has none or the client cannot ask."""
    if not plan.effects:
        return None
    form = _form(request, approval_text(effect_steps(plan, toolbox), plan.digest), _PLAN_FORM)
    return None if form is None else PlanQuestion(wanted, plan, form)


def values_question(request: Request, run: Run) -> ValuesQuestion | None:
    """Return the form with the calls that wait; None if there are none or the client cannot ask."""
    effects = effects_of(run.waiting)
    form = _form(request, effects_text(effects), _VALUES_FORM) if effects else None
    return None if form is None else ValuesQuestion(run.run, effects, form)


def _form(request: Request, text: str, schema: dict[str, Any]) -> ElicitRequestFormParams | None:
    if not can_ask(request) or len(text) > _MOST_SHOWN:
        return None
    return ElicitRequestFormParams(message=text, requested_schema=schema)


def link_question(request: Request, run: str, studio: str) -> LinkQuestion | None:
    """Return the link to the page of a run in the studio; None if the client opens no links."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None or able.elicitation.url is None:
        return None
    said = "A plan has effects and waits for you. Look at them, and decide, in the studio."
    url = f"{studio.rstrip('/')}/#/approve/{run}"
    link = ElicitRequestURLParams(message=said, url=url, elicitation_id=uuid.uuid4().hex)
    return LinkQuestion(run, link)


def can_ask(request: Request) -> bool:
    """Return whether the client can ask its user by a form."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return able.elicitation.form is not None or able.elicitation.url is None


def _call_text(params: CallToolRequestParams) -> str:
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)
