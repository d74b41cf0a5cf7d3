"""Calls in doubt, for the person who decides about them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolplan.events import CallInDoubt, Run
from toolplan.path import Json
from toolplan.render import runs_view
from toolplan.render.printable import printable, visible

_MOST_OF_A_RESULT = 2_000


def doubt_lines(run: Run) -> Iterator[str]:
    """Yield lines on each call in doubt, with all its arguments, and how a person decides."""
    short = run.run[: runs_view.SHORT]
    for step in run.steps.values():
        for each in step.doubts:
            yield f"{_place(each)}: in doubt, it is not known whether this call did its work."
            yield f"  call:   {call_text(each)}"
            yield f"  reason: {printable(each.failure.message)}"
            if each.result is not None:
                yield f"  result: {result_text(each.result, short)}"
        if step.doubts:
            first = _place(step.doubts[0])
            yield f"  make it again:               toolplan resume {short} --retry {first}"
            yield f"  it did, and gave a value:    toolplan resume {short} --resolve {first}=JSON"
            yield f"  it did not, let it fail:     toolplan resume {short} --abort {first}"
        if len(step.doubts) > 1:
            yield f"  Decide about all {len(step.doubts)} calls; an option can be repeated."


def call_text(doubt: CallInDoubt) -> str:
    """Return a call with its arguments: `send(to="ann")`."""
    match doubt.args:
        case dict() as args:
            listed = ", ".join(f"{printable(name)}={_value(args[name])}" for name in args)
        case _:
            listed = "arguments unknown"
    return f"{printable(doubt.tool) or 'call'}({listed})"


def result_text(result: Json, run: str) -> str:
    """Return what a call gave back that cannot be used; a long one is cut, and says where it is."""
    match result:
        case {"json": value}:
            text = _value(value)
        case {"text": str(text)}:
            text = visible(" ".join(text.split("\n")))
        case _:
            text = _value(result)
    if len(text) <= _MOST_OF_A_RESULT:
        return text
    more = len(text) - _MOST_OF_A_RESULT
    return f"{text[:_MOST_OF_A_RESULT]} … {more} more characters: toolplan show {run} --json"


def _place(doubt: CallInDoubt) -> str:
    name = printable(doubt.step)
    return name if doubt.item is None else f"{name}:{doubt.item}"


def _value(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
