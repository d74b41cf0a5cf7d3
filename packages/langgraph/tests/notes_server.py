"""A small MCP server with a memory: what it was given lasts as long as its process."""

from __future__ import annotations

import os
from typing import Any, Final

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

_NOTES: Final[list[str]] = []

server = MCPServer("notes", version="1", log_level="ERROR")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_all() -> dict[str, Any]:
    """List the notes, and which process keeps them."""
    return {"notes": [*_NOTES], "process": os.getpid()}


@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
def add(text: str) -> dict[str, Any]:
    """Add a note."""
    _NOTES.append(text)
    return {"count": len(_NOTES)}


if __name__ == "__main__":
    server.run("stdio")
