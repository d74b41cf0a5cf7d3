"""What a step does, as texts: its arguments, and under what conditions it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.events import StepState
from toolplan.path import Json
from toolplan.plan import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, Step, When
from toolplan.render._lines import Piece, plain, wrapped
from toolplan.render.printable import cell, compact_json, number_text, printable, value_text

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


def argument_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield the arguments of `step`, each as `name: value`."""
    return (f"{cell(name)}: {value_text(value, width)}" for name, value in step.args.items())


def condition_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield what else decides whether and how often `step` runs."""
    if step.after:
        yield "after " + ", ".join(map(printable, step.after))
    if step.for_each is not None:
        most = ""
        if step.max_items != DEFAULT_MAX_ITEMS:
            most = f", at most {number_text(step.max_items, grouped=True)}"
        yield f"for each item of {value_text(step.for_each, width)}{most}"
    if step.pages is not None:
        most = ""
        if step.max_pages != DEFAULT_MAX_PAGES:
            most = f", at most {number_text(step.max_pages, grouped=True)}"
        yield f"all pages{most}"
    if step.when is not None:
        yield f"when {condition_text(step.when, width)}"
    if step.on_error == "continue":
        yield "on error: continue"
    if step.timeout_s is not None:
        yield f"timeout: {number_text(step.timeout_s)} s"
    if step.retries:
        yield f"retries: {number_text(step.retries)}"


def condition_text(when: When, width: int = VALUE_WIDTH) -> str:
    """Return a condition in words, followed by its JSON Schema."""
    said = f"{condition_words(when)}: {compact_json(when.schema, width)}"
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
                said.append("is one of " + ", ".join(_short(each) for each in value))
            case ("not", dict()) if inner := _words(value):
                said.append(f"is not so that it {' and '.join(inner)}")
            case _ if keyword in _BOUNDS:
                before, _, behind = _BOUNDS[keyword].partition("{}")
                said.append(before + _short(value) + behind)
            case ("title" | "description" | "$comment", _):
                continue
            case _:
                return []
    return said


def _short(value: Json) -> str:
    return compact_json(value, VALUE_WIDTH)


def box_lines(step: Step, mark: str, width: int, most: int) -> list[str]:
    """Return the lines of a box of a drawing: name, conditions, arguments, mark.

    They are broken between words, to `width` columns where the words allow it; a text is cut at
    `most` columns.
    """
    texts = [f"{printable(step.id)}: {printable(step.tool)}"]
    texts += [*condition_texts(step, most), *argument_texts(step, most)]
    texts += [printable(mark)] if mark else []
    return [line for text in texts for line in _wrapped(text, width)]


def _wrapped(text: str, width: int) -> list[str]:
    return [plain([line]) for line in wrapped((Piece(text),), width)]
