"""Flows of a plan as a table: from, into, label, what is needed, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from toolplan.plan.path import Json, print_path
from toolplan.policy import Flow, Source
from toolplan.show._lines import GAP, Line, Piece, Screen, grid_lines, grid_widths, pair_lines
from toolplan.show.approval_view import BY_DEFAULT
from toolplan.show.exact import exact_text
from toolplan.show.printable import printable

_COLUMNS = ("from", "into", "label", "needs", "verdict")


class FlowsView(Struct, frozen=True):
    """Flows, as they are printed, a row each; where rows are too wide, a list of fields each."""

    flows: Sequence[Flow]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        cells = [_COLUMNS, *(_row(flow) for flow in self.flows)]
        rows = [[Piece(screen.fit(printable(cell))) for cell in row] for row in cells]
        head, *rest = rows
        if sum(grid_widths(rows)) + len(GAP) * (len(_COLUMNS) - 1) <= screen.width:
            yield from grid_lines(rows)
            return
        for row in rest:
            yield from pair_lines([*zip(head, row, strict=True)], screen)
            yield ()


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
            for source in _sources(flow)
        ],
        "verdict": flow.verdict.value,
        **({"default": flow.default} if flow.kind == "default" else {}),
    }


def _sources(flow: Flow) -> Sequence[Source]:
    return flow.label.secrets if flow.kind == "secret" else flow.label.sources


def _row(flow: Flow) -> tuple[str, str, str, str, str]:
    into, needs, verdict = f"{flow.step}: {flow.pointer}", str(flow.needs), flow.verdict.value
    if flow.kind == "default":
        return BY_DEFAULT, f"{into} = {exact_text(flow.default)}", "default", needs, verdict
    sources = ", ".join(map(str, _sources(flow))) or "the plan"
    if flow.kind == "secret":
        return sources, into, "secret", "no secret", verdict
    return sources, into, flow.label.trust.word, needs, verdict
