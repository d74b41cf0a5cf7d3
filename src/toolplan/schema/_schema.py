"""A JSON Schema and the values that it accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Literal

import jsonschema_rs
from msgspec import Struct

from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json, copied, json_type
from toolplan.schema import _document
from toolplan.schema._document import JsonType, Node, SchemaError
from toolplan.schema._example import Search

ARTICLE: Final[dict[JsonType, str]] = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object",
}

_OF_THE_WHOLE: Final = {
    *("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"),
    *("dependentRequired", "dependentSchemas", "dependencies"),
    *("minProperties", "maxProperties", "unevaluatedProperties"),
}
"""Keywords that apply to an object as a whole, not to each of its properties."""

# Linear in the text for every pattern, but without look-around and back-references.
_LINEAR = jsonschema_rs.RegexOptions()
_FAULTS: Final = (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError)

_DATE_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.][0-9]+)?)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)


def _is_date_time(text: str) -> bool:
    if (found := _DATE_TIME.fullmatch(text)) is None:
        return False
    day, clock, seconds = found.groups("00")
    try:  # `datetime` has no leap seconds
        datetime.fromisoformat(f"{day}T{clock}:{'59' if seconds == '60' else seconds}")
    except ValueError:
        return False
    return True


# ISO 8601, as most tools that declare these formats accept it; RFC 3339, of the validator, requires
# seconds and an offset from UTC.
_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date-time": _is_date_time,
    "time": lambda text: _is_date_time(f"2000-01-01T{text}"),
}


class Violation(Struct, frozen=True):
    """A value that a schema does not accept.

    `kind` is `type` (wrong JSON type), `missing` (a required property), `unknown` (an undeclared
    property) or `value` (enum, range, pattern, format, …). `pointer` leads to the wrong value, or
    to the object without or with the property `name`.
    """

    kind: Literal["type", "missing", "unknown", "value"]
    pointer: str
    message: str
    name: str | None = None


class Absent(Struct, frozen=True):
    """A path certainly does not exist in a schema.

    `message` says where it ends; `names` are the keys declared there. `not_a_list`: `[*]` is used
    on something that is never a list. `is_a_list`: a key is used on a list.
    """

    message: str
    names: tuple[str, ...] = ()
    not_a_list: bool = False
    is_a_list: bool = False


class Schema:
    """A JSON Schema (draft 2020-12 unless it says otherwise), self-contained and safe to use."""

    def __init__(self, node: Node, definitions: Node | None = None) -> None:
        """Use `Schema.load` for schemas from outside."""
        self.node: dict[str, Json] | bool = node
        """The schema's own node; its references need `target`."""
        self._definitions = definitions

    @classmethod
    def load(cls, raw: Json) -> Schema:
        """Read a schema from outside.

        Raises:
            SchemaError: it cannot be used.
        """
        schema = cls(*_document.read(raw))
        _ = schema._validator
        return schema

    def __repr__(self) -> str:
        return f"Schema({self.document!r})"

    @cached_property
    def document(self) -> Node:
        """The schema as one self-contained JSON value."""
        if self._definitions is None or isinstance(self.node, bool):
            return self.node
        return {**self.node, "$defs": {_document.ROOT: self._definitions}}

    def placed(self, *keys: str) -> Node:
        """Return the schema as it is written below `keys` of another one."""
        pointer = "".join(f"/{escape_pointer(key).replace('%', '%25')}" for key in keys)
        whole = self.document
        return whole if isinstance(whole, bool) else _document.moved(whole, f"#{pointer}")

    @cached_property
    def mentions_null(self) -> bool:
        """Whether the word is anywhere in the schema; else it states no null."""
        return "null" in json.dumps(self.document)

    def target(self, reference: Json) -> Node | None:
        """Return the node that a `$ref` in this schema leads to; None where it leads nowhere."""
        if not isinstance(reference, str) or not reference.startswith(_document.PREFIX):
            return None
        return _document.follow(self._definitions, reference.removeprefix(_document.PREFIX))

    def part(self, node: Node) -> Schema:
        """Return `node`, a part of this schema or made of its parts, as a schema of its own."""
        return Schema(node, self._definitions)

    @cached_property
    def declares_properties(self) -> bool:
        """Whether the root of the schema, or a schema that it combines, declares any property."""
        return any(node.get("properties") for node in self.nodes())

    @cached_property
    def literal_only(self) -> tuple[str, ...]:
        """The properties that must be written out in the plan (`x-literal`)."""
        return tuple(name for name, said in self.stated("x-literal").items() if any(said))

    def stated(self, keyword: str) -> dict[str, list[Json]]:
        """Return the values of `keyword` in declared properties, also in combined schemas."""
        found: dict[str, list[Json]] = {}
        for node in self.nodes():
            properties: Any = node.get("properties", {})
            for name, part in properties.items():
                said = [each[keyword] for each in self.part(part).nodes() if keyword in each]
                if said:
                    found.setdefault(name, []).extend(said)
        return found

    def closed(self) -> Schema:
        """Return this schema with undeclared properties refused, unless it allows them itself.

        A schema without declared properties stays open.
        """
        node = self.node
        if isinstance(node, bool) or not self.declares_properties:
            return self
        openers = ("additionalProperties", "unevaluatedProperties", "patternProperties")
        if any(name in each for each in self.nodes() for name in openers):
            return self
        simple = not any(name in node for name in ("$ref", "allOf", "anyOf", "oneOf", "if"))
        keyword = "additionalProperties" if simple else "unevaluatedProperties"
        return self.part({**node, keyword: False})

    @cached_property
    def of_parts(self) -> Schema | None:
        """The schema without `required`, to check an object with only some properties.

        None if the check of one property may depend on another.
        """
        node = self.node
        if isinstance(node, bool) or _OF_THE_WHOLE & node.keys():
            return None
        return self.part({name: value for name, value in node.items() if name != "required"})

    @cached_property
    def is_valid(self) -> Callable[[Json], bool]:
        """Whether the schema accepts a value: the validator's own function."""
        return self._validator.is_valid

    def violations(self, value: Json) -> list[Violation]:
        """Return every violation of the schema in `value`."""
        if self._validator.is_valid(value):
            return []
        return [each for error in self._validator.iter_errors(value) for each in _read(error)]

    def example(self, seed: int = 0, items: int = 2) -> Json:
        """Return a sample value that the schema accepts; the same for the same `seed`.

        It has every declared property that can have a value, about `items` elements in lists, and
        no null where another value is possible. Valid `examples` and `default` are used.

        Raises:
            NoExample: none exists, or none was found within limits.
        """

        def accepts(node: Node, value: Json) -> bool:
            return (self if node is self.node else self.part(node)).is_valid(value)

        return Search(self.target, accepts, items).find(self.node, seed)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the whole schema is enforced, without a pattern left out."""
        return not _unusable_patterns(self.document)

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        try:
            try:
                return _compile(self.document)
            except _FAULTS:
                bad = _unusable_patterns(self.document)
                if not bad or isinstance(self.document, bool):
                    raise
                return _compile(_without_patterns(self.document, bad))
        except _FAULTS as error:
            line = str(error).strip().partition("\n")[0] or type(error).__name__
            if isinstance(error, jsonschema_rs.ValidationError) and error.instance_path:
                place = "".join(f"/{token}" for token in error.instance_path)
                line = f"{place} is not valid JSON Schema ({line})"
            raise SchemaError(line) from error

    def nodes(self) -> list[dict[str, Json]]:
        """Return every node that applies to the value itself, behind `$ref` too."""
        found: list[dict[str, Json]] = []
        seen: set[int] = set()
        pending: list[Json] = [self.node]
        while pending:
            node = pending.pop()
            if not isinstance(node, dict) or id(node) in seen:
                continue
            seen.add(id(node))
            found.append(node)
            pending.extend(_document.in_place(node))
            if "$ref" in node:
                pending.append(self.target(node["$ref"]))
        return found


def _compile(document: Node) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        document,
        formats=_FORMATS,
        validate_formats=True,
        pattern_options=_LINEAR,
        offline=True,
    )


def _without_patterns(document: dict[str, Json], bad: set[str]) -> Node:
    made = {name: copied(part) for name, part in document.items()}
    for node in _document.sub_schemas(made):
        if isinstance(pattern := node.get("pattern"), str) and pattern in bad:
            del node["pattern"]
        patterns = node.get("patternProperties")
        if isinstance(patterns, dict) and bad & patterns.keys():
            node["patternProperties"] = {k: v for k, v in patterns.items() if k not in bad}
            # it would refuse properties that the pattern allowed
            node.pop("additionalProperties", None)
    return made


def _unusable_patterns(document: Node) -> set[str]:
    """Return the patterns in `document` that cannot be matched in linear time."""
    found: set[str] = set()
    for node in _document.sub_schemas(document):
        named = node.get("patternProperties")
        for pattern in (*(named if isinstance(named, dict) else ()), node.get("pattern")):
            if isinstance(pattern, str):
                try:
                    _compile({"pattern": pattern})
                except _FAULTS:
                    found.add(pattern)
    return found


def _read(error: jsonschema_rs.ValidationError) -> list[Violation]:
    pointer = "".join(f"/{escape_pointer(str(token))}" for token in error.instance_path)
    kind = error.kind
    found = error.instance
    match kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            return [Violation("missing", pointer, f"The required {name!r} is missing.", str(name))]
        case (
            jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=names)
            | jsonschema_rs.ValidationErrorKind.UnevaluatedProperties(unexpected=names)
        ):
            return [Violation("unknown", pointer, f"There is no {n!r} here.", n) for n in names]
        case jsonschema_rs.ValidationErrorKind.Type(types=types):
            # `null` is named only where it is the one accepted type
            wanted = [ARTICLE[each] for each in ARTICLE if each in types and each != "null"]
            message = f"It is {json_type(found)}, not {' or '.join(wanted) or 'null'}."
            return [Violation("type", pointer, message)]
        case (
            jsonschema_rs.ValidationErrorKind.AnyOf(context=branches)
            | jsonschema_rs.ValidationErrorKind.OneOfNotValid(context=branches)
        ):
            return _of_branches(pointer, found, branches)
        case _:
            # the value comes first and the problem last
            text = error.message
            text = text if len(text) <= 200 else f"{text[:80]} … {text[-115:]}"
            return [Violation("value", pointer, text if text.endswith(".") else f"{text}.")]


def _of_branches(
    pointer: str, found: object, branches: list[list[jsonschema_rs.ValidationError]]
) -> list[Violation]:
    """Return why the nearest branch does not fit: one of the right type, if any.

    A branch for null says nothing about a value that is not null, so `anyOf: [X, null]` reads as X.
    """
    reasons = [[violation for error in branch for violation in _read(error)] for branch in branches]
    is_null = Violation("type", pointer, f"It is {json_type(found)}, not {ARTICLE['null']}.")
    reasons = [each for each in reasons if each != [is_null]] or reasons
    if len(reasons) == 1:
        return reasons[0]
    fitting = [r for r in reasons if not any(v.kind == "type" and v.pointer == pointer for v in r)]
    if not fitting:
        messages = [violation.message for each in reasons for violation in each[:1]]
        wanted = dict.fromkeys(each.rpartition(", not ")[2].rstrip(".") for each in messages)
        message = f"It is {json_type(found)}, not {' or '.join(wanted)}."
        return [Violation("type", pointer, message)]
    best = min(fitting, key=len)
    if len(best) == 1:
        return best
    return [Violation("value", pointer, " ".join(v.message for v in best[:3]))]
