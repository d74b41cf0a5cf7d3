"""The result of a dry run, faults, scenarios and limits on calls, and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, json

from toolplan.base.shown import Shown, counted
from toolplan.events import StepState
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects
from toolplan.show import document
from toolplan.show.printable import count_text, cut, number_text, printable

_MOST_LINES: Final = 50
_MESSAGE_WIDTH: Final = 400


class Fault(Struct, frozen=True):
    """A step that fails whatever its tools return; lists are assumed to have elements.

    `step` is empty for the plan's output. `code` and `pointer` are those of
    `toolplan.events.Failure`; `scenario` describes the first scenario with this fault.
    """

    step: str
    code: str
    message: str
    pointer: str
    scenario: str

    @property
    def place(self) -> str:
        """The step or the output, and the place in it."""
        where = f"step {printable(self.step)}" if self.step else "the output"
        return f"{where} at {printable(self.pointer)}" if self.pointer else where

    @property
    def problem(self) -> str:
        """The problem there, with its code and scenario."""
        message = cut(printable(self.message), _MESSAGE_WIDTH)
        return f"{message} [{printable(self.code)}; {printable(self.scenario)}]"


class MayFail(Fault, frozen=True):
    """A step that fails with earlier results of `tools`; other results may work."""

    tools: tuple[str, ...]


class Scenario(Struct, frozen=True):
    """One simulated run, and the final state of each step."""

    description: str
    states: Mapping[str, StepState]


class CallBounds(Struct, frozen=True):
    """The minimum number of calls, of a run without failures, and the maximum, with all retries."""

    least: int
    most: int

    def __str__(self) -> str:
        texts = [number_text(each, grouped=True) for each in (self.least, self.most)]
        return texts[0] if self.least == self.most else " to ".join(texts)


class EffectBounds(Struct, frozen=True):
    """A step that may change something, and how often it may be called."""

    step: str
    tool: str
    effects: Effects
    calls: CallBounds


class Unchecked(Struct, frozen=True):
    """A step that the dry run cannot check, and why."""

    step: str
    reason: str


class DryRun(Shown, Struct, frozen=True):
    """The result of a dry run.

    Attributes:
        faults: certain failures, each once.
        may_fail: failures with recorded results alone, each once.
        scenarios: the simulated scenarios.
        calls: how often each step is called, by its id.
        total: how often tools are called.
        limit: maximum number of calls of a run, which stops there, whatever `total` says.
        effects: the steps that may change something, in the order of the plan.
        unchecked: the steps that could not be checked, in the order of the plan.
    """

    faults: tuple[Fault, ...]
    may_fail: tuple[MayFail, ...]
    scenarios: tuple[Scenario, ...]
    calls: Mapping[str, CallBounds]
    total: CallBounds
    limit: int
    effects: tuple[EffectBounds, ...]
    unchecked: tuple[Unchecked, ...]

    def __str__(self) -> str:
        return document.document_text(dry_document(self))

    def __repr__(self) -> str:
        faults, risks = counted(len(self.faults), "fault"), counted(len(self.may_fail), "risk")
        return f"DryRun({faults}, {risks}, {counted(len(self.scenarios), 'scenario')})"

    @property
    def succeeded(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return json.decode(json.encode(self))


def dry_document(dry: DryRun) -> document.Document:
    """Return the result of a dry run as a document (`toolplan.show.document`)."""
    return (*_findings(dry), *_calls(dry), *_effects(dry))


def _findings(dry: DryRun) -> Iterator[document.Block]:
    if dry.faults:
        count = count_text(len(dry.faults), "fault")
        yield document.Lead(f"The dry run found {count}; no tool was called.", bad=True)
        yield document.Bullets(
            _few([f"{each.place}: {each.problem}" for each in dry.faults]), bad=True
        )
    else:
        parts = ["The dry run found no fault"]
        if dry.may_fail:
            parts.append(count_text(len(dry.may_fail), "possible failure"))
        if dry.unchecked:
            parts.append(f"{count_text(len(dry.unchecked), 'step')} unchecked")
        yield document.Lead(f"{', '.join(parts)}; no tool was called.")
    if dry.may_fail:
        yield document.Heading("May fail")
        yield document.Bullets(_few([
            f"with earlier results of {' and '.join(map(printable, each.tools))},"
            f" {each.place} fails: {each.problem}"
            for each in dry.may_fail
        ]))  # fmt: skip
        yield document.Note("Other results may work; these are not faults of the plan.")


def _calls(dry: DryRun) -> Iterator[document.Block]:
    yield document.Heading("Calls")
    rows = [(printable(name), str(bounds)) for name, bounds in dry.calls.items()]
    yield document.Table(
        ("step", "calls"), (False, True), (*rows[:_MOST_LINES], ("all", str(dry.total)))
    )
    if (more := len(rows) - _MOST_LINES) > 0:
        yield document.Note(f"{count_text(more, 'step')} more, counted in the last row.")
    if dry.total.most > dry.limit:
        yield document.Note(f"A run stops after {number_text(dry.limit, grouped=True)} calls.")
    scenarios = _few([printable(scenario.description) for scenario in dry.scenarios])
    yield document.Note(
        f"{count_text(len(dry.scenarios), 'scenario')} simulated: {'; '.join(scenarios)}."
    )


def _effects(dry: DryRun) -> Iterator[document.Block]:
    yield document.Heading("Effects")
    lines: list[str] = []
    for each in dry.effects:
        is_undeclared = each.effects is Effects.UNKNOWN  # treated as the worst
        kind = "may change something (undeclared)" if is_undeclared else each.effects.value
        most = "" if each.calls.least == each.calls.most else "at most "
        calls = f"{most}{count_text(each.calls.most, 'call')}"
        lines.append(f"{printable(each.step)}: {printable(each.tool)}, {kind}, {calls}")
    yield document.Bullets(_few(lines)) if lines else document.Note("The plan changes nothing.")
    if dry.unchecked:
        yield document.Heading("Unchecked")
        gaps = [(printable(each.step), printable(each.reason)) for each in dry.unchecked]
        yield document.Bullets(
            _few([f"{step}: {cut(reason, _MESSAGE_WIDTH)}" for step, reason in gaps])
        )


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines and the number of further ones."""
    more = len(lines) - _MOST_LINES
    ending = (f"{number_text(more, grouped=True)} more",) if more > 0 else ()
    return (*lines[:_MOST_LINES], *ending)
