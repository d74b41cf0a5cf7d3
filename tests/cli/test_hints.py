"""`toolplan hints`: what is proposed for tools, as a file for a person to review."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import Call

SHOP = '''
from dataclasses import dataclass

import toolplan


@dataclass
class Order:
    id: str
    channel: str


@toolplan.tool(effects="read")
def list_orders(channel: str | None = None) -> list[Order]:
    """Orders."""
    return [Order(f"R{at}", ("web", "phone", "store")[at % 3]) for at in range(60)]


@toolplan.tool(effects="write")
def cancel_order(id: str) -> str:
    """Cancels an order."""
    raise AssertionError("a tool that changes something is not called")
'''


def test_values_that_repeat_in_a_list_are_proposed_and_then_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]
    (tmp_path / "hinted_shop.py").write_text(SHOP, "utf-8")
    assert call("plan", "web orders", "--tools", "hinted_shop:*", "--json").code == 1
    said = call("hints", "--tools", "hinted_shop:*", "--output", "hinted.json", "--json", code=0)
    assert "Hints proposed: 1. Review them" in said.err
    objects = json.loads((tmp_path / "hinted.json").read_text("utf-8"))
    channel = objects[0]["input_schema"]["properties"]["channel"]
    assert channel["x-gazetteer"] == ["phone", "store", "web"]
    planned = call("plan", "web orders", "--tools", "hinted.json", "--json")
    assert planned.json["steps"][0]["args"] == {"channel": "web"}
