"""The result of a dry run, faults, scenarios and limits on calls, and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, json

from toolplan.base.shown import Shown, counted
from toolplan.events import StepState
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects
from toolplan.show.document import (
    Block,
    Bullets,
    Document,
    DocumentView,
    Heading,
    Lead,
    Note,
    Table,
    document_text,
)
from toolplan.show.printable import count_text, cut, number_text, printable


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


class MayFail(Fault, frozen=True):
    """A step that fails with earlier results of `tools`; other results may work."""

    tools: tuple[str, ...]


class Scenario(Struct, frozen=True):
    """One simulated run, and the final state of each step."""

    description: str
    states: Mapping[str, StepState]


class CallBounds(Struct, frozen=True):
    """The fewest calls of a run without failures, and the most, with all retries."""

    least: int
    most: int


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


_MOST_LINES: Final = 50
_MESSAGE_WIDTH: Final = 400


class DryRun(Shown, Struct, frozen=True):
    """The result of a dry run.

    Attributes:
        faults: what always fails, each once.
        may_fail: what fails with recorded results alone, each once.
        scenarios: the simulated scenarios.
        calls: how often each step is called, by its id.
        total: how often tools are called.
        limit: the most calls that a run may make; it stops there, whatever `total` says.
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
        return document_text(dry_document(self))

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


def dry_view(dry: DryRun) -> DocumentView:
    """Return the result of a dry run as it is printed."""
    return DocumentView(dry_document(dry))


def dry_document(dry: DryRun) -> Document:
    """Return the result of a dry run as a document (`toolplan.show.document`)."""
    return (*_faults(dry), *_risks(dry), *_calls(dry), *_effects(dry), *_gaps(dry))


def _faults(dry: DryRun) -> Iterator[Block]:
    if dry.faults:
        count = count_text(len(dry.faults), "fault")
        yield Lead(f"The dry run found {count}; no tool was called.", bad=True)
        yield Bullets(_few([f"{_where(fault)}: {_what(fault)}" for fault in dry.faults]), bad=True)
        return
    parts = ["The dry run found no fault"]
    if dry.may_fail:
        parts.append(count_text(len(dry.may_fail), "possible failure"))
    if dry.unchecked:
        parts.append(f"{count_text(len(dry.unchecked), 'step')} unchecked")
    yield Lead(f"{', '.join(parts)}; no tool was called.")


def _risks(dry: DryRun) -> Iterator[Block]:
    if dry.may_fail:
        yield Heading("May fail")
        yield Bullets(_few([_risk_line(each) for each in dry.may_fail]))
        yield Note("Other results may work; these are not faults of the plan.")


def _risk_line(risk: MayFail) -> str:
    tools = " and ".join(map(printable, risk.tools))
    return f"with earlier results of {tools}, {_where(risk)} fails: {_what(risk)}"


def _where(place: Fault) -> str:
    step = f"step {printable(place.step)}" if place.step else "the output"
    return f"{step} at {printable(place.pointer)}" if place.pointer else step


def _what(found: Fault) -> str:
    message = cut(printable(found.message), _MESSAGE_WIDTH)
    return f"{message} [{printable(found.code)}; {printable(found.scenario)}]"


def _calls(dry: DryRun) -> Iterator[Block]:
    yield Heading("Calls")
    rows = [(printable(name), _range(bounds)) for name, bounds in dry.calls.items()]
    more = len(rows) - _MOST_LINES
    yield Table(("step", "calls"), (False, True), (*rows[:_MOST_LINES], ("all", _range(dry.total))))
    if more > 0:
        yield Note(f"{count_text(more, 'step')} more, counted in the last row.")
    if dry.total.most > dry.limit:
        yield Note(f"A run stops after {number_text(dry.limit, grouped=True)} calls.")
    scenarios = _few([printable(scenario.description) for scenario in dry.scenarios])
    yield Note(f"{count_text(len(dry.scenarios), 'scenario')} simulated: {'; '.join(scenarios)}.")


def _effects(dry: DryRun) -> Iterator[Block]:
    yield Heading("Effects")
    if dry.effects:
        yield Bullets(_few([_effect_line(effect) for effect in dry.effects]))
    else:
        yield Note("The plan changes nothing.")


def _effect_line(effect: EffectBounds) -> str:
    is_undeclared = effect.effects is Effects.UNKNOWN  # treated as the worst
    kind = "may change something (undeclared)" if is_undeclared else effect.effects.value
    calls = count_text(effect.calls.most, "call")
    most = "" if effect.calls.least == effect.calls.most else "at most "
    return f"{printable(effect.step)}: {printable(effect.tool)}, {kind}, {most}{calls}"


def _gaps(dry: DryRun) -> Iterator[Block]:
    if dry.unchecked:
        yield Heading("Unchecked")
        lines = [
            f"{printable(gap.step)}: {cut(printable(gap.reason), _MESSAGE_WIDTH)}"
            for gap in dry.unchecked
        ]
        yield Bullets(_few(lines))


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines and the number of further ones."""
    more = len(lines) - _MOST_LINES
    ending = (f"{number_text(more, grouped=True)} more",) if more > 0 else ()
    return (*lines[:_MOST_LINES], *ending)


def _range(bounds: CallBounds) -> str:
    least = number_text(bounds.least, grouped=True)
    if bounds.least == bounds.most:
        return least
    return f"{least} to {number_text(bounds.most, grouped=True)}"
