"""The plan: steps, and their references. No results yet, no tools, no text.

Everything here is frozen. A `Value` is a closed union, taken apart by `match`; a subtree without
any reference is always one `Literal`, so that two plans that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias
from typing import Literal as OneOf

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.base.shown import Shown, counted, listed
from toolplan.plan.path import Json, Path, Segment

ITEM: Final = "item"
INDEX: Final = "index"
RESERVED_IDS: Final = frozenset({ITEM, INDEX})
"""Names that exist only inside a step with `for_each`; no step may have them as its id."""

DEFAULT_MAX_ITEMS: Final = 1000
DEFAULT_MAX_PAGES: Final = 100

OnError: TypeAlias = OneOf["fail", "continue"]
Pages: TypeAlias = OneOf["all"]


class Limits(Struct, frozen=True):
    """Limits on plans and runs, each inclusive.

    `text_bytes` is counted before parsing; `depth` is the nesting of lists and objects; `items` is
    the maximum for one `for_each`; `calls` is the maximum number of tool calls of one run.
    """

    text_bytes: int = 2_000_000
    steps: int = 10_000
    depth: int = 64
    items: int = 1_000
    calls: int = 10_000


class Signature(Struct, frozen=True):
    """The names of a tool's arguments and of its outputs' fields, each in declared order.

    Plain data, so that dialects can read positional arguments without knowing tools.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Literal(Struct, frozen=True, eq=False):
    """A JSON value that holds no reference."""

    value: Json

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and _key(self.value) == _key(other.value)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct's own compares identity

    def __hash__(self) -> int:
        return hash(_key(self.value))


class Ref(Struct, frozen=True):
    """The output of another step, or the part of it at `path`.

    `step` is a step's id, or `item` or `index` inside a step with `for_each`.
    """

    step: str
    path: Path = ()


class Template(Struct, frozen=True):
    """Text with references in it; renders to text. No two text parts are neighbours."""

    parts: tuple[str | Ref, ...]


class Array(Struct, frozen=True):
    """A list that holds at least one reference somewhere."""

    items: tuple[Value, ...]


class Object(Struct, frozen=True):
    """An object that holds at least one reference somewhere. Keys are never references."""

    fields: tuple[tuple[str, Value], ...]


Value: TypeAlias = Literal | Ref | Template | Array | Object
Place: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class When(Struct, frozen=True):
    """The step runs only if `value` fits the JSON Schema `schema`."""

    value: Value
    schema: Json


class Step(Struct, frozen=True):
    """One call of one tool, or one call for each item of a list.

    `timeout_s` is in seconds and holds for each try. `after` is order that no reference shows.
    With `pages` each page of a list, at most `max_pages`, is a call of its own.
    """

    id: str
    tool: str
    args: Mapping[str, Value] = field(default_factory=dict[str, Value])
    after: tuple[str, ...] = ()
    for_each: Value | None = None
    max_items: int = DEFAULT_MAX_ITEMS
    when: When | None = None
    on_error: OnError = "fail"
    timeout_s: float | None = None
    retries: int = 0
    thought: str | None = None
    pages: Pages | None = None
    max_pages: int = DEFAULT_MAX_PAGES


class Plan(Shown, Struct, frozen=True):
    """Steps in the order in which they were written, and the output of the plan.

    `output` None means: the outputs of the steps that nothing refers to. `metadata` is advice for
    the reader; it is neither executed nor approved.
    """

    steps: tuple[Step, ...]
    output: Value | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def __repr__(self) -> str:
        names = listed([step.id for step in self.steps])
        return f"Plan({counted(len(self.steps), 'step')}: {names})" if names else "Plan(0 steps)"


def array(items: tuple[Value, ...]) -> Value:
    """Return the list of `items`: one `Literal` where there is no reference."""
    if all(isinstance(item, Literal) for item in items):
        return Literal([item.value for item in items if isinstance(item, Literal)])
    return Array(items)


def object_(fields: tuple[tuple[str, Value], ...]) -> Value:
    """Return the object of `fields`: one `Literal` where there is no reference."""
    if all(isinstance(value, Literal) for _, value in fields):
        return Literal({key: v.value for key, v in fields if isinstance(v, Literal)})
    return Object(fields)


def template(parts: tuple[str | Ref, ...]) -> Value:
    """Return text with references: a `Literal` or a bare `Ref` where that is all there is."""
    merged: list[str | Ref] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    match merged:
        case []:
            return Literal("")
        case [str(text)]:
            return Literal(text)
        case [Ref() as ref]:
            return ref
        case _:
            return Template(tuple(merged))


def refs(value: Value) -> Iterator[Ref]:
    """Yield every reference in `value`, left to right."""
    return (ref for _, ref, _ in placed_refs(value))


def step_refs(step: Step) -> Iterator[tuple[str, Ref]]:
    """Yield every reference of `step` with the pointer of the value that holds it.

    The pointer leads to the innermost text or value: `/args/where/city`. References to `item` and
    `index` are among them.
    """
    for name, value in step.args.items():
        yield from located_refs(value, f"/args/{escape_pointer(name)}")
    if step.for_each is not None:
        yield from located_refs(step.for_each, "/for_each")
    if step.when is not None:
        yield from located_refs(step.when.value, "/when/value")


def located_refs(value: Value, pointer: str) -> Iterator[tuple[str, Ref]]:
    """Yield every reference in `value` with its pointer, where `value` itself is at `pointer`."""
    return ((pointer + join_pointer(place), ref) for place, ref, _ in placed_refs(value))


def placed_refs(value: Value, place: Place = ()) -> Iterator[tuple[Place, Ref, bool]]:
    """Yield every reference in `value` with its place, and whether it is the whole value there."""
    match value:
        case Literal():
            return
        case Ref():
            yield place, value, True
        case Template(parts):
            yield from ((place, part, False) for part in parts if isinstance(part, Ref))
        case Array(items):
            for at, item in enumerate(items):
                yield from placed_refs(item, (*place, at))
        case Object(fields):
            for key, inner in fields:
                yield from placed_refs(inner, (*place, key))


def bare(value: Value | Json) -> Value | Json:
    """Return the JSON of a literal; all else as it is."""
    return value.value if isinstance(value, Literal) else value


def members(value: Value | Json) -> Iterable[tuple[str | int, Value | Json]]:
    """Return the members of a list or object, each with its key or index; none for other values."""
    match value:
        case Array(items) | (list() as items):
            return enumerate(items)
        case Object(fields):
            return fields
        case dict():
            return value.items()
        case _:
            return ()


def constants(
    value: Value | Json, pointer: str, field: str = ""
) -> Iterator[tuple[str, str, Json]]:
    """Yield each text, number, boolean and null that is written out in `value`.

    Each comes with its pointer and the innermost key around it; `pointer` and `field` are those of
    `value`. Of text with references it yields each part.
    """
    match value:
        case Literal(constant):
            yield from constants(constant, pointer, field)
        case Ref():
            return
        case Template(parts):
            yield from ((pointer, field, part) for part in parts if isinstance(part, str))
        case Array() | Object() | list() | dict():
            for key, inner in members(value):
                name = key if isinstance(key, str) else field
                yield from constants(inner, pointer + join_pointer((key,)), name)
        case _:
            yield pointer, field, value


def all_text(value: Value | Json) -> Iterator[str]:
    """Yield all text that is written out in `value`, keys of objects included."""
    match value:
        case str():
            yield value
        case Literal(constant):
            yield from all_text(constant)
        case Template(parts):
            yield from (part for part in parts if isinstance(part, str))
        case Array() | Object() | list() | dict():
            for key, inner in members(value):
                if isinstance(key, str):
                    yield key
                yield from all_text(inner)
        case _:
            return


def needs(step: Step) -> tuple[str, ...]:
    """Return the ids of the steps that must end before `step` may start, each once, in order.

    Order comes from references and `after`, and from nothing else.
    """
    found = dict.fromkeys(
        ref.step for _, ref in step_refs(step) if not (step.for_each and ref.step in RESERVED_IDS)
    )
    found.update(dict.fromkeys(step.after))
    return tuple(found)


def map_refs(value: Value, change: Callable[[Ref], Ref]) -> Value:
    """Return `value` with every reference replaced by the result of `change`."""
    match value:
        case Literal():
            return value
        case Ref():
            return change(value)
        case Template(parts):
            return Template(tuple(change(p) if isinstance(p, Ref) else p for p in parts))
        case Array(items):
            return Array(tuple(map_refs(item, change) for item in items))
        case Object(fields):
            return Object(tuple((key, map_refs(inner, change)) for key, inner in fields))


def map_plan_refs(plan: Plan, change: Callable[[Ref], Ref]) -> Plan:
    """Return `plan` with every reference replaced by the result of `change`."""

    def step(old: Step) -> Step:
        return replace(
            old,
            args={name: map_refs(value, change) for name, value in old.args.items()},
            for_each=None if old.for_each is None else map_refs(old.for_each, change),
            when=old.when and replace(old.when, value=map_refs(old.when.value, change)),
        )

    output = None if plan.output is None else map_refs(plan.output, change)
    return replace(plan, steps=tuple(map(step, plan.steps)), output=output)


def rename_steps(plan: Plan, names: Mapping[str, str]) -> Plan:
    """Return `plan` with step ids replaced by `names`, wherever they stand; others stay."""

    def change(ref: Ref) -> Ref:
        return replace(ref, step=names.get(ref.step, ref.step))

    def step(old: Step) -> Step:
        after = tuple(names.get(each, each) for each in old.after)
        return replace(old, id=names.get(old.id, old.id), after=after)

    return map_plan_refs(replace(plan, steps=tuple(map(step, plan.steps))), change)


def positional(plan: Plan) -> Plan:
    """Return `plan` with steps named `s0`, `s1`, … by position: equal plans up to ids are equal."""
    return rename_steps(plan, {step.id: f"s{at}" for at, step in enumerate(plan.steps)})


def sinks(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the steps that no other step refers to: the plan's output by default."""
    used = {ref.step for step in plan.steps for _, ref in step_refs(step)}
    return tuple(step.id for step in plan.steps if step.id not in used)


def value_at(plan: Plan, pointer: str) -> Value | None:
    """Return the value at a JSON pointer into the canonical plan, or None where there is none."""
    match split_pointer(pointer):
        case ["output", *rest]:
            value = plan.output
        case ["steps", position, "args", name, *rest]:
            value = plan.steps[int(position)].args.get(name)
        case ["steps", position, "for_each", *rest]:
            value = plan.steps[int(position)].for_each
        case ["steps", position, "when", "value", *rest]:
            when = plan.steps[int(position)].when
            value = None if when is None else when.value
        case _:
            return None
    return None if value is None else value_inside(value, rest)[1]


def value_inside(value: Value, tokens: Iterable[str]) -> tuple[Path, Value | None]:
    """Return the path that `tokens` of a JSON pointer spell in `value`, and the value there."""
    path: list[Segment] = []
    found: Value | Json = value
    is_there = True
    for token in tokens:
        inner = dict(members(bare(found))) if is_there else {}
        is_index = token.isdecimal() and isinstance(bare(found), list | Array)
        key = int(token) if is_index else token
        path.append(key)
        is_there = key in inner
        found = inner.get(key)
    if not is_there:
        return tuple(path), None
    return tuple(path), found if isinstance(found, Value) else Literal(found)


def json_at(document: Json, pointer: str) -> Json:
    """Return the value at `pointer` in `document`.

    Raises:
        LookupError: there is no such value.
    """
    for token in split_pointer(pointer):
        match document:
            case dict():
                document = document[token]
            case list() if token.isascii() and token.isdigit() and len(token) < 10:
                document = document[int(token)]
            case _:
                raise LookupError(pointer)
    return document


def join_pointer(place: Place) -> str:
    """Return the JSON pointer of `place`."""
    return "".join([f"/{escape_pointer(str(key))}" for key in place])


def escape_pointer(key: str) -> str:
    """Return `key` as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def split_pointer(pointer: str) -> tuple[str, ...]:
    """Return the keys that a JSON pointer names (RFC 6901); the empty pointer names none."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def _key(value: Json) -> Hashable:
    """Return a key that is equal for equal values, independent of the order of their members."""
    match value:
        case dict():
            return frozenset((key, _key(inner)) for key, inner in value.items())
        case list():
            return tuple(map(_key, value))
        case _:  # Python holds that 1 == True and 1 == 1.0; a tool does not
            return type(value), value
