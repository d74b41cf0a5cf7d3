"""The toolbox of the measured workers, and the plans that they run."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from pathlib import Path
from typing import Final

from toolplan import tool
from toolplan.plan.path import Json

FOLDER: Final = "TOOLPLAN_HOME"
"""The variable with the folder in which calls note what they do."""


@tool(effects="read")
async def step(key: str, left: int = 0, right: int = 0) -> int:
    """Do nothing."""
    return len(key) + left + right


@tool(effects="write")
async def change(key: str, left: int = 0, right: int = 0) -> int:
    """Do nothing that may be done twice."""
    return len(key) + left + right


@tool(effects="read")
async def wait(seconds: float, key: str = "") -> float:
    """Wait, and return when that began, on the clock that all processes share."""
    began = time.monotonic()
    _note("waits", f"{began} {os.getpid()} {key}")
    await asyncio.sleep(seconds)
    return began


@tool(effects="read")
async def busy(key: str, seconds: float) -> str:
    """Wait, where only so many may at once."""
    began = time.monotonic_ns()
    await asyncio.sleep(seconds)
    _note("busy", f"{began} {time.monotonic_ns()}")
    return key


TOOLS = [step, change, wait, busy]


def _note(name: str, line: str) -> None:
    with Path(os.environ[FOLDER], name).open("a") as file:
        file.write(f"{line}\n")


def layered(steps: int, name: str = "step", *, width: int = 2) -> str:
    """Return a plan of layers of `width`; each step refers to two of the layer before."""
    chance = random.Random(7)
    made: list[Json] = []
    for at in range(steps):
        layer = at // width
        args: dict[str, Json] = {"key": f"s{at}"}
        if layer:
            before = range((layer - 1) * width, layer * width)
            for argument in ("left", "right"):
                args[argument] = f"${{s{chance.choice(before)}}}"
        made.append({"id": f"s{at}", "tool": name, "args": args})
    return plan(*made)


def plan(*steps: Json) -> str:
    """Return a plan of these steps."""
    return json.dumps({"toolplan": 1, "steps": [*steps]})
