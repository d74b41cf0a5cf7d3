"""The rule `flow-refused`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.flows import Verdict
from toolplan.rules._context import PlanContext
from toolplan.rules._flows import origin, place
from toolplan.rules._rule import Problem, rule

_MOST_NAMED = 5


@rule()
def flow_refused(context: PlanContext) -> Iterator[Problem]:
    """A value reaches a place where the policy does not let it go.

    Either an argument needs a better source (`else = "refuse"` in the policy), or something secret
    would reach a tool whose calls somebody outside can read (`egress`).

    How to fix: write the value in the plan, or take it from another output. The policy is changed
    by whoever is responsible for it.
    """
    for flow in context.flows:
        if flow.verdict is not Verdict.REFUSE:
            continue
        if flow.kind == "secret":
            names = ", ".join(map(str, flow.label.secrets))
            yield Problem(
                f"The secret {names} would reach a tool whose calls somebody outside can read.",
                flow.pointer,
                flow.step,
                "Leave it out, or use another tool.",
            )
        else:
            yield Problem(
                f"The policy refuses {place(flow)!r}: it needs to be {flow.needs}, and"
                f" {origin(flow.label)}.",
                flow.pointer,
                flow.step,
                _way_out(context.policy.trusted),
            )


def _way_out(trusted: tuple[str, ...]) -> str:
    """Return what may stand there instead, with the outputs that the policy trusts."""
    help = "Write the value in the plan, or take it from an output that the policy trusts"
    if not trusted:
        return f"{help}; it trusts none yet."
    more = len(trusted) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"{help}: {', '.join(map(repr, trusted[:_MOST_NAMED]))}{rest}."
