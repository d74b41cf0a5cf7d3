"""Dialects made of functions, and the common parts of those whose text is JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from toolplan.dialects import json_text
from toolplan.dialects._base import Signatures, StepStream
from toolplan.plan.canonical import DEEPEST, Parsed, Report, Syntax, check_depth, read_steps, shown
from toolplan.plan.diagnostics import CannotExpress, Diagnostic, Severity
from toolplan.plan.model import (
    Limits,
    Literal,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
    json_at,
    located_refs,
    positional,
    split_pointer,
    step_refs,
)
from toolplan.plan.path import Json, json_type
from toolplan.plan.text.loose import Span
from toolplan.plan.text.places import locate
from toolplan.plan.text.tokens import Elements


class StepReader(Protocol):
    """Reads the steps of one plan, in order, and reports their problems."""

    def declare(self, item: Json) -> None:
        """Declare the next step, so that later steps may refer to it."""
        ...

    def step(self, item: Json, at: int) -> Step:
        """Return the step at position `at`, which is declared."""
        ...


def all_steps(items: Sequence[Json], reader: StepReader) -> tuple[Step, ...]:
    """Return the steps that `items` are; each may refer to every other."""
    for item in items:
        reader.declare(item)
    return tuple(reader.step(item, at) for at, item in enumerate(items))


class JsonSteps:
    """Reads the steps of a list under `key` of an object; without `key`, of a list."""

    def __init__(
        self, key: str | None, reader: Callable[[Report], StepReader], limits: Limits
    ) -> None:
        self._elements = Elements(key)
        self._report = Report()
        self._reader = reader(self._report)
        self._limits = limits
        self._count = 0
        self._is_over = False

    def feed(self, text: str) -> Sequence[Step]:
        """Return the steps that `text`, the next piece, completes; none behind an error."""
        steps: list[Step] = []
        for element in () if self._is_over else self._elements.feed(text):
            step = self._step(element)
            if step is None:
                self._is_over = True
                break
            steps.append(step)
        return steps

    def _step(self, element: str) -> Step | None:
        read = json_text.read(element, lambda document: isinstance(document, dict), self._limits)
        if read.block is None or any(each.blocks for each in read.diagnostics):
            return None
        item = read.block.document
        if not check_depth([[item]], self._limits.depth, self._report):
            return None
        self._reader.declare(item)
        step = self._reader.step(item, self._count)
        self._count += 1
        found = self._report.diagnostics
        if any(each.blocks or (each.fix is not None and each.fix.safe) for each in found):
            return None  # the step will be another one, or none, when the plan is whole
        return step


NO_LIMITS: Final = Limits(text_bytes=2**40, steps=2**31, depth=DEEPEST)
"""For text that was written here, when it is read back."""


_PLAIN_STEP: Final = Step("", "")
_BESIDE_CALLS: Final = (
    "after", "for_each", "max_items", "when", "on_error", "timeout_s", "retries", "pages",
    "max_pages", "thought",
)  # fmt: skip
"""Fields of a step beside its tool and its arguments."""


def by_position(plan: Plan) -> Plan:
    """Return `plan` with steps named by position, and without the `after` that references show."""
    plan = positional(plan)
    return replace(plan, steps=tuple(map(without_implied, plan.steps)))


class FunctionDialect(Struct, frozen=True, kw_only=True):
    """A dialect made of functions.

    `unsaid` returns the parts of a plan that the dialect cannot express. `write` writes a plan
    without such parts. `expected` is the plan that is read back from its text, with the signatures
    that `expected_signatures` returns. With `is_lenient` a plan is also written if reading its text
    back reports errors. `find(text, pointer, key)` is `locate`.
    """

    name: str
    json: bool
    read: Callable[[str, Signatures | None, Limits], Parsed]
    find: Callable[[str, str, bool], Span | None]
    unsaid: Callable[[Plan, Signatures | None], list[Diagnostic]]
    write: Callable[[Plan, Signatures | None], str]
    looks_like: Callable[[str], bool]
    expected: Callable[[Plan], Plan] = by_position
    expected_signatures: Callable[[Plan, Signatures | None], Signatures | None] = lambda _, given: (
        given
    )
    steps: Callable[[Signatures | None, Limits], StepStream] | None = None
    is_lenient: bool = False
    choose: Callable[[str], FunctionDialect] | None = None

    def chosen(self, choice: str) -> FunctionDialect | None:
        """Return the dialect with a `choice`, such as `:NAME`; None where it has no choices."""
        return None if self.choose is None else self.choose(choice)

    def parse(
        self, text: str, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> Parsed:
        """Return as much of the plan as can be read, and all problems. Never raises.

        Pointers are those of the canonical plan: `/steps/0/args/location`.
        """
        return self.read(text, signatures, limits or Limits())

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        """Return the text of `plan`.

        Raises:
            CannotExpress: the dialect cannot express the plan; its diagnostics name each such part.
        """
        found = self.unsaid(plan, signatures)
        if not found:
            text = self.write(plan, signatures)
            back = self.read(text, self.expected_signatures(plan, signatures), NO_LIMITS)
            errors = [each for each in back.diagnostics if each.severity is Severity.ERROR]
            if back.plan == self.expected(plan) and (self.is_lenient or not errors):
                return text
            found = [cannot(each.message, each.pointer, each.step) for each in errors]
        raise CannotExpress(
            f"{self.name} cannot say this plan",
            found or [cannot("What was written would be read otherwise.", "")],
        )

    def locate(self, text: str, pointer: str, *, key: bool = False) -> Span | None:
        """Return the place of the value that the canonical `pointer` names, or of its key."""
        return self.find(text, pointer, key)

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        return self.looks_like(text)

    def stream(
        self, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps; None where no step is known before the end."""
        return None if self.steps is None else self.steps(signatures, limits or Limits())


class Places(Struct, frozen=True):
    """The places in a dialect for the values of the canonical plan: `/steps/0/args/…`.

    `steps` are the pointers that the list of steps may have, the usual one first. `fields` gives
    the names of a field of a step, the usual one first, by its canonical name; the name "" is the
    step itself. `argument` returns the rest of the pointer of one argument, where arguments are no
    object; `output` returns the pointer of the plan's output. `metadata` gives other names.
    """

    steps: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    argument: Callable[[Json, str], str] | None = None
    output: Callable[[Json], str] | None = None
    metadata: Mapping[str, str] = {}

    def canonical(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return `diagnostic`, whose pointer is the dialect's own, with a canonical pointer."""
        if diagnostic.pointer in self.metadata.values():
            names = {native: name for name, native in self.metadata.items()}
            return replace(diagnostic, pointer=names[diagnostic.pointer])
        for prefix in self.steps:
            found = re.match(
                rf"{re.escape(prefix)}/([0-9]{{1,9}})(?:/([^/]*))?", diagnostic.pointer
            )
            if found is not None:
                rest = diagnostic.pointer[found.end() :]
                name = found[2]
                known = (field for field, names in self.fields.items() if name in names)
                field = "" if name is None else f"/{next(known, name)}"
                return replace(diagnostic, pointer=f"/steps/{found[1]}{field}{rest}")
        return diagnostic

    def native(self, document: Json, pointer: str) -> str:
        """Return the pointer in `document` of the value at the canonical `pointer`."""
        if pointer in self.metadata and _at(document, pointer) is None:
            return self.metadata[pointer]
        match split_pointer(pointer):
            case ("steps", *way):
                prefix = next((p for p in self.steps if _at(document, p) is not None), "")
            case ("output", *way) if self.output is not None:
                return self.output(document) + pointer.removeprefix("/output")
            case _:
                return pointer
        match way:
            case [position, field, *rest]:
                item = _at(document, f"{prefix}/{position}")
            case _:
                return "".join((prefix, *(f"/{token}" for token in way)))
        names = (*self.fields.get(field, ()), field)
        have: Mapping[str, Json] = item if isinstance(item, dict) else {}
        name = next((each for each in names if each in have), names[0])
        ending = "".join(f"/{escape_pointer(token)}" for token in rest)
        if field == "args" and rest and self.argument is not None:
            inner = "".join(f"/{escape_pointer(token)}" for token in rest[1:])
            ending = self.argument(have.get(name), rest[0]) + inner
        return f"{prefix}/{position}{name and '/'}{name}{ending}"


CANONICAL_PLACES: Final = Places(("/steps",), {})


class Form(Struct, frozen=True):
    """The parts that read a dialect: the test of its plan, a reader of JSON, places of values."""

    is_plan: Callable[[Json], bool]
    load: Callable[[Json, Signatures | None, Limits], Parsed]
    places: Places = CANONICAL_PLACES

    def read(self, text: str, signatures: Signatures | None, limits: Limits) -> Parsed:
        """Return as much of the plan as can be read, and all problems."""
        read = json_text.read(text, self.is_plan, limits)
        found = [self.places.canonical(each) for each in read.diagnostics]
        if read.block is None:
            return Parsed(None, tuple(found))
        loaded = self.load(read.block.document, signatures, limits)
        # a number that was reported as bad is not reported again where it stands in a field
        numbers = {each.pointer for each in found if each.code == "bad-number"}
        rest = (each for each in loaded.diagnostics if each.pointer not in numbers)
        return Parsed(loaded.plan, (*found, *rest))

    def find(self, text: str, pointer: str, key: bool) -> Span | None:
        """Return the place of the value at the canonical `pointer`, None where there is no plan."""
        block = json_text.read(text, self.is_plan, NO_LIMITS).block
        if block is None:
            return None
        start = block.span.start
        native = self.places.native(block.document, pointer)
        found = locate(text[start : block.span.end], native, key=key)
        return found and Span(found.start + start, found.end + start)


def read_list(document: Json, title: str, limits: Limits, report: Report) -> list[Json] | None:
    """Return the steps of a plan that is a list, None (and report why) where there are none."""
    if not isinstance(document, list):
        report.error("field-type", f"A plan of {title} is a list, not {json_type(document)}.")
        return None
    return bounded(document, document, limits, report)


def bounded(items: list[Json], document: Json, limits: Limits, report: Report) -> list[Json] | None:
    """Return `items`, the steps of `document`; None where they are too many, or too deep."""
    if read_steps({"steps": items}, limits, report) is None:
        return None
    return items if check_depth(document, limits.depth, report) else None


def write_list(items: Iterable[Json]) -> str:
    """Return a list as text, each item on a line of its own."""
    lines = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in items)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def objects(items: Json, names: Iterable[str]) -> bool:
    """Return whether `items` is a list of objects, each of which has one of `names`."""
    wanted = frozenset(names)
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(each, dict) and not wanted.isdisjoint(each) for each in items)
    )


def cannot(message: str, pointer: str, step: str | None = None) -> Diagnostic:
    """Return the diagnostic of one part of a plan that a dialect cannot express."""
    return Diagnostic("cannot-express", Severity.ERROR, message, step, pointer)


def without_implied(step: Step) -> Step:
    """Return `step` without the `after` that its references show already."""
    if not step.after:
        return step
    implied = {ref.step for _, ref in step_refs(step)}
    return replace(step, after=tuple(each for each in step.after if each not in implied))


def number_of(step: str) -> int:
    """Return the number of the step that is called `s0`, `s1`, … by position."""
    return int(step.removeprefix("s"))


def sorted_by_position(plan: Plan) -> Plan:
    """Return `plan` named by position, with `after` in order and never redundant."""
    plan = by_position(plan)
    return replace(
        plan,
        steps=tuple(
            replace(step, after=tuple(sorted(set(step.after), key=number_of)))
            for step in plan.steps
        ),
    )


class Says(Struct, frozen=True):
    """The features of plans that a dialect can express beside tools and arguments.

    `title` is its name in a sentence. `fields` are canonical names of fields of a plan or of a
    step. `refusal` says why a reference to a step of the plan cannot be said, None where it can.
    """

    title: str
    fields: frozenset[str]
    refusal: Callable[[Ref], str | None] = lambda _: None


def unsaid(
    plan: Plan, says: Says, syntax: Syntax | None, known: Collection[str]
) -> list[Diagnostic]:
    """Return one diagnostic for each part of `plan` that the dialect cannot express.

    `known` holds the ids of the steps that can be referred to. Values are written and read back by
    `syntax`, where it is given.
    """
    known = frozenset(known)
    found: list[Diagnostic] = []
    if plan.output is not None:
        if "output" in says.fields:
            found += _unsaid_value(plan.output, "/output", None, says, syntax, known)
        else:
            found.append(cannot(f"{says.title} has no 'output'.", "/output"))
    if plan.metadata and "metadata" not in says.fields:
        found.append(cannot(f"{says.title} has no 'metadata'.", "/metadata"))
    for at, step in enumerate(plan.steps):
        needed = without_implied(step)
        for field in _BESIDE_CALLS:
            is_used = getattr(needed, field) != getattr(_PLAIN_STEP, field)
            if is_used and field not in says.fields:
                place = f"/steps/{at}/{field}"
                found.append(cannot(f"{says.title} has no {field!r}.", place, step.id))
        for name, value in step.args.items():
            place = f"/steps/{at}/args/{escape_pointer(name)}"
            found += _unsaid_value(value, place, step.id, says, syntax, known)
    return found


def unsaid_after(plan: Plan) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each `after` that names no step."""
    known = {step.id for step in plan.steps}
    for at, step in enumerate(plan.steps):
        for each in step.after:
            if each not in known:
                yield cannot(f"No step has the id {each!r}.", f"/steps/{at}/after", step.id)


def _unsaid_value(
    value: Value,
    pointer: str,
    step: str | None,
    says: Says,
    syntax: Syntax | None,
    known: Collection[str],
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for place, ref in located_refs(value, pointer):
        if ref.step not in known:
            found.append(cannot(f"{says.title} has no reference to {ref.step!r}.", place, step))
        elif (refusal := says.refusal(ref)) is not None:
            found.append(cannot(f"{says.title} {refusal}.", place, step))
    if found or syntax is None:  # a value that cannot be written cannot be read back either
        return found
    return [
        cannot(f"{says.title} has no way to write {_said(part)}.", place, step)
        for place, part in syntax.unsaid(value, pointer)
    ]


def _said(part: Value) -> str:
    match part:
        case Literal(str(text)):
            return f"the text {shown(text)}: it would be read as a reference"
        case Literal(value):
            return (
                f"this {json_type(value).partition(' ')[2] or 'null'}: it would be read otherwise"
            )
        case Ref() | Template():
            return "this reference beside its text"
        case _:
            return "this value"


def _at(document: Json, pointer: str) -> Json:
    """Return the value at `pointer` in `document`, or None."""
    try:
        return json_at(document, pointer)
    except LookupError:
        return None
