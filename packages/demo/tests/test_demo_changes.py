"""What tools change in the demo's data lasts, until it is reset."""

import asyncio
import datetime
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolplan.cli import main
from toolplan.schema.tool import Toolbox, ToolError
from toolplan_demo.changes import FILE, changes_file
from toolplan_demo.tools import demo_tools

DAY = datetime.date(2025, 10, 12)
ROWS = 200


def call(tools: Toolbox, tool: str, /, **arguments: Any) -> Any:
    function = tools[tool].call
    assert function is not None
    return asyncio.run(function(arguments))  # type: ignore[arg-type]


def tools(day: datetime.date = DAY, rows: int = ROWS) -> Toolbox:
    return demo_tools(day, rows, lasts=True)


def first(found: Toolbox) -> Any:
    return call(found, "shipments_list", limit=1)["data"][0]


def changed(found: Toolbox) -> str:
    """Change a shipment so that it is rejected, and return its identifier."""
    shipment = first(found)["id"]
    call(found, "shipments_update", id=shipment, status="rejected", carrier="Mine")
    return shipment


def test_a_change_lasts_until_it_is_reset(home: Path) -> None:
    """A15: asked again, in another process and on another day."""
    shipment = changed(tools())
    made = call(
        tools(),
        "facilities_create",
        name="My yard",
        location="Berlin",
        type="sorting",
        capacity_tons=5,
    )["data"]
    for found in (tools(), tools(DAY + datetime.timedelta(1))):
        assert call(found, "shipments_get", id=shipment)["data"]["carrier"] == "Mine"
        assert call(found, "facilities_get", id=made["id"])["data"]["name"] == "My yard"
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    other = demo_tools(DAY, ROWS)
    assert call(other, "shipments_get", id=shipment)["data"]["carrier"] != "Mine"
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--reset"])
    assert not ended.value.code
    assert not changes_file().exists()
    assert call(tools(), "shipments_get", id=shipment)["data"]["carrier"] != "Mine"


def test_what_is_undone_is_not_kept() -> None:
    found = tools()
    with pytest.raises(ToolError):
        call(found, "shipments_update", id="no such shipment", status="rejected")
    assert not changes_file().exists() or not _kept()


def test_a_change_is_on_disk_when_the_tool_returns(home: Path) -> None:
    code = """
import os, signal
from packages.demo.tests.test_demo_changes import changed, tools
print(changed(tools()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    shipment = done.stdout.strip()
    assert shipment, done.stderr
    assert call(tools(), "shipments_get", id=shipment)["data"]["carrier"] == "Mine"


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_that_cannot_be_used_is_named(*, is_folder: bool) -> None:
    if is_folder:
        changes_file().mkdir()
    else:
        changes_file().write_bytes(b"no database at all, but something else" * 40)
    with pytest.raises(ToolError, match="--reset"):
        first(tools())


def _kept() -> list[Any]:
    connection = sqlite3.connect(changes_file())
    try:
        return connection.execute("SELECT * FROM changes").fetchall()
    finally:
        connection.close()
