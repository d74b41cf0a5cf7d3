"""`python -m toolplan.demo --mcp`: the demo's tools as an MCP server."""

from __future__ import annotations

import sys

from toolplan.demo.server import main

if __name__ == "__main__":
    sys.exit(main())
