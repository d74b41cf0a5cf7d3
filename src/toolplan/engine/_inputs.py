"""The inputs of a step, filled from earlier outputs and checked against the policy."""

from __future__ import annotations

from collections.abc import Mapping

from toolplan.engine._failures import argument_failure
from toolplan.engine._values import (
    Budget,
    NotAField,
    Outputs,
    TooLarge,
    field_of,
    referenced,
    resolve,
    too_large,
)
from toolplan.events import Failure
from toolplan.plan.model import Array, Limits, Literal, Ref, Step, Value, When, escape_pointer
from toolplan.plan.path import Json, NotThere, json_type
from toolplan.policy import Guards, Policy, Vouched, guards_of, objection
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema import Schema, SchemaError, undecided
from toolplan.schema.tool import Arguments, Tool
from toolplan.schema.tool_call import StatedLabel


def filled(
    step: Step,
    tool: Tool,
    outputs: Outputs,
    budget: Budget,
    item: Json = None,
    index: int | None = None,
    guards: Guards | None = None,
) -> Arguments | Failure:
    """Return the arguments of one call of `step`, checked against what `tool` accepts.

    The filled values count as used in `budget`. `guards` are the checks of arguments.
    """
    args: Arguments = {}
    name = ""
    try:
        for name, value in step.args.items():
            if type(value) is Literal and type(value.value) is str:
                args[name] = value.value  # immutable, so no copy is needed
                continue
            if type(value) is Ref and index is None:
                field = field_of(value, outputs, budget)
                if not isinstance(field, NotAField):
                    args[name] = field
                    continue
            args[name] = resolve(value, outputs, budget, item, index)
    except NotThere as error:
        return Failure("reference-missing", str(error), f"/args/{escape_pointer(name)}")
    except TooLarge:
        return too_large("The arguments", budget.most, f"/args/{escape_pointer(name)}")
    if (failure := argument_failure(tool, args)) is not None:
        return failure
    for name, guard in guards.items() if guards else ():
        reason = objection(guard, args[name]) if name in args else None
        if reason is not None:
            message = f"The policy does not let {name!r} into the call: {reason}."
            return Failure("guard", message, f"/args/{escape_pointer(name)}")
    return args


def holds(when: When, outputs: Outputs, most: int) -> bool | Failure:
    """Return whether the condition of a step holds; its value has at most `most` bytes."""
    try:
        value = resolve(when.value, outputs, Budget(most))
    except NotThere as error:
        return Failure("reference-missing", str(error), "/when/value")
    except TooLarge:
        return too_large("The value of the condition", most, "/when/value")
    try:
        condition = Schema.load(when.schema)
    except SchemaError as error:
        return Failure("when-schema", f"The condition's schema: {error}.", "/when/is")
    if not condition.is_valid(value):
        return False
    keyword = undecided(condition, value)
    if keyword is None:
        return True
    # the output was not declared, so the check could not say so
    kind = f"its value, {json_type(value)}"
    what = f"The condition does not decide anything: {keyword!r} says nothing about {kind}."
    return Failure("when-schema", what, "/when/is")


def items_of(
    step: Step, for_each: Value, outputs: Outputs, limits: Limits, budget: Budget
) -> list[Json] | Failure:
    """Return the items of `for_each`, at most as many as the limits allow.

    They are not copied where they are one reference: each call copies what it takes. Otherwise
    what is filled in counts as used in `budget`.
    """
    most = min(step.max_items, limits.items)
    if isinstance(for_each, Array) and len(for_each.items) > most:
        return _too_many(len(for_each.items), most)
    try:
        if isinstance(for_each, Ref):
            items = referenced(for_each, outputs)
        else:
            items = resolve(for_each, outputs, budget)
    except NotThere as error:
        return Failure("reference-missing", str(error), "/for_each")
    except TooLarge:
        return too_large("The list of for_each", budget.most, "/for_each")
    if not isinstance(items, list):
        there = json_type(items)
        return Failure("not-a-list", f"A list is needed, and there is {there}.", "/for_each")
    return items if len(items) <= most else _too_many(len(items), most)


def _too_many(count: int, most: int) -> Failure:
    message = f"There are {count} items, and at most {most} are allowed."
    return Failure("too-many-items", message, "/for_each")


class FlowChecks:
    """Checks the policy during one run, from the moment its plan is complete.

    Attributes:
        guards: the checks of arguments, by step and argument.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.guards: Mapping[str, Guards] = {}
        self._tools = tools
        self._plan: ExecutionPlan | None = None
        self._stated: list[tuple[str, StatedLabel]] = []  # while the plan is still written

    def plan_is(self, plan: ExecutionPlan) -> Failure | None:
        """Take the whole plan; return why a result that came before cannot be used with it."""
        self.guards = guards_of(plan.flows)
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
