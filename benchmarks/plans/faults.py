"""Faults put into clean plans, one at a time, by seed.

Each class makes one kind of mistake, and knows where it is and what it should be called. What a
class changes is chosen by `shapes`, not by the checker; where a plan has no place for a mistake of
a class, none is made, and a change that leaves the plan valid is never counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from benchmarks.plans import shapes
from benchmarks.plans.shapes import Place
from toolplan.plan.canonical import dump
from toolplan.plan.model import Literal, Plan, Ref, Step, Template, Value, needs
from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema.tool import Tool, Toolbox


@dataclass(frozen=True, slots=True)
class Fault:
    """A plan with one mistake in it.

    `document` is the plan in canonical form. `steps` are the ids under which the mistake may be
    reported (None: that of the whole plan), `codes` its right names; without any it is no mistake
    and must stay without an error.
    """

    document: Json
    steps: frozenset[str | None]
    codes: frozenset[str]


class Case(NamedTuple):
    """A clean plan, the tools that it may use, and the chance that chooses the mistake."""

    plan: Plan
    toolbox: Toolbox
    chance: random.Random


Injector: TypeAlias = Callable[[Case], "Fault | None"]


def inject(name: str, plan: Plan, toolbox: Toolbox, seed: str) -> Fault | None:
    """Return `plan` with one mistake of the class `name`, None where it has no place for one.

    The same `seed` gives the same mistake.

    Raises:
        KeyError: there is no such class.
    """
    if not plan.steps:
        return None
    return CLASSES[name](Case(plan, toolbox, random.Random(f"{seed}:{name}")))


# -- what a step calls, and what it says ------------------------------------------------------


def _unknown_tool(case: Case) -> Fault | None:
    at, step = _any_step(case)
    name = _misspelt(step.tool, case.chance) if case.chance.random() < 0.5 else "make_it_so"
    if name in case.toolbox or case.toolbox.alias(name) is not None or not name:
        return None
    return _fault(_with_step(case.plan, at, replace(step, tool=name)), step, "unknown-tool")


def _missing_argument(case: Case) -> Fault | None:
    found = [
        (at, step, name)
        for at, step, tool in _calls(case)
        for name in shapes.required(tool.raw_input)
        if name in step.args
    ]
    if not found:
        return None
    at, step, name = case.chance.choice(found)
    args = {key: value for key, value in step.args.items() if key != name}
    return _fault(_with_step(case.plan, at, replace(step, args=args)), step, "missing-argument")


def _unknown_argument(case: Case) -> Fault | None:
    found = [
        (at, step, shapes.properties(tool.raw_input))
        for at, step, tool in _calls(case)
        if shapes.is_closed(tool.raw_input)
    ]
    if not found:
        return None
    at, step, declared = case.chance.choice(found)
    base = case.chance.choice(list(declared))
    name = _misspelt(base, case.chance) if case.chance.random() < 0.5 else "invented"
    if name in declared:
        return None
    args = {**step.args, name: Literal(1)}
    if base in args and name != "invented":
        args = {name if key == base else key: value for key, value in step.args.items()}
    return _fault(_with_step(case.plan, at, replace(step, args=args)), step, "unknown-argument")


def _mistyped_argument(case: Case) -> Fault | None:
    def wrong(place: Place) -> Json:
        kind = shapes.plain_type(place.node)
        samples = [v for k, v in _SAMPLES.items() if k != kind and {k, kind} != _NUMBERS]
        return case.chance.choice(samples) if kind in _SAMPLES else _NOTHING

    return _change_literal(case, wrong, "argument-type")


def _outside_enum(case: Case) -> Fault | None:
    def wrong(place: Place) -> Json:
        values = place.node.get("enum")
        if not isinstance(values, list) or not isinstance(place.value, str):
            return _NOTHING
        return case.chance.choice((f"{place.value}_", f"no {place.value}", "none of these"))

    return _change_literal(case, wrong, "argument-value")


def _outside_bound(case: Case) -> Fault | None:
    def wrong(place: Place) -> Json:
        choices = list(_beyond(place.node, place.value))
        return case.chance.choice(choices) if choices else _NOTHING

    return _change_literal(case, wrong, "argument-value")


def _bad_format(case: Case) -> Fault | None:
    def wrong(place: Place) -> Json:
        samples = _BAD_FORMATS.get(str(place.node.get("format")))
        if samples is None or not isinstance(place.value, str):
            return _NOTHING
        return case.chance.choice(samples)

    return _change_literal(case, wrong, "argument-value")


# -- references and order ---------------------------------------------------------------------


def _dangling_reference(case: Case) -> Fault | None:
    nowhere = case.chance.choice(("nowhere", "zz9"))
    if any(step.id == nowhere for step in case.plan.steps):
        return None
    at, step, name = _any_argument(case)
    if name is None:
        return None
    return _fault(_with_arg(case.plan, at, name, Ref(nowhere)), step, "unknown-step")


def _self_reference(case: Case) -> Fault | None:
    at, step, name = _any_argument(case)
    if name is None:
        return None
    return _fault(_with_arg(case.plan, at, name, Ref(step.id)), step, "self-reference")


def _forward_reference(case: Case) -> Fault | None:
    """Write the steps in the opposite order: legal, as order comes from references alone."""
    if not any(needs(step) for step in case.plan.steps):
        return None
    plan = replace(case.plan, steps=case.plan.steps[::-1])
    return Fault(dump(plan), frozenset(), frozenset())


def _cycle(case: Case) -> Fault | None:
    if len(case.plan.steps) < 2:
        return None
    one, other = sorted(case.chance.sample(range(len(case.plan.steps)), 2))
    plan = case.plan
    for at, needed in ((one, other), (other, one)):
        step = plan.steps[at]
        target = plan.steps[needed].id
        if target in needs(step):
            continue
        plan = _with_step(plan, at, replace(step, after=(*step.after, target)))
    waiting = _waiting(plan)
    # further cycles may have come with it: whichever goes through the two steps is right
    ids = frozenset(
        step.id
        for step in plan.steps
        if step.id in waiting[plan.steps[one].id] and plan.steps[one].id in waiting[step.id]
    )
    return Fault(dump(plan), frozenset[str | None](ids), frozenset(("cycle",)))


# -- what references give ---------------------------------------------------------------------


def _wrong_output_field(case: Case) -> Fault | None:
    """Turn a reference to a field that is not declared, or put one where none was."""
    found = list(_references(case))
    if found and case.chance.random() < 0.8:
        at, step, name, ref = case.chance.choice(found)
        source = next(s for s in case.plan.steps if s.id == ref.step)
        path = _undeclared(case, case.toolbox[source.tool].raw_output, ref.path)
    else:
        choice = _new_reference(case, lambda given, _: shapes.is_closed(given))
        if choice is None:
            return None
        at, step, name, ref = choice
        source = next(s for s in case.plan.steps if s.id == ref.step)
        path = _undeclared(case, case.toolbox[source.tool].raw_output, ())
    if path is None:
        return None
    return _fault(_with_arg(case.plan, at, name, Ref(ref.step, path)), step, "unknown-output")


def _wrong_output_type(case: Case) -> Fault | None:
    def apart(given: Json, taken: Json) -> bool:
        return shapes.are_apart(given, taken) and shapes.plain_type(given) != "array"

    choice = _new_reference(case, apart)
    if choice is None:
        return None
    at, step, name, ref = choice
    return _fault(_with_arg(case.plan, at, name, ref), step, "reference-type")


def _list_into_scalar(case: Case) -> Fault | None:
    choice = _new_reference(case, shapes.is_list_of)
    if choice is None:
        return None
    at, step, name, ref = choice
    return _fault(_with_arg(case.plan, at, name, ref), step, "list-into-scalar")


def _template_into_no_text(case: Case) -> Fault | None:
    found = [
        (at, step, name, ref)
        for at, step, name, node in _typed_arguments(case)
        if shapes.plain_type(node) not in (None, "string")
        for ref in _whole_outputs(case, at)
    ]
    if not found:
        return None
    at, step, name, ref = case.chance.choice(found)
    text = Template(("about ", ref))
    return _fault(_with_arg(case.plan, at, name, text), step, "reference-type")


# -- the plan as a whole ----------------------------------------------------------------------


def _duplicate_id(case: Case) -> Fault | None:
    if len(case.plan.steps) < 2:
        return None
    one, other = sorted(case.chance.sample(range(len(case.plan.steps)), 2))
    kept = case.plan.steps[one].id
    plan = _with_step(case.plan, other, replace(case.plan.steps[other], id=kept))
    return _fault(plan, plan.steps[other], "duplicate-id")


def _empty_plan(case: Case) -> Fault | None:
    document: Json = {"toolplan": 1, "steps": []}
    return Fault(document, frozenset((None,)), frozenset(("empty-plan",)))


CLASSES: Final[Mapping[str, Injector]] = MappingProxyType(
    {
        "unknown tool": _unknown_tool,
        "missing argument": _missing_argument,
        "unknown argument": _unknown_argument,
        "mistyped argument": _mistyped_argument,
        "outside enum": _outside_enum,
        "outside bound": _outside_bound,
        "bad format": _bad_format,
        "dangling reference": _dangling_reference,
        "forward reference (legal)": _forward_reference,
        "self reference": _self_reference,
        "cycle": _cycle,
        "wrong output field": _wrong_output_field,
        "wrong output type": _wrong_output_type,
        "list into scalar": _list_into_scalar,
        "template where no text fits": _template_into_no_text,
        "duplicate id": _duplicate_id,
        "empty plan": _empty_plan,
    }
)
"""Every class of faults by its name, in the order of report."""

LEGAL: Final = "forward reference (legal)"
"""The one class that is no mistake: it is right where nothing is said."""


# -- places for mistakes ----------------------------------------------------------------------

_NOTHING: Final[Json] = {"nothing": "to put here"}
_NUMBERS: Final = {"integer", "number"}
_SAMPLES: Final[Mapping[str, Json]] = {
    "string": "some text",
    "integer": 7,
    "number": 7.5,
    "boolean": True,
    "array": ["some", "texts"],
    "object": {"some": "object"},
}
_BAD_FORMATS: Final[Mapping[str, Sequence[str]]] = {
    "date": ("last week", "2024-13-45", "2024-02-30", "12/31/2024x"),
    "date-time": ("last week", "2024-13-45T00:00:00Z", "noon"),
    "time": ("noon", "25:61:00Z"),
    "email": ("not an address", "someone at example"),
    "uri": ("not a link", "::"),
    "uuid": ("not-a-uuid",),
    "ipv4": ("256.1.1.1",),
}


def _beyond(node: Mapping[str, Json], value: Json) -> Iterator[Json]:
    """Yield values just outside of the bounds of `node`, of the type of `value`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name, away in (("minimum", -1), ("maximum", 1)):
            if isinstance(bound := node.get(name), int | float):
                yield bound + away
        for name in ("exclusiveMinimum", "exclusiveMaximum"):
            if isinstance(bound := node.get(name), int | float):
                yield bound
    if isinstance(value, str):
        if isinstance(most := node.get("maxLength"), int):
            yield "x" * (most + 1)
        if isinstance(least := node.get("minLength"), int) and least > 0:
            yield "x" * (least - 1)
    if isinstance(value, list) and value:
        if isinstance(most := node.get("maxItems"), int):
            yield [value[0]] * (most + 1)
        if isinstance(least := node.get("minItems"), int) and least > 0:
            yield value[: least - 1]


def _change_literal(case: Case, wrong: Callable[[Place], Json], code: str) -> Fault | None:
    """Change one literal part to what `wrong` gives for it, if a validator then refuses it."""
    found: list[tuple[int, Step, Place]] = []
    for at, step, tool in _calls(case):
        declared = shapes.properties(tool.raw_input)
        for name, value in step.args.items():
            if isinstance(value, Literal):
                parts = shapes.places(declared.get(name), value.value, (name,))
                found.extend((at, step, place) for place in parts)
    case.chance.shuffle(found)
    for at, step, place in found:
        new = wrong(place)
        if new is _NOTHING or shapes.accepts(place.node, new):
            continue
        name = str(place.path[0])
        old = step.args[name]
        if isinstance(old, Literal):
            changed = Literal(_put(old.value, place.path[1:], new))
            return _fault(_with_arg(case.plan, at, name, changed), step, code)
    return None


def _put(value: Json, path: tuple[str | int, ...], new: Json) -> Json:
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: _put(v, rest, new) if key == first else v for key, v in value.items()}
    if isinstance(value, list):
        return [_put(v, rest, new) if at == first else v for at, v in enumerate(value)]
    return value


def _calls(case: Case) -> Iterator[tuple[int, Step, Tool]]:
    for at, step in enumerate(case.plan.steps):
        yield at, step, case.toolbox[step.tool]


def _any_step(case: Case) -> tuple[int, Step]:
    at = case.chance.randrange(len(case.plan.steps))
    return at, case.plan.steps[at]


def _any_argument(case: Case) -> tuple[int, Step, str | None]:
    found = [(at, step, name) for at, step in enumerate(case.plan.steps) for name in step.args]
    return case.chance.choice(found) if found else (0, case.plan.steps[0], None)


def _typed_arguments(case: Case) -> Iterator[tuple[int, Step, str, Json]]:
    """Yield each argument that a plain schema declares: its step, name and schema."""
    for at, step, tool in _calls(case):
        declared = shapes.properties(tool.raw_input)
        for name in step.args:
            if name in declared:
                yield at, step, name, declared[name]


def _references(case: Case) -> Iterator[tuple[int, Step, str, Ref]]:
    """Yield each argument that is one whole reference into a step of the plan."""
    ids = {step.id for step in case.plan.steps}
    for at, step in enumerate(case.plan.steps):
        for name, value in step.args.items():
            if isinstance(value, Ref) and value.step in ids:
                yield at, step, name, value


def _whole_outputs(case: Case, at: int) -> Iterator[Ref]:
    """Yield references from the step at `at` to others that do not wait for it."""
    waiting = _waiting(case.plan)
    reader = case.plan.steps[at].id
    for step in case.plan.steps:
        if step.id != reader and reader not in waiting[step.id]:
            yield Ref(step.id)


def _new_reference(
    case: Case, fits: Callable[[Json, Json], bool]
) -> tuple[int, Step, str, Ref] | None:
    """Return an argument and a reference that could replace it, where `fits(given, taken)`."""
    tools = {step.id: case.toolbox[step.tool] for step in case.plan.steps}
    found: list[tuple[int, Step, str, Ref]] = []
    for at, step, name, taken in _typed_arguments(case):
        for whole in _whole_outputs(case, at):
            for path, given in _outputs(tools[whole.step].raw_output):
                if fits(given, taken):
                    found.append((at, step, name, Ref(whole.step, path)))
    return case.chance.choice(found) if found else None


def _outputs(node: Json) -> Iterator[tuple[Path, Json]]:
    """Yield what a reference may select of an output: all of it, a field, a field of each row."""
    yield (), node
    for name, part in shapes.properties(node).items():
        yield (name,), part
        if shapes.plain_type(part) == "array":
            for inner, deep in shapes.properties(shapes.element(part)).items():
                yield (name, EVERY, inner), {"type": "array", "items": deep}


def _undeclared(case: Case, node: Json, path: Path) -> Path | None:
    """Return `path` with one key turned into one that is plainly not declared there."""
    if not path:
        return ("no_such_field",) if shapes.is_closed(node) else None
    at = case.chance.randrange(len(path))
    for segment in path[:at]:
        if not isinstance(segment, str):
            return None
        node = shapes.properties(node).get(segment)
    key = path[at]
    if not isinstance(key, str) or not shapes.is_closed(node):
        return None
    wrong = case.chance.choice((_misspelt(key, case.chance), "no_such_field"))
    return None if wrong in shapes.properties(node) else (*path[:at], wrong, *path[at + 1 :])


def _waiting(plan: Plan) -> Mapping[str, frozenset[str]]:
    """Return for each step all steps that must end before it, through others too."""
    direct = {step.id: needs(step) for step in plan.steps}
    found: dict[str, frozenset[str]] = {}
    for step in plan.steps:
        seen: set[str] = set()
        pending = list(direct[step.id])
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending.extend(direct.get(each, ()))
        found[step.id] = frozenset(seen)
    return found


def _misspelt(name: str, chance: random.Random) -> str:
    at = chance.randrange(len(name))
    match chance.randrange(3):
        case 0:
            return name[:at] + name[at + 1 :] or "x"
        case 1:
            return name[:at] + name[at] + name[at:]
        case _:
            return name[: at + 1] + "x" + name[at + 1 :]


def _with_step(plan: Plan, at: int, step: Step) -> Plan:
    return replace(plan, steps=(*plan.steps[:at], step, *plan.steps[at + 1 :]))


def _with_arg(plan: Plan, at: int, name: str, value: Value) -> Plan:
    step = plan.steps[at]
    args = {key: value if key == name else old for key, old in step.args.items()}
    return _with_step(plan, at, replace(step, args=args))


def _fault(plan: Plan, step: Step, code: str) -> Fault:
    return Fault(dump(plan), frozenset[str | None]((step.id,)), frozenset((code,)))
