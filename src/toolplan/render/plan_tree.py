"""A plan as a tree: each step under the last of the steps that it needs.

A plan is not a tree, so a step that needs several hangs under one of them and names them all.
Nothing that decides what runs is left out: arguments as they are written, conditions below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult

from toolplan.plan import DEFAULT_MAX_ITEMS, Plan, Step, needs
from toolplan.render._lines import Line, Piece, plain, styled
from toolplan.render.printable import (
    cell,
    compact_json,
    fit_encoding,
    number_text,
    printable,
    text_width,
    value_text,
)
from toolplan.tools import Effects, Tool

WIDTH: Final = 100
_MARKS: Final = {
    Effects.WRITE: "writes",
    Effects.DESTRUCTIVE: "destroys",
    Effects.UNKNOWN: "may change anything",
}
_NARROWEST: Final = 40
_DEEPEST: Final = 6  # deeper steps keep this indentation, so that a chain of 1,000 can be read
_VALUE_WIDTH: Final = 2_000
_MOST_NOTES: Final = 12

_Marks = Mapping[str, str]


@dataclass(slots=True)
class _Node:
    """A step in the tree. `is_clear` says that the tree alone shows what it needs."""

    step: Step
    depth: int
    needs: tuple[str, ...]
    is_clear: bool = True
    children: list[_Node] = field(default_factory=list["_Node"])


@dataclass(frozen=True)
class PlanTree:
    """A plan for a rich console. `marks` are labels of steps, by id: `{"s1": "writes"}`."""

    plan: Plan
    marks: Mapping[str, str] = field(default_factory=dict[str, str])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from styled(_lines(self.plan, self.marks, options.max_width), options.encoding)


def plan_tree(plan: Plan, *, marks: Mapping[str, str] | None = None) -> PlanTree:
    """Return `plan` for a rich console; `marks` are labels of steps, by id (`effect_marks`)."""
    return PlanTree(plan, marks or {})


def plan_text(
    plan: Plan,
    *,
    marks: Mapping[str, str] | None = None,
    width: int = WIDTH,
    encoding: str = "utf-8",
) -> str:
    """Return `plan` as plain text in lines of at most `width` columns.

    Characters that `encoding` lacks are replaced.
    """
    return fit_encoding(plain(_lines(plan, marks or {}, width)), encoding)


def effect_marks(plan: Plan, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return the marks of the steps of `plan` whose tools may change something."""
    labels = {step.id: tools[step.tool].effects for step in plan.steps if step.tool in tools}
    return {step: _MARKS[label] for step, label in labels.items() if label in _MARKS}


def _lines(plan: Plan, marks: _Marks, width: int) -> Iterator[Line]:
    width = max(width, _NARROWEST)
    count = number_text(len(plan.steps), grouped=True)
    yield (Piece(f"{count} {'step' if len(plan.steps) == 1 else 'steps'}", "bold"),)
    for node, guide, below in _drawn(_forest(plan)):
        yield from _step_lines(node, guide, below, marks.get(node.step.id, ""), width)
    if plan.output is not None:
        yield from _wrapped("", "gives " + value_text(plan.output, _VALUE_WIDTH), "", width)
    notes = plan.metadata.get("notes")
    if isinstance(notes, list):
        for note in notes[:_MOST_NOTES]:
            yield from _wrapped("", "note: " + cell(note, _VALUE_WIDTH), "italic", width)


def _forest(plan: Plan) -> list[_Node]:
    """Put every step under the deepest step that it needs; return those that need none."""
    roots: list[_Node] = []
    placed: dict[str, _Node] = {}
    ancestors: dict[str, _Node] = {}
    for step, needed in _in_order(plan):
        waits = [placed[name] for name in needed if name in placed]
        if not waits:
            node = _Node(step, 0, needed, is_clear=not needed)
            roots.append(node)
        else:
            parent = max(waits, key=lambda each: each.depth)  # the first of equals
            is_clear = len(needed) == 1
            if parent.depth + 1 >= _DEEPEST and parent.step.id in ancestors:
                parent, is_clear = ancestors[parent.step.id], False
            node = _Node(step, parent.depth + 1, needed, is_clear=is_clear)
            parent.children.append(node)
            ancestors[step.id] = parent
        placed.setdefault(step.id, node)
    return roots


def _in_order(plan: Plan) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Yield the steps with what they need, each after what it needs, otherwise as written.

    Steps of a cycle come last.
    """
    known = {step.id for step in plan.steps}
    needed = [needs(step) for step in plan.steps]
    waiting = [len(known & set(names)) for names in needed]
    dependents: dict[str, list[int]] = {}
    for at, names in enumerate(needed):
        for name in names:
            dependents.setdefault(name, []).append(at)
    ready = [at for at, count in enumerate(waiting) if count == 0]
    given = 0
    seen: set[str] = set()
    while given < len(ready):
        at = ready[given]
        given += 1
        yield plan.steps[at], needed[at]
        if plan.steps[at].id not in seen:  # a faulty plan may use an id twice
            seen.add(plan.steps[at].id)
            for dependent in dependents.get(plan.steps[at].id, ()):
                waiting[dependent] -= 1
                if waiting[dependent] == 0:
                    ready.append(dependent)
    done = set(ready)
    for at, step in enumerate(plan.steps):
        if at not in done:
            yield step, needed[at]


def _drawn(roots: list[_Node]) -> Iterator[tuple[_Node, str, str]]:
    """Yield each node with the guides of its first line and of the lines below."""
    stack = [(node, "", at == len(roots) - 1) for at, node in enumerate(roots)][::-1]
    while stack:
        node, before, last = stack.pop()
        inside = before + ("    " if last else "│   ")
        below = inside + ("│   " if node.children else "    ")
        yield node, before + ("└── " if last else "├── "), below
        children = node.children
        stack.extend(
            (child, inside, at == len(children) - 1)
            for at, child in reversed([*enumerate(children)])
        )


def _step_lines(node: _Node, guide: str, below: str, mark: str, width: int) -> Iterator[Line]:
    step = node.step
    args = [f"{cell(name)}: {value_text(v, _VALUE_WIDTH)}" for name, v in step.args.items()]
    head = [
        Piece(guide, "dim"),
        Piece(printable(step.id), "bold cyan"),
        Piece("  "),
        Piece(printable(step.tool), "bold"),
    ]
    tail = [Piece("  "), Piece(printable(mark), "bold yellow")] if mark else []
    inline = f"({', '.join(args)})"
    fits = text_width("".join(p.text for p in (*head, *tail)) + inline) <= width
    yield (*head, Piece(inline), *tail) if fits else (*head, *tail)
    if not fits:
        for arg in args:
            yield from _wrapped(below, arg, "", width)
    for condition in _conditions(node):
        yield from _wrapped(below, condition, "magenta", width)


def _conditions(node: _Node) -> Iterator[str]:
    step = node.step
    if not node.is_clear:
        yield "needs " + ", ".join(map(printable, node.needs))
    if step.after:
        yield "after " + ", ".join(map(printable, step.after))
    if step.for_each is not None:
        most = ""
        if step.max_items != DEFAULT_MAX_ITEMS:
            most = f", at most {number_text(step.max_items, grouped=True)}"
        yield f"for each item of {value_text(step.for_each, _VALUE_WIDTH)}{most}"
    if step.when is not None:
        value = value_text(step.when.value, _VALUE_WIDTH)
        yield f"when {value} is {compact_json(step.when.schema, _VALUE_WIDTH)}"
    if step.on_error == "continue":
        yield "on error: continue"
    if step.timeout_s is not None:
        yield f"timeout: {number_text(step.timeout_s)} s"
    if step.retries:
        yield f"retries: {number_text(step.retries)}"


def _wrapped(guide: str, text: str, style: str, width: int) -> Iterator[Line]:
    room = max(width - len(guide), _NARROWEST // 2)
    # `textwrap` counts characters: wide ones get half of the room
    count = room if text_width(text) == len(text) else room // 2
    for line in textwrap.wrap(text, count, subsequent_indent="  ", break_on_hyphens=False) or [""]:
        yield Piece(guide, "dim"), Piece(line, style)
