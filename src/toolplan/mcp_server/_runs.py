"""Runs for clients: each continues to its end, even if no client watches it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, Literal, Self, TypeAlias

from mcp.server import ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ElicitResult, InputRequiredResult
from msgspec import Struct

from toolplan.app.app import App
from toolplan.app.resume import VALUES, plan_in
from toolplan.app.setup import Concurrency, LimitOptions
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun
from toolplan.engine import cancel as cancel_detached
from toolplan.events import (
    ApprovalStaged,
    Event,
    Folding,
    ItemEnded,
    Run,
    RunApproved,
    RunState,
    RunWaiting,
    StepCancelled,
    StepFailed,
    StepProgressed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.mcp_server._plans import NOTHING, Plans, Taken
from toolplan.mcp_server._reports import CallRefused, effects_report, person_help, short_name
from toolplan.plan.model import Plan
from toolplan.policy.approval import (
    Approval,
    ApprovalRequired,
    Approver,
    known_calls,
    made_by,
    needs_no_approval,
)
from toolplan.policy.approval import approve as approve_plan
from toolplan.policy.consent import Effect
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.storage.journal import JournalError, follow

_BEGUN: Final = 0.1
_NEARLY: Final = 0.9
_MOST_WORDS: Final = 200
_ENDS: Final[dict[type, str]] = {
    StepSucceeded: "succeeded", StepSkipped: "skipped", StepCancelled: "cancelled",
}  # fmt: skip

MOST_RUNS: Final = 16
"""The maximum number of concurrent runs."""

_OVER: Final = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED, RunState.IN_DOUBT)
_ASKING: Final = "asking"
"""The lock of the server that looks for a waiting run, and starts one."""
_LOOK_S: Final = 0.05
_RESUME_ELSEWHERE: Final = "Resume it where it was started, with its own tools: `toolplan resume`."

_MOST_QUESTIONS: Final = 200

Values: TypeAlias = Literal["values"]
Request: TypeAlias = ServerRequestContext[str, Any]
Result: TypeAlias = CallToolResult | InputRequiredResult
GoesOn: TypeAlias = Callable[[Request, ElicitResult], Awaitable[Result]]
"""How a call goes on in a later request, with the answer of its user."""


class Progress:
    """The progress of a run: `done` of `total` steps, with fractions for unfinished steps.

    `message` is the last event. `stored` is set when the run is on disk, or over.
    """

    def __init__(self, plan: Plan, taken: int = 0) -> None:
        """Begin a run of `plan` whose first events were taken from earlier runs."""
        self.done = 0.0
        self.total = float(len(plan.steps))
        self.message = ""
        self.stored = asyncio.Event()
        self._folding = Folding()
        self._unstored = 1 + taken  # events that come before the journal has the run
        self._tools = {step.id: step.tool for step in plan.steps}
        self._shares: dict[str, float] = {}  # the part of each step that is done
        self._items: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """Add the next event of the run."""
        self._folding.add(event)
        if self._unstored:
            self._unstored -= 1
        elif not isinstance(event, ApprovalStaged | RunApproved | RunWaiting):
            self.stored.set()  # nothing else happens before that
        match event:
            case StepStarted(step=step, items=items):
                self._items[step] = max(items or 0, 1)
                share, words = _BEGUN, "started"
            case ItemEnded(step=step):
                known = self._shares.get(step, _BEGUN)
                share = min(known + (_NEARLY - _BEGUN) / self._items.get(step, 1), _NEARLY)
                words = "next item"
            case StepProgressed(step=step, done=done, total=total, message=message):
                part = min(max(done / total, 0.0), 1.0) if total else 0.0
                share, words = _BEGUN + (_NEARLY - _BEGUN) * part, message or "running"
            case StepFailed(step=step, failure=failure):
                share, words = 1.0, f"failed: {failure.message}"
            case StepSucceeded(step=step) | StepSkipped(step=step) | StepCancelled(step=step):
                share, words = 1.0, _ENDS[type(event)]
            case _:
                return
        if step in self._tools and share > self._shares.get(step, 0.0):
            self._shares[step] = share
            self.done = max(self.done, sum(self._shares.values()))
            self.message = f"{step} ({self._tools[step]}): {words}"[:_MOST_WORDS]

    def run(self) -> Run:
        """Return the run."""
        return self._folding.run()


class ActiveRun(Struct, eq=False):
    """A run that was started here; `task` ends with it, and `request` may cancel it."""

    run: str
    plan: ExecutionPlan
    progress: Progress
    task: asyncio.Task[Run]
    request: object


class _WaitsForPerson(Exception):
    """No one can approve here: the run waits until a person approves it elsewhere."""


class ApprovalNeeded(CallRefused):
    """The run waits for the approval of a person."""

    def __init__(self, plan: ExecutionPlan, run: str, tools: Toolbox) -> None:
        super().__init__(
            "approval-required",
            "The plan has effects and was not run: it waits for the approval of a person.",
            person_help(short_name(run)),
            {"run": run, "digest": plan.digest, "effects": effects_report(plan, tools)},
        )
        self.run = run


class Backend:
    """The plans and runs of all clients over one app, and the questions to their users.

    As a context manager it waits for the active runs at the end; `stop` cancels them, and each can
    be resumed. All methods raise `ToolplanError` where there is no run of a name, or the journal
    cannot be read.

    Attributes:
        app: plans and runs.
        plans: what calls mean.
        by_values: whether a person approves calls with their values.
        elicit: whether forms may ask for approvals, of plans or of calls with their values.
        studio: the address of the studio, whose page of a run clients may open.
    """

    def __init__(
        self,
        app: App,
        *,
        approve: Approver | Values | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        elicit: bool = False,
        studio: str | None = None,
    ) -> None:
        """Prepare plans and runs; the arguments are those of `serve`.

        Raises:
            ToolplanError: the app has no journal, or a limit is not valid.
        """
        app.run_options(LimitOptions.of(concurrency, timeout))  # a wrong limit is an error now
        self.app = app
        self.plans = Plans(app)
        self.by_values = approve == VALUES
        self.elicit = elicit
        self.studio = studio
        self._journal = app.needed_journal()
        self._approve = None if isinstance(approve, str) else approve
        self._concurrency = concurrency
        self._timeout = timeout
        self._active: dict[str, ActiveRun] = {}
        self._asking = asyncio.Lock()
        self._asked: OrderedDict[str, tuple[str, GoesOn]] = OrderedDict()

    def asked(self, params: CallToolRequestParams) -> tuple[GoesOn, ElicitResult] | None:
        """Return how an earlier call goes on with the answer that this one brings, if it does.

        An answer counts once, for what was shown, in the call that was asked about.
        """
        for key, answer in (params.input_responses or {}).items():
            text, goes_on = self._asked.pop(key, ("", None))
            if goes_on and text == _call_text(params) and isinstance(answer, ElicitResult):
                return goes_on, answer
        return None

    def hold(self, params: CallToolRequestParams, goes_on: GoesOn) -> str:
        """Keep how a call goes on with the answer to a question; return the question's key."""
        key = f"ask-{uuid.uuid4().hex}"
        self._asked[key] = _call_text(params), goes_on
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        return key

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if error[0] is not None:
            self.stop()
        try:
            await self._all_ended()
        except asyncio.CancelledError:
            self.stop()
            await self._all_ended()
            raise

    async def _all_ended(self) -> None:
        while self._active:
            await asyncio.wait({active.task for active in self._active.values()})

    def stop(self) -> None:
        """Cancel the active runs."""
        for active in self._active.values():
            active.task.cancel()

    async def start(
        self,
        plan: ExecutionPlan,
        *,
        approve: Approver | None = None,
        values: bool = False,
        request: object = None,
        taken: Taken = NOTHING,
    ) -> ActiveRun:
        """Start to run `plan`; `approve` is called if it has effects.

        With `values` its calls with effects wait with their values instead. `request` names the
        request that may cancel it, `taken` the results of earlier runs: if they cover all steps
        with effects, no approval is needed; if some, the remaining calls wait with their values.

        Raises:
            CallRefused: the plan already waits for a person, or there are too many runs.
        """
        ask = approve or self._approve
        if taken.touches(plan.effects):
            if taken.steps.issuperset(plan.effects):
                ask = approve_plan  # no effects remain
            values = values or ask is None  # a person sees the remaining calls
        if plan.effects and (values or self.by_values):
            async with self._asking:
                for active in self._active.values():
                    if active.plan.digest == plan.digest:
                        return active
                name = await in_thread(self._journal.waiting, plan.digest)
                if name is not None:
                    return await self.resume(name, request=request)
                return self._start(plan, VALUES, request, taken)
        if ask is not None or not plan.effects or needs_no_approval(plan):
            return self._start(plan, ask or _wait_for_person, request, taken)
        # of ten requests at once, also to other servers, nine find the run of the first
        async with self._asking, self._held():
            waiting = await in_thread(self._journal.waiting, plan.digest)
            if waiting is not None:  # asking again makes no second run
                raise ApprovalNeeded(plan, waiting, self.app.tools)
            active = self._start(plan, _wait_for_person, request, taken)
            await asyncio.wait({active.task})  # until the journal has it as waiting
        return active

    @asynccontextmanager
    async def _held(self) -> AsyncGenerator[None]:
        """Let no other server on this journal into such a block."""
        locks = self._journal.locks

        def release(_: object) -> None:
            with suppress(JournalError):  # the session is over, and its locks with it
                locks.release(_ASKING)

        holding = asyncio.ensure_future(in_thread(locks.hold, _ASKING))
        try:
            while not await asyncio.shield(holding):
                await asyncio.sleep(_LOOK_S)
                holding = asyncio.ensure_future(in_thread(locks.hold, _ASKING))
            yield
        finally:  # also a lock that a thread takes for a cancelled request
            holding.add_done_callback(release)

    def _start(
        self, plan: ExecutionPlan, approve: Approver | str, request: object, taken: Taken
    ) -> ActiveRun:
        name, progress = uuid.uuid4().hex, Progress(plan.plan, len(taken.events))
        quick = not plan.effects and [*map(known_calls, plan.plan.steps)] == [1]
        running = partial(
            self.app.run, plan, run_id=name, approve=approve, done=taken.events, quick=quick
        )
        return self._begin(name, plan, progress, running, request)

    async def resume(
        self,
        prefix: str,
        *,
        request: object = None,
        allow: Sequence[Effect] = (),
        deny: Sequence[Effect] = (),
        reason: str = "",
    ) -> ActiveRun:
        """Resume the run whose name begins with `prefix`; an active run is just returned.

        `request` names the request that may cancel it, if this resumes it. Of its calls that wait
        `allow` are made and `deny` are not, for `reason`.

        Raises:
            CallRefused: its plan is not valid with these tools, it uses a tool that is not allowed,
                there are too many runs, or it is active and a decision comes too late.
        """
        name = await in_thread(self._journal.find, prefix)
        plan = await self._plan_of(name)
        allowed = self.app.policy.allow
        for step in plan.plan.steps:
            if allowed is not None and step.tool not in allowed:
                message = f"The run uses the tool {step.tool!r}, which is not allowed here."
                raise CallRefused("tool-not-allowed", message, _RESUME_ELSEWHERE)
        events = await in_thread(self._journal.events, name)
        if name in self._active:  # perhaps another request was faster
            if allow or deny:
                message = "Another request works on the run; the answer was not used."
                raise CallRefused("busy", message, _shown_by(name))
            return self._active[name]
        progress = Progress(plan.plan)
        for event in events:
            progress.add(event)
        progress.stored.clear()
        running = partial(
            self.app.resume,
            name,
            allow=allow,
            deny=deny,
            reason=reason,
            approve=VALUES if self.by_values else self._approve or _wait_for_person,
        )
        return self._begin(name, plan, progress, running, request)

    async def ended(self, active: ActiveRun) -> Run:
        """Return a run when it is over, or waits for a person; cancelling this does not stop it.

        Raises:
            CallRefused: it is not approved.
            ToolplanError: it could not be run.
        """
        await asyncio.wait({active.task})
        if active.task.cancelled():
            return await in_thread(self._journal.load, active.run)
        try:
            return active.task.result()
        except _WaitsForPerson:
            raise ApprovalNeeded(active.plan, active.run, self.app.tools) from None
        except ApprovalRequired:
            raise CallRefused(
                "approval-required",
                "The plan was not approved; nothing was run.",
                "Run it again to ask for an approval again.",
                {"digest": active.plan.digest, "run": active.run},
            ) from None

    async def decided(self, prefix: str, seconds: float) -> tuple[Run, ExecutionPlan | None]:
        """Wait for a person to decide about a run, and for its end, and return it and its plan.

        Studio and terminal decide and carry the run out, so only the journal shows it. After
        `seconds` the run is returned as it is.
        """
        name = await in_thread(self._journal.find, prefix)
        if seconds > 0 and await self._goes_on(name):
            seen = len(await in_thread(self._journal.events, name))
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for _ in follow(self._journal, name, seen):
                        if not await self._goes_on(name):
                            break
        return await self.current(name)

    async def _goes_on(self, name: str) -> bool:
        entry = await in_thread(self._journal.entry, name)
        return entry.status in (RunState.WAITING, RunState.RUNNING)

    async def current(self, prefix: str) -> tuple[Run, ExecutionPlan | None]:
        """Return the run whose name begins with `prefix`, and its plan, None if it is not valid."""
        name = await in_thread(self._journal.find, prefix)
        run = await in_thread(self._journal.load, name)
        try:
            return run, await self._plan_of(name)
        except ToolplanError:
            return run, None

    async def cancel(self, prefix: str) -> None:
        """Cancel the run whose name begins with `prefix`; it can be resumed.

        Workers cancel the runs that they have. A run in doubt is over until a person resolves it.

        Raises:
            ToolplanError: it is over, or another process works on it.
        """
        name = await in_thread(self._journal.find, prefix)
        if name in self._active:
            task = self._active[name].task
            task.cancel()
            await asyncio.wait({task})
            return
        status = (await in_thread(self._journal.entry, name)).status
        if status in _OVER:
            message = f"The run is over, so there is nothing to cancel: it is {status.value}."
            raise CallRefused("run-over", message, _shown_by(name))
        if await in_thread(self.app.workers.placed, name) is not None:
            await self.app.workers.cancel(name, who="mcp")
        else:
            await cancel_detached(name, journal=self._journal)

    def answered(self, request: object) -> None:
        """Forget `request`: after its answer it cannot cancel its run."""
        for active in self._active.values():
            if active.request == request:
                active.request = None

    def cancel_request(self, request: object) -> None:
        """Cancel the run that `request` started, if it is active; it can be resumed."""
        for active in self._active.values():
            if active.request == request:
                active.task.cancel()

    def _begin(
        self,
        name: str,
        plan: ExecutionPlan,
        progress: Progress,
        running: Callable[..., Coroutine[object, object, Run]],
        request: object,
    ) -> ActiveRun:
        if len(self._active) >= MOST_RUNS:
            message = f"There are {MOST_RUNS} active runs, which is the maximum."
            raise CallRefused("busy", message, "Wait until one of them is over; `runs` lists them.")
        with made_by("mcp"):
            # a task of its own, because the run outlives the client's request
            task = asyncio.get_running_loop().create_task(
                running(concurrency=self._concurrency, timeout=self._timeout, on_event=progress.add)
            )
        active = self._active[name] = ActiveRun(name, plan, progress, task, request)

        def over(task: asyncio.Task[Run]) -> None:
            del self._active[name]
            progress.stored.set()
            if not task.cancelled():
                task.exception()  # retrieved here, because the client may have left

        task.add_done_callback(over)
        return active

    async def _plan_of(self, name: str) -> ExecutionPlan:
        app = self.app
        try:
            return await in_thread(
                lambda: plan_in(self._journal.record(name), app.tools, app.limits)
            )
        except CannotRun as error:
            raise CallRefused("cannot-run", str(error), _RESUME_ELSEWHERE) from None


def _call_text(params: CallToolRequestParams) -> str:
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)


def _shown_by(run: str) -> str:
    return f"`runs` with run {short_name(run)!r} shows it."


async def _wait_for_person(plan: ExecutionPlan) -> Approval | None:
    raise _WaitsForPerson(plan.digest)
