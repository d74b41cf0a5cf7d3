"""A plan as a tree: each step under the last of the steps that it needs.

A plan is not a tree, so a step that needs several hangs under one of them and names them all.
Nothing that decides what runs is left out: arguments as they are written, conditions below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan import Plan, Step, needs
from toolplan.render._lines import (
    WIDTH,
    Line,
    Piece,
    Screen,
    line_width,
    plain,
    wrapped,
)
from toolplan.render.printable import (
    cell,
    number_text,
    printable,
    text_width,
    value_text,
)
from toolplan.render.step_text import VALUE_WIDTH, argument_texts, condition_texts
from toolplan.tools import Effects, Tool

_MARKS: Final = {
    Effects.WRITE: "writes",
    Effects.DESTRUCTIVE: "destroys",
    Effects.UNKNOWN: "may change anything",
}
_NARROWEST: Final = 40
_DEEPEST: Final = 5  # deeper steps keep this indentation, so that a chain of 1,000 can be read
_MOST_NOTES: Final = 12

_Marks = Mapping[str, str]


class _Node(Struct):
    """A step in the tree. `is_clear` says that the tree alone shows what it needs."""

    step: Step
    depth: int
    needs: tuple[str, ...]
    is_clear: bool = True
    children: list[_Node] = field(default_factory=list["_Node"])


class _Drawn(Struct, frozen=True):
    """A node, and what stands before its first line and before the lines below."""

    node: _Node
    guide: str
    below: str


class PlanTree(Struct, frozen=True):
    """A plan, as it is printed. `marks` are labels of steps, by id: `{"s1": "writes"}`."""

    plan: Plan
    marks: Mapping[str, str] = field(default_factory=dict[str, str])

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        yield from _lines(self.plan, self.marks, screen)


def plan_tree(plan: Plan, *, marks: Mapping[str, str] | None = None) -> PlanTree:
    """Return `plan` as it is printed; `marks` are labels of steps, by id (`effect_marks`)."""
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
    return plain(_lines(plan, marks or {}, Screen(width, encoding=encoding)))


def effect_marks(plan: Plan, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return the marks of the steps of `plan` whose tools may change something."""
    labels = {step.id: tools[step.tool].effects for step in plan.steps if step.tool in tools}
    return {step: _MARKS[label] for step, label in labels.items() if label in _MARKS}


def _lines(plan: Plan, marks: _Marks, screen: Screen) -> Iterator[Line]:
    screen = replace(screen, width=max(screen.width, _NARROWEST))
    count = number_text(len(plan.steps), grouped=True)
    yield (Piece(f"{count} {'step' if len(plan.steps) == 1 else 'steps'}", "bold"),)
    for drawn in _drawn(_forest(plan)):
        yield from _step_lines(drawn, marks.get(drawn.node.step.id, ""), screen)
    if plan.output is not None:
        yield from _wrapped("", "gives " + value_text(plan.output, VALUE_WIDTH), "", screen)
    notes = plan.metadata.get("notes")
    if isinstance(notes, list):
        for note in notes[:_MOST_NOTES]:
            yield from _wrapped("", "note: " + cell(note, VALUE_WIDTH), "italic", screen)


def _forest(plan: Plan) -> list[_Node]:
    """Put every step under the deepest step that it needs; return those that need none."""
    roots: list[_Node] = []
    placed: dict[str, _Node] = {}
    for step, needed in _in_order(plan):
        waits = [placed[name] for name in needed if name in placed]
        if not waits:
            node = _Node(step, 0, needed, is_clear=not needed)
            roots.append(node)
        else:
            parent = max(waits, key=lambda each: each.depth)  # the first of equals
            node = _Node(step, parent.depth + 1, needed, is_clear=len(needed) == 1)
            parent.children.append(node)
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


def _drawn(roots: list[_Node]) -> Iterator[_Drawn]:
    """Yield each node with the guides of its first line and of the lines below.

    The steps below the deepest indentation stand under one another: an arrow leads from the line
    above, and a step that needs another one names it.
    """
    stack = [(node, "", at == len(roots) - 1) for at, node in enumerate(roots)][::-1]
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
        yield _Drawn(node, guide, inside + ("│   " if is_nested else "    "))
        above = node
        children = node.children
        stack.extend(
            (child, inside, at == len(children) - 1)
            for at, child in reversed([*enumerate(children)])
        )


def _step_lines(drawn: _Drawn, mark: str, screen: Screen) -> Iterator[Line]:
    node, guide, below = drawn.node, drawn.guide, drawn.below
    step = node.step
    args = list(argument_texts(step))
    inline = screen.fit(f"({', '.join(args)})")
    marked = [Piece("  "), Piece(printable(mark), "bold yellow")] if mark else []
    names = (
        Piece(screen.fit(printable(step.id)), "bold cyan"),
        Piece("  "),
        Piece(screen.fit(printable(step.tool)), "bold"),
    )
    guide = screen.fit(guide)
    fits = text_width(guide + inline) + line_width((*names, *marked)) <= screen.width
    head = (*names, Piece(inline), *marked) if fits else (*names, *marked)
    yield from wrapped(head, screen.width, guide=guide, below=screen.fit(below))
    if not fits:
        for arg in args:
            yield from _wrapped(below, arg, "", screen)
    for condition in _conditions(node):
        yield from _wrapped(below, condition, "magenta", screen)


def _conditions(node: _Node) -> Iterator[str]:
    if not node.is_clear:
        yield "needs " + ", ".join(map(printable, node.needs))
    yield from condition_texts(node.step)


def _wrapped(guide: str, text: str, style: str, screen: Screen) -> Iterator[Line]:
    guide = screen.fit(guide)
    line = (Piece(screen.fit(text), style),)
    yield from wrapped(line, screen.width, guide=guide, below=guide + "  ")
