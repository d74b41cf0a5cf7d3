"""Results of steps in a dry run: sample values made from schemas, or recordings.

A sample value fits the output schema of its tool, and, where possible, the schemas of the arguments
that it fills: only then does a failure say something about the plan.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from toolplan.compiler.rules import PlanContext, Use
from toolplan.plan.model import INDEX, RESERVED_IDS, Plan, Ref, Step, escape_pointer, refs
from toolplan.plan.model import Literal as Fixed
from toolplan.plan.path import EVERY, Json
from toolplan.schema import Absent, NoExample, Schema, SchemaError, Verdict, assignable, elements
from toolplan.schema.tool import Toolbox

_LARGEST_INDEX: Final = 50
_MAX_TRIES: Final = 12

WRITTEN: Final = "written"
Reading: TypeAlias = Schema | Absent | Literal["written"] | None
"""What is known of the value that a reference selects: its schema, that there is none, or that it
is `WRITTEN` in the plan itself; None where nothing is."""


def pointer_of(use: Use) -> str:
    """Return the place of the value that holds the reference, as a JSON pointer into the step."""
    return "".join(f"/{escape_pointer(str(key))}" for key in use.place)


def list_behind(ref: Ref) -> Ref:
    """Return the reference to the list itself, where `ref` reads all of its elements."""
    *before, last = ref.path or (None,)
    return Ref(ref.step, ref.path[:-1]) if last is EVERY and EVERY not in before else ref


class SampleValues:
    """The results of the steps of a plan in a dry run."""

    def __init__(
        self, plan: Plan, tools: Toolbox, recordings: Mapping[str, Sequence[Json]]
    ) -> None:
        self._plan, self.tools, self._context = plan, tools, PlanContext(plan, tools)
        self.steps = self._context.steps
        self._output_refs = () if plan.output is None else tuple(refs(plan.output))
        self.uses = defaultdict[str, list[Use]](list)
        for use in self._context.uses:
            self.uses[use.step.id].append(use)
        kept = {s.id: self._usable(s, recordings.get(s.tool, ())) for s in plan.steps}
        self._recordings = {name: each for name, each in kept.items() if each}
        self.recorded_tools = {self.steps[name].tool for name in self._recordings}
        self._values = self._made()
        read: list[tuple[Ref, Step | None]] = [(use.ref, use.step) for use in self._context.uses]
        read += [(ref, None) for ref in self._output_refs]
        self._undeclared = {
            name
            for ref, step in read
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

    def value(self, step_id: str, turn: int | None, item: int) -> Json:
        """Return the result of one call of a step.

        `turn` selects among recordings; None uses them only where there is no sample value, or
        something undeclared is read.
        """
        if self.is_recorded(step_id, turn):
            recorded = self._recordings[step_id]
            return recorded[((turn or 0) + item) % len(recorded)]
        return self._values.get(step_id)

    def sources(self, ref: Ref, step: Step | None) -> tuple[str, ...]:
        """Return the ids of the steps whose outputs `ref` reads, used in `step`."""
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            return tuple(each.step for each in refs(step.for_each))
        return (ref.step,)

    def reading(self, ref: Ref, step: Step | None) -> Reading:
        """Return the facts about the value that `ref` selects, used in `step`."""
        if step is not None and ref.step in RESERVED_IDS and isinstance(step.for_each, Fixed):
            return WRITTEN
        if any(name not in self._values for name in self.sources(ref, step)):
            return None
        return self._context.type_of(ref, step)

    def unreadable(self, step: Step) -> str | None:
        """Return why `step` cannot be simulated: what it reads is neither declared nor recorded."""
        for use in self.uses[step.id]:
            read = self.sources(use.ref, step)
            recorded = bool(read) and all(name in self._recordings for name in read)
            if self.reading(use.ref, step) is None and not recorded:
                return f"No schema declares the type of {use.text}, at {pointer_of(use)}."
        return None

    def _schema(self, step: Step) -> Schema | None:
        """Return the schema of the output of one call of `step`."""
        schema = self._context.output(step.id)
        item = schema if schema is None or step.for_each is None else elements(schema)
        return item if isinstance(item, Schema) else None

    def _usable(self, step: Step, recordings: Sequence[Json]) -> list[Json]:
        """Return the recordings of its tool that `step` could return."""
        schema = self._schema(step)
        if schema is None or self.tools[step.tool].compute_output is None:
            return [*recordings]
        # another call computed another schema for them
        return [each for each in recordings if schema.is_valid(each)]

    def _made(self) -> dict[str, Json]:
        """Return a sample value for each step whose schema has one."""
        wishes = defaultdict[str, dict[str, Json]](dict)
        for name, node in self._wishes():
            wishes[name][json.dumps(node, sort_keys=True)] = node
        made: dict[tuple[int, str], Json] = {}  # most steps of one tool return the same
        found: dict[str, Json] = {}
        for step in self._plan.steps:
            schema, wanted = self._schema(step), wishes[step.id]
            key = (id(schema), "\n".join(wanted))
            try:
                if schema is not None and key not in made:
                    made[key] = _example(schema, [*wanted.values()])
            except NoExample:
                continue
            if schema is not None:
                found[step.id] = made[key]
        return found

    def _wishes(self) -> Iterator[tuple[str, Json]]:
        """Yield steps, each with a schema that a reader would like the output of a call to fit."""
        for use in self._context.uses:
            ref, given, taken, for_each = use.ref, use.given, use.taken, use.step.for_each
            if not isinstance(given, Schema):
                continue
            wanted: Json = True
            fits = isinstance(taken, Schema) and assignable(given, taken) is not Verdict.NO
            if use.whole and isinstance(taken, Schema) and fits:
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
        for step in self._plan.steps:
            if isinstance(step.for_each, Ref):
                listed = list_behind(step.for_each)
                if EVERY not in listed.path:
                    node: Json = {"type": "array", "maxItems": step.max_items}
                    yield from self._wish_at(listed, node)
        for ref in self._output_refs:
            yield from self._wish_at(ref, True)

    def _wish_at(self, ref: Ref, wanted: Json) -> Iterator[tuple[str, Json]]:
        source = self.steps.get(ref.step)
        if source is None or not isinstance(self._context.type_of(ref, None), Schema):
            return
        if source.for_each is not None and not ref.path:
            return
        node: Json = wanted
        path = ref.path if source.for_each is None else ref.path[1:]
        for segment in path[::-1]:
            if isinstance(segment, str):
                node = {"type": "object", "properties": {segment: node}, "required": [segment]}
            elif not isinstance(segment, int):
                node = {"type": "array", "items": node}
            elif segment <= _LARGEST_INDEX:
                node = {"type": "array", "items": node, "minItems": segment + 1}
            else:  # the list would be too long
                return
        if node is not True:
            yield ref.step, node


def _example(schema: Schema, wishes: Sequence[Json]) -> Json:
    """Return an example that fits as many of `wishes` as a few tries achieve.

    Raises:
        NoExample: there is none even without wishes.
    """

    def fitting(*wanted: Json) -> Json:
        try:
            return schema.part({"allOf": [schema.node, *wanted]}).example()
        except SchemaError as error:
            raise NoExample from error

    if wishes:
        with suppress(NoExample):
            return fitting(*wishes)
    value, kept = schema.example(), list[Json]()
    for wish in wishes[:_MAX_TRIES]:
        with suppress(NoExample):
            value = fitting(*kept, wish)
            kept.append(wish)
    return value
