"""The rules of arguments: which are missing, and which values do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan import Step
from toolplan.rules._context import PlanContext
from toolplan.rules._literals import literal_problems
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema


@rule()
def missing_argument(context: PlanContext) -> Iterator[Problem]:
    """A step leaves out an argument that its tool requires.

    The tool would refuse the call, after other steps have already run.

    How to fix: give the argument a value, or a reference to a step that has one.
    """
    for position, step, found in context.violations:
        if found.kind == "missing":
            pointer = f"/steps/{position}/args{found.pointer}"
            yield Problem(
                f"{step.tool!r} requires {found.name!r}, which is missing.",
                pointer,
                step.id,
                _help(context, step, found.name or "", found.pointer),
            )


def _help(context: PlanContext, step: Step, name: str, inside: str) -> str:
    tool = context.tool(step)
    part = None if tool is None or inside else schemas.at(tool.input, (name,))
    wanted = schemas.accepted(part) if isinstance(part, Schema) else "a value"
    return f"Give {name!r}: {wanted}."


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
    return literal_problems(context, "type")


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
    return literal_problems(context, "value")


@rule(Severity.WARNING)
def pattern_not_checked(context: PlanContext) -> Iterator[Problem]:
    """A tool's schema has a pattern that is not checked before the call.

    Patterns run on an engine that is linear in the text, which has neither look-around nor
    back-references. Such a pattern is left out of the check; the tool may still refuse the value.

    How to fix: write the pattern without look-around in the tool's schema.
    """
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if tool is not None and step.args and not tool.input.is_whole:
            yield Problem(
                f"A pattern in the schema of {step.tool!r} is not checked: it uses look-around"
                " or back-references.",
                f"/steps/{position}/args",
                step.id,
            )


@rule()
def retry_unsafe(context: PlanContext) -> Iterator[Problem]:
    """A step retries a tool that must not be called twice.

    A call that seems to have failed may have done its work. Only a tool that reads, or that
    declares itself idempotent, may be retried.

    How to fix: remove `retries`, or mark the tool as idempotent.
    """
    for position, step in context.elaborate:
        tool = context.tool(step) if step.retries else None
        if tool is not None and not tool.may_repeat:
            pointer = f"/steps/{position}/retries"
            yield Problem(
                f"{step.tool!r} may do its work twice if it is called again.",
                pointer,
                step.id,
                "Only tools that read or are idempotent may be retried.",
                Fix(False, (Edit(pointer, REMOVED),)),
            )
