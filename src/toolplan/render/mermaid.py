"""A plan as a Mermaid flowchart, for documents that draw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.plan import Plan, Step, needs, step_refs
from toolplan.render.printable import cut, printable, value_text

_LONGEST: Final = 60
# Characters that would end a label, or be read as Mermaid or HTML, are written as numbers.
_TAKEN: Final = frozenset('"#&;<>`\\[]{}()|')


def mermaid(plan: Plan, *, marks: Mapping[str, str] | None = None) -> str:
    """Return `plan` as a Mermaid flowchart, with an arrow from each step to those that need it.

    Solid arrows are references, dotted ones only order. `marks` are labels of steps, by id.
    """
    return "".join(f"{line}\n" for line in _lines(plan, marks or {}))


def _lines(plan: Plan, marks: Mapping[str, str]) -> Iterator[str]:
    yield "flowchart TD"
    names = {step.id: f"s{position}" for position, step in enumerate(plan.steps)}
    for step in plan.steps:
        yield f'    {names[step.id]}["{_label(step, marks.get(step.id, ""))}"]'
    for step in plan.steps:
        shown = {ref.step for _, ref in step_refs(step)}
        for needed in needs(step):
            if needed in names:
                arrow = "-->" if needed in shown else "-.->"
                yield f"    {names[needed]} {arrow} {names[step.id]}"


def _label(step: Step, mark: str) -> str:
    lines = [f"{step.id}: {step.tool}"]
    if step.for_each is not None:
        lines.append(f"for each of {value_text(step.for_each, _LONGEST)}")
    lines += [f"{name}: {value_text(value, _LONGEST)}" for name, value in step.args.items()]
    if mark:
        lines.append(mark)
    return "<br/>".join(_escaped(cut(printable(line), _LONGEST)) for line in lines)


def _escaped(text: str) -> str:
    return "".join(f"#{ord(char)};" if char in _TAKEN else char for char in text)
