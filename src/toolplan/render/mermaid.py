"""A plan as a Mermaid flowchart, for documents that draw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.events import StepState
from toolplan.plan import Plan, needs, step_refs
from toolplan.render.step_text import COLOURS, box_lines

_WIDTH: Final = 60
_LONGEST: Final = 600
# Characters that would end a label, or be read as Mermaid or HTML, are written as numbers.
_TAKEN: Final = frozenset('"#&;<>`\\[]{}()|')


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
    return "".join(f"{line}\n" for line in _lines(plan, marks or {}, states or {}))


def _lines(plan: Plan, marks: Mapping[str, str], states: Mapping[str, StepState]) -> Iterator[str]:
    yield "flowchart TD"
    names = {step.id: f"s{position}" for position, step in enumerate(plan.steps)}
    for step in plan.steps:
        label = box_lines(step, marks.get(step.id, ""), _WIDTH, _LONGEST)
        yield f'    {names[step.id]}["{"<br/>".join(map(_escaped, label))}"]'
    for step in plan.steps:
        shown = {ref.step for _, ref in step_refs(step)}
        for needed in needs(step):
            if needed in names:
                arrow = "-->" if needed in shown else "-.->"
                yield f"    {names[needed]} {arrow} {names[step.id]}"
    for state in dict.fromkeys(states.values()):
        these = [names[step] for step, its in states.items() if its is state and step in names]
        if these and (colours := COLOURS.get(state)) is not None:
            fill, stroke = colours
            yield f"    classDef {state.value} fill:{fill},stroke:{stroke}"
            yield f"    class {','.join(these)} {state.value}"


def _escaped(text: str) -> str:
    return "".join(f"#{ord(char)};" if char in _TAKEN else char for char in text)
