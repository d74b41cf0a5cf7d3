"""The tools of the tests of workers; the file in LEDGER notes each call."""

import asyncio
import os
import time
from pathlib import Path

from toolplan import tool


def _note(word: str) -> None:
    with Path(os.environ["TOOLPLAN_HOME"], "ledger").open("a") as file:
        file.write(word + "\n")


@tool(effects="read")
async def read(x: int = 0, seconds: float = 0.0) -> int:
    """Read a number."""
    await asyncio.sleep(seconds)
    return x


@tool(effects="write")
async def write(x: str, seconds: float = 0.0) -> str:
    """Write a word, once."""
    _note(f"begin:{x}")
    await asyncio.sleep(seconds)
    _note(f"end:{x}")
    return x


@tool(effects="read")
async def busy(name: str = "", seconds: float = 0.02) -> str:
    """Note when it begins and ends."""
    _note(f"{time.monotonic_ns()}:+1")
    await asyncio.sleep(seconds)
    _note(f"{time.monotonic_ns()}:-1")
    return name


@tool(effects="read")
async def die(x: int = 0) -> int:
    """End the process, as a bug in a library of C would."""
    os._exit(9)


TOOLS = [read, write, busy, die]
