"""The rules of the policy: its names, the tools it allows, and where values may go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import split_pointer
from toolplan.policy import FlowKind, Label, Verdict, place_of

_MOST_TRUSTED = 5
_MOST_SOURCES = 3
_ASKED: Final = {
    "condition": "What decides whether the step is made",
    "count": "What decides how often the step is made",
}


@rule()
def policy_tool(context: PlanContext) -> Iterator[Problem]:
    """The policy names a tool that is not there.

    A rule about a tool that does not exist protects nothing, so no plan runs under it.

    How to fix: correct the name in the policy, or open the tools that it is made for.
    """
    yield from _faults(context, "policy-tool")


@rule()
def policy_argument(context: PlanContext) -> Iterator[Problem]:
    """The policy says what an argument needs that the tool does not have.

    A misspelt name would leave the real argument without its rule, so no plan runs under it.

    How to fix: correct the name in the policy; `toolplan tools NAME` shows the arguments.
    """
    yield from _faults(context, "policy-argument")


@rule()
def policy_output(context: PlanContext) -> Iterator[Problem]:
    """The policy names an output that no tool has, or says two things of one.

    The path is followed through the output schema of the tool. For a tool without one any path is
    taken. What a tool such as `sql` gives follows from what it is given, and cannot be trusted by
    name.

    How to fix: correct the path in the policy; `toolplan tools NAME` shows the schema.
    """
    yield from _faults(context, "policy-output")


def _faults(context: PlanContext, code: str) -> Iterator[Problem]:
    for fault in context.vouched.faults if context.tools is not None else ():
        if fault.code == code:
            where = place_of(context.policy, fault.keys)
            yield Problem(f"{where}: {fault.message}", "", None, fault.help)


@rule()
def tool_not_allowed(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool that is not allowed here.

    A policy may list the tools that plans may use (`allow`). The list holds for every plan, whoever
    wrote it, and is part of what an approval covers.

    How to fix: use another tool, or add this one to `allow`.
    """
    allow = context.policy.allow
    allowed = frozenset(allow or ())
    for call in context.calls if allow is not None else ():
        if (name := call.step.tool) and name not in allowed:
            message = f"The tool {name!r} is not allowed here."
            yield call.problem(message, "/tool", "Add it to `allow`, or use another tool.")


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
            message = f"The secret {names} would reach a tool whose calls somebody outside can read"
            help = "Leave it out, or use another tool."
        else:
            message = (
                f"The policy refuses {_argument(flow.pointer)!r}: it needs to be {flow.needs}, and"
                f" {_origin(flow.label)}"
            )
            trusted = context.policy.trusted
            more = len(trusted) - _MOST_TRUSTED
            rest = f" and {more} more" if more > 0 else ""
            listed = f": {', '.join(map(repr, trusted[:_MOST_TRUSTED]))}{rest}."
            help = (
                "Write the value in the plan, or take it from an output that the policy trusts"
                f"{listed if trusted else '; it trusts none yet.'}"
            )
        yield Problem(f"{message}.", flow.pointer, flow.step, help)


@rule(Severity.WARNING)
def untrusted_argument(context: PlanContext) -> Iterator[Problem]:
    """A value from an untrusted source reaches an argument that needs a trusted one.

    Whoever can write that source chooses the value: the address of a mail, the account of a
    payment. The plan may run, and a person is asked before the call, unless the plan is approved as
    it stands.

    How to fix: write the value in the plan, take it from an output that the policy trusts, or say
    in the policy that the output is trusted or that the argument takes any value.
    """
    yield from _asked(context, "argument", "A person is asked before the call.")


@rule(Severity.WARNING)
def untrusted_condition(context: PlanContext) -> Iterator[Problem]:
    """Untrusted data decides whether a call is made that may do harm.

    The arguments of the call may all be trusted: whoever can write the data still chooses whether
    it happens. The condition may stand in this step, or in one that this step refers to.

    How to fix: decide by an output that the policy trusts, or say in `[decide]` of the policy what
    the tool needs.
    """
    yield from _asked(context, "condition", "A person is asked before the call.")


@rule(Severity.WARNING)
def untrusted_count(context: PlanContext) -> Iterator[Problem]:
    """Untrusted data decides how often a call is made that may do harm.

    Each item of `for_each` is a call, so that whoever can write the list chooses how many there
    are, and for which of the items.

    How to fix: take the list from an output that the policy trusts, or say in `[decide]` of the
    policy what the tool needs.
    """
    yield from _asked(context, "count", "A person is asked before the calls.")


def _asked(context: PlanContext, kind: FlowKind, help: str) -> Iterator[Problem]:
    """Yield the flows of a kind that a person is asked about, where the policy speaks of flows."""
    for flow in context.flows if context.policy.has_flows else ():
        if flow.kind == kind and flow.verdict is Verdict.ASK:
            what = _ASKED.get(kind, repr(_argument(flow.pointer)))
            message = f"{what} needs to be {flow.needs}; {_origin(flow.label)}."
            yield Problem(message, flow.pointer, flow.step, help)


def _origin(label: Label) -> str:
    """Return the sources that limit the trust in a value: `a.iban (tool) makes it untrusted`."""
    named = [str(source) for source in label.sources[:_MOST_SOURCES]]
    more = len(label.sources) - len(named)
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    makes = "makes" if len(label.sources) == 1 else "make"
    return f"{listed} {makes} it {label.trust}" if listed else f"it is {label.trust}"


def _argument(pointer: str) -> str:
    """Return the name of the place in its step: `to`, or `when`."""
    _, _, part, *rest = split_pointer(pointer)
    return rest[0] if part == "args" and rest else part
