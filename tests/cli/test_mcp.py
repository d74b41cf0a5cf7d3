"""`toolplan mcp`, called by the SDK's own client."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from tests.cli.calls import Call

WRITES = {
    "toolplan": 1,
    "steps": [
        {
            "id": "new",
            "tool": "facilities_create",
            "args": {"name": "N", "location": "Kiel", "type": "sorting", "capacity_tons": 9},
        }
    ],
}


def given(result: CallToolResult) -> Any:
    assert not result.is_error, result.content
    return result.structured_content


async def test_a_foreign_client_plans_and_runs_and_is_refused_an_effect(tmp_path: Path) -> None:
    env = {**os.environ, "TOOLPLAN_HOME": str(tmp_path)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolplan", "mcp", "--tools", "toolplan_demo:TOOLS"],
        env=env,
    )
    async with Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        ran = given(await client.call_tool("run", {"question": "facilities in Berlin"}))
        refused = await client.call_tool("run", {"plan": WRITES})
    assert names == ["search", "run", "runs"]
    assert ran["plan"]["steps"][0]["tool"] == "facilities_list"
    assert ran["status"] == "succeeded"
    assert refused.is_error
    text = json.dumps(refused.structured_content)
    assert "approval-required" in text
    assert "toolplan resume" in text


def test_a_server_for_everybody_needs_a_token(call: Call, monkeypatch: Any) -> None:
    """C09."""
    monkeypatch.delenv("TOOLPLAN_MCP_TOKEN", raising=False)
    said = call("mcp", "--http", "--host", "0.0.0.0", "--port", "0", code=2)
    assert "TOOLPLAN_MCP_TOKEN" in said.err
