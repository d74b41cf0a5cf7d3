"""Plans made to be slow: ten times the size takes less than twenty times the time."""

import gc
import json
import time
from collections.abc import Callable

import pytest

from toolplan.compiler import examine, fixed_text
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool

TOOLS = [
    Tool(
        "t",
        "d",
        {"type": "object", "properties": {"v": {}, "w": {"type": "string"}}},
        {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False},
    )
]


def _step(at: int, **fields: Json) -> Json:
    return {"id": f"s{at}", "tool": "t", "args": {}, **fields}


def _args(**args: Json) -> Json:
    return {"toolplan": 1, "steps": [_step(0), _step(1, args=args)]}


def _steps(count: int, fields: Callable[[int], dict[str, Json]]) -> Json:
    return {"toolplan": 1, "steps": [_step(at, **fields(at)) for at in range(count)]}


SHAPES: dict[str, tuple[int, Callable[[int], Json]]] = {
    "references in a text": (1_000, lambda n: _args(v="${s0.x}" * n)),
    "references in a list": (1_000, lambda n: _args(v=list[Json](["${s0.x}"]) * n)),
    "broken references": (300, lambda n: _args(v=list[Json](["${s0.nope}"]) * n)),
    "a long reference": (1_000, lambda n: _args(v="${s0" + ".x" * n + "}")),
    "a long index": (1_000, lambda n: _args(v="${s0" + "[0]" * n + "}")),
    "unknown arguments": (300, lambda n: _args(**{f"a{at}": at for at in range(n)})),
    "wrong values": (300, lambda n: _steps(n, lambda at: {"args": {"w": at}})),
    "a giant text": (100_000, lambda n: _args(v="$${x} " * n)),
    "dollars": (100_000, lambda n: _args(v="$" * n + "{")),
    "a cycle": (200, lambda n: _steps(n, lambda at: {"after": [f"s{(at + 1) % n}"]})),
    "a chain": (200, lambda n: _steps(n, lambda at: {"after": [f"s{at - 1}"] if at else []})),
    "a star": (200, lambda n: _steps(n, lambda at: {"args": {"v": "${s0.x}"} if at else {}})),
    "lists of for_each": (2_000, lambda n: _args_each(list[Json](["${s0.x}"]) * n)),
    "conditions": (
        200,
        lambda n: _steps(n, lambda at: {"when": {"value": at, "is": {"type": "integer"}}}),
    ),
    "unknown fields": (300, lambda n: {"toolplan": 1, "steps": [_step(0)], **_many(n)}),
}


def _args_each(items: Json) -> Json:
    each = _step(1, for_each=items, max_items=100_000, args={"v": "${item}"})
    return {"toolplan": 1, "steps": [_step(0), each]}


def _many(count: int) -> dict[str, Json]:
    return {f"field{at}": at for at in range(count)}


def _seconds(work: Callable[[str], object], text: str) -> float:
    """Return the CPU time of one call, without the collector as `timeit` has it."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        work(text)
        return time.process_time() - started
    finally:
        gc.enable()


def _check(text: str) -> object:
    return examine(text, tools=TOOLS)


def _fix(text: str) -> object:
    return fixed_text(text, tools=TOOLS)


@pytest.mark.parametrize("work", [_check, _fix])
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_times_the_size_takes_less_than_twenty_times_the_time(
    shape: str, work: Callable[[str], object]
) -> None:
    count, make = SHAPES[shape]
    small, large = json.dumps(make(count)), json.dumps(make(10 * count))
    few, many = [_seconds(work, small)], [_seconds(work, large)]
    while (late := min(many) >= 20 * min(few) + 0.05) and len(many) < 5:  # a busy machine
        few.append(_seconds(work, small))
        many.append(_seconds(work, large))
    assert not late, f"seconds of the plan: {few}, of ten times its size: {many}"


@pytest.mark.parametrize("depth", [10, 60, 70, 1_000, 50_000])
@pytest.mark.parametrize("kind", ["list", "object", "condition", "for_each", "output"])
def test_what_nests_deep_is_a_diagnostic_and_no_traceback(kind: str, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth if kind == "object" else "[" * depth + "]" * depth
    fields = {
        "condition": f'"when": {{"value": 1, "is": {deep}}}',
        "for_each": f'"for_each": {deep}',
    }.get(kind, f'"args": {{"v": {deep}}}')
    output = f', "output": {deep}' if kind == "output" else ""
    text = f'{{"toolplan": 1, "steps": [{{"id": "a", "tool": "t", {fields}}}]{output}}}'
    found = examine(text, tools=TOOLS)
    if depth > 64:
        assert any(each.code in ("too-deep", "syntax") for each in found.diagnostics)
    fixed_text(text, tools=TOOLS)
