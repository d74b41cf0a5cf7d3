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
    """An ellipsis stands in place of steps, elements of a list or keys.

    Models shorten long plans and lists by `...` or `…`. What was left out is not known, so a plan
    without it would do something else. The text `...` as an element of a list or as a key is
    refused too; a whole argument may be that text, as the body of a message.

    How to fix: write all of it, or use `for_each` over the result of a step.
    """
    may_have = "..." in context.text or "…" in context.text
    steps = context.plan.steps if may_have else ()
    for position, step in enumerate(steps):
        for name, value in step.args.items():
            if isinstance(value, Literal) and not isinstance(value.value, list | dict):
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
                place = f"{pointer}/{position}"
                if isinstance(item, Literal) and _is_left_out(item.value):
                    yield place
                yield from _ellipses(item, place)
        case Object(fields):
            for key, inner in fields:
                place = f"{pointer}/{escape_pointer(key)}"
                if is_ellipsis(key):
                    yield place
                yield from _ellipses(inner, place)
        case _:
            return


def _in_constant(constant: Json, pointer: str) -> Iterator[str]:
    match constant:
        case list():
            for position, item in enumerate(constant):
                place = f"{pointer}/{position}"
                if _is_left_out(item):
                    yield place
                yield from _in_constant(item, place)
        case dict():
            for key, item in constant.items():
                place = f"{pointer}/{escape_pointer(key)}"
                if is_ellipsis(key):
                    yield place
                yield from _in_constant(item, place)
        case _:
            return


def _is_left_out(item: Json) -> bool:
    return isinstance(item, str) and is_ellipsis(item)
