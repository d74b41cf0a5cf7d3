"""Servers of streams that end without a connection left open."""

import asyncio


async def stop_listening(server: asyncio.Server) -> None:
    """Close a server after each connection that it accepted has begun.

    asyncio asserts that a server is open when an accepted connection begins; one that was accepted
    in the turn of the loop in which the server is closed fails there, with its socket open.
    """
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(5):
        await asyncio.sleep(0)
    server.close()
