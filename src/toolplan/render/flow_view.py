"""Flows of a plan as a table: from, into, label, what is needed, verdict."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from toolplan.flows import Flow
from toolplan.path import Json, print_path
from toolplan.render.printable import printable

_COLUMNS = ("from", "into", "label", "needs", "verdict")


def flow_table(flows: Iterable[Flow]) -> Table:
    """Return every flow as a row."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in _COLUMNS:
        table.add_column(name, overflow="fold")
    for flow in flows:
        table.add_row(*(printable(cell) for cell in _row(flow)))
    return table


def flow_to_json(flow: Flow) -> dict[str, Json]:
    """Return a flow as JSON."""
    return {
        "step": flow.step,
        "pointer": flow.pointer,
        "kind": flow.kind,
        "needs": str(flow.needs),
        "label": flow.label.trust.word,
        "sources": [
            {"step": source.step, "tool": source.tool, "path": print_path(source.path)}
            for source in flow.label.sources
        ],
        "verdict": flow.verdict.value,
    }


def _row(flow: Flow) -> tuple[str, str, str, str, str]:
    sources = flow.label.secrets if flow.kind == "secret" else flow.label.sources
    return (
        ", ".join(map(str, sources)) or "the plan",
        f"{flow.step}: {flow.pointer}",
        "secret" if flow.kind == "secret" else flow.label.trust.word,
        "no secret" if flow.kind == "secret" else str(flow.needs),
        flow.verdict.value,
    )
