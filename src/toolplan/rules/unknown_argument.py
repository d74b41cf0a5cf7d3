"""The rule `unknown-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, available, did_you_mean, words
from toolplan.plan import Step, escape_pointer
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.schema import required


@rule()
def unknown_argument(context: PlanContext) -> Iterator[Problem]:
    """A step gives an argument that its tool does not declare.

    Some tools refuse such a call; others ignore the argument and answer another question, which is
    worse. So a schema that declares properties is treated as closed, unless it says
    `additionalProperties` itself. A name that was surely meant and is not given yet is corrected:
    one with a typing error, or the only missing required argument that shares its words.

        {"tool": "shipments_list", "args": {"state": "rejected"}}

    How to fix: use a name that the tool declares, or remove the argument.
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
            did_you_mean(offers.near) or available("arguments", names),
            _rename(step, place, name, sure) if free else None,
        )


def _only_one_left(context: PlanContext, step: Step, name: str) -> str | None:
    """Return the only missing required argument that shares a word with `name` and no other.

    `input_image` is `image` where `image` is required and missing, and no other given name could
    be it.
    """
    tool = context.tool(step)
    if tool is None:
        return None
    missing = [each for each in required(tool.input) if each not in step.args]
    unknown = [each for each in step.args if each not in tool.signature.inputs]
    fitting = [each for each in missing if _share_a_word(name, each)]
    rivals = [each for each in unknown if any(_share_a_word(each, other) for other in fitting)]
    return fitting[0] if len(fitting) == 1 and rivals == [name] else None


def _share_a_word(one: str, other: str) -> bool:
    """Return whether one name's words are all in the other, at least one of them not a number."""
    few, many = sorted((set(words(one)), set(words(other))), key=len)
    return few <= many and any(not word.isdigit() for word in few)


def _declared(context: PlanContext, step: Step) -> tuple[str, ...]:
    tool = context.tool(step)
    return () if tool is None else tool.signature.inputs


def _rename(step: Step, place: str, name: str, sure: str | None) -> Fix | None:
    if sure is None or name not in step.args:
        return None
    value = dump_value(step.args[name])
    edits = (
        Edit(f"{place}/{escape_pointer(name)}", REMOVED),
        Edit(f"{place}/{escape_pointer(sure)}", value),
    )
    return Fix(True, edits)
