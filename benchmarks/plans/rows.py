"""A data folder, read: rows of plans with their tools, and the flaws that are listed for them.

The form of the folder is that of its own `DATA.md`: `<set>.jsonl` with one row a line, perhaps
`<set>.tools.json` with tool lists by key, and one `flaws.json` for all sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from toolplan.schema.tool import Tool, Toolbox

Fields: TypeAlias = dict[str, Any]

TEXT_SETS: Final = (
    "nestful_v1",
    "nestful_v2",
    "nestools",
    "sealtools",
    "taskbench",
    "llmcompiler",
    "rewoo",
)
"""Sets whose rows have the source's own text, or references in the source's own syntax."""

LITERAL_SETS: Final = (
    "bfcl",
    "bfcl_multi_turn",
    "acebench",
    "tau",
    "agentdojo",
    "workbench",
    "apibank",
    "toolalpaca",
)
"""Sets whose arguments are written out; `toolalpaca`'s rows with placeholders are left out."""

MODEL_SETS: Final = ("nestful_v2_model_plans", "taskbench_model_plans")
"""Sets that models wrote, with their mistakes."""

APART: Final = ("worfbench",)
"""Sets that are counted apart: plans without tools."""

ALL_SETS: Final = (*TEXT_SETS, *LITERAL_SETS, *APART, *MODEL_SETS)


class Flaw(NamedTuple):
    """One listed violation: its kind, the id of the step (or `plan`, `result`), and the detail."""

    kind: str
    step: str
    detail: str


@dataclass(frozen=True, slots=True)
class Row:
    """One published plan.

    `fields` is the line as it stands. `toolbox` holds the tools that the plan may use; `flaws` is
    what is listed as wrong with it.
    """

    set: str
    id: str
    fields: Fields
    toolbox: Toolbox
    flaws: tuple[Flaw, ...] = ()

    @property
    def steps(self) -> list[Fields]:
        """The calls, as the row has them."""
        return self.fields["steps"]

    @property
    def counts(self) -> bool:
        """Whether it is a clean gold plan: steps, a tool in each, and no flaw listed."""
        return not self.flaws and bool(self.steps) and all(step["tool"] for step in self.steps)

    @property
    def has_placeholders(self) -> bool:
        """Whether an argument names a field of an earlier tool, not of a step (`toolalpaca`)."""
        return self.set == "toolalpaca" and "${" in json.dumps([s["arguments"] for s in self.steps])


@dataclass
class DataFolder:
    """A folder of sets. Tools that are the same JSON are one `Tool`, compiled once."""

    root: Path
    read_only: bool = False
    _tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    _shelves: dict[tuple[str, str], Toolbox] = field(default_factory=dict[tuple[str, str], Toolbox])
    _flaws: dict[str, dict[str, list[str]]] = field(
        default_factory=dict[str, "dict[str, list[str]]"]
    )

    def sets(self) -> list[str]:
        """Return the names of the sets of plans that are there, known ones first."""
        there = {path.stem for path in self.root.glob("*.jsonl") if _holds_plans(path)}
        known = [name for name in ALL_SETS if name in there]
        return known + sorted(there - set(known))

    def rows(self, name: str, limit: int | None = None) -> Iterator[Row]:
        """Yield the rows of the set `name`, the first `limit` of them."""
        flaws = self._flaws_of(name)
        shelves = self._tool_lists(name)
        with (self.root / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for at, line in enumerate(lines):
                if limit is not None and at >= limit:
                    return
                fields: Fields = json.loads(line)
                listed = tuple(map(_flaw, flaws.get(fields["id"], ())))
                yield Row(name, fields["id"], fields, self._toolbox(name, fields, shelves), listed)

    def _toolbox(self, name: str, fields: Fields, shelves: Mapping[str, list[Fields]]) -> Toolbox:
        if "toolset" not in fields:
            return self._box(fields.get("tools", []))
        key = (name, str(fields["toolset"]))
        if key not in self._shelves:
            self._shelves[key] = self._box(shelves[fields["toolset"]])
        return self._shelves[key]

    def _box(self, items: list[Fields]) -> Toolbox:
        # some rows list one tool twice; the first speaks
        by_name: dict[str, Tool] = {}
        for item in items:
            by_name.setdefault(item["name"], self._tool(item))
        return Toolbox(by_name.values())

    def _tool(self, item: Fields) -> Tool:
        key = json.dumps(item, sort_keys=True)
        if key not in self._tools:
            annotated = {**item, "annotations": {"readOnlyHint": True}} if self.read_only else item
            self._tools[key] = Tool.from_json(annotated)
        return self._tools[key]

    def _tool_lists(self, name: str) -> Mapping[str, list[Fields]]:
        path = self.root / f"{name}.tools.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    def _flaws_of(self, name: str) -> dict[str, list[str]]:
        if not self._flaws:
            path = self.root / "flaws.json"
            self._flaws = json.loads(path.read_text("utf-8")) if path.exists() else {name: {}}
        return self._flaws.get(name, {})


def _flaw(text: str) -> Flaw:
    kind, _, rest = text.partition("@")
    step, _, detail = rest.partition(":")
    return Flaw(kind, step, detail)


def _holds_plans(path: Path) -> bool:
    """Whether the first row of the file is a plan: other rows, such as questions, lie beside."""
    with path.open(encoding="utf-8") as lines:
        return "dialect" in json.loads(next(lines, "{}"))
