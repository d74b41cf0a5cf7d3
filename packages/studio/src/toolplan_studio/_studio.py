"""The studio's operations, on the front door: it asks, checks, runs and decides, nothing else."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, TypedDict, Unpack

from fastapi.sse import ServerSentEvent
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.results import AskResult, RunResult
from toolplan.app.resume import cancel
from toolplan.base.errors import ToolplanError
from toolplan.base.extras import own_version
from toolplan.base.threads import in_thread
from toolplan.compiler import parse
from toolplan.compiler.lint import lint_tools
from toolplan.compiler.rules.invented_literal import EARLIER
from toolplan.events import RunState
from toolplan.plan.canonical import load
from toolplan.plan.comparison import compare_plans
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Draft
from toolplan.planners.context import PlannerContext
from toolplan.planners.offline import example_questions, offline_planner
from toolplan.policy.approval import Approver, said_yes
from toolplan.policy.consent import Effect, ValueApproval
from toolplan.schema.tool import Effects
from toolplan.storage.journal import JournalError, RunEntry
from toolplan_studio import _run_wire as run_wire
from toolplan_studio import _runs as runs
from toolplan_studio import _views as views
from toolplan_studio import _wire as wire
from toolplan_studio._active import ActiveRuns, wait_for_person
from toolplan_studio._errors import Refused

logger = logging.getLogger("toolplan")

TOOLPLAN: Final = "toolplan"
"""The dialect in which a person edits a plan."""
_KEPT: Final = ("query", "reference_date", "provenance", "planner", EARLIER)
"""Metadata kept from a plan that a page sends: other entries would be read as our own."""


class _Decisions(TypedDict, total=False):
    """Decisions about calls, as `App.resume` takes them."""

    retry: Sequence[str]
    resolve: Mapping[str, Json]
    abort: Sequence[str]
    allow: Sequence[Effect]
    deny: Sequence[Effect]
    reason: str


@dataclass(frozen=True)
class Studio:
    """An app, and the runs that this server works on."""

    app: App
    active: ActiveRuns

    # Plans

    async def about(self, user: str) -> wire.About:
        tools, today = self.app.tools, date.today().isoformat()
        offline = offline_planner(PlannerContext(Path()))
        return wire.About(
            version=own_version(),
            user=user,
            tools=len(tools),
            sources=sorted({tool.source for tool in tools.values()}),
            has_model=self.app.model is not None,
            examples=[*await example_questions(offline, tools, today)],
        )

    async def ask(self, given: wire.Question) -> wire.Proposed:
        return await self._proposed(partial(self.app.plan, given.question), given)

    async def ask_streamed(self, given: wire.Question) -> AsyncIterator[ServerSentEvent]:
        """Yield the steps of a plan while it is written (`step`), and then `plan` or `problem`."""
        steps: asyncio.Queue[Step | None] = asyncio.Queue()
        plan = partial(self.app.plan, given.question, on_step=steps.put_nowait)
        asking = asyncio.ensure_future(self._proposed(plan, given))
        asking.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                shown = views.node_view(step, self.app.tools)
                yield ServerSentEvent(raw_data=shown.model_dump_json(), event="step")
            proposed = asking.result()
        except ToolplanError as error:
            fault = {"code": error.code, "detail": error.message, "help": error.help}
            yield ServerSentEvent(data=fault, event="problem")
        else:
            yield ServerSentEvent(raw_data=proposed.model_dump_json(), event="plan")
        finally:
            asking.cancel()

    async def _proposed(
        self, plan: Callable[..., Awaitable[AskResult]], given: wire.Question
    ) -> wire.Proposed:
        try:
            asked = await plan(today=given.today, conversation=given.conversation)
        except ToolplanError:
            raise
        except Exception as error:  # a planner may raise anything
            logger.exception("The planner failed.")
            raise Refused(
                "planner-failed",
                f"The planner failed: {type(error).__name__}.",
                "The log of the server has the details. You can also write a plan by hand.",
            ) from None
        return await in_thread(self._proposed_view, asked)

    def _proposed_view(self, asked: AskResult) -> wire.Proposed:
        text: str | None = None
        if asked.plan is not None:
            text = views.plan_json_text(asked.plan.plan)
        elif isinstance(asked.proposal, Draft):
            text, dialect = asked.proposal.text, asked.proposal.dialect
            read = None if dialect == TOOLPLAN else parse(text, dialect, self.app.tools).plan
            text = text if read is None else views.plan_json_text(read)
        return views.proposed_view(asked, None if text is None else self.check(text, TOOLPLAN))

    def check(self, text: str, dialect: str) -> wire.CheckedPlan:
        checked = self.app.check(text, dialect=dialect)
        written = parse(text, dialect, self.app.tools).plan if checked.plan is None else None
        forecast = None
        if checked.plan is not None and self.app.journal is not None:
            forecast = self.app.forecast(checked.plan)
        return views.checked_view(checked, written, forecast, self.app.tools)

    def compare(self, before: str, after: str) -> wire.Difference:
        """Return the differences between two plans; a Refused where one is no plan."""
        return _difference(_plan(before, "before"), _plan(after, "after"))

    # Runs

    async def start(self, given: run_wire.RunGiven, user: str) -> run_wire.RunLine:
        """Run a plan, if it is the one that was shown; a Refused where it is another one."""
        plan = (await in_thread(self.app.check, given.text)).needed()
        metadata = {key: plan.plan.metadata[key] for key in _KEPT if key in plan.plan.metadata}
        plan = replace(plan, plan=replace(plan.plan, metadata=metadata))
        _check_digest(given.digest, plan.digest)
        name = given.run or uuid.uuid4().hex
        approve: Approver | ValueApproval = wait_for_person
        if given.approve:
            approve = said_yes(given.digest)
        elif given.values:
            approve = ValueApproval()  # no person is asked: the run ends as one that waits
        run = partial(self.app.run, plan, run_id=name, approve=approve)
        async with self.active.lock(name):
            try:  # the same request may have come before
                _check_digest(plan.digest, (await self._entry(name)).digest)
            except JournalError as error:
                if error.code != "unknown-run":
                    raise
                await self.active.begin(name, run, user)
        return await self.line(name)

    async def line(self, run: str) -> run_wire.RunLine:
        return await in_thread(runs.run_line, await self._entry(run), self.app, self.active)

    async def _entry(self, run: str) -> RunEntry:
        return await in_thread(self.app.needed_journal().entry, run)

    async def compare_runs(self, before: str, after: str) -> run_wire.RunDiff:
        journal = self.app.needed_journal()
        one, other = [load(journal.record(each).plan).plan for each in (before, after)]
        if one is None or other is None:
            raise Refused("not-found", "The plan of a run cannot be read.")
        return run_wire.RunDiff(
            before=await self.line(before),
            after=await self.line(after),
            difference=_difference(one, other),
            results=await in_thread(runs.result_changes, self.app, self.active, before, after),
        )

    # Decisions

    async def decide(self, run: str, given: run_wire.DecisionGiven, user: str) -> run_wire.Decided:
        """Carry out the decision of a person about a run.

        Raises:
            Refused: the run or its plan is not as it was shown, or another decision was faster.
        """
        async with self.active.lock(run):
            if (await self._entry(run)).status is not RunState.RUNNING:
                await self.active.wait(run)  # the page shows it since the journal says so
            if isinstance(given, run_wire.Cancel):
                await self._cancel(run, user)
            else:
                await self._decide(await self._allowing(run, given.kind), given, user)
        if isinstance(given, run_wire.Replan) or (
            isinstance(given, run_wire.Refuse) and given.reason
        ):
            return await self._replanned(run, given.reason)
        return run_wire.Decided(run=await self.line(run))

    async def _decide(
        self,
        kept: RunResult,
        given: run_wire.Approve
        | run_wire.Allow
        | run_wire.Refuse
        | run_wire.Decide
        | run_wire.Resume
        | run_wire.Replan,
        user: str,
    ) -> None:
        run = kept.run
        match given:
            case run_wire.Approve():
                _check_digest(given.digest, kept.digest)
                if kept.plan is not None:
                    _check_digest(given.digest, kept.plan.digest)
                await self._resume(run, user, given.digest)
            case run_wire.Allow():
                allowed, denied = views.chosen_effects(kept.effects, given)
                await self._resume(run, user, allow=allowed, deny=denied, reason=given.reason)
            case run_wire.Refuse():
                _check_digest(given.digest, kept.digest)
                await self._end(run, given.reason or "no reason was given", user)
            case run_wire.Decide():
                calls = [(_place(call), call) for call in given.calls]
                retry = [place for place, call in calls if call.decision == "again"]
                abort = [place for place, call in calls if call.decision == "failed"]
                done = {place: call.output for place, call in calls if call.decision == "done"}
                await self._resume(run, user, retry=retry, abort=abort, resolve=done)
            case run_wire.Resume():
                await self._resume(run, user)
            case run_wire.Replan():
                pass  # another plan changes nothing of this run

    async def _allowing(self, run: str, kind: str) -> RunResult:
        """Return a run about which `kind` may be decided now, or refuse the decision."""
        moment = await in_thread(runs.read_moment, self.app, run)
        placed = await in_thread(self.app.workers.placed, run)
        if kind not in runs.allowed_decisions(moment, self.active, placed):
            state = moment.entry.status.value.replace("_", " ")
            message = f"There is nothing to {kind}: the run is {state}."
            help_ = "Look at the run again: it shows what can be decided about it."
            if kind == "approve" and moment.result.waiting:
                message = "Calls of this run wait with their values: its plan is not approved."
                help_ = "Look at the calls, and allow or refuse them."
            raise Refused("not-allowed-now", message, help_)
        return moment.result

    async def _resume(
        self, run: str, user: str, digest: str | None = None, **decided: Unpack[_Decisions]
    ) -> None:
        """Continue a run; the decisions about one that workers have are sent to them."""
        workers = self.app.workers
        if await in_thread(workers.placed, run) is None:
            approve = wait_for_person if digest is None else said_yes(digest)
            resume = partial(self.app.resume, run, approve=approve, **decided)
            await self.active.begin(run, resume, user)
        elif digest is not None:
            await workers.approve(run, digest, who=user)
        else:
            await workers.decide(run, **decided, who=user)

    async def _cancel(self, run: str, user: str) -> None:
        if await in_thread(self.app.workers.placed, run) is not None:
            await self._allowing(run, "cancel")
            await self.app.workers.cancel(run, who=user)
        elif self.active.get(run) is not None:
            await self.active.cancel(run)
        else:
            await self._end(run, "", user)

    async def _end(self, run: str, reason: str, user: str) -> None:
        journal = self.app.needed_journal()
        await in_thread(cancel, journal, run, reason, user, time.time())

    async def _replanned(self, run: str, reason: str) -> run_wire.Decided:
        """Ask the planner for another plan for the question of a run."""
        journal = self.app.needed_journal()
        record = await in_thread(journal.record, run)
        events = await in_thread(journal.events, run)
        before = load(record.plan).plan
        query = None if before is None else before.metadata.get("query")
        line = await self.line(run)
        if before is None or not isinstance(query, str) or not query:
            return run_wire.Decided(run=line)
        day = before.metadata.get("reference_date")
        asked = wire.Question(question=query, today=day if isinstance(day, str) else None)
        found: tuple[Diagnostic, ...] = ()
        if reason:
            message = f"A person refused the plan: {reason}"
            found = (Diagnostic("refused", Severity.ERROR, message),)
        tried = Attempt(Draft(views.plan_json_text(before)), found, tuple(events))
        proposed = await self._proposed(partial(self.app.plan, query, tried=[tried]), asked)
        written = None if proposed.checked is None else proposed.checked.plan
        after = None if written is None else load(written).plan
        difference = None if after is None else _difference(before, after)
        return run_wire.Decided(run=line, replanned=proposed, difference=difference)

    # Tools

    def tools(self) -> wire.ToolList:
        tools = self.app.tools
        findings = lint_tools(tools)
        return wire.ToolList(tools=[views.tool_view(tool, findings) for tool in tools.values()])

    async def try_tool(self, name: str, args: dict[str, Json]) -> wire.Tried:
        """Call a tool, as a plan of one step; a Refused where it may change something."""
        tool = self.app.tools.get(name)
        if tool is None:
            raise Refused("unknown-tool", f"There is no tool {name!r}.")
        if tool.effects is not Effects.READ:
            raise Refused(
                "has-effects",
                f"The tool {name!r} may change something.",
                "Put it into a plan: then it is shown and approved before it is called.",
            )
        step = Step("try", name, {key: Literal(value) for key, value in args.items()})
        ended = await self.app.run(Plan((step,), metadata={"query": f"Try {name}"}))
        return wire.Tried(
            run=ended.run,
            status=ended.status.value,
            output=ended.steps["try"].output,
            error=runs.failure_view(ended.steps["try"].error or ended.error),
            took_s=ended.took_s,
        )


def _plan(text: str, name: str) -> Plan:
    found = parse(text).plan
    if found is None:
        raise Refused("bad-plan", f"The plan `{name}` cannot be read.", "Check it first.")
    return found


def _check_digest(shown: str, found: str) -> None:
    if found != shown:
        raise Refused(
            "digest-changed",
            f"The plan is not the one that was shown: {found[:12]} instead of {shown[:12]}.",
            "Look at the plan again, and decide anew. Nothing was run.",
        )


def _place(call: run_wire.CallDecision) -> str:
    return call.step if call.item is None else f"{call.step}:{call.item}"


def _difference(before: Plan, after: Plan) -> wire.Difference:
    return wire.Difference.model_validate(compare_plans(before, after))
