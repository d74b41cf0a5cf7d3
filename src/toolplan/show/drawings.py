"""A plan as a drawing, SVG or Mermaid: a box for each step, an arrow to the steps that need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from msgspec import Struct, field

from toolplan.events import StepState
from toolplan.plan.model import Plan, Step, needs, step_refs
from toolplan.show.printable import text_width
from toolplan.show.step_text import COLOURS, box_lines, layers

MOST_WIDTH: Final = 1_200.0
"""The width of a drawing, if no box and not too many arrows need more."""

_COLUMNS: Final = 44
_LONGEST: Final = 440
_CHARACTER: Final = 7.25
_LINE: Final = 17.0
_MARGIN: Final = 28.0
_GAP: Final = 28.0
_BETWEEN: Final = 64.0
_LANE: Final = 7.0
_HEAD: Final = 7.0
_LABEL_WIDTH: Final = 60
_LONGEST_IN_LABEL: Final = 600
# Characters that would end a label, or be read as Mermaid or HTML, are written as numbers.
_TAKEN: Final = frozenset('"#&;<>`\\[]{}()|')
_STYLE: Final = (
    "text{font:12px ui-monospace,monospace;fill:#1f2328}.name{font-weight:bold}"
    ".box{fill:#f6f8fa;stroke:#57606a}.effects{fill:#fff1e5;stroke:#bc4c00}"
    ".line{fill:none;stroke:#57606a}.order{stroke-dasharray:4 3}.head{fill:#57606a}"
)


class _Box(Struct, frozen=True):
    step: Step
    lines: tuple[str, ...]
    row: int
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class _Drawing(Struct):
    """Boxes by their steps, and the top and bottom of each row of them."""

    boxes: dict[str, _Box] = field(default_factory=dict[str, _Box])
    rows: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    @property
    def right(self) -> float:
        """Where the boxes end; beyond it are lanes for arrows that pass other rows."""
        return max((box.x + box.width for box in self.boxes.values()), default=0)

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return self.rows[-1][1] if self.rows else 0


def svg(
    plan: Plan,
    *,
    marks: Mapping[str, str] | None = None,
    states: Mapping[str, StepState] | None = None,
) -> str:
    """Return `plan` as a self-contained SVG document.

    Steps are below all that they need; many steps side by side take several rows. Solid arrows are
    references, dashed ones only order. `marks` are labels of steps, by id; a marked step has
    another colour. `states` colour the steps of a run instead.
    """
    words = marks or {}
    drawing = _placed(plan, words)
    lanes = _lanes(drawing)
    width = drawing.right + _MARGIN + _LANE * len(set(lanes.values()))
    height = drawing.bottom + _MARGIN
    colours = (f".{state.value}{{fill:{a};stroke:{b}}}" for state, (a, b) in COLOURS.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<style>{_STYLE}{''.join(colours)}</style>",
    ]
    for above, below in _arrows(drawing.boxes):
        shown = {ref.step for _, ref in step_refs(below.step)}
        kind = "line" if above.step.id in shown else "line order"
        lane = lanes.get((above.step.id, below.step.id))
        parts.append(_arrow(drawing, above, below, lane, kind))
    for box in drawing.boxes.values():
        state = None if states is None else states.get(box.step.id)
        kind = "effects" if states is None and box.step.id in words else "box"
        parts.append(_drawn(box, kind if state is None or state not in COLOURS else state.value))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _placed(plan: Plan, marks: Mapping[str, str]) -> _Drawing:
    """Place the layers of steps below one another; one that is too wide takes several rows."""
    drawing = _Drawing()
    for layer in layers(plan):
        left = MOST_WIDTH
        for step in layer:
            lines = tuple(box_lines(step, marks.get(step.id, ""), _COLUMNS, _LONGEST))
            width = max(map(text_width, lines)) * _CHARACTER + 24
            height = len(lines) * _LINE + 16
            if step is layer[0] or left + width + _MARGIN > MOST_WIDTH:
                top = drawing.bottom + _BETWEEN if drawing.rows else _MARGIN
                drawing.rows.append((top, top))
                left = _MARGIN
            top, bottom = drawing.rows[-1]
            drawing.rows[-1] = (top, max(bottom, top + height))
            row = len(drawing.rows) - 1
            drawing.boxes[step.id] = _Box(step, lines, row, left, top, width, height)
            left += width + _GAP
    return drawing


def _arrows(boxes: Mapping[str, _Box]) -> Iterator[tuple[_Box, _Box]]:
    for below in boxes.values():
        for needed in needs(below.step):
            if needed in boxes:
                yield boxes[needed], below


def _lanes(drawing: _Drawing) -> dict[tuple[str, str], int]:
    """Return the lane beside the boxes of each arrow that does not lead to the next row.

    Arrows to one step share a lane, or those from one step where it has more of them.
    """
    far = [
        (above.step.id, below.step.id)
        for above, below in _arrows(drawing.boxes)
        if below.row != above.row + 1
    ]
    outgoing, incoming = Counter(each for each, _ in far), Counter(each for _, each in far)
    keys = {
        pair: ("to", pair[1]) if incoming[pair[1]] >= outgoing[pair[0]] else ("from", pair[0])
        for pair in far
    }
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    return {pair: numbers[key] for pair, key in keys.items()}


def _arrow(drawing: _Drawing, above: _Box, below: _Box, lane: int | None, kind: str) -> str:
    x, y = above.middle, above.y + above.height
    to_x, to_y = below.middle, below.y - _HEAD
    if lane is None:
        start = drawing.rows[above.row][1]  # below what is beside the box
        bend = (to_y - start) / 2
        way = f"M{x:.1f},{y:.1f} V{start:.1f} "
        way += f"C{x:.1f},{start + bend:.1f} {to_x:.1f},{to_y - bend:.1f} "
        way += f"{to_x:.1f},{to_y:.1f}"
    else:
        beside = drawing.right + _LANE * (lane + 1)
        shift = _LANE * (lane % 6)  # arrows of several lanes do not lie on one another
        under = drawing.rows[above.row][1] + 8 + shift
        over = drawing.rows[below.row][0] - 14 - shift / 2
        way = f"M{x:.1f},{y:.1f} V{under:.1f} H{beside:.1f} V{over:.1f} H{to_x:.1f} V{to_y:.1f}"
    half = _HEAD / 2
    corners = f"{to_x - half:.1f},{to_y:.1f} {to_x + half:.1f},{to_y:.1f} {to_x:.1f},{below.y:.1f}"
    return f'<path class="{kind}" d="{way}"/><polygon class="head" points="{corners}"/>'


def _drawn(box: _Box, kind: str) -> str:
    texts = [
        f'<text class="{"name" if at == 0 else "part"}" x="{box.x + 12:.1f}" '
        f'y="{box.y + 21 + at * _LINE:.1f}">{escape(line)}</text>'
        for at, line in enumerate(box.lines)
    ]
    frame = (
        f'<rect class="{kind}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6"/>'
    )
    return "\n".join([frame, *texts])


def mermaid(
    plan: Plan,
    *,
    marks: Mapping[str, str] | None = None,
    states: Mapping[str, StepState] | None = None,
) -> str:
    """Return `plan` as a Mermaid flowchart, with an arrow from each step to those that need it.

    Solid arrows are references, dotted ones only order. `marks` are labels of steps, by id;
    `states` colour the steps of a run.
    """
    lines = ["flowchart TD"]
    names = {step.id: f"s{position}" for position, step in enumerate(plan.steps)}
    for step in plan.steps:
        label = box_lines(step, (marks or {}).get(step.id, ""), _LABEL_WIDTH, _LONGEST_IN_LABEL)
        lines.append(f'    {names[step.id]}["{"<br/>".join(map(_escaped, label))}"]')
    for step in plan.steps:
        shown = {ref.step for _, ref in step_refs(step)}
        for needed in needs(step):
            if needed in names:
                arrow = "-->" if needed in shown else "-.->"
                lines.append(f"    {names[needed]} {arrow} {names[step.id]}")
    for state in dict.fromkeys((states or {}).values()):
        these = [
            names[step] for step, its in (states or {}).items() if its is state and step in names
        ]
        if these and (colours := COLOURS.get(state)) is not None:
            fill, stroke = colours
            lines.append(f"    classDef {state.value} fill:{fill},stroke:{stroke}")
            lines.append(f"    class {','.join(these)} {state.value}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return "".join(f"#{ord(char)};" if char in _TAKEN else char for char in text)
