"""What a step does, as texts: its arguments, and under what conditions it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Final

from toolplan.events import StepState
from toolplan.plan.model import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, Plan, Step, When, needs
from toolplan.plan.path import Json
from toolplan.show._lines import Piece, plain, wrapped
from toolplan.show.printable import cell, number_text, printable, value_text

VALUE_WIDTH: Final = 2_000
"""The most characters of a value that are shown."""

COLOURS: Final = {
    StepState.RUNNING: ("#ddf4ff", "#0969da"),
    StepState.SUCCEEDED: ("#dafbe1", "#1a7f37"),
    StepState.FAILED: ("#ffebe9", "#cf222e"),
    StepState.SKIPPED: ("#eaeef2", "#8c959f"),
    StepState.CANCELLED: ("#eaeef2", "#8c959f"),
    StepState.WAITING: ("#fff8c5", "#9a6700"),
    StepState.IN_DOUBT: ("#fff8c5", "#9a6700"),
}
"""For the state of a step in a drawing of a run: the colours of the box and of its frame."""


def layers(plan: Plan) -> Iterator[list[Step]]:
    """Yield the steps by the length of the longest chain before them; those of cycles come last."""
    steps: dict[str, list[Step]] = {}  # a faulty plan may use an id twice
    for step in plan.steps:
        steps.setdefault(step.id, []).append(step)
    order = {name: at for at, name in enumerate(steps)}
    sorter = TopologicalSorter[str]()
    for step in plan.steps:
        sorter.add(step.id, *(name for name in needs(step) if name in steps))
    with suppress(CycleError):  # what stands before the cycle is sorted all the same
        sorter.prepare()
    while ready := sorter.get_ready():
        sorter.done(*ready)
        yield [step for name in sorted(ready, key=order.__getitem__) for step in steps.pop(name)]
    if steps:
        yield [step for same in steps.values() for step in same]


def argument_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield the arguments of `step`, each as `name: value`."""
    return (f"{cell(name)}: {value_text(value, width)}" for name, value in step.args.items())


def condition_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield what else decides whether and how often `step` runs."""
    if step.after:
        yield "after " + ", ".join(map(printable, step.after))
    if step.for_each is not None:
        most = _at_most(step.max_items, DEFAULT_MAX_ITEMS)
        yield f"for each item of {value_text(step.for_each, width)}{most}"
    if step.pages is not None:
        yield f"all pages{_at_most(step.max_pages, DEFAULT_MAX_PAGES)}"
    if step.when is not None:
        yield f"when {condition_text(step.when, width)}"
    if step.on_error == "continue":
        yield "on error: continue"
    if step.timeout_s is not None:
        yield f"timeout: {number_text(step.timeout_s)} s"
    if step.retries:
        yield f"retries: {number_text(step.retries)}"


def _at_most(count: int, usual: int) -> str:
    return "" if count == usual else f", at most {number_text(count, grouped=True)}"


def condition_text(when: When, width: int = VALUE_WIDTH) -> str:
    """Return a condition in words, followed by its JSON Schema."""
    said = f"{condition_words(when)}: {value_text(when.schema, width)}"
    return f"{value_text(when.value, width)} {said}"


def condition_words(when: When) -> str:
    """Return what a condition asks of its value: `is at least 5`; `fits` where words fail."""
    return " and ".join(_words(when.schema)) or "fits"


_BOUNDS: Final = {
    "minimum": "is at least {}",
    "maximum": "is at most {}",
    "exclusiveMinimum": "is more than {}",
    "exclusiveMaximum": "is less than {}",
    "multipleOf": "is a multiple of {}",
    "minItems": "has at least {} element(s)",
    "maxItems": "has at most {} element(s)",
    "minLength": "has at least {} character(s)",
    "maxLength": "has at most {} character(s)",
    "pattern": "matches {}",
    "format": "is a {}",
    "const": "is {}",
    "required": "has the field(s) {}",
    "type": "is of type {}",
}


def _words(schema: Json) -> list[str]:
    """Return what `schema` asks for in words, empty where they would not say all of it."""
    said: list[str] = []
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        match keyword, value:
            case ("enum", list()):
                listed = ", ".join(value_text(each, VALUE_WIDTH) for each in value)
                said.append(f"is one of {listed}")
            case ("not", dict()) if inner := _words(value):
                said.append(f"is not so that it {' and '.join(inner)}")
            case _ if keyword in _BOUNDS:
                before, _, behind = _BOUNDS[keyword].partition("{}")
                said.append(before + value_text(value, VALUE_WIDTH) + behind)
            case ("title" | "description" | "$comment", _):
                continue
            case _:
                return []
    return said


def box_lines(step: Step, mark: str, width: int, most: int) -> list[str]:
    """Return the lines of a box of a drawing: name, conditions, arguments, mark.

    They are broken between words, to `width` columns where the words allow it; a text is cut at
    `most` columns.
    """
    texts = [f"{printable(step.id)}: {printable(step.tool)}"]
    texts += [*condition_texts(step, most), *argument_texts(step, most)]
    texts += [printable(mark)] if mark else []
    return [plain([line]) for text in texts for line in wrapped((Piece(text),), width)]
