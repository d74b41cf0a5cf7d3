"""Tools whose calls are written down by a process of their own; only workers have its address."""

from __future__ import annotations

import asyncio
import os
from functools import cache

from tests.crash.ledger import Client
from toolplan import current_call, tool
from toolplan.plan.path import Json

ADDRESS = "TOOLPLAN_TEST_LEDGER"


@cache
def _client(address: str, process: int) -> Client:
    del process  # each has a connection of its own
    return Client(address)


async def _happens(name: str, args: Json, before_s: float, after_s: float) -> None:
    """Do something elsewhere, some time after the call was begun and before it returns."""
    if address := os.environ.get(ADDRESS):
        await asyncio.sleep(before_s)
        call = current_call()
        assert call is not None
        _client(address, os.getpid()).record(name, call, args)
        await asyncio.sleep(after_s)


@tool(effects="read")
async def look(x: int, before: float = 0.0, after: float = 0.0) -> int:
    """Look at a number."""
    await _happens("look", x, before, after)
    return x + 1


@tool(effects="write")
async def pay(word: str, amount: int, before: float = 0.0, after: float = 0.0) -> str:
    """Pay, which must not be repeated."""
    await _happens("pay", paid(word, amount), before, after)
    return paid(word, amount)


@tool(effects="write", idempotent=True)
async def store(word: str, before: float = 0.0, after: float = 0.0) -> str:
    """Store a word, which may be repeated."""
    await _happens("store", word, before, after)
    return word


def paid(word: str, amount: int) -> str:
    """Return the receipt of a payment."""
    return f"{word}: {amount}"


TOOLS = [look, pay, store]
