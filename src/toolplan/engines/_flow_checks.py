"""What a run looks at because of a policy: values before calls, and labels that tools state."""

from __future__ import annotations

from collections.abc import Mapping

from toolplan import flows
from toolplan.events import Failure
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Policy, Vouched
from toolplan.tools import StatedLabel, Tool


class FlowChecks:
    """The checks of one run; none before its plan is whole.

    Attributes:
        guards: what arguments are looked at for, by step and argument.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.guards: Mapping[str, flows.Guards] = {}
        self._tools = tools
        self._plan: ExecutionPlan | None = None
        self._stated: list[tuple[str, StatedLabel]] = []  # while the plan is still written

    def plan_is(self, plan: ExecutionPlan) -> Failure | None:
        """Take the whole plan; return why a result that came before cannot be used with it."""
        self.guards = flows.guards_of(plan.flows)
        self._plan = plan
        found = (self.failure(tool, stated) for tool, stated in self._stated)
        return next((each for each in found if each is not None), None)

    def failure(self, tool: str, stated: StatedLabel) -> Failure | None:
        """Return why a result cannot be used with the label that its tool states."""
        if self._plan is None:
            self._stated.append((tool, stated))
            return None
        vouched = Vouched(Policy.from_json(self._plan.policy), self._tools)
        why = vouched.objection(tool, stated)
        return None if why is None else Failure("stated-label", why)
