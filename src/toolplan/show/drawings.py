"""A plan as a drawing, SVG or Mermaid: a box for each step, an arrow to the steps that need it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from msgspec import Struct

from toolplan.events import StepState
from toolplan.plan.model import Plan, Step, needs, step_refs
from toolplan.show._lines import Piece, plain, wrapped
from toolplan.show.printable import printable, text_width
from toolplan.show.step_text import argument_texts, condition_texts, layers

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
_TAKEN: Final = {ord(char): f"#{ord(char)};" for char in '"#&;<>`\\[]{}()|'}
_STYLE: Final = (
    "text{font:12px ui-monospace,monospace;fill:#1f2328}.name{font-weight:bold}"
    ".box{fill:#f6f8fa;stroke:#57606a}.effects{fill:#fff1e5;stroke:#bc4c00}"
    ".line{fill:none;stroke:#57606a}.order{stroke-dasharray:4 3}.head{fill:#57606a}"
)
_COLOURS: Final = {  # of the box of a step in this state, and of its frame
    StepState.RUNNING: ("#ddf4ff", "#0969da"),
    StepState.SUCCEEDED: ("#dafbe1", "#1a7f37"),
    StepState.FAILED: ("#ffebe9", "#cf222e"),
    StepState.SKIPPED: ("#eaeef2", "#8c959f"),
    StepState.CANCELLED: ("#eaeef2", "#8c959f"),
    StepState.WAITING: ("#fff8c5", "#9a6700"),
    StepState.IN_DOUBT: ("#fff8c5", "#9a6700"),
}


class _Box(Struct, frozen=True):
    step: Step
    lines: list[str]
    row: int
    x: float
    y: float
    width: float
    height: float


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
    boxes, rows = _placed(plan, words)
    arrows = [(boxes[up], box) for box in boxes.values() for up in needs(box.step) if up in boxes]
    # arrows that do not lead to the next row go beside the boxes, those to one step in one lane
    far = (below.step.id for above, below in arrows if below.row != above.row + 1)
    lanes = {step: lane for lane, step in enumerate(dict.fromkeys(far))}
    right = max((box.x + box.width for box in boxes.values()), default=0)
    width = right + _MARGIN + _LANE * len(lanes)
    height = (rows[-1][1] if rows else 0) + _MARGIN
    colours = (f".{state.value}{{fill:{a};stroke:{b}}}" for state, (a, b) in _COLOURS.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<style>{_STYLE}{''.join(colours)}</style>",
    ]
    for above, below in arrows:
        is_shown = any(ref.step == above.step.id for _, ref in step_refs(below.step))
        lane = None if below.row == above.row + 1 else lanes[below.step.id]
        way = _way(above, below, rows, right, lane)
        to_x, to_y, half = below.x + below.width / 2, below.y - _HEAD, _HEAD / 2
        corners = f"{to_x - half:.1f},{to_y:.1f} {to_x + half:.1f},{to_y:.1f}"
        parts.append(f'<path class="line{"" if is_shown else " order"}" d="{way}"/>')
        parts.append(f'<polygon class="head" points="{corners} {to_x:.1f},{below.y:.1f}"/>')
    for box in boxes.values():
        state = None if states is None else states.get(box.step.id)
        kind = "effects" if states is None and box.step.id in words else "box"
        kind = kind if state is None or state not in _COLOURS else state.value
        parts.append(
            f'<rect class="{kind}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="6"/>'
        )
        parts += (
            f'<text class="{"name" if at == 0 else "part"}" x="{box.x + 12:.1f}" '
            f'y="{box.y + 21 + at * _LINE:.1f}">{escape(line)}</text>'
            for at, line in enumerate(box.lines)
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _placed(
    plan: Plan, marks: Mapping[str, str]
) -> tuple[dict[str, _Box], list[tuple[float, float]]]:
    """Return the boxes by step, and the top and bottom of each row of them.

    The layers of steps are placed below one another; one that is too wide takes several rows.
    """
    boxes: dict[str, _Box] = {}
    rows: list[tuple[float, float]] = []
    for layer in layers(plan):
        left = MOST_WIDTH
        for step in layer:
            lines = _box_lines(step, marks.get(step.id, ""), _COLUMNS, _LONGEST)
            width = max(map(text_width, lines)) * _CHARACTER + 24
            height = len(lines) * _LINE + 16
            if step is layer[0] or left + width + _MARGIN > MOST_WIDTH:
                top = rows[-1][1] + _BETWEEN if rows else _MARGIN
                rows.append((top, top))
                left = _MARGIN
            top, bottom = rows[-1]
            rows[-1] = (top, max(bottom, top + height))
            boxes[step.id] = _Box(step, lines, len(rows) - 1, left, top, width, height)
            left += width + _GAP
    return boxes, rows


def _way(
    above: _Box, below: _Box, rows: list[tuple[float, float]], right: float, lane: int | None
) -> str:
    """Return the path of an arrow; without a `lane` it leads to the next row."""
    x, y = above.x + above.width / 2, above.y + above.height
    to_x, to_y = below.x + below.width / 2, below.y - _HEAD
    start = rows[above.row][1]  # below what is beside the box
    if lane is None:
        bend = (to_y - start) / 2
        curve = f"C{x:.1f},{start + bend:.1f} {to_x:.1f},{to_y - bend:.1f} {to_x:.1f},{to_y:.1f}"
        return f"M{x:.1f},{y:.1f} V{start:.1f} {curve}"
    beside = right + _LANE * (lane + 1)
    shift = _LANE * (lane % 6)  # arrows of several lanes do not lie on one another
    over = rows[below.row][0] - 14 - shift / 2
    under = start + 8 + shift
    return f"M{x:.1f},{y:.1f} V{under:.1f} H{beside:.1f} V{over:.1f} H{to_x:.1f} V{to_y:.1f}"


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
        label = _box_lines(step, (marks or {}).get(step.id, ""), _LABEL_WIDTH, _LONGEST_IN_LABEL)
        text = "<br/>".join(line.translate(_TAKEN) for line in label)
        lines.append(f'    {names[step.id]}["{text}"]')
    for step in plan.steps:
        shown = {ref.step for _, ref in step_refs(step)}
        lines += (
            f"    {names[needed]} {'-->' if needed in shown else '-.->'} {names[step.id]}"
            for needed in needs(step)
            if needed in names
        )
    known = {step: state for step, state in (states or {}).items() if step in names}
    for state in dict.fromkeys(known.values()):
        if state in _COLOURS:
            fill, stroke = _COLOURS[state]
            these = ",".join(names[step] for step, its in known.items() if its is state)
            lines.append(f"    classDef {state.value} fill:{fill},stroke:{stroke}")
            lines.append(f"    class {these} {state.value}")
    return "\n".join(lines) + "\n"


def _box_lines(step: Step, mark: str, width: int, most: int) -> list[str]:
    """Return the lines of a box: name, conditions, arguments, mark.

    They are broken between words, to `width` columns where the words allow it; a text is cut at
    `most` columns.
    """
    texts = [f"{printable(step.id)}: {printable(step.tool)}"]
    texts += [*condition_texts(step, most), *argument_texts(step, most)]
    texts += [printable(mark)] if mark else []
    return [plain([line]) for text in texts for line in wrapped((Piece(text),), width)]
