"""The rule `untrusted-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._flows import asked, origin, place
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def untrusted_argument(context: PlanContext) -> Iterator[Problem]:
    """A value from a source that nobody vouched for reaches an argument that needs a better one.

    Whoever can write that source chooses the value: the address of a mail, the account of a
    payment. The plan may run, and a person is asked before the call, unless the plan is approved as
    it stands.

    How to fix: write the value in the plan, take it from an output that the policy trusts, or say
    in the policy that the output is trusted or that the argument takes any value.
    """
    for flow in asked(context, "argument"):
        yield Problem(
            f"{place(flow)!r} needs to be {flow.needs}; {origin(flow.label)}.",
            flow.pointer,
            flow.step,
            "A person is asked before the call.",
        )
