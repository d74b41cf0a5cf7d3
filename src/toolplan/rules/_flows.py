"""What the rules about flows have in common: which flows they report, and in which words."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import flows
from toolplan.flows import Fault, Flow, FlowKind, Label, Verdict
from toolplan.plan import split_pointer
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem

_MOST_NAMED = 3


def asked(context: PlanContext, kind: FlowKind) -> Iterator[Flow]:
    """Yield the flows of a kind that a person is asked about, where the policy speaks of flows."""
    if context.policy.has_flows:
        yield from (
            flow for flow in context.flows if flow.kind == kind and flow.verdict is Verdict.ASK
        )


def faults(context: PlanContext, code: str) -> Iterator[Problem]:
    """Yield what is wrong with the policy, of one code."""
    if context.tools is None:
        return
    for fault in context.vouched.faults:
        if fault.code == code:
            yield _problem(context, fault)


def origin(label: Label) -> str:
    """Return what makes a value no better than it is: `a.iban (tool) makes it untrusted`."""
    named = [str(source) for source in label.sources[:_MOST_NAMED]]
    more = len(label.sources) - len(named)
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    makes = "makes" if len(label.sources) == 1 else "make"
    return f"{listed} {makes} it {label.trust}" if listed else f"it is {label.trust}"


def place(flow: Flow) -> str:
    """Return the name of the place in its step: `to`, or `when`."""
    _, _, part, *rest = split_pointer(flow.pointer)
    return rest[0] if part == "args" and rest else part


def _problem(context: PlanContext, fault: Fault) -> Problem:
    where = flows.place_of(context.policy, fault.keys)
    return Problem(f"{where}: {fault.message}", "", None, fault.help)
