"""A plan as a tree: each step under the last of the steps that it needs.

A plan is not a tree, so a step that needs several hangs under one of them and names them all.
Nothing that decides what runs is left out: arguments as they are written, conditions below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.model import Plan, Step, needs
from toolplan.schema.tool import Effects, Tool
from toolplan.show._lines import WIDTH, Line, Piece, Screen, plain, wrapped
from toolplan.show.printable import cell, count_text, printable, text_width, value_text
from toolplan.show.step_text import VALUE_WIDTH, argument_texts, condition_texts, layers

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
    return plain(PlanTree(plan, marks or {}).lines(Screen(width, encoding=encoding)))


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
