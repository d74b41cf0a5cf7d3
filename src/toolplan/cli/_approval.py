"""Approval on the terminal: of a plan with effects, of calls with their values."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from typing import Any, Final, cast

from toolplan.app.app import App
from toolplan.app.resume import VALUES, Approve, ByPlan, DigestApprover, maker_of
from toolplan.app.wait import RunStopped
from toolplan.cli.options import ApprovalOptions
from toolplan.cli.terminal import CommandError, Display, discard_input, err, note, show_long
from toolplan.compiler import Compiled
from toolplan.engine.forecast import Forecast
from toolplan.events import Event, Run
from toolplan.policy.approval import Approval, ApprovalRequired, Approver, approve, effect_steps
from toolplan.policy.consent import Answer, Denied, Effect, LeaveOut, ValueApproval, needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import UsageTracker
from toolplan.schema.tool import Effects
from toolplan.show import approval_view
from toolplan.show.diagnostics import DiagnosticView, Located
from toolplan.show.printable import count_text, printable
from toolplan.show.runs_view import SHORT, compared_text, forecast_text
from toolplan.storage.journal import JournalError, Store

_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris")
_WAYS: Final = (
    "Approve it in the studio, in a form of the client (`toolplan mcp --elicit`), or with"
    " `toolplan resume RUN` at a terminal, which shows what it does and asks for a word."
)


class RunGuard:
    """The run of a command: its plan, its name, how it is shown, and who approves it.

    `--yes` approves any plan. A digest approves the one that has it, after its effects are shown,
    and a person at the terminal has said yes, for `--times` runs in all. Without both a person is
    asked on the terminal, where `may_ask` says that more than JSON is wanted. With
    `--approve-values` each call with effects is approved with its values, and `--yes` does not
    answer for it. `by_word`: an MCP client made the run, and a person types a word that is shown.
    """

    def __init__(
        self,
        display: Display,
        options: ApprovalOptions,
        *,
        may_ask: bool,
        run: str = "",
        by_word: bool = False,
    ) -> None:
        self.display, self.run = display, run
        self.app: App = cast("App", None)  # set once it is open
        self.plan: ExecutionPlan | None = None
        self.expected: Forecast | None = None
        self._digest, self._yes, self._may_ask = options.approved, options.yes, may_ask
        self._by_word, self._times = by_word, options.times or 1
        self._refusal: CommandError | None = None

    def arguments(self, on_plan: Callable[..., None]) -> dict[str, Any]:
        """Return the arguments of the app's methods that run; `on_plan` is called with the plan."""
        watchers = {"on_plan": on_plan, "on_event": self.display.show_event}
        return {"yes": self._yes, "approve": self.approve, **watchers}

    def new_id(self) -> str:
        """Return a name for a run."""
        self.run = uuid.uuid4().hex
        return self.run

    def show_plan(self, made: ExecutionPlan | Compiled) -> None:
        """Show the plan that is about to run, what was found in it, and a forecast."""
        plan = made.plan if isinstance(made, Compiled) else made
        found = made.diagnostics if isinstance(made, Compiled) else ()
        if plan is None:
            return
        self.plan = plan
        self.display.show_plan(plan, self.app.tools)
        self.expected = self.app.forecast(plan)
        if self._may_ask and found:
            err().print(DiagnosticView(tuple(map(Located, found))))
        if self._may_ask and self.expected.p90_s > 0:  # earlier calls say something
            note(f"Expected: {forecast_text(self.expected)}.")
        self.display.open(plan)

    def go_on(self, plan: ExecutionPlan, before: Sequence[Event]) -> None:
        """Show the run of `plan` that is resumed after the events `before`."""
        self.plan = plan
        self.display.open(plan, before)

    def report_ended(self, run: Run | None, unapproved: ExecutionPlan | None = None) -> None:
        """Report what a run took, and what models have used, where more than JSON is wanted.

        `unapproved` is a further plan, after a run with effects, that was not approved.
        """
        if unapproved is not None:
            if self._may_ask:
                err().print(self._view(unapproved))
            note(
                "A further plan was not approved; the run below stays as it is. `toolplan runs`"
                f" lists it; --approve {unapproved.digest} approves that plan."
            )
        if not self._may_ask:
            return
        expected, took_s = self.expected, None if run is None else run.took_s
        if expected is not None and expected.p90_s > 0 and took_s is not None:
            note(f"It {compared_text(expected, took_s)}.")
        report_usage(self.app.tracker)

    @property
    def approve(self) -> Approve | None:
        """Who approves, as `App` takes it: the plan of the digest, the person, or None."""
        asks = self._may_ask and sys.stdin.isatty() and sys.stderr.isatty()
        by_values = ValueApproval(ValuesQuestion(self.display, _line, by_word=self._by_word))
        if self._digest == VALUES:
            return by_values if asks else ValueApproval()
        known = self._ask
        if self._digest is not None:
            known = DigestApprover(self._digest, self._ask, self._times)
        if self._yes or not asks:
            return known if self._yes or self._digest is not None else None

        def choose(plan: ExecutionPlan) -> Approver | ValueApproval:
            # values that tools give are shown before a person decides
            wants_values = needs_values(plan) and self._digest in (None, plan.digest)
            return by_values if wants_values else known

        return ByPlan(choose, known)

    @contextmanager
    def watching(self, app: App) -> Generator[None]:
        """Show a run of `app`; report how to continue where it is not approved, or interrupted.

        Output of tools goes to standard error meanwhile.

        Raises:
            CommandError: the plan was not approved.
            KeyboardInterrupt: the run was interrupted.
            RunStopped: code of a tool stopped it.
        """
        self.app = app
        try:
            # the view closes first: it restores the output that it found when it began
            with redirect_stdout(sys.stderr), closing(self.display):
                yield
            journal = self.app.journal
            if self._times > 1 and self._digest is not None and journal is not None:
                used = len(journal.users(self._digest))
                how = f"{used} of {self._times} runs: {max(self._times - used, 0)} left."
                note(f"--approve {self._digest} was used for {how}")
        except ApprovalRequired as required:
            raise self._missing(required) from None
        except RunStopped:
            raise RunStopped(self._stopped_help()) from None
        except KeyboardInterrupt:
            note(f"Interrupted. {self._stopped_help()}")
            raise

    def _stopped_help(self) -> str:
        """Return how to continue the run, if the journal has it: its plan may be incomplete."""
        journal, short = self.app.journal, self.run[:SHORT]
        try:
            if journal is not None and self.run and journal.find(self.run):
                return (
                    f"`toolplan show {short}` shows the run, `toolplan resume {short}` resumes it."
                )
        except JournalError:
            pass
        return "No run was kept."

    def _view(self, plan: ExecutionPlan) -> approval_view.ApprovalView:
        return approval_view.ApprovalView(effect_steps(plan, self.app.tools), plan.digest)

    def _missing(self, required: ApprovalRequired) -> CommandError:
        if self._refusal is not None:
            return self._refusal
        if self.plan is not None and self._may_ask:
            err().print(self._view(self.plan))
        if self._by_word:
            return _refused("The run waits for a person; nothing was approved.", _WAYS)
        steps = () if self.plan is None else effect_steps(self.plan, self.app.tools)
        other = f", not {self._digest}" if self._digest is not None else ""
        changes = (
            "changes something" if approval_view.declares_effects(steps) else "may change something"
        )
        undeclared = next((each.tool for each in steps if each.effects is Effects.UNKNOWN), None)
        label = f" If {undeclared} only reads, say so: --effects {undeclared}=read, or [effects]."
        return CommandError(
            "approval-required",
            f"The plan {changes} and was not run. Its digest is {required.digest}{other}.",
            "Read the plan. --yes approves any plan; --approve DIGEST this plan and no other."
            f"{'' if undeclared is None else label}",
            details=approval_view.approval_json(steps, required.digest),
        )

    async def _ask(self, plan: ExecutionPlan) -> Approval | bool | None:
        """Show the effects of `plan`, and ask unless `--yes` or a program has approved it."""
        asks = not self._yes and sys.stdin.isatty()
        if asks and needs_values(plan):
            return True  # its calls wait with their values, and the question is about these
        if asks and not sys.stderr.isatty():
            self._refusal = _refused(
                "The effects cannot be shown: standard error is not the terminal.",
                "Run it without redirecting standard error, or add --yes to run it unseen.",
            )
            return None
        self.display.pause()
        view = self._view(plan)
        if asks:
            await asyncio.to_thread(show_long, err(), view)
        if self._may_ask or sys.stderr.isatty():
            err().print(view)
        agreed = not asks or await agreed_to("run", new_word() if self._by_word else "")
        self.display.resume()
        if agreed:
            return approve(plan)
        self._refusal = _refused("The plan was not approved; nothing was run.")
        return None


def report_usage(tracker: UsageTracker) -> None:
    """Print the usage of models, where any was asked."""
    usage = tracker.usage
    if not usage.calls:
        return
    calls = count_text(usage.calls, "model call")
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    note(f"{calls}: {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}.")


def _refused(message: str, help: str | None = None) -> CommandError:
    return CommandError("approval-required", message, help)


async def agreed_to(action: str, word: str = "") -> bool:
    """Ask until the person says yes, or `word` if there is one, or no; nothing is a no."""
    while True:
        discard_input()
        question = f"Type {word} to {action} it: " if word else f"{action.capitalize()} it? [y/N] "
        err().prompt(question)
        said = (await _line()).strip()
        if said == word if word else said.lower() in ("y", "yes"):
            return True
        if said.lower() in ("", "n", "no"):
            return False
        err().print(f"{printable(repr(said))} is not an answer.")


async def _line() -> str:
    """Read a line from the terminal, so that an interrupt ends the wait."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    number = sys.stdin.fileno()
    try:
        loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
    except NotImplementedError:  # some loops watch sockets only
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        await ready
    finally:
        loop.remove_reader(number)
    return os.read(number, 1_000).decode("utf-8", "replace")


class ValuesQuestion:
    """Asks a person at the terminal about calls that wait, step by step."""

    def __init__(
        self, display: Display, line: Callable[[], Awaitable[str]], *, by_word: bool = False
    ) -> None:
        """Read answers with `line`; `by_word` asks for a shown word instead of `y`."""
        self._display, self._line, self._by_word = display, line, by_word

    async def __call__(self, effects: tuple[Effect, ...]) -> dict[str, Answer]:
        """Return the decision of the person about each step."""
        self._display.pause()
        answers: dict[str, Answer] = {}
        for step, calls in approval_view.by_step(effects):
            view = approval_view.EffectsView(calls)
            await asyncio.to_thread(show_long, err(), view)
            err().print(view)
            answers[step] = await self._asked(calls)
        self._display.resume()
        return answers

    async def _asked(self, calls: Sequence[Effect]) -> Answer:
        """Ask about the calls of a step until there is an answer."""
        what = "this call"
        if len(calls) > 1:
            what, left = f"these {len(calls)} calls", calls[-1].item
            err().print(f"y except {left} leaves call {left} out, which is another plan.")
        while True:
            discard_input()
            yes = new_word() if self._by_word else "y"
            err().prompt(f"Make {what}? {yes}, or n and why; Enter leaves it for later: ")
            said = (await self._line()).strip()
            first, _, rest = said.partition(" ")
            if self._by_word and first == yes:
                said = f"y {rest}".strip()
            elif self._by_word and first.lower() in ("y", "yes"):
                err().print(f"{printable(repr(first))} is not the word.")
                continue
            try:
                return _answer(said, calls)
            except ValueError:
                err().print(f"{printable(repr(said))} is not an answer.")


def _answer(said: str, calls: Sequence[Effect]) -> Answer:
    """Return the decision in `said` about `calls`: y, y except 0, 2, or n and why."""
    word, _, reason = said.partition(" ")
    rest = reason.lower().replace(",", " ").split()
    match word.lower():
        case "":
            return None
        case "y" | "yes" if not reason.strip():
            return True
        case "y" | "yes" if rest[:1] == ["except"] and len(rest) > 1:
            known = {str(each.item) for each in calls if each.item is not None}
            if known.issuperset(rest[1:]):
                return LeaveOut(tuple(map(int, rest[1:])))
        case no if no.rstrip(",.:") in ("n", "no"):
            return Denied(reason.strip())
        case _:
            pass
    raise ValueError(said)


def approved_by_word(
    store: Store, run: str, *, yes: bool, approves: bool, here: bool = True
) -> bool:
    """Return whether a client of the MCP server made the run, so that a person types a word.

    `approves` says that an option of the command approves something, `here` that this process
    makes its calls, and can ask.

    Raises:
        CommandError: such a run would be approved without a person at a terminal.
    """
    if not maker_of(store.record(run).plan):
        return False
    is_attended = here and sys.stdin.isatty() and sys.stderr.isatty()
    if yes or (approves and not is_attended):
        said = f"{'--yes' if yes else 'An option'} does not approve this run: an MCP client made it"
        raise _refused(
            f"{said}, and a model that speaks for the client may have this shell, too.", _WAYS
        )
    return True


def new_word() -> str:
    """Return a word that is shown, and typed by the person who approves."""
    return f"{secrets.choice(_WORDS)}-{secrets.randbelow(90) + 10}"
