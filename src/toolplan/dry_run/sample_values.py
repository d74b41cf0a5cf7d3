"""What the steps of a plan return in a dry run: sample values made from schemas, or recordings.

A sample value fits the output schema of its tool, and, where possible, the schemas of the arguments
that it fills: only then does a failure say something about the plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from toolplan.path import EVERY, Json, Path, print_path
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
)
from toolplan.schema import (
    Absent,
    NoExample,
    Schema,
    SchemaError,
    Verdict,
    assignable,
    at,
    elements,
)
from toolplan.tools import Tool

_ANYTHING: Final = Schema.load(True)
_INTEGER: Final = Schema.load({"type": "integer", "minimum": 0})
_LARGEST_INDEX: Final = 50
_MAX_TRIES: Final = 12


class Written(NamedTuple):
    """A value that is written in the plan itself."""


Reading: TypeAlias = Schema | Absent | Written | None
"""What is known of the value that a reference selects; None where nothing is."""


class Place(NamedTuple):
    """A reference and its path in a step; `whole` is False inside of text."""

    path: Path
    ref: Ref
    whole: bool

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer into the step."""
        return "".join(f"/{escape_pointer(str(key))}" for key in self.path)


def places(value: Value, path: Path) -> Iterator[Place]:
    """Yield every reference in `value`, the value at `path`."""
    match value:
        case Literal():
            return
        case Ref():
            yield Place(path, value, True)
        case Template(parts):
            yield from (Place(path, part, False) for part in parts if isinstance(part, Ref))
        case Array(items):
            for position, item in enumerate(items):
                yield from places(item, (*path, position))
        case Object(fields):
            for name, inner in fields:
                yield from places(inner, (*path, name))


def step_places(step: Step) -> Iterator[Place]:
    """Yield every reference of `step`."""
    for name, value in step.args.items():
        yield from places(value, ("args", name))
    if step.for_each is not None:
        yield from places(step.for_each, ("for_each",))
    if step.when is not None:
        yield from places(step.when.value, ("when", "value"))


def list_behind(ref: Ref) -> Ref:
    """Return the reference to the list itself, where `ref` reads all of its elements."""
    *before, last = ref.path or (None,)
    return Ref(ref.step, ref.path[:-1]) if last is EVERY and EVERY not in before else ref


@dataclass(frozen=True, slots=True)
class _Wish:
    """A schema that a reader of a step would like the output of one call to fit."""

    step: str
    node: Json


class SampleValues:
    """What the steps of a plan return in a dry run."""

    def __init__(
        self,
        plan: Plan,
        tools: Mapping[str, Tool],
        schemas: Mapping[str, Json],
        recordings: Mapping[str, Sequence[Json]],
    ) -> None:
        """Make the sample values; `schemas` are those of computed outputs, by step id."""
        self._steps = {step.id: step for step in plan.steps}
        self._tools = tools
        declared = {step.id: self._declared(step, schemas) for step in plan.steps}
        self._schemas: dict[str, Schema] = {
            name: schema for name, schema in declared.items() if schema is not None
        }
        self._recordings = {
            step.id: kept
            for step in plan.steps
            if (kept := self._of_step(step, recordings.get(step.tool, ())))
        }
        self._recorded_tools = {self._steps[name].tool for name in self._recordings}
        self._values: dict[str, Json] = {}
        self._make(plan)
        self._unsaid = self._read_beyond_schemas(plan)

    @property
    def most_recordings(self) -> int:
        """The number of recordings of the step with the most."""
        return max(map(len, self._recordings.values()), default=0)

    def is_recorded(self, step_id: str, turn: int | None) -> bool:
        """Say whether a step returns a recording at `turn`."""
        if step_id not in self._recordings:
            return False
        return turn is not None or step_id in self._unsaid or step_id not in self._values

    def has_recording(self, tool: str) -> bool:
        """Say whether there is a recording of the tool of this name."""
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

    def sources(self, ref: Ref, step: Step | None) -> tuple[str, ...]:
        """Return the ids of the steps whose outputs `ref` reads, used in `step`."""
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            return tuple(place.ref.step for place in places(step.for_each, ()))
        return (ref.step,)

    def reading(self, ref: Ref, step: Step | None) -> Reading:
        """Return what is known of the value that `ref` selects, used in `step`."""
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            if ref.step == INDEX:
                return Written() if isinstance(step.for_each, Literal) else _INTEGER
            return self._reading_of_item(ref, step.for_each)
        source = self._steps.get(ref.step)
        schema = self._schemas.get(ref.step)
        if source is None or schema is None:
            return None
        if source.for_each is not None:
            schema = schema.part({"type": "array", "items": schema.node})
        return at(schema, ref.path)

    def takes(self, step: Step, place: Place) -> Schema | None:
        """Return the schema of the argument at `place`, None where it is unknown."""
        if place.path[0] != "args":
            return None
        found = at(self._tools[step.tool].input, place.path[1:])
        return found if isinstance(found, Schema) else None

    def takes_each_alone(self, step: Step) -> bool:
        """Say whether the tool of `step` checks each argument on its own."""
        return self._tools[step.tool].input.of_parts is not None

    def unreadable(self, step: Step) -> str | None:
        """Return why `step` cannot be simulated, None where it can.

        It cannot if it reads a value that is neither declared nor recorded.
        """
        for place in step_places(step):
            read = self.sources(place.ref, step)
            recorded = bool(read) and all(name in self._recordings for name in read)
            if self.reading(place.ref, step) is None and not recorded:
                text = "${" + place.ref.step + print_path(place.ref.path) + "}"
                return f"No schema declares the type of {text}, at {place.pointer}."
        return None

    def _reading_of_item(self, ref: Ref, for_each: Value) -> Reading:
        match for_each:
            case Literal():
                return Written()
            case Ref():
                listed = self.reading(for_each, None)
                if not isinstance(listed, Schema):
                    return listed
                item = elements(listed)
                return at(item, ref.path) if isinstance(item, Schema) else item
            case _:
                return at(_ANYTHING, ref.path)

    def _declared(self, step: Step, schemas: Mapping[str, Json]) -> Schema | None:
        """Return the schema of the output of one call of `step`."""
        tool = self._tools[step.tool]
        if tool.compute_output is None or step.id not in schemas:
            return tool.output
        try:
            computed = Schema.load(schemas[step.id])
        except SchemaError:
            return tool.output
        if step.for_each is None:
            return computed
        item = elements(computed)
        return item if isinstance(item, Schema) else tool.output

    def _of_step(self, step: Step, recordings: Sequence[Json]) -> list[Json]:
        """Return the recordings of its tool that `step` could return."""
        schema = self._schemas.get(step.id)
        if schema is None or schema is self._tools[step.tool].output:
            return [*recordings]
        # another call computed another schema for them
        return [given for given in recordings if schema.is_valid(given)]

    def _read_beyond_schemas(self, plan: Plan) -> set[str]:
        """Return the steps whose outputs are read at places that no schema declares."""
        read = [(place, step) for step in plan.steps for place in step_places(step)]
        output = () if plan.output is None else places(plan.output, ("output",))
        return {
            name
            for place, step in (*read, *((place, None) for place in output))
            if self.reading(place.ref, step) is None
            for name in self.sources(place.ref, step)
        }

    def _make(self, plan: Plan) -> None:
        wishes: dict[str, dict[str, Json]] = {}
        for wish in self._wishes(plan):
            key = json.dumps(wish.node, sort_keys=True)
            wishes.setdefault(wish.step, {})[key] = wish.node
        made: dict[tuple[int, str], Json] = {}  # most steps of one tool return the same
        for step in plan.steps:
            schema = self._schemas.get(step.id)
            if schema is None:
                continue
            wanted = wishes.get(step.id, {})
            key = (id(schema), "\n".join(wanted))
            try:
                if key not in made:
                    made[key] = _example(schema, [*wanted.values()])
                self._values[step.id] = made[key]
            except NoExample:
                del self._schemas[step.id]

    def _wishes(self, plan: Plan) -> Iterator[_Wish]:
        for step in plan.steps:
            for place in step_places(step):
                yield from self._wish(step, place, self.takes(step, place))
            if isinstance(step.for_each, Ref):
                yield from self._wish_of_list(step.for_each, step.max_items)
        if plan.output is not None:
            for place in places(plan.output, ("output",)):
                yield from self._wish_at(place.ref, True)

    def _wish(self, step: Step, place: Place, taken: Schema | None) -> Iterator[_Wish]:
        given = self.reading(place.ref, step)
        if not isinstance(given, Schema):
            return
        wanted: Json = True
        inside = EVERY in place.ref.path
        if place.whole and taken is not None and assignable(given, taken) is not Verdict.NO:
            wish = elements(taken) if inside else taken
            # a schema with definitions of its own cannot be part of another one
            if isinstance(wish, Schema) and wish.document is wish.node:
                wanted = wish.node
        if place.ref.step not in RESERVED_IDS or step.for_each is None:
            yield from self._wish_at(place.ref, wanted)
        elif isinstance(step.for_each, Ref) and place.ref.step != INDEX:
            listed = step.for_each
            every = () if EVERY in listed.path else (EVERY,)
            yield from self._wish_at(
                Ref(listed.step, (*listed.path, *every, *place.ref.path)), wanted
            )

    def _wish_of_list(self, ref: Ref, most: int) -> Iterator[_Wish]:
        listed = list_behind(ref)
        if EVERY not in listed.path:
            yield from self._wish_at(listed, {"type": "array", "maxItems": most})

    def _wish_at(self, ref: Ref, wanted: Json) -> Iterator[_Wish]:
        source = self._steps.get(ref.step)
        if source is None or not isinstance(self.reading(ref, None), Schema):
            return
        path = ref.path
        if source.for_each is not None:
            if not path:
                return
            path = path[1:]
        node = _nested(path, wanted)
        if node is not None and node is not True:
            yield _Wish(ref.step, node)


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
