"""The rule `unknown-output`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import did_you_mean, near
from toolplan.plan import located_refs
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Absent


@rule()
def unknown_output(facts: Facts) -> Iterator[Problem]:
    """A reference selects a part that the step's output does not have.

    The path is followed through the tool's output schema, as it will be followed through the
    output. A tool without an output schema gives no complaint; the plan's check counts the
    references that could not be checked.

        "${shipments.items[*].id}"     the output has no field 'items'

    Way out: use a field that the message names.
    """
    for use in facts.uses:
        if isinstance(use.given, Absent) and not use.given.not_a_list:
            last = use.ref.path[-1] if use.ref.path else ""
            close = near(last, use.given.names) if isinstance(last, str) else []
            yield Problem(
                f"{use.text} leads nowhere: {use.given.message}.",
                use.pointer,
                use.step.id,
                did_you_mean(close) or _way_out(use.given),
            )
    if facts.plan.output is not None:
        for pointer, ref in located_refs(facts.plan.output, "/output"):
            found = facts.type_of(ref, None)
            if isinstance(found, Absent):
                yield Problem(
                    f"The plan's output leads nowhere: {found.message}.",
                    pointer,
                    None,
                    _way_out(found),
                )


def _way_out(absent: Absent) -> str | None:
    if absent.is_a_list:
        return "Select from the list first: `[*]` for every element, `[0]` for the first."
    if not absent.names:
        return None
    shown = ", ".join(map(repr, absent.names[:12]))
    return f"There are {shown}{' …' if len(absent.names) > 12 else ''}."
