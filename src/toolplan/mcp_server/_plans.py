"""The plan that a call of `run` means: one that is written, one made from a question, one call.

It may take results of earlier runs. `${run:NAME.step.path}` becomes a reference to a copy of that
step, with all steps before it, whose results are taken from the journal. So the check, the labels
of trust and a resumed run know them as what they are, and no call is made again.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from toolplan.app import resume as resuming
from toolplan.app.app import App
from toolplan.app.results import CheckResult
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.compiler import parse
from toolplan.dialects import dialect_of
from toolplan.engine import CannotRun, deltas
from toolplan.events import Event, StepSucceeded, fold
from toolplan.mcp_server._reports import CallRefused, left_out, plan_report, problems_report, shape
from toolplan.plan.canonical import EARLIER, dump
from toolplan.plan.model import Literal, Plan, Ref, Step, map_plan_refs, rename_steps, step_refs
from toolplan.plan.model import refs as refs_in
from toolplan.plan.path import Json, NotThere, print_path, select
from toolplan.planners import Clarification, Refusal
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.runs_view import SHORT
from toolplan.storage.journal import Store

_MOST_NAMED: Final = 20
_MOST_ID: Final = 64
logger = logging.getLogger(__name__)
CALL: Final = "call"
"""The step of a run that is one call."""
_MOST_REMEMBERED: Final = 200
_QUICKLY_READ: Final = 2_000
"""Maximum length, in characters, of a plan that is checked without a thread."""
_WRITE_IT: Final = (
    "This is about words that the planner of this server does not know; the user need not answer "
    "it. Write the plan yourself: `search` has the signatures, `run` says what is wrong."
)


class Taken(Struct, frozen=True):
    """Results of earlier runs: their events, and the steps of the plan that are over with them.

    `partly` are those of which some items are done. `copies` has, for each run, the steps that
    stand for results of its own.
    """

    events: tuple[Event, ...] = ()
    steps: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()
    copies: Mapping[str, Mapping[str, str]] = {}

    def touches(self, effects: Iterable[str]) -> bool:
        """Return whether some of the steps with `effects` are done, or some of their items."""
        return not (self.steps | self.partly).isdisjoint(effects)


NOTHING: Final = Taken()


class _Earlier(Struct, frozen=True):
    """A run of the journal, with its plan as these tools understand it."""

    name: str
    plan: ExecutionPlan
    events: tuple[Event, ...]


def with_earlier(plan: Plan, app: App) -> tuple[Plan, Taken]:
    """Return `plan` with copies of the earlier steps that it refers to, and their results.

    Raises:
        CallRefused: a reference names no result that is there.
    """
    found = [ref for step in plan.steps for _, ref in step_refs(step)]
    found += () if plan.output is None else refs_in(plan.output)
    refs = [ref for ref in found if ref.step.startswith(EARLIER)]
    copies: dict[str, dict[str, str]] = {}
    by_run: dict[str, dict[str, str]] = {}
    ids = {step.id for step in plan.steps}
    steps: list[Step] = []
    events: list[Event] = []
    for start in dict.fromkeys(ref.step for ref in refs):
        run, names = _run(app, start.removeprefix(EARLIER)), copies.setdefault(start, {})
        for ref in refs:
            for each in _before(run, _checked(run, ref)) if ref.step == start else ():
                if each not in names:
                    names[each] = _new_id(run, each, ids)
                    ids.add(names[each])
        of_run = {copy: of for of, copy in names.items()}
        renamed = rename_steps(run.plan.plan, names).steps
        steps += [replace(each, after=()) for each in renamed if each.id in of_run]
        by_run.setdefault(run.name, {}).update(of_run)
        events += deltas.taken_over(run.events, of_run, {})

    def changed(ref: Ref) -> Ref:
        names = copies.get(ref.step)
        return ref if names is None else Ref(names[str(ref.path[0])], ref.path[1:])

    whole = map_plan_refs(plan, changed)
    over = frozenset(copy for of_run in by_run.values() for copy in of_run)
    taken = Taken(tuple(events), over, copies=by_run)
    return replace(whole, steps=(*whole.steps, *steps)), taken


def repeated(plan: ExecutionPlan, start: str, app: App, known: Taken) -> Taken:
    """Return `known`, and the results of the run `start` for steps of `plan` with the same calls.

    Raises:
        CallRefused: there is no such run, or its tools have changed.
    """
    run = _run(app, start)
    change = deltas.delta(run.plan, run.events, plan, known.copies.get(run.name, {}))
    events = [each for each in change.events if getattr(each, "step", "") not in known.steps]
    return replace(
        known,
        events=(*known.events, *events),
        steps=known.steps.union(change.kept),
        partly=frozenset(change.partly) - known.steps,
    )


def _run(app: App, start: str) -> _Earlier:
    journal: Store = app.needed_journal()
    try:
        name = journal.find(start)
        plan = resuming.plan_in(journal.record(name), app.tools, app.limits)
        digest = journal.entry(name).digest
        if plan.digest != digest:
            raise CannotRun("Its tools or the policy have changed since.")
        return _Earlier(name, plan, tuple(journal.events(name)))
    except CannotRun as error:
        said = f"Results of the run {start!r} cannot be used: {error}"
        raise CallRefused("cannot-run", said, "Call the tools again.") from None


def _checked(run: _Earlier, ref: Ref) -> str:
    """Return the step of `run` that `ref` is about, whose result has what it names."""
    results = fold(run.events).steps
    done = {e.step for e in run.events if isinstance(e, StepSucceeded) and e.failure is None}
    shown = f"${{{ref.step}{print_path(ref.path)}}}"
    step = ref.path[0] if ref.path else None
    if not isinstance(step, str) or step not in done:
        named = ", ".join([each for each in results if each in done][:_MOST_NAMED])
        said = f"The run has no result for {shown}."
        raise _unknown(said, f"It has results of: {named or 'no step'}.")
    value = results[step].output
    try:
        select(value, ref.path[1:])
    except NotThere as error:
        said = f"The run has nothing for {shown}: {error}."
        raise _unknown(said, f"{step}: {shape(value)}.") from None
    missing = [each for each in _before(run, step) if each not in done]
    if missing:
        said = f"{shown} depends on {missing[0]!r}, which has no result."
        raise _unknown(said, "Call the tools again.")
    return step


def _unknown(said: str, help: str) -> CallRefused:
    return CallRefused("unknown-path", said, help)


def _before(run: _Earlier, step: str) -> tuple[str, ...]:
    """Return `step` and all steps that its result depends on."""
    steps = {each.id: each for each in run.plan.plan.steps}
    found = [step]
    for name in found:  # which grows
        before = (ref.step for _, ref in step_refs(steps[name]))
        found += [each for each in dict.fromkeys(before) if each in steps and each not in found]
    return tuple(found)


def _new_id(run: _Earlier, step: str, ids: set[str]) -> str:
    name = f"{run.name[:SHORT]}-{step}"[:_MOST_ID]
    others = (f"{run.name[:SHORT]}-{number}" for number in count(1))
    return name if name not in ids else next(each for each in others if each not in ids)


class Wanted(Struct, frozen=True):
    """The request of a call: a plan that may run, or an answer without one.

    `report` has the facts known without a run, `taken` the results of earlier runs.
    """

    plan: ExecutionPlan | None
    report: dict[str, Json]
    taken: Taken = NOTHING


class Plans:
    """Reads the requests of calls of `run`."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._refused: OrderedDict[object, None] = OrderedDict()

    async def wanted(self, arguments: Mapping[str, Any], caller: object) -> Wanted:
        """Return the request in the arguments of `caller`.

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
            text = plan = arguments["plan"]
            if not isinstance(plan, str):
                try:
                    text = json.dumps(plan, ensure_ascii=False)
                except RecursionError:
                    said = "The plan is nested too deep to be read."
                    raise CallRefused("too-deep", said) from None
            wanted = await self._checked(text, caller)
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
        if len(text) <= _QUICKLY_READ and EARLIER not in text:
            checked, taken = self._read(text)
        else:
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
