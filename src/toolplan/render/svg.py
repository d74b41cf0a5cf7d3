"""A plan as a drawing: a box for each step, and a line to the steps that need it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final, NamedTuple

from toolplan.plan import Plan, Step, needs, step_refs
from toolplan.render.printable import cut, printable, value_text

_LONGEST: Final = 44
_CHARACTER: Final = 7.2
_LINE: Final = 17.0
_GAP: Final = 28.0
_BETWEEN: Final = 56.0
_STYLE: Final = (
    "text{font:12px ui-monospace,monospace;fill:#1f2328}.name{font-weight:bold}"
    ".box{fill:#f6f8fa;stroke:#57606a}.effects{fill:#fff1e5;stroke:#bc4c00}"
    ".line{fill:none;stroke:#57606a}.order{stroke-dasharray:4 3}"
)


class _Box(NamedTuple):
    step: Step
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


def svg(plan: Plan, *, marks: Mapping[str, str] | None = None) -> str:
    """Return `plan` as a self-contained SVG document.

    Steps are below all that they need. Solid lines are references, dashed ones only order. `marks`
    are labels of steps, by id; a marked step has another colour.
    """
    words = marks or {}
    boxes = _placed(plan, words)
    width = max((box.x + box.width for box in boxes.values()), default=0) + _GAP
    height = max((box.y + box.height for box in boxes.values()), default=0) + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<style>{_STYLE}</style>",
    ]
    for box in boxes.values():
        shown = {ref.step for _, ref in step_refs(box.step)}
        parts += [
            _line(boxes[needed], box, is_order=needed not in shown)
            for needed in needs(box.step)
            if needed in boxes
        ]
    parts += [_drawn(box, is_marked=box.step.id in words) for box in boxes.values()]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _placed(plan: Plan, marks: Mapping[str, str]) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    top = _GAP
    for layer in _layers(plan):
        left, tallest = _GAP, 0.0
        for step in layer:
            lines = _lines(step, marks.get(step.id, ""))
            width = max(len(line) for line in lines) * _CHARACTER + 24
            height = len(lines) * _LINE + 16
            boxes[step.id] = _Box(step, lines, left, top, width, height)
            left += width + _GAP
            tallest = max(tallest, height)
        top += tallest + _BETWEEN
    return boxes


def _layers(plan: Plan) -> list[list[Step]]:
    """Return the steps by the length of the longest chain before them; cycles come last."""
    waiting = {step.id: step for step in plan.steps}
    layers: list[list[Step]] = []
    while waiting:
        layer = [s for s in waiting.values() if not any(n in waiting for n in needs(s))]
        layers.append(layer or list(waiting.values()))
        for step in layers[-1]:
            del waiting[step.id]
    return layers


def _lines(step: Step, mark: str) -> tuple[str, ...]:
    lines = [f"{step.id}  {step.tool}"]
    if step.for_each is not None:
        lines.append(f"for each of {value_text(step.for_each, _LONGEST)}")
    if step.when is not None:
        lines.append(f"when {value_text(step.when.value, _LONGEST)}")
    lines += [f"{name}: {value_text(value, _LONGEST)}" for name, value in step.args.items()]
    if mark:
        lines.append(mark)
    return tuple(cut(printable(line), _LONGEST) for line in lines)


def _drawn(box: _Box, *, is_marked: bool) -> str:
    kind = "effects" if is_marked else "box"
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


def _line(above: _Box, below: _Box, *, is_order: bool) -> str:
    x, y = above.x + above.width / 2, above.y + above.height
    to_x, to_y = below.x + below.width / 2, below.y
    bend = (to_y - y) / 2
    kind = "line order" if is_order else "line"
    return (
        f'<path class="{kind}" d="M{x:.1f},{y:.1f} C{x:.1f},{y + bend:.1f} '
        f'{to_x:.1f},{to_y - bend:.1f} {to_x:.1f},{to_y:.1f}"/>'
    )
