"""The rules of references: to unknown steps and parts, of the wrong type, and to null."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from toolplan.compiler.rules._context import PlanContext, Problem, Use
from toolplan.compiler.rules._rule import rule
from toolplan.compiler.rules.lists import is_list_into_scalar
from toolplan.plan.canonical import dump_value
from toolplan.plan.diagnostics import Edit, Fix, Severity, available, did_you_mean, near
from toolplan.plan.model import RESERVED_IDS, Ref, When, refs
from toolplan.plan.path import Path
from toolplan.schema import (
    ALL_TYPES,
    Absent,
    Schema,
    SchemaError,
    Verdict,
    accepted,
    assignable,
    at,
    describe,
    elements,
    types_of,
)

WRAPPERS: Final = frozenset(
    ("data", "result", "results", "output", "response", "body", "payload", "content", "items")
)
"""Names of fields that only wrap what a tool returns."""
_MOST_NESTED: Final = 8


@rule()
def unknown_step(context: PlanContext) -> Iterator[Problem]:
    """A reference, or `after`, names a step that is not in the plan.

    Steps may be written in any order, so a step that is written later is fine. A name that was
    surely meant is corrected.

        {"id": "b", "tool": "…", "args": {"ids": "${facilites.data[*].id}"}}

    How to fix: name a step of the plan.
    """
    for pointer, holder, name in dict.fromkeys(_unknown(context)):
        offers = context.suggest(name, context.steps)
        fix = None
        if (sure := offers.sure) is not None:
            # an entry of `after` holds no reference: it is the name itself
            edits = context.edits_of_refs(
                pointer,
                lambda ref, old=name, new=sure: replace(ref, step=new) if ref.step == old else ref,
            )
            fix = Fix(True, edits or (Edit(pointer, sure),))
        help = did_you_mean(offers.near) or available("steps", context.steps)
        yield Problem(f"There is no step {name!r}.", pointer, holder, help, fix)


def _unknown(context: PlanContext) -> Iterator[tuple[str, str | None, str]]:
    """Yield each unknown name with its pointer and its step."""
    known = context.steps.keys() | RESERVED_IDS
    for use in context.uses:
        if use.ref.step not in known:
            yield use.pointer, use.step.id, use.ref.step
    for pointer, ref in context.output_refs:
        if ref.step not in known:
            yield pointer, None, ref.step
    for call in context.calls:
        for index, name in enumerate(call.step.after):
            if name not in context.steps:
                yield f"{call.pointer}/after/{index}", call.step.id, name


@rule()
def unknown_output(context: PlanContext) -> Iterator[Problem]:
    """A reference selects a part that the step's output does not have.

    The path is followed through the tool's output schema. References to a tool without an output
    schema are not reported; they are counted as not type-checked. A path with an extra or missing
    wrapper (`data.items` for `items`), one that takes an output for the only list in it (`[0]` for
    `data[0]` of `sql`), or with a typing error in one key, is corrected where only
    one other path leads anywhere.

        "${shipments.items[*].id}"     the output has no field 'items'

    How to fix: use a field that the message names.
    """
    for use in context.uses:
        if isinstance(use.given, Absent) and not use.given.not_a_list:
            last = use.ref.path[-1] if use.ref.path else None
            close = context.suggest(last, use.given.names).near if isinstance(last, str) else ()
            yield use.problem(
                f"{use.text} does not exist: {use.given.message}.",
                did_you_mean(close) or _help(use.given),
                _redirect(context, use),
            )
    for pointer, ref in context.output_refs:
        found = context.type_of(ref, None)
        if isinstance(found, Absent):
            message = f"The plan's output does not exist: {found.message}."
            yield Problem(message, pointer, None, _help(found))


def _redirect(context: PlanContext, use: Use) -> Fix | None:
    """Return the fix that selects the one other place that was surely meant, if any."""
    whole = context.type_of(Ref(use.ref.step), use.step)
    if not isinstance(whole, Schema):
        return None
    paths = dict.fromkeys(_other_paths(context, whole, use.ref.path))
    fitting = [path for path in paths if _fits(use, at(whole, path))]
    if len(fitting) != 1:
        return None
    right = Ref(use.ref.step, fitting[0])
    edits = context.edits_of_refs(use.pointer, lambda ref: right if ref == use.ref else ref)
    return Fix(True, edits)


def _other_paths(context: PlanContext, whole: Schema, path: Path) -> Iterator[Path]:
    """Yield `path` with its first wrong key corrected, or a wrapper removed or inserted."""
    for wrong in range(len(path)):
        found = at(whole, path[: wrong + 1])
        if not isinstance(found, Absent):
            continue
        before, key, rest = path[:wrong], path[wrong], path[wrong + 1 :]
        if isinstance(key, str):
            sure = context.suggest(key, found.names).sure
            if sure is not None:
                yield (*before, sure, *rest)
            if key in WRAPPERS and rest:
                yield (*before, *rest)
        else:
            around = at(whole, before)
            lists = _list_fields(around) if isinstance(around, Schema) else []
            if len(lists) == 1:
                yield (*before, lists[0], key, *rest)
        yield from ((*before, name, key, *rest) for name in found.names if name in WRAPPERS)
        return


def _list_fields(schema: Schema) -> list[str]:
    """Return the names of the fields that are always lists, behind references too."""
    listed = [node.get("properties") for node in schema.nodes()]
    names = dict.fromkeys(name for each in listed if isinstance(each, dict) for name in each)
    parts = {name: at(schema, (name,)) for name in names}
    known = {name: part for name, part in parts.items() if isinstance(part, Schema)}
    return [name for name, part in known.items() if [*types_of(part)] == ["array"]]


def _fits(use: Use, given: Schema | Absent | None) -> bool:
    if not isinstance(given, Schema):
        return False
    taken = use.taken if isinstance(use.taken, Schema) else None
    if assignable(given, taken) is not Verdict.NO:
        return True
    return not use.whole or is_list_into_scalar(replace(use, given=given))


def _help(absent: Absent) -> str | None:
    if absent.is_a_list:
        return "Select from the list first: `[*]` for every element, `[0]` for the first."
    return available("fields", absent.names)


@rule()
def not_a_list(context: PlanContext) -> Iterator[Problem]:
    """`[*]` or `for_each` is used on something that is never a list.

    `[*]` stands for every element of a list, and `for_each` makes one call for each element.

        "for_each": "${shipments}"     the list is at ${shipments.data}

    Where the output has exactly one list, as that of `sql`, the reference is corrected to it.

    How to fix: name the field that is a list.
    """
    for use in context.uses:
        if isinstance(use.given, Absent) and use.given.not_a_list:
            yield use.problem(
                f"`[*]` in {use.text} is not on a list: {use.given.message}.",
                "Remove the `[*]`, or name the field that is a list.",
                _redirect(context, use),
            )
    for call in context.calls:
        value = call.step.for_each
        listed = None if value is None else context.type_of_value(value, None)
        if listed is None or "array" in types_of(listed):
            continue
        lists, fix = _list_fields(listed), None
        if len(lists) == 1 and isinstance(value, Ref):
            right = dump_value(Ref(value.step, (*value.path, lists[0])))
            fix = Fix(True, (Edit(f"{call.pointer}/for_each", right),))
        yield call.problem(
            f"`for_each` is {describe(listed)}, not a list.",
            "/for_each",
            available("lists", lists) or "Refer to a list.",
            fix,
        )


@rule()
def reference_type(context: PlanContext) -> Iterator[Problem]:
    """A reference fills an argument with something that its tool does not accept.

    The schema of the selected value and the schema of the argument have no value in common. Types
    that only overlap (a number into an integer, a nullable value into one that may not be null) are
    no error: the engine checks the value during the run. Text with references in it is always text,
    so it is an error where an argument accepts none. An argument that must be written out in the
    plan (`x-literal`) accepts no reference, nor does a part of it. A single value where a list of
    such values is accepted becomes a list of one.

        {"tool": "shipments_list", "args": {"limit": "${facilities.data[0].name}"}}

    How to fix: refer to a part of the right type.
    """
    reported: set[str] = set()
    for use in context.uses:
        problem = _mismatch(use, use.taken) if isinstance(use.taken, Schema) else None
        if problem is not None and problem.pointer not in reported:
            reported.add(problem.pointer)
            yield problem


def _mismatch(use: Use, taken: Schema) -> Problem | None:
    if any(node.get("x-literal") is True for node in taken.nodes()):
        return use.problem(
            f"{use.text} is in an argument that must be written out.",
            "Write the text itself, so that a reader of the plan sees what will run.",
        )
    given = use.given
    if not use.whole:
        if "string" in types_of(taken):
            return None
        return use.problem(
            f"Text with a reference is text, but the argument accepts {accepted(taken)}.",
            f"Make {use.text} the whole value, so that it keeps its type.",
        )
    if not isinstance(given, Schema) or assignable(given, taken) is not Verdict.NO:
        return None
    if is_list_into_scalar(use):
        return None
    element = elements(taken)
    is_one = (
        types_of(taken) <= {"array", "null"}
        and isinstance(element, Schema)
        and assignable(given, element) is Verdict.YES
    )
    return use.problem(
        f"{use.text} is {describe(given)}, but the argument accepts {accepted(taken)}.",
        "Refer to a part of the right type.",
        Fix(True, (Edit(use.pointer, [dump_value(use.ref)]),)) if is_one else None,
    )


@rule(Severity.WARNING)
def maybe_null(context: PlanContext) -> Iterator[Problem]:
    """A reference may be null, and its argument takes no null.

    The output schema says that the selected value, or an element of it, may be null, and the schema
    of the argument says that it may not: the call fails where it is. Inside of text, null becomes
    the word `null`. A step with `on_error: continue` is null only when it failed, and what needs
    its output is then meant to fail, so it is no problem here; nor is an output whose schema is
    computed, as that of `sql`.

        {"tool": "send_mail", "args": {"to": "${ticket.assignee}"}}

    How to fix: skip the step with `when`: `{"value": "${ticket.assignee}", "is": {"type":
    "string"}}`, drop the rows with null before `for_each`, or refer to a value that is always
    there.
    """
    reported: set[str] = set()
    for use in context.uses:
        if not use.in_arguments or not _may_be_null(use) or use.pointer in reported:
            continue
        if _is_meant(context, use) or _is_excluded(use.step.when, use.ref):
            continue
        reported.add(use.pointer)
        then = "the argument takes no null" if use.whole else "the text then says `null`"
        help = (
            f'Skip the step where it is null: `when`: {{"value": "{use.text}", "is":'
            ' {"not": {"type": "null"}}}; or refer to a value that is always there.'
        )
        if use.ref.step == "item" and use.step.for_each is not None:
            help = (
                "Leave out the items with null before `for_each`, or use a field that always"
                " exists."
            )
        yield use.problem(f"{use.text} may be null, and {then}.", help)


def _may_be_null(use: Use) -> bool:
    given, taken = use.given, use.taken
    if not isinstance(given, Schema) or not given.mentions_null:
        return False
    if not use.whole:
        return _says_null(given)
    for _ in range(_MOST_NESTED):
        if not isinstance(given, Schema) or not isinstance(taken, Schema):
            return False
        if not types_of(given) - {"null"}:
            return False  # it never fits, which another rule reports
        if _says_null(given) and "null" not in types_of(taken):
            return True
        if "array" not in types_of(given) & types_of(taken):
            return False
        given, taken = elements(given), elements(taken)
    return False


def _says_null(schema: Schema) -> bool:
    types = types_of(schema)
    return "null" in types and types != ALL_TYPES


def _is_meant(context: PlanContext, use: Use) -> bool:
    """Return whether the null stands for a failure, or the source does not state it."""
    names = {use.ref.step}
    if use.ref.step in RESERVED_IDS and use.step.for_each is not None:
        names = {ref.step for ref in refs(use.step.for_each)}
    for name in names:
        source = context.steps.get(name)
        tool = None if source is None else context.tool(source)
        if source is None or tool is None or tool.compute_output is not None:
            return True
        length = len(use.ref.path) if name == use.ref.step else 0
        if source.on_error == "continue" and length <= (source.for_each is not None):
            return True
    return False


def _is_excluded(when: When | None, ref: Ref) -> bool:
    """Return whether a step is skipped where `ref` is null."""
    if when is None or when.value != ref:
        return False
    try:
        return bool(Schema.load(when.schema).violations(None))
    except SchemaError:
        return False  # another rule reports it


@rule(Severity.WARNING)
def learned_output(context: PlanContext) -> Iterator[Problem]:
    """A reference selects something that the step's tool has not returned so far.

    The tool declares no output schema. In none of its earlier results was there such a part, or it
    had a type that the argument does not accept. Other results may have it, so this is a warning
    without a fix.

        "${search.items[*].id}"     in 12 results there was no field 'items'

    How to fix: look at what the tool returns (`toolplan show RUN`), or declare its output schema.
    """
    if not any(tool is not None and tool.learned is not None for tool in context.called.values()):
        return
    for use in context.uses:
        given, results = _learned_part(context, use.ref)
        if isinstance(given, Absent):
            yield use.problem(*_missing_part(use.text, use.ref, given, results))
            continue
        if not use.whole or not isinstance(given, Schema) or not isinstance(use.taken, Schema):
            continue
        if assignable(given, use.taken) is Verdict.NO:
            yield use.problem(
                f"In {results} {use.text} was {describe(given)}, which the argument does not"
                " accept.",
                "Refer to a part of the right type.",
            )
    for pointer, ref in context.output_refs:
        given, results = _learned_part(context, ref)
        if isinstance(given, Absent):
            message, help = _missing_part("The plan's output", ref, given, results)
            yield Problem(message, pointer, None, help)


def _learned_part(context: PlanContext, ref: Ref) -> tuple[Schema | Absent | None, str]:
    """Return the schema of the part at `ref` in its tool's earlier results, and their number."""
    source = context.steps.get(ref.step)
    tool = None if source is None else context.tool(source)
    if source is None or tool is None or tool.learned is None:
        return None, ""
    schema = tool.learned_schema
    if schema is None or context.output(source.id) is not None:
        return None, ""
    if source.for_each is not None:
        schema = schema.part({"type": "array", "items": schema.node})
    samples = tool.learned.samples
    return at(schema, ref.path), f"{samples} earlier result{'' if samples == 1 else 's'}"


def _missing_part(text: str, ref: Ref, absent: Absent, results: str) -> tuple[str, str | None]:
    missed = [key for key in ref.path if isinstance(key, str) and key not in absent.names]
    meant = dict.fromkeys(name for key in missed for name in near(key, absent.names))
    help = did_you_mean(meant) or available("fields", absent.names)
    return f"{text} was missing in {results}: {absent.message}.", help
