"""A plan with its tools, and facts derived from both, computed when first needed."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Struct

from toolplan import schema as schemas
from toolplan.compiler.rules._arguments import argument_violations, literal_part
from toolplan.dates import Times
from toolplan.plan.canonical import dump_value
from toolplan.plan.diagnostics import Edit, Fix, Suggestion, suggest
from toolplan.plan.model import (
    INDEX,
    RESERVED_IDS,
    Array,
    Literal,
    Object,
    Place,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    all_text,
    constants,
    escape_pointer,
    join_pointer,
    located_refs,
    map_refs,
    needs,
    placed_refs,
    value_at,
)
from toolplan.plan.path import Json, print_path
from toolplan.policy import Flow, Policy, Vouched, plan_flows
from toolplan.schema import Absent, Schema, SchemaError, Violation, value_types
from toolplan.schema.tool import ComputedOutput, Tool, Toolbox

INTEGER: Final = Schema({"type": "integer", "minimum": 0})
TEXT: Final = Schema({"type": "string"})
LIST: Final = Schema({"type": "array"})

MAX_COMPARISONS: Final = 100_000
"""Maximum number of comparisons of names for one plan."""


class Problem(Struct, frozen=True):
    """A finding of a rule: a sentence, the JSON pointer of its place, the step, and what to do."""

    message: str
    pointer: str
    step: str | None = None
    help: str | None = None
    fix: Fix | None = None


class Call(NamedTuple):
    """A step, its JSON pointer, and its tool; None for a tool that is unknown or unusable."""

    pointer: str
    step: Step
    tool: Tool | None

    @property
    def values(self) -> Iterator[tuple[str, str, Value]]:
        """Each argument, `for_each` and the value of `when`: name, pointer in the step, value."""
        for name, value in self.step.args.items():
            yield name, f"/args/{escape_pointer(name)}", value
        if self.step.for_each is not None:
            yield "for_each", "/for_each", self.step.for_each
        if self.step.when is not None:
            yield "when", "/when/value", self.step.when.value

    def problem(
        self, message: str, inside: str = "", help: str | None = None, fix: Fix | None = None
    ) -> Problem:
        """Return a problem of this step, at the pointer `inside` of it."""
        return Problem(message, self.pointer + inside, self.step.id, help, fix)


class Constant(NamedTuple):
    """A text, number, boolean or null that is written out in a step.

    `argument` is the argument that holds it, or `for_each` or `when`; `field` is the innermost key
    around it.
    """

    call: Call
    argument: str
    pointer: str
    field: str
    value: Json


class Use(Struct, frozen=True):
    """One reference of a plan, with the schemas at its two ends.

    `position` is that of its step, `place` the keys from the step to the value which holds it:
    `("args", "ids", 0)`. `given` is the schema of what it selects, `Absent` where that does not
    exist, None where it is unknown. `taken` is the schema of the argument, None outside of
    arguments of known tools. `whole` is False inside of text.
    """

    step: Step
    position: int
    place: Place
    ref: Ref
    whole: bool
    given: Schema | Absent | None
    taken: Schema | Absent | None

    @property
    def pointer(self) -> str:
        """The JSON pointer, in the plan, of the value that holds the reference."""
        return f"/steps/{self.position}{join_pointer(self.place)}"

    @property
    def text(self) -> str:
        """The reference as it is written."""
        return "${" + self.ref.step + print_path(self.ref.path) + "}"

    @property
    def in_arguments(self) -> bool:
        """Whether the reference is in an argument, not in `for_each` or `when`."""
        return self.place[0] == "args"

    def problem(self, message: str, help: str | None = None, fix: Fix | None = None) -> Problem:
        """Return a problem of this reference."""
        return Problem(message, self.pointer, self.step.id, help, fix)


class PlanContext:
    """A plan, the tools that it may use, and facts derived from both.

    `tools` None means that they are not known, and nothing is checked against them. `policy` says
    which tools may be used and where values may come from. `times` are those of the question whose
    words stand for their days.
    """

    def __init__(
        self,
        plan: Plan,
        tools: Toolbox | None = None,
        policy: Policy = Policy(),
        times: Times | None = None,
    ) -> None:
        self.plan = plan
        self.tools = tools
        self.known: Mapping[str, Tool] = {} if tools is None else tools
        self.policy = policy
        self.times = times
        self._outputs: dict[str, Schema | None] = {}
        self._computed: dict[str, ComputedOutput] | None = None
        self._compared = 0

    @cached_property
    def steps(self) -> Mapping[str, Step]:
        """Steps by id; of two with one id, the first."""
        return {name: self.plan.steps[position] for name, position in self.positions.items()}

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each step in the plan, by id; of two with one id, the first."""
        found: dict[str, int] = {}
        for position, step in enumerate(self.plan.steps):
            found.setdefault(step.id, position)
        return found

    @cached_property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """The existing steps that each step needs, without itself."""
        found: dict[str, dict[str, None]] = {name: {} for name in self.steps}
        for use in self.uses:
            is_item = use.ref.step in RESERVED_IDS and use.step.for_each is not None
            if use.ref.step in found and not is_item:
                found[use.step.id][use.ref.step] = None
        for step in self.plan.steps:
            found[step.id].update((name, None) for name in step.after if name in found)
            found[step.id].pop(step.id, None)
        return {name: tuple(needed) for name, needed in found.items()}

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every step, with its place and its tool."""
        steps = enumerate(self.plan.steps)
        return tuple(Call(f"/steps/{at}", step, self.called[step.tool]) for at, step in steps)

    def constants(self, *, literal_only: bool = True) -> Iterator[Constant]:
        """Yield the constants; optionally without arguments that must be literals."""
        for call in self.calls:
            left_out = () if literal_only or call.tool is None else call.tool.input.literal_only
            for name, place, value in call.values:
                if name not in left_out:
                    for each in constants(value, call.pointer + place, name):
                        yield Constant(call, name, *each)

    def suggest(self, name: str, names: Collection[str]) -> Suggestion:
        """Return the `names` that may have been meant by `name`.

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
        names = dict.fromkeys(step.tool for step in self.plan.steps)
        found = ((name, self.known.get(name)) for name in names)
        return {name: tool if tool and tool.unusable is None else None for name, tool in found}

    @cached_property
    def violations(self) -> tuple[tuple[Call, Violation], ...]:
        """Violations in the literal arguments; pointers are relative to the arguments.

        Problems that the tool itself reports are included.
        """
        found: list[tuple[Call, Violation]] = []
        for call in self.calls:
            if call.tool is not None:
                step, tool = call.step, call.tool
                found += [(call, each) for each in argument_violations(step, tool.input)]
                if (computed := self._computed_of(step.id)) is not None:
                    problems = (Violation("value", at, text) for at, text in computed.problems)
                    found += [(call, each) for each in problems]
        return tuple(found)

    def output(self, step_id: str) -> Schema | None:
        """Return the schema of a step's output as its readers see it; None where it is unknown.

        The output of a step with `for_each` is a list. `on_error: continue` makes it nullable.
        """
        if step_id not in self._outputs:
            if step_id not in self.steps:
                return None
            computed = self._computed_of(step_id)
            self._outputs[step_id] = self._output(self.steps[step_id], computed)
        return self._outputs[step_id]

    def _computed_of(self, step_id: str) -> ComputedOutput | None:
        """Return the output that the tool of a step computes; None where it computes none.

        All are computed in the order of the plan, so that a chain of any length needs no recursion.
        """
        if self._computed is None:
            self._computed = {}
            tools = [tool for tool in self.called.values() if tool is not None]
            if all(tool.compute_output is None for tool in tools):
                return None
            # not `order`: that is of `uses`, whose types are computed here
            ahead = {
                name: tuple(n for n in needs(step) if n in self.steps and n != name)
                for name, step in self.steps.items()
            }
            for name in dict.fromkeys((*ordered(self.positions, ahead), *self.steps)):
                step = self.steps[name]
                tool = self.tool(step)
                if tool is not None and tool.compute_output is not None:
                    self._computed[name] = tool.compute_output(*self._shape(step))
        return self._computed.get(step_id)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every reference of the plan's steps, as written."""
        found: list[Use] = []
        for position, step in enumerate(self.plan.steps):
            tool = self.tool(step)
            for name, value in step.args.items():
                if isinstance(value, Literal):
                    continue
                for place, ref, whole in placed_refs(value, ("args", name)):
                    taken = None
                    if tool is not None:
                        # a value that must be literal must be so in all of its parts
                        path = (name,) if name in tool.input.literal_only else place[1:]
                        taken = schemas.at(tool.input, path)
                    given = self.type_of(ref, step)
                    found.append(Use(step, position, place, ref, whole, given, taken))
            # neither may use the item: `when` is decided before there is one
            others = [] if step.for_each is None else [*placed_refs(step.for_each, ("for_each",))]
            if step.when is not None:
                others += placed_refs(step.when.value, ("when", "value"))
            for place, ref, whole in others:
                given = self.type_of(ref, None)
                found.append(Use(step, position, place, ref, whole, given, None))
        return tuple(found)

    @cached_property
    def output_refs(self) -> tuple[tuple[str, Ref], ...]:
        """The references of the plan's output, each with its pointer."""
        output = self.plan.output
        return () if output is None else tuple(located_refs(output, "/output"))

    @cached_property
    def text(self) -> str:
        """All that is written out in steps, joined, to test quickly whether any has a mark."""
        found: list[str] = []
        for step in self.plan.steps:
            for value in (*step.args.values(), step.for_each, step.when and step.when.value):
                if isinstance(value, Literal) and isinstance(value.value, str):
                    found.append(value.value)
                elif value is not None and not isinstance(value, Ref):
                    found += all_text(value)
        return "\n".join(found)

    @cached_property
    def readers(self) -> Mapping[str, list[Use]]:
        """The references to each step, by its id; no entry for a step without any."""
        found: dict[str, list[Use]] = {}
        for use in self.uses:
            found.setdefault(use.ref.step, []).append(use)
        return found

    @cached_property
    def unchecked(self) -> int:
        """Number of references that were not type-checked, because a schema is missing."""
        return sum(
            use.given is None or (use.taken is None and use.in_arguments) for use in self.uses
        )

    @cached_property
    def vouched(self) -> Vouched:
        """The policy for the known tools."""
        return Vouched(self.policy, self.known)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The ids of the steps, each behind those it needs; without those that a cycle stops."""
        return ordered(self.positions, self.needs)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The flows of the plan: none where the tools are not known, or the order is not."""
        tools = [tool for tool in self.called.values() if tool is not None]
        if len(self.steps) < len(self.plan.steps) or not any(map(self.vouched.is_sink, tools)):
            return ()
        found = plan_flows.PlanFlows(
            self.plan.steps, self.order, self.called, self.vouched, self._shape
        )
        return tuple(found.flows())

    def type_of(self, ref: Ref, step: Step | None) -> Schema | Absent | None:
        """Return the schema of the part that `ref`, which stands in `step`, selects."""
        if ref.step in RESERVED_IDS and step is not None and step.for_each is not None:
            whole = INTEGER if ref.step == INDEX else self.item(step)
        else:
            whole = self.output(ref.step)
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
                exact = _loaded({"const": constant})
                if exact is not None:
                    return exact
                # of a huge value only the JSON types
                node: dict[str, Json] = {"type": list(value_types(constant))}
                if isinstance(constant, list):
                    types = dict.fromkeys(kind for each in constant for kind in value_types(each))
                    node["items"] = {"type": list(types)}
                return _loaded(node)
            case Array(items):
                kinds = [self.type_of_value(item, step) for item in items]
                known = [kind for kind in kinds if kind is not None]
                parts = [kind.placed("items", "anyOf", str(at)) for at, kind in enumerate(known)]
                of_all: Json = {"anyOf": [*parts]} if len(known) == len(kinds) else True
                size: Json = len(items)
                listed: Json = {
                    "type": "array", "items": of_all, "minItems": size, "maxItems": size,
                }  # fmt: skip
                return _loaded(listed) or LIST
            case Object(fields):
                found = ((name, self.type_of_value(each, step)) for name, each in fields)
                return _loaded(
                    {
                        "type": "object",
                        "properties": {
                            name: True if kind is None else kind.placed("properties", name)
                            for name, kind in found
                        },
                        "required": [name for name, _ in fields],
                        "additionalProperties": False,
                    }
                )

    def edits_of_refs(self, pointer: str, change: Callable[[Ref], Ref]) -> tuple[Edit, ...]:
        """Return the edit, if any, that changes the references of the value at `pointer`."""
        value = value_at(self.plan, pointer)
        return () if value is None else (Edit(pointer, dump_value(map_refs(value, change))),)

    def _output(self, step: Step, computed: ComputedOutput | None) -> Schema | None:
        tool = self.tool(step)
        if tool is None or (tool.compute_output is not None and computed is None):
            return None  # on a cycle, which its own rule reports
        schema = tool.output if computed is None or computed.schema is None else computed.schema
        if schema is None:
            return None
        if step.on_error == "continue":
            schema = schema.part({"anyOf": [schema.node, {"type": "null"}]})
        if step.for_each is not None:
            schema = schema.part({"type": "array", "items": schema.node})
        return schema

    def _shape(self, step: Step) -> tuple[dict[str, Json], dict[str, Schema | None]]:
        """Return the literal arguments of a call, and the schemas of the others by JSON Pointer."""
        parts = {name: literal_part(value) for name, value in step.args.items()}
        given: dict[str, Schema | None] = {}
        for name, value in step.args.items():
            for pointer, ref in located_refs(value, f"/{escape_pointer(name)}"):
                found = self.type_of(ref, step)
                given[pointer] = found if isinstance(found, Schema) else None
        return {name: part for name, part in parts.items() if part is not None}, given


def ordered(positions: Mapping[str, int], needs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the ids of `needs`, each behind those it needs, otherwise as written (Kahn 1962).

    Steps on a cycle, or behind one, are left out.
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


def _loaded(node: Json) -> Schema | None:
    """Return `node` as a schema, or None where it is larger or deeper than a schema may be."""
    try:
        return Schema.load(node)
    except SchemaError:
        return None
