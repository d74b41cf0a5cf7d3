"""The rule `maybe-null`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan import schema as schemas
from toolplan.diagnostics import Severity
from toolplan.plan import RESERVED_IDS, Ref, When, refs
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema
from toolplan.schema._types import ALL_TYPES

_MOST_NESTED: Final = 8


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
        if use.pointer in reported or not use.in_arguments or not _may_be_null(use):
            continue
        if _is_meant(context, use) or _is_excluded(use.step.when, use.ref):
            continue
        reported.add(use.pointer)
        then = "the argument takes no null" if use.whole else "the text then says `null`"
        yield Problem(f"{use.text} may be null, and {then}.", use.pointer, use.step.id, _help(use))


def _may_be_null(use: Use) -> bool:
    if not isinstance(use.given, Schema) or not use.given.mentions_null:
        return False
    if not use.whole:
        return _says_null(use.given)
    given, taken = use.given, use.taken
    for _ in range(_MOST_NESTED):
        if not isinstance(given, Schema) or not isinstance(taken, Schema):
            return False
        if not schemas.types_of(given) - {"null"}:
            return False  # it never fits, which another rule reports
        if _says_null(given) and "null" not in schemas.types_of(taken):
            return True
        if "array" not in schemas.types_of(given) & schemas.types_of(taken):
            return False
        given, taken = schemas.elements(given), schemas.elements(taken)
    return False


def _says_null(schema: Schema) -> bool:
    types = schemas.types_of(schema)
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
    except schemas.SchemaError:
        return False  # another rule reports it


def _help(use: Use) -> str:
    if use.ref.step == "item" and use.step.for_each is not None:
        return "Leave out the items with null before `for_each`, or use a field that always exists."
    return (
        f'Skip the step where it is null: `when`: {{"value": "{use.text}", "is": {{"not": {{"type":'
        f' "null"}}}}}}; or refer to a value that is always there.'
    )
