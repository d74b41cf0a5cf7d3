"""The rules of arguments: which are missing or unknown, and which values do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.compiler.rules._context import MAX_COMPARISONS, Call, PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.compiler.rules._spelling import Days, days_for, is_date, respelt
from toolplan.plan.canonical import dump_value
from toolplan.plan.diagnostics import REMOVED, Edit, Fix, Severity, available, did_you_mean, words
from toolplan.plan.model import (
    Literal,
    bare,
    escape_pointer,
    members,
    object_,
    split_pointer,
    value_inside,
)
from toolplan.plan.path import Segment
from toolplan.schema import Schema, accepted, at, required, without_null


@rule()
def missing_argument(context: PlanContext) -> Iterator[Problem]:
    """A step leaves out an argument that its tool requires.

    The tool would refuse the call, after other steps have already run.

    How to fix: give the argument a value, or a reference to a step that has one.
    """
    for call, found in context.violations:
        if found.kind == "missing":
            name = found.name or ""
            part = None if call.tool is None or found.pointer else at(call.tool.input, (name,))
            wanted = accepted(part) if isinstance(part, Schema) else "a value"
            message = f"{call.step.tool!r} requires {name!r}, which is missing."
            yield call.problem(message, f"/args{found.pointer}", f"Give {name!r}: {wanted}.")


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
    known: dict[str, _Names] = {}
    for call, found in context.violations:
        if found.kind != "unknown":
            continue
        name, args = found.name or "", call.step.args
        place = f"/args{found.pointer}/{escape_pointer(name)}"
        if call.pointer not in known:
            known[call.pointer] = _Names(call)
        names = known[call.pointer]
        is_argument = found.pointer == ""
        offers = context.suggest(name, names.free if is_argument else ())
        sure = offers.sure or names.only_one_left(name)
        fix = None
        if is_argument and names.free and sure is not None and name in args:
            new = Edit(f"{call.pointer}/args/{escape_pointer(sure)}", dump_value(args[name]))
            fix = Fix(True, (Edit(call.pointer + place, REMOVED), new))
        listed = available("arguments", names.declared if is_argument else ())
        message = f"{call.step.tool!r} has no argument {name!r}."
        yield call.problem(message, place, did_you_mean(offers.near) or listed, fix)


class _Names:
    """The names of the arguments of one step: the declared, the free, the missing, the unknown."""

    def __init__(self, call: Call) -> None:
        step, tool = call.step, call.tool
        self.declared = () if tool is None else tool.signature.inputs
        self.free = [each for each in self.declared if each not in step.args]
        needed = () if tool is None else required(tool.input)
        missing = [each for each in needed if each not in step.args]
        declared = frozenset(self.declared)
        unknown = [each for each in step.args if each not in declared]
        # too many names to compare are too many to be sure of one
        is_small = len(missing) * len(unknown) <= MAX_COMPARISONS
        self._rivals = {
            each: [name for name in unknown if _share_a_word(name, each)]
            for each in (missing if is_small else ())
        }

    def only_one_left(self, name: str) -> str | None:
        """Return the only missing required argument that shares a word with `name` and no other.

        `input_image` is `image` where `image` is required and missing, and no other given name
        could be it.
        """
        fitting = [each for each, rivals in self._rivals.items() if name in rivals]
        return fitting[0] if len(fitting) == 1 and self._rivals[fitting[0]] == [name] else None


def _share_a_word(one: str, other: str) -> bool:
    """Return whether one name's words are all in the other, at least one of them not a number."""
    few, many = sorted((set(words(one)), set(words(other))), key=len)
    return few <= many and any(not word.isdigit() for word in few)


@rule()
def argument_type(context: PlanContext) -> Iterator[Problem]:
    """An argument is written out with a value of the wrong JSON type.

    Arguments that hold references are checked by `reference-type`.

        {"tool": "shipments_list", "args": {"limit": "ten"}}

    A value with exactly one other accepted spelling, such as 10 for "10" or ["a"] for "a", is
    corrected. A null for an optional argument that accepts none is left out, so that the tool's own
    default applies.

    How to fix: write a value of the type that the message names.
    """
    return _literal_problems(context, "type")


@rule()
def argument_value(context: PlanContext) -> Iterator[Problem]:
    """An argument has the right type, but a value that its tool does not accept.

    The value is outside of an enum or a range, or does not match a pattern or a format (a date is
    written YYYY-MM-DD). A tool may also refuse values itself: `sql` binds its statement against the
    columns of its tables before anything runs.

        {"tool": "shipments_list", "args": {"date_from": "last week"}}

    A value of an enum in other letter case, or a date in another spelling that can only mean one
    day, is corrected.

    How to fix: write a value that the message names.
    """
    return _literal_problems(context, "value")


def _literal_problems(context: PlanContext, kind: str) -> Iterator[Problem]:
    """Yield a problem for each violation of this `kind` in the literal arguments."""
    for call, found in context.violations:
        if found.kind != kind or call.tool is None:
            continue
        args, keys = object_(tuple(call.step.args.items())), split_pointer(found.pointer)
        path, value = value_inside(args, keys)
        around = value_inside(args, keys[:-1])[1]
        part, outer = at(call.tool.input, path), at(call.tool.input, path[:-1])
        constant, fix = value.value if isinstance(value, Literal) else None, None
        place = f"/args{found.pointer}"
        if isinstance(constant, str) and isinstance(outer, Schema) and is_date(part):
            given = {str(key) for key, _ in members(bare(around))} if around else set[str]()
            days = context.times and days_for(constant, str(path[-1]), outer, given, context.times)
            if days is not None:
                yield _days_problem(call, place, days)
                continue
        wanted = accepted(part) if isinstance(part, Schema) else "any value"
        if path and isinstance(part, Schema) and isinstance(value, Literal):
            if constant is None:
                fix = _without_null(outer, path[-1], call.pointer + place)
            elif (other := respelt(constant, without_null(part))) is not None:
                fix = Fix(True, (Edit(call.pointer + place, dump_value(Literal(other[0]))),))
        yield call.problem(
            f"{'.'.join(split_pointer(found.pointer)) or 'The arguments'}: {found.message}",
            place,
            None if wanted == "any value" else f"Expected: {wanted}.",
            fix,
        )


def _days_problem(call: Call, place: str, days: Days) -> Problem:
    parent, name = place.rsplit("/", 1)
    if days.problem is not None:
        wanted = "Write the day as YYYY-MM-DD, or ask back."
        return call.problem(f"{name}: {days.problem}", place, wanted)
    parent = call.pointer + parent
    edits = (Edit(f"{parent}/{escape_pointer(n)}", day) for n, day in days.values.items())
    return call.problem(f"{name}: {days.said}.", place, None, Fix(True, tuple(edits)))


def _without_null(around: object, key: Segment, pointer: str) -> Fix | None:
    """Return the fix that leaves out a null, if it stands for an optional argument."""
    if not isinstance(key, str) or not isinstance(around, Schema):
        return None
    needed = [node.get("required") for node in around.nodes()]
    if any(isinstance(each, list) and key in each for each in needed):
        return None
    return Fix(True, (Edit(pointer, REMOVED),))


@rule(Severity.WARNING)
def pattern_not_checked(context: PlanContext) -> Iterator[Problem]:
    """A tool's schema has a pattern that is not checked before the call.

    Patterns run on an engine that is linear in the text, which has neither look-around nor
    back-references. Such a pattern is left out of the check; the tool may still refuse the value.

    How to fix: write the pattern without look-around in the tool's schema.
    """
    for call in context.calls:
        if call.tool is not None and call.step.args and not call.tool.input.is_whole:
            yield call.problem(
                f"A pattern in the schema of {call.step.tool!r} is not checked: it uses look-around"
                " or back-references.",
                "/args",
            )


@rule()
def retry_unsafe(context: PlanContext) -> Iterator[Problem]:
    """A step retries a tool that must not be called twice.

    A call that seems to have failed may have done its work. Only a tool that reads, or that
    declares itself idempotent, may be retried.

    How to fix: remove `retries`, or mark the tool as idempotent.
    """
    for call in context.calls:
        if call.step.retries and call.tool is not None and not call.tool.may_repeat:
            yield call.problem(
                f"{call.step.tool!r} may do its work twice if it is called again.",
                "/retries",
                "Only tools that read or are idempotent may be retried.",
                Fix(False, (Edit(f"{call.pointer}/retries", REMOVED),)),
            )
