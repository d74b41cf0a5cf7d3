"""The plan that a call of `run` means: one that is written, one made from a question, one call."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.results import CheckResult
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.compiler import parse
from toolplan.dialects import dialect_of
from toolplan.mcp_server._earlier import NOTHING, Taken, repeated, with_earlier
from toolplan.mcp_server._reports import CallRefused, plan_report, problems_report
from toolplan.mcp_server._search import left_out
from toolplan.plan.canonical import EARLIER, dump
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Refusal
from toolplan.policy.execution_plan import ExecutionPlan

logger = logging.getLogger(__name__)

CALL: Final = "call"
"""The step of a run that is one call."""

_MOST_REMEMBERED: Final = 200
_WRITE_IT: Final = (
    "This is about words that the planner of this server does not know; the user need not answer "
    "it. Write the plan yourself: `search` has the signatures, `run` says what is wrong."
)


class Wanted(Struct, frozen=True):
    """What a call asks for: a plan that may run, or an answer that has none.

    `report` is what is known without a run, `taken` what is done already, in earlier runs.
    """

    plan: ExecutionPlan | None
    report: dict[str, Json]
    taken: Taken = NOTHING


class Plans:
    """Reads what calls of `run` mean."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._refused: OrderedDict[object, None] = OrderedDict()

    async def wanted(self, arguments: Mapping[str, Any], caller: object) -> Wanted:
        """Return what the arguments of `caller` mean.

        Raises:
            CallRefused: they do not name one thing, the plan does not pass its check, or the
                planner failed.
        """
        given = [name for name in ("plan", "question", "tool") if name in arguments]
        beside = {"tool": "args", "plan": "use"}
        stray = [name for of, name in beside.items() if name in arguments and given != [of]]
        if len(given) != 1 or stray:
            raise CallRefused(
                "bad-arguments",
                "`run` takes a plan, a question, or a tool and its args; one of them.",
                "`search` has the tools; the description of `run` has an example of a plan.",
            )
        if given == ["question"]:
            return await self._planned(arguments["question"])
        if given == ["plan"]:
            wanted = await self._checked(_text(arguments["plan"]), caller)
            if wanted.plan is None or "use" not in arguments:
                return wanted
            plan, use = wanted.plan, arguments["use"]
            taken = await in_thread(repeated, plan, use, self._app, wanted.taken)
            report: dict[str, Json] = {"taken_over": [*sorted(taken.steps - wanted.taken.steps)]}
            return replace(wanted, taken=taken, report=report | wanted.report)
        name = self._app.tools.alias(arguments["tool"]) or arguments["tool"]
        given_args: dict[str, Json] = arguments.get("args", {})
        args = {key: Literal(value) for key, value in given_args.items()}
        one = dump(Plan((Step(CALL, name, args),), output=Ref(CALL)))
        return await self._checked(json.dumps(one), caller)

    async def _checked(self, text: str, caller: object) -> Wanted:
        """Return the plan of a client.

        Only the question is kept of its metadata: other entries would be read as our own, such as
        where to load tools from.
        """
        checked, taken = await in_thread(self._read, text)
        report = problems_report(checked.diagnostics)
        if checked.plan is None:
            known = (caller, text, str(report))  # tools of a late server make other problems
            if known in self._refused:
                said = "Unchanged: the same plan has the same problems."
                raise CallRefused("bad-plan", said, "Change what they name.")
            self._refused[known] = None
            while len(self._refused) > _MOST_REMEMBERED:
                self._refused.popitem(last=False)
            said = f"The plan does not pass the check; nothing was run.{left_out(self._app.faults)}"
            raise CallRefused("bad-plan", said, None, report)
        plan = checked.plan.plan
        query = plan.metadata.get("query")
        kept = replace(plan, metadata={"query": query} if isinstance(query, str) else {})
        return Wanted(replace(checked.plan, plan=kept), report, taken)

    def _read(self, text: str) -> tuple[CheckResult, Taken]:
        """Check a plan with what it refers to of earlier runs."""
        app, dialect, taken = self._app, dialect_of(text), NOTHING
        if f"${{{EARLIER}" in text:
            parsed = parse(text, dialect, app.tools, limits=app.limits)
            if parsed.plan is not None and not any(each.blocks for each in parsed.diagnostics):
                plan, taken = with_earlier(parsed.plan, app)
                text, dialect = json.dumps(dump(plan), ensure_ascii=False), "toolplan"
        return app.check(text, dialect=dialect), taken

    async def _planned(self, question: str) -> Wanted:
        try:
            asked = await self._app.plan(question)
        except ToolplanError:
            raise
        except Exception as error:  # a planner may raise anything
            logger.exception("The planner failed.")
            raise CallRefused(
                "planner-failed",
                f"The planner failed: {type(error).__name__}.",
                "The server's log has the details. You can also write the plan yourself.",
            ) from error
        note = left_out(self._app.faults).strip()
        missing: dict[str, Json] = {"note": note} if note else {}
        match asked.proposal:
            case Clarification() as what:
                # words that the planner does not know are known to the caller
                report: dict[str, Json] = {"help": _WRITE_IT} if what.unexplained else {}
                asks = to_builtins(what)
                del asks["plans"]
                return Wanted(None, {**report, "clarification": asks, **missing})
            case Refusal(reason=reason):
                return Wanted(None, {"refusal": {"reason": reason}, **missing})
            case _:
                pass
        if asked.plan is None:
            said = "" if asked.fault is None else f"{asked.fault.message} "
            raise CallRefused(
                "bad-draft",
                f"{said}The planner proposed a plan that does not pass the check; nothing was run.",
                "Ask in other words, or write the plan yourself.",
                problems_report(() if asked.compiled is None else asked.compiled.diagnostics),
            )
        return Wanted(asked.plan, plan_report(asked.plan) | missing)


def _text(plan: Json) -> str:
    try:
        return plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)
    except RecursionError:
        raise CallRefused("too-deep", "The plan is nested too deep to be read.") from None
