"""`toolplan resume RUN`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from toolplan.app._decisions import consents_of, decisions_of, left_out_items
from toolplan.app._open import open
from toolplan.app._toolset import effect_labels, reopening
from toolplan.app.results import RunResult
from toolplan.app.wait import run_to_end
from toolplan.cli._approval import RunGuard
from toolplan.cli._display import Display
from toolplan.cli._journal import opened_journal
from toolplan.cli._person import approved_by_word
from toolplan.cli.options import (
    ApproveOption,
    ApproveValuesFlag,
    ConcurrencyOption,
    EffectsOption,
    JournalOption,
    JsonFlag,
    ModelOption,
    TimeoutOption,
    TimesOption,
    ToolsOption,
    YesFlag,
    for_given_plans,
    wanted,
)
from toolplan.cli.outcome import print_run
from toolplan.cli.placed import (
    Decisions,
    continue_after_failover,
    placed,
    refuse_values,
    send,
)
from toolplan.cli.terminal import CommandError, note
from toolplan.engines import CannotRun
from toolplan.events import Event
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.render.runs_view import SHORT

RunArgument = Annotated[str, Parameter(help="The run, or the beginning of its name.")]
RetryOption = Annotated[
    tuple[str, ...],
    Parameter(name="--retry", help="STEP or STEP:ITEM: make the call again."),
]
ResolveOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--resolve",
        help="STEP=JSON or STEP:ITEM=JSON: the call succeeded, with this result.",
    ),
]
AbortOption = Annotated[
    tuple[str, ...],
    Parameter(name="--abort", help="STEP or STEP:ITEM: the call failed."),
]

AllowOption = Annotated[
    tuple[str, ...],
    Parameter(name="--allow", help="STEP: make its calls that wait, as shown."),
]
DenyOption = Annotated[
    tuple[str, ...],
    Parameter(name="--deny", help="STEP: its calls that wait are not made."),
]
LeaveOutOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--leave-out",
        help="STEP:ITEM: leave this call out; another plan makes the others.",
    ),
]
AfterFailoverFlag = Annotated[
    bool,
    Parameter(
        name="--after-failover",
        negative=(),
        help="After the database has moved, let workers continue RUN, or all runs.",
    ),
]
ReasonOption = Annotated[
    str, Parameter(name="--reason", help="Why they are not; it is kept with the run.")
]


def resume_command(
    run: RunArgument = "",
    *,
    tools: ToolsOption = (),
    journal: JournalOption = None,
    retry: RetryOption = (),
    resolve: ResolveOption = (),
    abort: AbortOption = (),
    allow: AllowOption = (),
    deny: DenyOption = (),
    leave_out: LeaveOutOption = (),
    reason: ReasonOption = "",
    after_failover: AfterFailoverFlag = False,
    yes: YesFlag = False,
    approve: ApproveOption = None,
    times: TimesOption = None,
    approve_values: ApproveValuesFlag = False,
    effects: EffectsOption = (),
    model: ModelOption = (),
    concurrency: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Resume a run that was interrupted, or that waits for a person.

    What is done is not done again. A call in doubt needs --retry, --resolve or --abort; one that
    waits with its values --allow or --deny. --leave-out continues with another plan, without some
    of the calls that wait. `toolplan show RUN` shows both. A run of an MCP client asks for a word.
    """
    approve = wanted(approve, approve_values, times)
    _ = decisions_of(retry, resolve, abort), consents_of(allow, deny, reason)
    left_out_items(leave_out)  # a wrong one is an error before anything is opened
    if after_failover:
        return continue_after_failover(journal, run, as_json=as_json)
    with closing(opened_journal(journal)) as store, closing(Display(silent=as_json)) as display:
        name = store.find(run or _missing_run())
        approves, is_placed = bool(approve or allow or leave_out), placed(store, name) is not None
        by_word = approved_by_word(store, name, yes=yes, approves=approves, here=not is_placed)
        allow = () if by_word else allow  # what waits is shown again
        if is_placed:
            refuse_values(leave_out, asked=approve_values)
            decided = Decisions(retry, resolve, abort, allow, deny, reason)
            return send(store, name, decided, approve, as_json=as_json)
        spec, labels, base_url = _tools_of(store.record(name).plan, tools, effects)
        guard = RunGuard(
            display, yes=yes, digest=approve, may_ask=not as_json,
            run=name, by_word=by_word, times=times,
        )  # fmt: skip
        with open(
            spec, **for_given_plans(model), journal=store, effects=labels, base_url=base_url,
            on_note=note,
        ) as app:  # fmt: skip
            guard.app, show = app, partial(_show, guard, () if as_json else store.events(name))
            go_on = partial(
                app.resume, name, retry=retry, resolve=resolve, abort=abort, allow=allow,
                deny=deny, leave_out=leave_out, reason=reason, yes=yes, approve=guard.approve,
                concurrency=concurrency, timeout=timeout, on_plan=show, on_event=display.show_event,
            )  # fmt: skip
            ended = _resumed(go_on, guard)
    return _printed(name, ended, left_out=bool(leave_out), as_json=as_json)


def _missing_run() -> str:
    raise CommandError("usage", "RUN is missing.")


def _printed(name: str, ended: RunResult, *, left_out: bool, as_json: bool) -> int:
    if left_out:
        note(_other_plan(name, ended))
    return print_run(ended, ended.answer, as_json=as_json)


def _show(guard: RunGuard, events: Sequence[Event], plan: ExecutionPlan) -> None:
    guard.plan = plan
    guard.display.open(plan, events)


def _other_plan(name: str, ended: RunResult) -> str:
    return (
        f"That was another plan, with digest {ended.digest} and run {ended.run[:SHORT]}."
        f" Run {name[:SHORT]} is over."
    )


def _resumed(
    go_on: Callable[[], Coroutine[object, object, RunResult]], guard: RunGuard
) -> RunResult:
    try:
        with guard.interruptions_reported():
            return run_to_end(go_on())
    except CannotRun as error:
        raise CommandError(
            "cannot-run", str(error), f"`toolplan show {guard.run[:SHORT]}` shows the run."
        ) from None


def _tools_of(
    plan: Json, tools: Sequence[str], effects: Sequence[str]
) -> tuple[Sequence[str], dict[str, str], str | None]:
    """Return the tools, labels and base URL for a run; what is given comes first.

    Raises:
        CommandError: neither the command nor the run names tools.
    """
    spec, kept, base_url = reopening(plan)
    named = tools or spec
    if not named:
        raise CommandError(
            "usage", "--tools is missing: the run does not say where its tools came from."
        )
    given = {tool: label.value for tool, label in effect_labels(effects).items()}
    return named, {**kept, **given}, base_url
