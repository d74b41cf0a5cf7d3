"""The rule `unknown-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import REMOVED, Edit, Fix, available, did_you_mean, words
from toolplan.plan import Step, escape_pointer
from toolplan.plan_json import dump_value
from toolplan.rules._context import MAX_COMPARISONS, PlanContext
from toolplan.rules._rule import Problem, rule


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
    known_names: dict[int, _Names] = {}
    for position, step, found in context.violations:
        if found.kind != "unknown":
            continue
        name = found.name or ""
        place = f"/steps/{position}/args{found.pointer}"
        known = known_names.get(position) or known_names.setdefault(position, _Names(context, step))
        names = known.declared if found.pointer == "" else ()
        free = known.free if found.pointer == "" else []
        offers = context.suggest(name, free)
        sure = offers.sure or known.only_one_left(name)
        yield Problem(
            f"{step.tool!r} has no argument {name!r}.",
            f"{place}/{escape_pointer(name)}",
            step.id,
            did_you_mean(offers.near) or available("arguments", names),
            _rename(step, place, name, sure) if free else None,
        )


class _Names:
    """The names of the arguments of one step: the declared, the free, the missing, the unknown."""

    def __init__(self, context: PlanContext, step: Step) -> None:
        tool = context.tool(step)
        self.declared = () if tool is None else tool.signature.inputs
        self.free = [each for each in self.declared if each not in step.args]
        needed = () if tool is None else schemas.required(tool.input)
        missing = [each for each in needed if each not in step.args]
        taken = frozenset(self.declared)
        unknown = [] if tool is None else [each for each in step.args if each not in taken]
        # too many names to compare are too many to be sure of one
        is_small = len(missing) * len(unknown) <= MAX_COMPARISONS
        self._missing = missing if is_small else []
        self._rivals = {
            each: [name for name in unknown if _share_a_word(name, each)] for each in self._missing
        }

    def only_one_left(self, name: str) -> str | None:
        """Return the only missing required argument that shares a word with `name` and no other.

        `input_image` is `image` where `image` is required and missing, and no other given name
        could be it.
        """
        rivals = self._rivals
        fitting = [each for each in self._missing if rivals[each] and _share_a_word(name, each)]
        return fitting[0] if len(fitting) == 1 and rivals[fitting[0]] == [name] else None


def _share_a_word(one: str, other: str) -> bool:
    """Return whether one name's words are all in the other, at least one of them not a number."""
    few, many = sorted((set(words(one)), set(words(other))), key=len)
    return few <= many and any(not word.isdigit() for word in few)


def _rename(step: Step, place: str, name: str, sure: str | None) -> Fix | None:
    if sure is None or name not in step.args:
        return None
    value = dump_value(step.args[name])
    edits = (
        Edit(f"{place}/{escape_pointer(name)}", REMOVED),
        Edit(f"{place}/{escape_pointer(sure)}", value),
    )
    return Fix(True, edits)
