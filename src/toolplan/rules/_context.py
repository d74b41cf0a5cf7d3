"""A plan with its tools, and what follows from both, computed when first needed."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final

from toolplan import schema as schemas
from toolplan.dates import Times
from toolplan.diagnostics import Suggestion, suggest
from toolplan.flows import Flow, Policy, Verdict, Vouched, plan_flows
from toolplan.path import Json
from toolplan.plan import (
    INDEX,
    RESERVED_IDS,
    Array,
    Literal,
    Object,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
    located_refs,
    step_refs,
)
from toolplan.rules._arguments import (
    Arguments,
    argument_violations,
    arguments_of,
    literal_part,
)
from toolplan.rules._texts import joined
from toolplan.rules._use import Place, Use, located, surely_fits
from toolplan.schema import Absent, Schema, SchemaError, Violation, value_types
from toolplan.schema._document import Document
from toolplan.tools import ComputedOutput, Tool, Toolbox

INTEGER: Final = Schema(Document({"type": "integer", "minimum": 0}, None))
TEXT: Final = Schema(Document({"type": "string"}, None))
LIST: Final = Schema(Document({"type": "array"}, None))

MAX_COMPARISONS: Final = 100_000
"""The most comparisons of names that are made for one plan."""


class PlanContext:
    """A plan, the tools that it may use, and what follows from both.

    `tools` None means that they are not known, and nothing is checked against them. `allowed` None
    means that every tool may be used. `policy` says where values may come from. `times` are those
    of the question whose words stand for their days.
    """

    def __init__(
        self,
        plan: Plan,
        tools: Toolbox | None = None,
        allowed: frozenset[str] | None = None,
        policy: Policy = Policy(),
        times: Times | None = None,
    ) -> None:
        self.plan = plan
        self.tools = tools
        self.allowed = allowed
        self.policy = policy
        self.times = times
        self._outputs: dict[str, Schema | None] = {}
        self._computed: dict[str, ComputedOutput | None] = {}
        self._open: set[str] = set()
        self._compared = 0

    @cached_property
    def steps(self) -> Mapping[str, Step]:
        """Steps by id; of two with one id, the first."""
        found: dict[str, Step] = {}
        for step in self.plan.steps:
            found.setdefault(step.id, step)
        return found

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each step stands in the plan, by id; of two with one id, the first."""
        found: dict[str, int] = {}
        for position, step in enumerate(self.plan.steps):
            found.setdefault(step.id, position)
        return found

    @cached_property
    def arguments(self) -> tuple[Arguments, ...]:
        """The arguments of each step, by position."""
        return tuple([arguments_of(step) for step in self.plan.steps])

    @cached_property
    def elaborate(self) -> tuple[tuple[int, Step], ...]:
        """The steps with `after`, `for_each`, `when` or `retries`, with their positions.

        Most plans have none, so the rules about these fields have nothing to search.
        """
        return tuple(
            (position, step)
            for position, step in enumerate(self.plan.steps)
            if step.after or step.for_each is not None or step.when is not None or step.retries
        )

    @cached_property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """The existing steps that each step needs, without itself."""
        found: dict[str, dict[str, None]] = {step.id: {} for step in self.plan.steps}
        for use in self.uses:
            name = use.ref.step
            if name in found and not (name in RESERVED_IDS and use.step.for_each is not None):
                found[use.step.id][name] = None
        for _, step in self.elaborate:
            found[step.id].update((name, None) for name in step.after if name in found)
        for name, needed in found.items():
            needed.pop(name, None)
        return {name: tuple(needed) for name, needed in found.items()}

    def suggest(self, name: str, names: Collection[str]) -> Suggestion:
        """Return those of `names` that may have been meant by `name`.

        After `MAX_COMPARISONS` for one plan, nothing is offered any more.
        """
        self._compared += len(names)
        return Suggestion() if self._compared > MAX_COMPARISONS else suggest(name, names)

    def tool(self, step: Step) -> Tool | None:
        """Return the tool of `step` if it is known and usable."""
        return self.called[step.tool]

    @cached_property
    def called(self) -> Mapping[str, Tool | None]:
        """The tools that steps call, by name; None where one is unknown or unusable."""
        names = {step.tool for step in self.plan.steps}
        if self.tools is None:
            return dict.fromkeys(names)
        return {name: _usable(self.tools, name) for name in names}

    @cached_property
    def has_only_sound_tools(self) -> bool:
        """Whether every called tool is known and its schemas are usable, as nearly always.

        Then the rules about tools themselves have nothing to report.
        """
        return all(tool and tool.output_fault is None for tool in self.called.values())

    @cached_property
    def violations(self) -> tuple[tuple[int, Step, Violation], ...]:
        """Violations in the literal arguments, each with the position and the step.

        Pointers are relative to the arguments. Problems that the tool itself reports are included.
        """
        found: list[tuple[int, Step, Violation]] = []
        for position, step in enumerate(self.plan.steps):
            if violations := self._violations(position, step):
                found += [(position, step, each) for each in violations]
        return tuple(found)

    def output(self, step_id: str) -> Schema | None:
        """Return the schema of a step's output as its readers see it; None where it is unknown.

        The output of a step with `for_each` is a list. `on_error: continue` makes it nullable.
        """
        if step_id in self._outputs:
            return self._outputs[step_id]
        step = self.steps.get(step_id)
        if step is None or step_id in self._open:
            return None  # a cycle: its own rule reports it
        tool = self.tool(step)
        if tool is None or tool.compute_output is None:
            return self._outputs.setdefault(step_id, self._output(step))
        # a chain of computed outputs may be as long as the plan, too long for recursion
        pending = [step_id]
        while pending:
            name = pending[-1]
            if name not in self._open and name not in self._outputs:
                self._open.add(name)
                pending += self._not_yet_known(self.steps[name])
                if pending[-1] != name:
                    continue
            pending.pop()
            if name not in self._outputs:
                self._outputs[name] = self._output(self.steps[name])
                self._open.discard(name)
        return self._outputs[step_id]

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every reference of the plan's steps, as written."""
        found: list[Use] = []
        for position, step in enumerate(self.plan.steps):
            self._add_uses(found, position, step)
        return tuple(found)

    @cached_property
    def text(self) -> str:
        """All text that is written out in the arguments: what is not in it is in no argument."""
        return joined(value for step in self.plan.steps for value in step.args.values())

    @cached_property
    def doubtful(self) -> tuple[Use, ...]:
        """The references that may not fit: all but those that certainly do."""
        return tuple([use for use in self.uses if not surely_fits(use)])

    @cached_property
    def readers(self) -> Mapping[str, list[Use]]:
        """The references to each step, by its id; no entry for a step without any."""
        found: dict[str, list[Use]] = {}
        for use in self.uses:
            found.setdefault(use.ref.step, []).append(use)
        return found

    @cached_property
    def unchecked(self) -> int:
        """How many references were not type-checked, because a schema is missing."""
        return len(
            [u for u in self.uses if u.given is None or (u.taken is None and u.in_arguments)]
        )

    @cached_property
    def vouched(self) -> Vouched:
        """The policy for the known tools."""
        return Vouched(self.policy, {} if self.tools is None else self.tools)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The ids of the steps, each behind what it needs; without those that a cycle stops."""
        return ordered(self.positions, self.needs)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The flows of the plan: none where the tools are not known, or the order is not."""
        if self.tools is None or len(self.steps) < len(self.plan.steps):
            return ()
        if not any(
            tool is not None and self.vouched.is_sink(tool) for tool in self.called.values()
        ):
            return ()
        found = plan_flows.PlanFlows(
            self.plan.steps, self.order, self.called, self.vouched, self._shape
        )
        return tuple(found.flows())

    @cached_property
    def asked_for(self) -> frozenset[str]:
        """The steps into which something flows that a person is asked about."""
        return frozenset(each.step for each in self.flows if each.verdict is Verdict.ASK)

    def type_of(self, ref: Ref, step: Step | None) -> Schema | Absent | None:
        """Return the schema of what `ref`, standing in `step`, selects."""
        whole: Schema | None
        if ref.step in RESERVED_IDS and step is not None and step.for_each is not None:
            whole = INTEGER if ref.step == INDEX else self.item(step)
        else:
            # most steps are referred to more than once, so look into the cache first
            whole = self._outputs.get(ref.step) or self.output(ref.step)
        return None if whole is None else schemas.at(whole, ref.path)

    def item(self, step: Step) -> Schema | None:
        """Return the schema of one item of the step's `for_each`."""
        if step.for_each is None:
            return None
        listed = self.type_of_value(step.for_each, None)
        item = None if listed is None else schemas.elements(listed)
        return item if isinstance(item, Schema) else None

    def type_of_value(self, value: Value, step: Step | None) -> Schema | None:
        """Return the schema of a whole value, or None where it is unknown."""
        match value:
            case Ref():
                found = self.type_of(value, step)
                return found if isinstance(found, Schema) else None
            case Template():
                return TEXT
            case Literal(constant):
                return _of_constant(constant)
            case Array(items):
                kinds = [self.type_of_value(item, step) for item in items]
                known = [kind.document for kind in kinds if kind is not None]
                of_all: Json = {"anyOf": list(known)} if len(known) == len(kinds) else True
                size: Json = len(items)
                listed: Json = {
                    "type": "array", "items": of_all, "minItems": size, "maxItems": size,
                }  # fmt: skip
                return _loaded(listed) or LIST
            case Object():
                return None

    def _violations(self, position: int, step: Step) -> list[Violation]:
        tool = self.tool(step)
        if tool is None:
            return []
        found = argument_violations(step, tool.input, self.arguments[position])
        if (computed := self._compute(step, tool)) is not None:
            found += [Violation("value", p, text) for p, text in computed.problems]
        return found

    def _not_yet_known(self, step: Step) -> list[str]:
        """Return the steps whose unknown outputs are needed to compute that of `step`."""
        tool = self.tool(step)
        if tool is None or tool.compute_output is None:
            return []
        names = dict.fromkeys(ref.step for _, ref in step_refs(step) if ref.step in self.steps)
        return [n for n in names if n not in self._outputs and n not in self._open]

    def _output(self, step: Step) -> Schema | None:
        tool = self.tool(step)
        if tool is None:
            return None
        computed = self._compute(step, tool)
        schema = tool.output if computed is None or computed.schema is None else computed.schema
        if schema is None:
            return None
        if step.on_error == "continue":
            schema = schema.part({"anyOf": [schema.node, {"type": "null"}]})
        if step.for_each is not None:
            schema = schema.part({"type": "array", "items": schema.node})
        return schema

    def _compute(self, step: Step, tool: Tool) -> ComputedOutput | None:
        if tool.compute_output is None:
            return None
        if step.id not in self._computed:
            self._computed[step.id] = tool.compute_output(*self._shape(step))
        return self._computed[step.id]

    def _shape(self, step: Step) -> tuple[dict[str, Json], dict[str, Schema | None]]:
        """Return the literal arguments of a call, and the schemas of the others by JSON Pointer."""
        given: dict[str, Schema | None] = {}
        literals: dict[str, Json] = {}
        for name, value in step.args.items():
            if (part := literal_part(value)) is not None:
                literals[name] = part
            for pointer, ref in located_refs(value, f"/{escape_pointer(name)}"):
                found = self.type_of(ref, step)
                given[pointer] = found if isinstance(found, Schema) else None
        return literals, given

    def _add_uses(self, found: list[Use], position: int, step: Step) -> None:
        others = self.arguments[position].others
        tool = self.tool(step) if others else None
        schema = None if tool is None else tool.input
        for name, value in others:
            place = ("args", name)
            if isinstance(value, Ref):  # by far the most frequent
                taken = None if schema is None else schemas.at(schema, (name,))
                given = self.type_of(value, step)
                found.append(Use(step, position, place, value, True, given, taken))
                continue
            if isinstance(value, Template):  # nearly all others
                taken = None if schema is None else schemas.at(schema, (name,))
                for part in value.parts:
                    if isinstance(part, Ref):
                        given = self.type_of(part, step)
                        found.append(Use(step, position, place, part, False, given, taken))
                continue
            # what must be written out must be so in all of its parts
            is_literal = schema is not None and name in schema.literal_only
            for inside, ref, whole in located(value, place):
                to = (name,) if is_literal else inside[1:]
                taken = None if schema is None else schemas.at(schema, to)
                given = self.type_of(ref, step)
                found.append(Use(step, position, inside, ref, whole, given, taken))
        if step.for_each is None and step.when is None:
            return
        # neither may use the item: `when` is decided before there is one
        for start, value in _decided_before(step):
            for place, ref, whole in located(value, start):
                given = self.type_of(ref, None)
                found.append(Use(step, position, place, ref, whole, given, None))


def ordered(positions: Mapping[str, int], needs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the ids of `needs`, each behind what it needs, otherwise as written (Kahn 1962).

    What is on a cycle, or behind one, is left out.
    """
    missing = {step: len(needed) for step, needed in needs.items()}
    readers: dict[str, list[str]] = {step: [] for step in missing}
    for step, needed in needs.items():
        for each in needed:
            readers[each].append(step)
    ready = [(positions[step], step) for step, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        _, step = heapq.heappop(ready)
        order.append(step)
        for reader in readers[step]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, (positions[reader], reader))
    return tuple(order)


def _of_constant(constant: Json) -> Schema | None:
    """Return the schema of a value that is written out; of a huge one, only its JSON types."""
    exact = _loaded({"const": constant})
    if exact is not None:
        return exact
    node: dict[str, Json] = {"type": list(value_types(constant))}
    if isinstance(constant, list):
        kinds = dict.fromkeys(kind for each in constant for kind in value_types(each))
        node["items"] = {"type": list(kinds)}
    return _loaded(node)


def _loaded(node: Json) -> Schema | None:
    """Return `node` as a schema, or None where it is larger or deeper than a schema may be."""
    try:
        return Schema.load(node)
    except SchemaError:
        return None


def _usable(tools: Toolbox, name: str) -> Tool | None:
    try:
        tool = tools[name]
    except KeyError:
        return None
    return tool if tool.unusable is None else None


def _decided_before(step: Step) -> Iterator[tuple[Place, Value]]:
    if step.for_each is not None:
        yield ("for_each",), step.for_each
    if step.when is not None:
        yield ("when", "value"), step.when.value
