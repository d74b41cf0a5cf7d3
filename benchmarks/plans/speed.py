"""How long it takes to parse and check a plan, in CPU time of this process.

Plans and tools are made here, so that the figures need no data folder. Tools are compiled before
the clock starts; text is parsed anew each time, as it would be for each plan of a planner.
"""

from __future__ import annotations

import gc
import json
import random
import time
from collections.abc import Sequence
from statistics import mean, median
from typing import Final, NamedTuple

from toolplan.compiler import examine
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

TOOLS: Final = 50
STEPS: Final = 20
LARGE: Final = (1_000, 10_000)
"""Sizes of plan between which the time for each step should not grow."""


class Speed(NamedTuple):
    """Times in µs: of one plan of `STEPS` steps, and of each step of large plans by their size.

    `json_median_us` is what `json.loads` alone takes for the same text: machines differ in it.
    """

    plan_median_us: float
    json_median_us: float
    plan_bytes: int
    step_us: dict[int, float]


def measure(rounds: int = 300, seed: int = 7) -> Speed:
    """Return the times on this machine."""
    tools = toolbox(TOOLS)
    # each plan is another, so that nothing remembered of one helps with the next
    texts = [plan_text(STEPS, TOOLS, seed + at) for at in range(rounds)]
    times = [timed(text, "toolplan", tools) for text in texts]
    bare: list[float] = []
    for text in texts:
        start = time.process_time_ns()
        json.loads(text)
        bare.append((time.process_time_ns() - start) / 1_000)
    steps: dict[int, float] = {}
    for size in LARGE:
        large = plan_text(size, TOOLS, seed, lean=True)
        steps[size] = min(timed(large, "toolplan", tools) for _ in range(3)) / size
    return Speed(median(times), median(bare), len(texts[0].encode()), steps)


def mean_time(plans: Sequence[tuple[str, str, Toolbox]]) -> float:
    """Return the mean time in µs of (text, dialect, tools), each the least of three.

    All are run once before any is timed, so that what is worked out once for a tool is there; and
    one after the other, so that nothing remembered of a text helps with the same text again.
    """
    if not plans:
        return 0.0
    gc.collect()
    gc.freeze()  # what the measuring itself holds is not to be searched again and again
    rounds = [[timed(*plan) for plan in plans] for _ in range(4)]
    gc.unfreeze()
    return mean(map(min, *rounds[1:]))


def timed(text: str, dialect: str, tools: Toolbox) -> float:
    """Return the CPU time in µs that parsing and checking `text` takes."""
    start = time.process_time_ns()
    examine(text, dialect, tools)
    return (time.process_time_ns() - start) / 1_000


def toolbox(count: int) -> Toolbox:
    """Return `count` tools that list or get things, with schemas of the usual size."""
    return Toolbox.from_json([_tool(at) for at in range(count)])


def plan_text(steps: int, tools: int, seed: int, *, lean: bool = False) -> str:
    """Return a clean plan in canonical JSON.

    Each step but the first refers to one before it, twice.

    `lean` leaves out half of the arguments, so that 10,000 steps stay below the limit on text.
    """
    chance = random.Random(seed)
    made: list[Json] = []
    for at in range(steps):
        args: dict[str, Json] = {
            "query": f"things that are like number {at}",
            "status": chance.choice(("open", "closed", "rejected")),
            "limit": chance.randrange(1, 100),
            "date_from": "2025-10-06",
            "tags": ["new", "large"],
        }
        if lean:
            args = {"query": f"thing {at}", "limit": args["limit"]}
        if at:
            before = chance.randrange(max(0, at - 20), at)
            args["ids"] = f"${{s{before}.data[*].id}}"
            args["note"] = f"behind ${{s{before}.count}} others"
        made.append({"id": f"s{at}", "tool": f"things_{at % tools}_list", "args": args})
    return json.dumps({"toolplan": 1, "steps": made})


def _tool(at: int) -> Json:
    row: Json = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "required": ["id"],
    }
    return {
        "name": f"things_{at}_list",
        "description": "Lists things.",
        "annotations": {"readOnlyHint": True},
        "input_schema": {
            "x-pages": False,  # a plan over lists in pages is not clean: it gets all of them
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": 200},
                "status": {"type": "string", "enum": ["open", "closed", "rejected"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": 500},
                "date_from": {"type": "string", "format": "date"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "ids": {"type": "array", "items": {"type": "string"}},
                "note": {"type": "string"},
            },
            "required": ["query"],
        },
        "output_schema": {
            "type": "object",
            "properties": {"data": {"type": "array", "items": row}, "count": {"type": "integer"}},
            "required": ["data", "count"],
        },
    }
