"""`toolplan resume RUN`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.answer import answer
from toolplan.app import plan_of, resume
from toolplan.cli._approval import ApprovalPrompt
from toolplan.cli._display import Display
from toolplan.cli._home import open_journal, storage
from toolplan.cli._learning import learn_from
from toolplan.cli._limits import ConcurrencyOption, LimitOptions, TimeoutOption
from toolplan.cli._options import (
    ApproveOption,
    EffectsOption,
    JsonFlag,
    ToolsOption,
    YesFlag,
)
from toolplan.cli._outcome import print_run
from toolplan.cli._run_guard import RunGuard
from toolplan.cli._terminal import CommandError
from toolplan.cli._toolbox import reopen_tools
from toolplan.compiler import output_schemas
from toolplan.engines import CannotRun, Decided
from toolplan.events import Decision
from toolplan.path import Json
from toolplan.render.runs_view import SHORT
from toolplan.storage.journal import Slot

RunArgument = Annotated[str, Parameter(help="The run, or how its name begins.")]
RetryOption = Annotated[
    tuple[str, ...],
    Parameter(name="--retry", negative="", help="STEP or STEP:ITEM: make the call again."),
]
DoneOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--resolve", negative="", help="STEP=JSON or STEP:ITEM=JSON: it worked and gave that."
    ),
]
AbortOption = Annotated[
    tuple[str, ...],
    Parameter(name="--abort", negative="", help="STEP or STEP:ITEM: the call has failed."),
]


def resume_command(
    run: RunArgument,
    *,
    tools: ToolsOption = None,
    retry: RetryOption = (),
    done: DoneOption = (),
    abort: AbortOption = (),
    yes: YesFlag = False,
    approve: ApproveOption = None,
    effects: EffectsOption = (),
    at_once: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Go on with a run that was interrupted, or that waits for a person.

    What is over is not done again. A call in doubt, of which nobody
    knows whether it did its work, needs --retry, --resolve or --abort.
    """
    decisions = decisions_of(retry, done, abort)
    with closing(open_journal()) as journal, storage(), closing(Display(silent=as_json)) as display:
        name = journal.find(run)
        kept = journal.record(name).plan
        with reopen_tools(kept, tools, effects) as opened:
            run_options = LimitOptions(at_once, timeout).run_options(opened, kept)
            leave = ApprovalPrompt(yes, approve, opened.tools, display, may_ask=not as_json)
            try:
                plan = plan_of(name, opened.tools, journal=journal)
                display.open(plan, () if as_json else journal.events(name))
                # the view ends first: it puts back the output that it found as it began
                with RunGuard(plan, name).told(leave), closing(display):
                    ended = asyncio.run(
                        resume(
                            name,
                            opened.tools,
                            journal=journal,
                            approval=leave.approver(),
                            decisions=decisions,
                            run_options=run_options,
                            on_event=display.show_event,
                        )
                    )
            except CannotRun as error:
                raise CommandError(
                    "cannot-run", str(error), f"`toolplan show {name[:SHORT]}` tells how it stands."
                ) from None
    learn_from(plan.plan, ended, opened.tools)
    said = answer(
        plan, ended, schemas=output_schemas(plan.plan, opened.tools), insights=opened.insights
    )
    return print_run(ended, said, as_json=as_json)


def decisions_of(
    retry: Sequence[str], done: Sequence[str], abort: Sequence[str]
) -> dict[Slot, Decided]:
    """Read what was decided about calls in doubt.

    Raises:
        CommandError: it cannot be read, or one call is decided about twice.
    """
    found: dict[Slot, Decided] = {}

    def decide(place: str, decision: Decision, output: Json = None) -> None:
        slot = _slot(place)
        if slot in found:
            raise CommandError("usage", f"{place!r} is decided about twice.", "Decide once.")
        found[slot] = Decided(decision, output)

    for place in retry:
        decide(place, "retry")
    for place in abort:
        decide(place, "abort")
    for option in done:
        place, sign, text = option.partition("=")
        try:
            output: Json = json.loads(text)
        except (ValueError, RecursionError):
            sign = ""
            output = None
        if not sign:
            raise CommandError(
                "usage",
                f"--resolve {option!r} cannot be read.",
                "Write STEP=JSON, as in mail='{\"sent\": true}', or STEP=null.",
            )
        decide(place, "resolve", output)
    return found


def _slot(place: str) -> Slot:
    step, _, item = place.partition(":")
    if not item:
        return step, None
    if not (item.isascii() and item.isdecimal() and len(item) < 10):
        raise CommandError(
            "usage",
            f"{place!r} names no call.",
            "Write STEP, or STEP:ITEM with a number.",
        )
    return step, int(item)
