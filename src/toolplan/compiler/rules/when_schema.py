"""The rule `when-schema`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from toolplan import schema as schemas
from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.model import RESERVED_IDS, Literal, When, all_text, escape_pointer
from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema import (
    ALL_TYPES,
    ANNOTATIONS,
    APPLIES,
    JsonType,
    Schema,
    SchemaError,
    Verdict,
    idle_keywords,
)
from toolplan.schema._schema import ARTICLE

_EXAMPLE: Final = 'Write a schema that the value must fit: {"const": true}, {"minItems": 1} …'
_FIXED: Final = "A condition is fixed: compare in a step with `sql`, or a tool, and ask its result."
_REFERENCE: Final = re.compile(r"(?:\$\{|\{\{)\s*([A-Za-z0-9_][\w-]{0,63})")
_DEEPEST: Final = 40
_LONGEST_SHOWN: Final = 60


class _Fault(Struct, frozen=True):
    """A fault of a condition: the end of a sentence, and its place in the schema."""

    message: str
    pointer: str = ""
    help: str = _EXAMPLE


@rule()
def when_schema(context: PlanContext) -> Iterator[Problem]:
    """The condition of a step is not a JSON Schema that can be true and can be false.

    `when` is `{"value": …, "is": JSON Schema}`; the step runs if the value fits the schema. There
    is no expression language. A keyword that does not exist, or that says nothing about values of
    this type, would let every value pass: `minItem`, `minimum` for a list, `minContains` without
    `contains`, a format that is not checked, a keyword of another draft. So would a bound on a
    number that may be null, where `type` is not said. A `const` or `enum` outside of what the value
    can be, and a condition that always or never holds by the schema of the value, are errors too.
    So is a reference in the condition itself, where nothing is filled in.
    Where the tool does not declare its output, only the condition itself is checked, and the step
    fails when a keyword says nothing about the value that comes.

    How to fix: write a schema, such as `{"const": true}` or `{"minItems": 1}`.
    """
    for call in context.calls:
        if call.step.when is None:
            continue
        names = {*context.steps, *(RESERVED_IDS if call.step.for_each is not None else ())}
        texts = [
            _Fault(f"has {text!r} in it, which is text there and no reference", "", _FIXED)
            for text in all_text(call.step.when.schema)
            if any(name in names for name in _REFERENCE.findall(text))
        ]
        for fault in texts or _faults(context, call.step.when):
            message = f"The condition of {call.step.id!r} {fault.message}."
            yield call.problem(message, f"/when/is{fault.pointer}", fault.help)


def _faults(context: PlanContext, when: When) -> Iterator[_Fault]:
    try:
        condition = Schema.load(when.schema)
    except SchemaError as error:
        yield _Fault(f"is not a usable JSON Schema: {error}")
        return
    if not condition.is_whole:
        # a pattern left out of a tool's schema only lets more through; here it would decide
        what = "a pattern in it uses look-around or back-references, which are not supported"
        yield _Fault(f"is not a usable JSON Schema: {what}")
        return
    if isinstance(when.value, Literal):
        holds = condition.is_valid(when.value.value)
        text = json.dumps(when.value.value, ensure_ascii=False)
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        yield _decided(f"{shown}, as it is written", holds=holds)
        return
    given = context.type_of_value(when.value, None)
    idle = [_Fault(what, place, help_) for place, what, help_ in idle_keywords(when.schema)]
    named = {each.pointer for each in idle}
    others = _faults_of_node(condition.node, given, "", condition, decides=True)
    found = [*idle, *(each for each in others if each.pointer not in named)]
    yield from found
    if found:
        return
    node = condition.node
    if isinstance(node, dict) and not node.keys() <= ANNOTATIONS:
        verdict = schemas.assignable(given, condition)
    else:
        verdict = Verdict.NO if node is False else Verdict.YES
    if verdict is not Verdict.UNKNOWN:
        value = "every value" if given is None else schemas.describe(given)
        yield _decided(value, holds=verdict is Verdict.YES)


def _decided(value: str, *, holds: bool) -> _Fault:
    """Return the fault of a condition that holds, or fails, for all results of the tools."""
    what = f"{'always' if holds else 'never'} holds: the value is {value}"
    return _Fault(what, "", "Leave out the condition." if holds else _EXAMPLE)


def _faults_of_node(
    node: Json,
    given: Schema | None,
    pointer: str,
    condition: Schema,
    *,
    decides: bool,
    around: frozenset[JsonType] = ALL_TYPES,
) -> Iterator[_Fault]:
    """Yield the faults of `node` for values of the schema `given`, None where that is unknown.

    `decides` is True where a value that passes `node` passes the condition, if its type is
    `around`.
    """
    if not isinstance(node, dict):
        return
    if pointer.count("/") > _DEEPEST:
        yield _Fault("is nested too deep to be checked", pointer)
        return
    types = ALL_TYPES if given is None else schemas.types_of(given)
    stated = around & types & schemas.types_of(condition.part(node))
    for keyword, value in node.items():
        place = f"{pointer}/{escape_pointer(keyword)}"
        if types != ALL_TYPES and keyword in APPLIES:
            yield from _inapplicable(keyword, types, stated, place, decides=decides)
        elif given is not None and keyword in ("const", "enum"):
            yield from _outside(keyword, value, given, place)
        for inner, path, at, still in _children(keyword, value, place):
            part = given
            if given is not None and path:
                part = schemas.elements(given) if path == (EVERY,) else schemas.at(given, path)
            if isinstance(part, schemas.Absent):
                yield _Fault(f"looks for what cannot be there: {part.message}", at)
            else:
                yield from _faults_of_node(
                    inner, part, at, condition, decides=decides and still, around=stated
                )


def _inapplicable(
    keyword: str,
    types: frozenset[JsonType],
    stated: frozenset[JsonType],
    place: str,
    *,
    decides: bool,
) -> Iterator[_Fault]:
    applies = APPLIES[keyword]
    if not types & applies:
        value = _named(types)
        yield _Fault(f"does not decide anything: {keyword!r} says nothing about {value}", place)
    elif decides and (others := stated - applies - ({"integer"} if "number" in applies else set())):
        named = _named(frozenset(others))
        wanted = sorted(applies & types)[-1]
        what = f"lets {named} pass: {keyword!r} says nothing about it"
        yield _Fault(what, place, f'Add "type": "{wanted}" beside it.')


def _outside(keyword: str, value: Json, given: Schema, place: str) -> Iterator[_Fault]:
    values = value if keyword == "enum" and isinstance(value, list) else [value]
    for each in values:
        if not given.is_valid(each):
            what = f"compares with {each!r}, which the value cannot be"
            yield _Fault(what, place, f"The value is {schemas.accepted(given)}.")


def _children(keyword: str, value: Json, place: str) -> Iterator[tuple[Json, Path, str, bool]]:
    """Yield the schemas in `value`: each with its path in the value, and whether it decides."""
    match keyword, value:
        case ("allOf" | "anyOf" | "oneOf", list()):
            for at, each in enumerate(value):
                yield each, (), f"{place}/{at}", keyword == "allOf"
        case ("not" | "if" | "then" | "else", _):
            yield value, (), place, False
        case ("properties", dict()):
            for name, each in value.items():
                yield each, (name,), f"{place}/{escape_pointer(name)}", False
        case ("required", list()):
            for at, name in enumerate(value):
                if isinstance(name, str):
                    yield {}, (name,), f"{place}/{at}", False
        case ("items" | "contains", dict()):
            yield value, (EVERY,), place, False
        case ("prefixItems", list()):
            for at, each in enumerate(value):
                yield each, (at,), f"{place}/{at}", False
        case _:
            return


def _named(types: frozenset[JsonType]) -> str:
    names = types - {"integer"} if "number" in types else types
    return " or ".join(ARTICLE[each] for each in ARTICLE if each in names)
