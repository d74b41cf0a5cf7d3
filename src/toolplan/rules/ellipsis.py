"""The rule `ellipsis`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.path import Json
from toolplan.plan import Array, Literal, Object, Value, escape_pointer
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.source import ELLIPSIS, is_ellipsis


@rule()
def ellipsis(context: PlanContext) -> Iterator[Problem]:
    """An ellipsis stands in place of steps, values or keys.

    Models shorten long plans and lists by `...` or `…`. What was left out is not known, so a plan
    without it would do something else. The text of an argument that is nothing but an ellipsis is
    refused too; inside of other text an ellipsis is text.

    How to fix: write all of it, or use `for_each` over the result of a step.
    """
    for position, step in enumerate(context.plan.steps):
        for name, value in step.args.items():
            if isinstance(value, Literal) and not isinstance(value.value, str | list | dict):
                continue
            place = f"/steps/{position}/args/{escape_pointer(name)}"
            for pointer in _ellipses(value, place):
                yield Problem(f"{name!r}: {ELLIPSIS}.", pointer, step.id)


def _ellipses(value: Value, pointer: str) -> Iterator[str]:
    match value:
        case Literal(constant):
            yield from _in_constant(constant, pointer)
        case Array(items):
            for position, item in enumerate(items):
                yield from _ellipses(item, f"{pointer}/{position}")
        case Object(fields):
            for key, inner in fields:
                place = f"{pointer}/{escape_pointer(key)}"
                if is_ellipsis(key):
                    yield place
                else:
                    yield from _ellipses(inner, place)
        case _:
            return


def _in_constant(constant: Json, pointer: str) -> Iterator[str]:
    match constant:
        case str():
            if constant[:1] in (".", "…", " ") and is_ellipsis(constant):
                yield pointer
        case list():
            for position, item in enumerate(constant):
                yield from _in_constant(item, f"{pointer}/{position}")
        case dict():
            for key, item in constant.items():
                place = f"{pointer}/{escape_pointer(key)}"
                if is_ellipsis(key):
                    yield place
                else:
                    yield from _in_constant(item, place)
        case _:
            return
