"""The rule `unknown-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, did_you_mean, near, nearest
from toolplan.plan import Step, escape_pointer
from toolplan.plan_json import dump_value
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule


@rule()
def unknown_argument(facts: Facts) -> Iterator[Problem]:
    """A step gives an argument that its tool does not declare.

    Tools differ in what they do with such an argument: some refuse the call, and some ignore it and
    answer another question than was asked, which is worse. So a schema that declares properties is
    read as closed; one that says `additionalProperties` itself, or declares no property at all, is
    open. A name that surely was meant, and is not given yet, is put in its place.

        {"tool": "shipments_list", "args": {"state": "rejected"}}

    Way out: use a name that the tool declares, or leave the argument out.
    """
    for position, step in enumerate(facts.plan.steps):
        for found in facts.violations(position):
            if found.kind == "unknown":
                name = found.name or ""
                place = f"/steps/{position}/args{found.pointer}"
                names = _declared(facts, step) if found.pointer == "" else ()
                free = [each for each in names if each not in step.args]
                yield Problem(
                    f"{step.tool!r} has no argument {name!r}.",
                    f"{place}/{escape_pointer(name)}",
                    step.id,
                    did_you_mean(near(name, free)) or _list(names),
                    _rename(step, place, name, nearest(name, free)) if free else None,
                )


def _declared(facts: Facts, step: Step) -> tuple[str, ...]:
    tool = facts.tool(step)
    return () if tool is None else tool.signature.inputs


def _list(names: tuple[str, ...]) -> str | None:
    if not names:
        return None
    shown = ", ".join(map(repr, names[:12]))
    return f"It takes {shown}{' …' if len(names) > 12 else ''}."


def _rename(step: Step, place: str, name: str, sure: str | None) -> Fix | None:
    if sure is None or name not in step.args:
        return None
    value = dump_value(step.args[name])
    edits = (
        Edit(f"{place}/{escape_pointer(name)}", REMOVED),
        Edit(f"{place}/{escape_pointer(sure)}", value),
    )
    return Fix(True, edits)
