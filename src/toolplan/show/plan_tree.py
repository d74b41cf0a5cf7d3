"""Plans for people: as a tree, as a drawing in SVG or Mermaid, and two of them compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from html import escape
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.events import StepState
from toolplan.plan.comparison import Absent, Change, Comparison
from toolplan.plan.model import (
    DEFAULT_MAX_ITEMS,
    DEFAULT_MAX_PAGES,
    Plan,
    Step,
    When,
    needs,
    step_refs,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool
from toolplan.show.document import Line, Piece, Screen, plain, wrapped
from toolplan.show.printable import (
    cell,
    count_text,
    number_text,
    printable,
    text_width,
    value_text,
    visible,
)

VALUE_WIDTH: Final = 2_000
"""Maximum number of characters of a shown value."""


def layers(plan: Plan) -> Iterator[list[Step]]:
    """Yield the steps by the length of the longest chain before them; those of cycles come last."""
    steps: dict[str, list[Step]] = {}  # a faulty plan may use an id twice
    for step in plan.steps:
        steps.setdefault(step.id, []).append(step)
    order = {name: at for at, name in enumerate(steps)}
    sorter = TopologicalSorter[str]()
    for step in plan.steps:
        sorter.add(step.id, *(name for name in needs(step) if name in steps))
    with suppress(CycleError):  # steps before the cycle are sorted all the same
        sorter.prepare()
    while ready := sorter.get_ready():
        sorter.done(*ready)
        yield [step for name in sorted(ready, key=order.__getitem__) for step in steps.pop(name)]
    if steps:
        yield [step for same in steps.values() for step in same]


def argument_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield the arguments of `step`, each as `name: value`."""
    return (f"{cell(name)}: {value_text(value, width)}" for name, value in step.args.items())


def condition_texts(step: Step, width: int = VALUE_WIDTH) -> Iterator[str]:
    """Yield the conditions that decide whether and how often `step` runs."""
    if step.after:
        yield "after " + ", ".join(map(printable, step.after))
    if step.for_each is not None:
        most = _at_most(step.max_items, DEFAULT_MAX_ITEMS)
        yield f"for each item of {value_text(step.for_each, width)}{most}"
    if step.pages is not None:
        yield f"all pages{_at_most(step.max_pages, DEFAULT_MAX_PAGES)}"
    if step.when is not None:
        words, schema = condition_words(step.when), value_text(step.when.schema, width)
        yield f"when {value_text(step.when.value, width)} {words}: {schema}"
    if step.on_error == "continue":
        yield "on error: continue"
    if step.timeout_s is not None:
        yield f"timeout: {number_text(step.timeout_s)} s"
    if step.retries:
        yield f"retries: {number_text(step.retries)}"


def _at_most(count: int, usual: int) -> str:
    return "" if count == usual else f", at most {number_text(count, grouped=True)}"


def condition_words(when: When) -> str:
    """Describe a condition: `is at least 5`; `fits` where words fail."""
    return " and ".join(_words(when.schema)) or "fits"


_BOUNDS: Final = {
    "minimum": "is at least {}",
    "maximum": "is at most {}",
    "exclusiveMinimum": "is more than {}",
    "exclusiveMaximum": "is less than {}",
    "multipleOf": "is a multiple of {}",
    "minItems": "has at least {} element(s)",
    "maxItems": "has at most {} element(s)",
    "minLength": "has at least {} character(s)",
    "maxLength": "has at most {} character(s)",
    "pattern": "matches {}",
    "format": "is a {}",
    "const": "is {}",
    "required": "has the field(s) {}",
    "type": "is of type {}",
}


def _words(schema: Json) -> list[str]:
    """Describe the requirements of `schema`, empty where words would not cover all of them."""
    said: list[str] = []
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        match keyword, value:
            case ("enum", list()):
                listed = ", ".join(value_text(each, VALUE_WIDTH) for each in value)
                said.append(f"is one of {listed}")
            case ("not", dict()) if inner := _words(value):
                said.append(f"is not so that it {' and '.join(inner)}")
            case _ if keyword in _BOUNDS:
                before, _, behind = _BOUNDS[keyword].partition("{}")
                said.append(before + value_text(value, VALUE_WIDTH) + behind)
            case ("title" | "description" | "$comment", _):
                continue
            case _:
                return []
    return said


_MARKS: Final = {
    Effects.WRITE: "writes",
    Effects.DESTRUCTIVE: "destroys",
    Effects.UNKNOWN: "may change anything",
}
_NARROWEST: Final = 40
_DEEPEST: Final = 5  # deeper steps keep this indentation, so that a chain of 1,000 can be read
_MOST_NOTES: Final = 12


class _Node(Struct):
    """A step in the tree. `is_clear` says that the tree alone shows what it needs."""

    step: Step
    needs: tuple[str, ...]
    depth: int = 0
    is_clear: bool = True
    children: list[_Node] = field(default_factory=list["_Node"])


class PlanTree(Struct, frozen=True):
    """A plan, as it is printed. `marks` are labels of steps, by id (`effect_marks`)."""

    plan: Plan
    marks: Mapping[str, str] = field(default_factory=dict[str, str])

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        screen = replace(screen, width=max(screen.width, _NARROWEST))
        yield (Piece(count_text(len(self.plan.steps), "step"), "bold"),)
        for node, guide, below in _guided(_forest(self.plan)):
            yield from _step_lines(node, guide, below, self.marks.get(node.step.id, ""), screen)
        if self.plan.output is not None:
            gives = "gives " + value_text(self.plan.output, VALUE_WIDTH)
            yield from _wrapped("", gives, "", screen)
        notes = self.plan.metadata.get("notes")
        for note in notes[:_MOST_NOTES] if isinstance(notes, list) else ():
            yield from _wrapped("", "note: " + cell(note, VALUE_WIDTH), "italic", screen)


def plan_text(plan: Plan, *, marks: Mapping[str, str] | None = None) -> str:
    """Return `plan` as plain text in lines of at most 100 columns."""
    return plain(PlanTree(plan, marks or {}).lines(Screen()))


def effect_marks(plan: Plan, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return the marks of the steps of `plan` whose tools may change something."""
    labels = {step.id: tools[step.tool].effects for step in plan.steps if step.tool in tools}
    return {step: _MARKS[label] for step, label in labels.items() if label in _MARKS}


def _forest(plan: Plan) -> list[_Node]:
    """Put every step under the deepest step that it needs; return those that need none."""
    roots: list[_Node] = []
    placed: dict[str, _Node] = {}
    for step in (step for layer in layers(plan) for step in layer):
        node = _Node(step, needs(step))
        waits = [placed[name] for name in node.needs if name in placed]
        if waits:
            parent = max(waits, key=lambda each: each.depth)  # the first of equals
            node.depth = parent.depth + 1
            parent.children.append(node)
        else:
            roots.append(node)
        node.is_clear = len(node.needs) == bool(waits)
        placed.setdefault(step.id, node)
    return roots


def _guided(roots: list[_Node]) -> Iterator[tuple[_Node, str, str]]:
    """Yield each node with what stands before its first line and before the lines below.

    The steps below the deepest indentation stand under one another: an arrow leads from the line
    above, and a step that needs another one names it.
    """
    stack = [(node, "", node is roots[-1]) for node in reversed(roots)]
    above: _Node | None = None
    while stack:
        node, before, last = stack.pop()
        if node.depth <= _DEEPEST:
            guide = before + ("└── " if last else "├── ")
            inside = before + ("    " if last else "│   ")
        else:
            follows = above is not None and any(node is child for child in above.children)
            node.is_clear = node.is_clear and follows
            guide, inside = before + ("↓   " if follows else "·   "), before
        is_nested = bool(node.children) and node.depth < _DEEPEST
        yield node, guide, inside + ("│   " if is_nested else "    ")
        above = node
        stack += ((child, inside, child is node.children[-1]) for child in reversed(node.children))


def _step_lines(node: _Node, guide: str, below: str, mark: str, screen: Screen) -> Iterator[Line]:
    step = node.step
    args = list(argument_texts(step))
    inline = screen.fit(f"({', '.join(args)})")
    marked = (Piece("  "), Piece(printable(mark), "bold yellow")) if mark else ()
    names = (
        Piece(screen.fit(printable(step.id)), "bold cyan"),
        Piece("  "),
        Piece(screen.fit(printable(step.tool)), "bold"),
    )
    guide = screen.fit(guide)
    beside = "".join(piece.text for piece in (*names, *marked))
    fits = text_width(guide + inline + beside) <= screen.width
    head = (*names, Piece(inline), *marked) if fits else (*names, *marked)
    yield from wrapped(head, screen.width, guide=guide, below=screen.fit(below))
    for arg in () if fits else args:
        yield from _wrapped(below, arg, "", screen)
    if not node.is_clear:
        needed = "needs " + ", ".join(map(printable, node.needs))
        yield from _wrapped(below, needed, "magenta", screen)
    for condition in condition_texts(step):
        yield from _wrapped(below, condition, "magenta", screen)


def _wrapped(guide: str, text: str, style: str, screen: Screen) -> Iterator[Line]:
    guide = screen.fit(guide)
    line = (Piece(screen.fit(text), style),)
    yield from wrapped(line, screen.width, guide=guide, below=guide + "  ")


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


_SIGNS: Final = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


class ComparisonView(Struct, frozen=True):
    """A comparison, as it is printed.

    `before` and `after` are marks of steps, by id (`effect_marks`).
    """

    comparison: Comparison
    before: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str] = field(default_factory=dict[str, str])

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        for line in self._lines():
            fitting = tuple(Piece(screen.fit(text), style) for text, style in line)
            text = "".join(piece.text for piece in fitting)
            indent = text[: len(text) - len(text.lstrip())]
            yield from wrapped(fitting, screen.prose, below=indent + "  ")

    def _lines(self) -> Iterator[Line]:
        found = self.comparison
        if found.same:
            yield (Piece("The plans make the same calls.", "bold"),)
            return
        for step in found.steps:
            sign, style = _SIGNS[step.kind]
            ids = dict.fromkeys(each for each in (step.before, step.after) if each is not None)
            name = f"{sign} {printable(' → '.join(ids))}: {printable(step.tool)}"
            mark = self.after.get(step.after or "") or self.before.get(step.before or "")
            yield (Piece(name, style), Piece(f" {mark}" if mark else "", "bold"))
            yield from _changed(step.changes)
        if found.output:
            yield (Piece("~ output", "yellow"),)
            yield from _changed(found.output)
        counts = Counter(step.kind for step in found.steps)
        parts = [f"{count_text(counts[kind], 'step')} {kind}" for kind in _SIGNS if counts[kind]]
        parts += ["the output changed"] if found.output else []
        yield (Piece(", ".join(parts) + ".", "bold"),)


def _changed(changes: tuple[Change, ...]) -> Iterator[Line]:
    for each in changes:
        where = printable(each.pointer) or "/"
        yield (
            Piece(f"    {where}: "),
            Piece(_value(each.before), "red"),
            Piece(" → "),
            Piece(_value(each.after), "green"),
        )


def _value(value: Json | Absent) -> str:
    # whole and exact: the difference may be the last character
    return "(none)" if isinstance(value, Absent) else visible(json.dumps(value, ensure_ascii=False))
