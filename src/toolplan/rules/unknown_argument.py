"""The rule `unknown-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, did_you_mean, words
from toolplan.plan import Step, escape_pointer
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.schema import required


@rule()
def unknown_argument(context: PlanContext) -> Iterator[Problem]:
    """A step gives an argument that its tool does not declare.

    Tools differ in what they do with such an argument: some refuse the call, and some ignore it and
    answer another question than was asked, which is worse. So a schema that declares properties is
    read as closed; one that says `additionalProperties` itself, or declares no property at all, is
    open. A name that surely was meant, and is not given yet, is put in its place: one that differs
    by a slip of the hand, or the one required argument that is missing and shares its words.

        {"tool": "shipments_list", "args": {"state": "rejected"}}

    Way out: use a name that the tool declares, or leave the argument out.
    """
    for position, step, found in context.violations:
        if found.kind != "unknown":
            continue
        name = found.name or ""
        place = f"/steps/{position}/args{found.pointer}"
        names = _declared(context, step) if found.pointer == "" else ()
        free = [each for each in names if each not in step.args]
        offers = context.suggest(name, free)
        sure = offers.sure or _only_one_left(context, step, name)
        yield Problem(
            f"{step.tool!r} has no argument {name!r}.",
            f"{place}/{escape_pointer(name)}",
            step.id,
            did_you_mean(offers.near) or _list(names),
            _rename(step, place, name, sure) if free else None,
        )


def _only_one_left(context: PlanContext, step: Step, name: str) -> str | None:
    """Return the required argument that is missing, if the name of no other shares a word with it.

    `input_image` is `image` where `image` is required and missing, and nothing else that was given
    could be it.
    """
    tool = context.tool(step)
    if tool is None:
        return None
    missing = [each for each in required(tool.input) if each not in step.args]
    strange = [each for each in step.args if each not in tool.signature.inputs]
    fitting = [each for each in missing if _share_a_word(name, each)]
    rivals = [each for each in strange if any(_share_a_word(each, other) for other in fitting)]
    return fitting[0] if len(fitting) == 1 and rivals == [name] else None


def _share_a_word(one: str, other: str) -> bool:
    """Say whether all of one name's words stand in the other, one that is no number among them."""
    few, many = sorted((set(words(one)), set(words(other))), key=len)
    return few <= many and any(not word.isdigit() for word in few)


def _declared(context: PlanContext, step: Step) -> tuple[str, ...]:
    tool = context.tool(step)
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
