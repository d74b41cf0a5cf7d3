"""What the steps of a dry run give: values made up from schemas, or recorded ones.

A made-up value fits what its tool declares, and, where there is such a value, what the steps that
read it take: only then does a failure say something of the plan rather than of the value.
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
_MOST_TRIES: Final = 12


class Written(NamedTuple):
    """A value that stands in the plan itself, so that nothing is made up."""


Reading: TypeAlias = Schema | Absent | Written | None
"""What is known of what a reference selects, whatever tools give; None where nothing is."""


class Place(NamedTuple):
    """A reference where it stands in a step; `whole` says that it is not inside of text."""

    path: Path
    ref: Ref
    whole: bool

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer into the step."""
        return "".join(f"/{escape_pointer(str(key))}" for key in self.path)


def places(value: Value, path: Path) -> Iterator[Place]:
    """Yield every reference in `value`, which stands at `path`."""
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
    """Return the reference to the list itself, where `ref` reads just all of its elements."""
    *before, last = ref.path or (None,)
    return Ref(ref.step, ref.path[:-1]) if last is EVERY and EVERY not in before else ref


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a reader would like to find: `node` speaks about the output that one call gives."""

    step: str
    node: Json


class SampleValues:
    """What the steps of a plan give in a dry run."""

    def __init__(
        self,
        plan: Plan,
        tools: Mapping[str, Tool],
        schemas: Mapping[str, Json],
        recordings: Mapping[str, Sequence[Json]],
    ) -> None:
        """Make up what can be; `schemas` are those of computed outputs, by step id."""
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
        """How many recordings the step with the most of them has."""
        return max(map(len, self._recordings.values()), default=0)

    def is_recorded(self, step_id: str, turn: int | None) -> bool:
        """Say whether what a step gives at `turn` was recorded."""
        if step_id not in self._recordings:
            return False
        return turn is not None or step_id in self._unsaid or step_id not in self._values

    def has_recording(self, tool: str) -> bool:
        """Say whether there is a recording of the tool of this name."""
        return tool in self._recorded_tools

    def value(self, step_id: str, turn: int | None, item: int) -> Json:
        """Return what one call of a step gives.

        `turn` chooses among recordings; without it they are taken only where nothing that will do
        for the readers of the step can be made up.
        """
        if self.is_recorded(step_id, turn):
            recorded = self._recordings[step_id]
            return recorded[((turn or 0) + item) % len(recorded)]
        return self._values.get(step_id)

    def tool_of(self, step_id: str) -> str:
        """Return the name of the tool that a step calls."""
        return self._steps[step_id].tool

    def sources(self, ref: Ref, step: Step | None) -> tuple[str, ...]:
        """Return the ids of the steps whose outputs `ref` reads, where it stands in `step`."""
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            return tuple(place.ref.step for place in places(step.for_each, ()))
        return (ref.step,)

    def reading(self, ref: Ref, step: Step | None) -> Reading:
        """Say what is known of what `ref` selects, where it stands in `step`."""
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
        """Return what the tool of `step` takes at an argument's place.

        None where it does not say.
        """
        if place.path[0] != "args":
            return None
        found = at(self._tools[step.tool].input, place.path[1:])
        return found if isinstance(found, Schema) else None

    def takes_each_alone(self, step: Step) -> bool:
        """Say whether the tool of `step` takes each argument whatever the others are."""
        return self._tools[step.tool].input.of_parts is not None

    def unreadable(self, step: Step) -> str | None:
        """Say why `step` cannot be driven: it reads what nobody declares and nothing has given.

        None where it can.
        """
        for place in step_places(step):
            read = self.sources(place.ref, step)
            recorded = bool(read) and all(name in self._recordings for name in read)
            if self.reading(place.ref, step) is None and not recorded:
                told = "${" + place.ref.step + print_path(place.ref.path) + "}"
                return f"No schema says what {told} is, at {place.pointer}."
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
        """Return the schema of what one call of `step` gives."""
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
        """Return those of the recordings of its tool that `step` could give."""
        schema = self._schemas.get(step.id)
        if schema is None or schema is self._tools[step.tool].output:
            return [*recordings]
        # another call computed another schema for them
        return [given for given in recordings if schema.is_valid(given)]

    def _read_beyond_schemas(self, plan: Plan) -> set[str]:
        """Return the steps of whose outputs something is read that no schema speaks of."""
        read = [(place, step) for step in plan.steps for place in step_places(step)]
        output = () if plan.output is None else places(plan.output, ("output",))
        return {
            name
            for place, step in (*read, *((place, None) for place in output))
            if self.reading(place.ref, step) is None
            for name in self.sources(place.ref, step)
        }

    # Making up

    def _make(self, plan: Plan) -> None:
        wishes: dict[str, dict[str, Json]] = {}
        for wish in self._wishes(plan):
            key = json.dumps(wish.node, sort_keys=True)
            wishes.setdefault(wish.step, {})[key] = wish.node
        made: dict[tuple[int, str], Json] = {}  # most steps of one tool give the same
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
            # one that refers to its own definitions cannot be told in another schema
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
    """Return a schema of what has `wanted` at `path`; None where that would be too long a list."""
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
    """Return an example that fulfils as many of `wishes` as a few tries can.

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
        for wish in wishes[:_MOST_TRIES]:
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
        raise NoExample(str(error)) from error
