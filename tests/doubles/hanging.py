"""Tools that do not end, and do not let themselves be cancelled."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import toolplan

_KEPT: list[object] = []


async def _for_ever() -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            continue


@toolplan.tool(effects="read")
async def deaf(n: int) -> int:
    """Swallows its cancellation."""
    await _for_ever()
    return n


@toolplan.tool(effects="write")
async def deaf_write(n: int) -> int:
    """Swallows its cancellation, and changes something."""
    await _for_ever()
    return n


@toolplan.tool(effects="read")
def blocked(n: int) -> int:
    """Blocks its thread."""
    time.sleep(3600)
    return n


@toolplan.tool(effects="read")
async def to_thread(n: int) -> int:
    """Blocks a thread of the event loop."""
    await asyncio.to_thread(time.sleep, 3600)
    return n


@toolplan.tool(effects="read")
async def own_pool(n: int) -> int:
    """Blocks a thread for which the interpreter waits at its end."""
    pool = ThreadPoolExecutor(1)
    _KEPT.append(pool)
    await asyncio.get_running_loop().run_in_executor(pool, time.sleep, 3600)
    return n


@toolplan.tool(effects="read")
async def leaves_a_task(n: int) -> int:
    """Returns, and leaves a task that swallows its cancellation."""
    _KEPT.append(asyncio.create_task(_for_ever()))
    return n


@toolplan.tool(effects="read")
def good(n: int) -> int:
    """Returns at once."""
    return n


TOOLS = [deaf, deaf_write, blocked, to_thread, own_pool, leaves_a_task, good]
