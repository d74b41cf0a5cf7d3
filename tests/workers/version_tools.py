"""Two versions of one toolbox: `pay` of the second takes one argument more.

Each call is noted in the folder of its worker, as `VERSION:PROCESS:RUN:STEP:ITEM`.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from toolplan import Tool, current_call, tool


def _note(version: str) -> None:
    call = current_call()
    assert call is not None
    with Path(os.environ["TOOLPLAN_HOME"], "ledger").open("a") as file:
        file.write(f"{version}:{os.getpid()}:{call.run}:{call.step}:{call.item}\n")


def _old() -> list[Tool]:
    @tool(effects="write")
    async def pay(word: str, seconds: float = 0.0) -> dict[str, str]:
        """Pay, which must not be repeated."""
        _note("old")
        await asyncio.sleep(seconds)
        return {"word": word, "version": "old"}

    return [pay]


def _new() -> list[Tool]:
    @tool(effects="write")
    async def pay(word: str, seconds: float = 0.0, urgent: bool = True) -> dict[str, str]:
        """Pay, at once if it is urgent, which must not be repeated."""
        del urgent
        _note("new")
        await asyncio.sleep(seconds)
        return {"word": word, "version": "new"}

    return [pay]


def _described(words: str) -> list[Tool]:
    @tool(effects="write", name="send", description=words)
    async def send() -> int:
        return 1

    return [send]


OLD, NEW = _old(), _new()
READS, REWORDED = _described("Sends."), _described("Sends it once, and not twice.")
