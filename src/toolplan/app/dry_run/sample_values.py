"""What the steps of a plan return in a dry run: sample values made from schemas, or recordings.

A sample value fits the output schema of its tool, and, where possible, the schemas of the arguments
that it fills: only then does a failure say something about the plan.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.compiler.rules import PlanContext, Use
from toolplan.plan.model import INDEX, RESERVED_IDS, Literal, Plan, Ref, Step, escape_pointer, refs
from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema import Absent, NoExample, Schema, SchemaError, Verdict, assignable, elements
from toolplan.schema.tool import Toolbox

_LARGEST_INDEX: Final = 50
_MAX_TRIES: Final = 12


class Written(Struct, frozen=True):
    """A value that is written in the plan itself."""


Reading: TypeAlias = Schema | Absent | Written | None
"""What is known of the value that a reference selects; None where nothing is."""

_Wish: TypeAlias = tuple[str, Json]
"""A step, and a schema that a reader would like the output of one call to fit."""


def pointer_of(use: Use) -> str:
    """Return the place of the value that holds the reference, as a JSON pointer into the step."""
    return "".join(f"/{escape_pointer(str(key))}" for key in use.place)


def list_behind(ref: Ref) -> Ref:
    """Return the reference to the list itself, where `ref` reads all of its elements."""
    *before, last = ref.path or (None,)
    return Ref(ref.step, ref.path[:-1]) if last is EVERY and EVERY not in before else ref


class SampleValues:
    """What the steps of a plan return in a dry run."""

    def __init__(
        self, plan: Plan, tools: Toolbox, recordings: Mapping[str, Sequence[Json]]
    ) -> None:
        self._plan = plan
        self._context = PlanContext(plan, tools)
        self._steps = self._context.steps
        self._tools = tools
        self._recordings = {
            step.id: kept
            for step in plan.steps
            if (kept := self._usable(step, recordings.get(step.tool, ())))
        }
        self._recorded_tools = {self._steps[name].tool for name in self._recordings}
        self._uses = defaultdict[str, list[Use]](list)
        for use in self._context.uses:
            self._uses[use.step.id].append(use)
        self._values = self._made()
        self._undeclared = {
            name
            for ref, step in self._references()
            if self.reading(ref, step) is None
            for name in self.sources(ref, step)
        }

    @property
    def most_recordings(self) -> int:
        """The number of recordings of the step with the most."""
        return max(map(len, self._recordings.values()), default=0)

    def is_recorded(self, step_id: str, turn: int | None) -> bool:
        """Return whether a step returns a recording at `turn`."""
        if step_id not in self._recordings:
            return False
        return turn is not None or step_id in self._undeclared or step_id not in self._values

    def has_recording(self, tool: str) -> bool:
        """Return whether there is a recording of the tool of this name."""
        return tool in self._recorded_tools

    def value(self, step_id: str, turn: int | None, item: int) -> Json:
        """Return what one call of a step returns.

        `turn` selects among recordings; None uses them only where there is no sample value, or
        something undeclared is read.
        """
        if self.is_recorded(step_id, turn):
            recorded = self._recordings[step_id]
            return recorded[((turn or 0) + item) % len(recorded)]
        return self._values.get(step_id)

    def tool_of(self, step_id: str) -> str:
        """Return the name of the tool that a step calls."""
        return self._steps[step_id].tool

    def uses(self, step: Step) -> Sequence[Use]:
        """Return the references of `step`."""
        return self._uses[step.id]

    def sources(self, ref: Ref, step: Step | None) -> tuple[str, ...]:
        """Return the ids of the steps whose outputs `ref` reads, used in `step`."""
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            return tuple(each.step for each in refs(step.for_each))
        return (ref.step,)

    def reading(self, ref: Ref, step: Step | None) -> Reading:
        """Return what is known of the value that `ref` selects, used in `step`."""
        if step is not None and ref.step in RESERVED_IDS and isinstance(step.for_each, Literal):
            return Written()
        if any(name not in self._values for name in self.sources(ref, step)):
            return None
        return self._context.type_of(ref, step)

    def takes_each_alone(self, step: Step) -> bool:
        """Return whether the tool of `step` checks each argument on its own."""
        return self._tools[step.tool].input.of_parts is not None

    def unreadable(self, step: Step) -> str | None:
        """Return why `step` cannot be simulated, None where it can.

        It cannot if it reads a value that is neither declared nor recorded.
        """
        for use in self.uses(step):
            read = self.sources(use.ref, step)
            recorded = bool(read) and all(name in self._recordings for name in read)
            if self.reading(use.ref, step) is None and not recorded:
                return f"No schema declares the type of {use.text}, at {pointer_of(use)}."
        return None

    def _references(self) -> Iterator[tuple[Ref, Step | None]]:
        yield from ((use.ref, use.step) for use in self._context.uses)
        if self._plan.output is not None:
            yield from ((ref, None) for ref in refs(self._plan.output))

    def _schema(self, step: Step) -> Schema | None:
        """Return the schema of the output of one call of `step`."""
        schema = self._context.output(step.id)
        item = schema if schema is None or step.for_each is None else elements(schema)
        return item if isinstance(item, Schema) else None

    def _usable(self, step: Step, recordings: Sequence[Json]) -> list[Json]:
        """Return the recordings of its tool that `step` could return."""
        schema = self._schema(step)
        if schema is None or self._tools[step.tool].compute_output is None:
            return [*recordings]
        # another call computed another schema for them
        return [each for each in recordings if schema.is_valid(each)]

    def _made(self) -> dict[str, Json]:
        """Return a sample value for each step whose schema has one."""
        schemas = {step.id: self._schema(step) for step in self._plan.steps}
        wishes: dict[str, dict[str, Json]] = {}
        for name, node in self._wishes():
            wishes.setdefault(name, {})[json.dumps(node, sort_keys=True)] = node
        made: dict[tuple[int, str], Json] = {}  # most steps of one tool return the same
        found: dict[str, Json] = {}
        for name, schema in schemas.items():
            if schema is None:
                continue
            wanted = wishes.get(name, {})
            key = (id(schema), "\n".join(wanted))
            try:
                if key not in made:
                    made[key] = _example(schema, [*wanted.values()])
                found[name] = made[key]
            except NoExample:
                continue
        return found

    def _wishes(self) -> Iterator[_Wish]:
        for use in self._context.uses:
            yield from self._wish(use)
        for step in self._plan.steps:
            if isinstance(step.for_each, Ref):
                listed = list_behind(step.for_each)
                if EVERY not in listed.path:
                    node: Json = {"type": "array", "maxItems": step.max_items}
                    yield from self._wish_at(listed, node)
        if self._plan.output is not None:
            for ref in refs(self._plan.output):
                yield from self._wish_at(ref, True)

    def _wish(self, use: Use) -> Iterator[_Wish]:
        ref, given, taken, for_each = use.ref, use.given, use.taken, use.step.for_each
        if not isinstance(given, Schema):
            return
        wanted: Json = True
        if use.whole and isinstance(taken, Schema) and assignable(given, taken) is not Verdict.NO:
            wish = elements(taken) if EVERY in ref.path else taken
            # a schema with definitions of its own cannot be part of another one
            if isinstance(wish, Schema) and wish.document is wish.node:
                wanted = wish.node
        if ref.step not in RESERVED_IDS or for_each is None:
            yield from self._wish_at(ref, wanted)
        elif isinstance(for_each, Ref) and ref.step != INDEX:
            every = () if EVERY in for_each.path else (EVERY,)
            path = (*for_each.path, *every, *ref.path)
            yield from self._wish_at(Ref(for_each.step, path), wanted)

    def _wish_at(self, ref: Ref, wanted: Json) -> Iterator[_Wish]:
        source = self._steps.get(ref.step)
        if source is None or not isinstance(self._context.type_of(ref, None), Schema):
            return
        path = ref.path
        if source.for_each is not None:
            if not path:
                return
            path = path[1:]
        node = _nested(path, wanted)
        if node is not None and node is not True:
            yield ref.step, node


def _nested(path: Path, wanted: Json) -> Json:
    """Return a schema of values with `wanted` at `path`; None where a list would be too long."""
    node: Json = wanted
    for segment in path[::-1]:
        if isinstance(segment, str):
            node = {"type": "object", "properties": {segment: node}, "required": [segment]}
        elif not isinstance(segment, int):
            node = {"type": "array", "items": node}
        elif segment <= _LARGEST_INDEX:
            node = {"type": "array", "items": node, "minItems": segment + 1}
        else:
            return None
    return node


def _example(schema: Schema, wishes: Sequence[Json]) -> Json:
    """Return an example that fits as many of `wishes` as a few tries achieve.

    Raises:
        NoExample: there is none even without wishes.
    """
    if wishes:
        try:
            return _wished(schema, wishes)
        except NoExample:
            pass
    kept: list[Json] = []
    value = schema.example()
    if len(wishes) > 1:
        for wish in wishes[:_MAX_TRIES]:
            try:
                value = _wished(schema, [*kept, wish])
            except NoExample:
                continue
            kept.append(wish)
    return value


def _wished(schema: Schema, wishes: Iterable[Json]) -> Json:
    try:
        return schema.part({"allOf": [schema.node, *wishes]}).example()
    except SchemaError as error:
        raise NoExample from error
