"""What rules want to know of a plan and its tools, each worked out once, when first asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from toolplan.path import Json, Path, print_path
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
    needs,
    split_pointer,
)
from toolplan.rules._arguments import argument_violations, literal_part
from toolplan.schema import Absent, Schema, Verdict, Violation, assignable, at, elements
from toolplan.tools import ComputedOutput, Tool, Toolbox

INTEGER: Final = Schema.load({"type": "integer", "minimum": 0})
TEXT: Final = Schema.load({"type": "string"})


class Use(NamedTuple):
    """One reference and what stands at its two ends.

    `pointer` is the value that holds it, in the plan. `given` is the schema of what it selects,
    `Absent` where it selects nothing, None where no schema says. `taken` is the schema of the
    place, for a reference in an argument whose tool is known. `whole` is False inside of text.
    """

    step: Step
    pointer: str
    ref: Ref
    whole: bool
    given: Schema | Absent | None
    taken: Schema | Absent | None

    @property
    def text(self) -> str:
        """The reference as it is written."""
        return "${" + self.ref.step + print_path(self.ref.path) + "}"

    @property
    def in_arguments(self) -> bool:
        """Whether the reference stands in an argument, not in `for_each` or `when`."""
        return split_pointer(self.pointer)[2] == "args"

    @property
    def verdict(self) -> Verdict:
        """Whether what is given fits what is taken."""
        given = self.given if isinstance(self.given, Schema) else None
        taken = self.taken if isinstance(self.taken, Schema) else None
        return assignable(given, taken)


class Facts:
    """A plan, the tools that it may use, and what follows from both.

    `tools` None means that they are not known: then nothing is said about them. `allowed` None
    means that every tool may be used.
    """

    def __init__(
        self,
        plan: Plan,
        tools: Toolbox | None = None,
        allowed: frozenset[str] | None = None,
    ) -> None:
        """Hold what is given; nothing is worked out yet."""
        self.plan = plan
        self.tools = tools
        self.allowed = allowed
        self._outputs: dict[str, Schema | None] = {}
        self._computed: dict[str, ComputedOutput | None] = {}
        self._violations: dict[int, list[Violation]] = {}
        self._open: set[str] = set()

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
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that each step needs and that exist, itself left out."""
        return {
            step.id: tuple(n for n in needs(step) if n in self.steps and n != step.id)
            for step in self.plan.steps
        }

    def tool(self, step: Step) -> Tool | None:
        """Give the tool of `step` if it is known and its schemas can be used."""
        if self.tools is None:
            return None
        tool = self.tools.get(step.tool)
        return tool if tool is not None and tool.unusable is None else None

    def violations(self, position: int) -> list[Violation]:
        """Give what is wrong with the literal arguments of the step at `position`.

        Pointers are relative to the arguments. What a tool itself says of a call is among them.
        """
        if position not in self._violations:
            step = self.plan.steps[position]
            tool = self.tool(step)
            found: list[Violation] = []
            if tool is not None:
                found = argument_violations(step, tool.input)
                computed = self._compute(step, tool)
                if computed is not None:
                    found += [Violation("value", p, text) for p, text in computed.problems]
            self._violations[position] = found
        return self._violations[position]

    def output(self, step_id: str) -> Schema | None:
        """Give the schema of what a step gives, as others see it; None where it does not say.

        That of a step with `for_each` is a list; one that may be null by `on_error` says so.
        """
        if step_id not in self._outputs:
            if step_id in self._open or step_id not in self.steps:
                return None  # a cycle: its own rule tells
            self._open.add(step_id)
            try:
                self._outputs[step_id] = self._output(self.steps[step_id])
            finally:
                self._open.discard(step_id)
        return self._outputs[step_id]

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every reference of the plan's steps, in the order of reading."""
        return tuple(use for n, step in enumerate(self.plan.steps) for use in self._uses(n, step))

    @cached_property
    def unchecked(self) -> int:
        """How many references no schema could speak for."""
        return sum(
            1 for use in self.uses if use.given is None or (use.in_arguments and use.taken is None)
        )

    def type_of(self, ref: Ref, step: Step | None) -> Schema | Absent | None:
        """Give the schema of what `ref`, standing in `step`, selects."""
        whole: Schema | Absent | None
        if step is not None and step.for_each is not None and ref.step in RESERVED_IDS:
            whole = INTEGER if ref.step == INDEX else self.item(step)
        else:
            whole = self.output(ref.step)
        if not isinstance(whole, Schema):
            return None
        return at(whole, ref.path)

    def item(self, step: Step) -> Schema | None:
        """Give the schema of one item of the step's `for_each`."""
        if step.for_each is None:
            return None
        listed = self.type_of_value(step.for_each, None)
        item = None if listed is None else elements(listed)
        return item if isinstance(item, Schema) else None

    def type_of_value(self, value: Value, step: Step | None) -> Schema | None:
        """Give the schema of a whole value, or None where nothing says what it is."""
        match value:
            case Ref():
                found = self.type_of(value, step)
                return found if isinstance(found, Schema) else None
            case Template():
                return TEXT
            case Literal(constant):
                return Schema.load({"const": constant})
            case Array(items):
                kinds = [self.type_of_value(item, step) for item in items]
                known = [kind.document for kind in kinds if kind is not None]
                of_all: Json = {"anyOf": list(known)} if len(known) == len(kinds) else True
                return Schema.load({"type": "array", "items": of_all})
            case Object():
                return None

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
            schemas: dict[str, Schema | None] = {}
            literals: dict[str, Json] = {}
            for name, value in step.args.items():
                if (part := literal_part(value)) is not None:
                    literals[name] = part
                for pointer, ref in located_refs(value, f"/{escape_pointer(name)}"):
                    found = self.type_of(ref, step)
                    schemas[pointer] = found if isinstance(found, Schema) else None
            self._computed[step.id] = tool.compute_output(literals, schemas)
        return self._computed[step.id]

    def _uses(self, position: int, step: Step) -> Iterator[Use]:
        tool = self.tool(step)
        start = f"/steps/{position}"
        for name, value in step.args.items():
            if isinstance(value, Literal):
                continue
            place = f"/args/{escape_pointer(name)}"
            for pointer, ref, whole in _located(value, place):
                path = _path(pointer)
                taken = None if tool is None else at(tool.input, path)
                given = self.type_of(ref, step)
                yield Use(step, start + pointer, ref, whole, given, taken)
        for name, value in (
            ("/for_each", step.for_each),
            ("/when/value", None if step.when is None else step.when.value),
        ):
            if value is None:
                continue
            for pointer, ref, whole in _located(value, name):
                # neither may use the item: `when` is decided before there is one
                yield Use(step, start + pointer, ref, whole, self.type_of(ref, None), None)


def _located(value: Value, pointer: str) -> Iterator[tuple[str, Ref, bool]]:
    """Yield the references of `value` with their places, and whether each is the whole value."""
    match value:
        case Ref():
            yield pointer, value, True
        case Template(parts):
            yield from ((pointer, part, False) for part in parts if isinstance(part, Ref))
        case Array(items):
            for position, item in enumerate(items):
                yield from _located(item, f"{pointer}/{position}")
        case Object(fields):
            for key, inner in fields:
                yield from _located(inner, f"{pointer}/{escape_pointer(key)}")
        case Literal():
            return


def _path(pointer: str) -> Path:
    """Give the path inside of the arguments of a pointer `/args/name/0`."""
    tokens = split_pointer(pointer)[1:]
    return tuple(
        int(token) if at_ and token.isascii() and token.isdigit() else token
        for at_, token in enumerate(tokens)
    )
