"""Texts of a step: its arguments and its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Final

from toolplan.plan.model import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, Plan, Step, When, needs
from toolplan.plan.path import Json
from toolplan.show.printable import cell, number_text, printable, value_text

VALUE_WIDTH: Final = 2_000
"""Maximum number of characters of a shown value."""


def layers(plan: Plan) -> Iterator[list[Step]]:
    """Yield the steps by the length of the longest chain before them; those of cycles come last."""
    steps: dict[str, list[Step]] = {}  # a faulty plan may use an id twice
    for step in plan.steps:
        steps.setdefault(step.id, []).append(step)
    order = {name: at for at, name in enumerate(steps)}
    sorter = TopologicalSorter[str]()
    for step in plan.steps:
        sorter.add(step.id, *(name for name in needs(step) if name in steps))
    with suppress(CycleError):  # steps before the cycle are sorted all the same
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
    """Yield the conditions that decide whether and how often `step` runs."""
    if step.after:
        yield "after " + ", ".join(map(printable, step.after))
    if step.for_each is not None:
        most = _at_most(step.max_items, DEFAULT_MAX_ITEMS)
        yield f"for each item of {value_text(step.for_each, width)}{most}"
    if step.pages is not None:
        yield f"all pages{_at_most(step.max_pages, DEFAULT_MAX_PAGES)}"
    if step.when is not None:
        words, schema = condition_words(step.when), value_text(step.when.schema, width)
        yield f"when {value_text(step.when.value, width)} {words}: {schema}"
    if step.on_error == "continue":
        yield "on error: continue"
    if step.timeout_s is not None:
        yield f"timeout: {number_text(step.timeout_s)} s"
    if step.retries:
        yield f"retries: {number_text(step.retries)}"


def _at_most(count: int, usual: int) -> str:
    return "" if count == usual else f", at most {number_text(count, grouped=True)}"


def condition_words(when: When) -> str:
    """Describe a condition: `is at least 5`; `fits` where words fail."""
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
    """Describe the requirements of `schema`, empty where words would not cover all of them."""
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
