"""Runtime expressions and success criteria of Arazzo, as values and conditions of a plan."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct, field

from toolplan.dialects import values
from toolplan.plan.canonical import ParsedText, TextProblem, Written, shown
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import (
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    escape_pointer,
    split_pointer,
)
from toolplan.plan.path import EVERY, Json, NotThere, Path, PathSyntaxError, parse_path, select
from toolplan.schema import Schema, SchemaError
from toolplan_openapi._document import Place

Outputs: TypeAlias = Mapping[str, Value]

_EXPRESSION = re.compile(
    r"\$(?:inputs|outputs|steps|workflows|sourceDescriptions|components|request|response|message)"
    r"\.[^\s{}]+|\$(?:url|method|statusCode|self)"
)
_EMBEDDED = re.compile(r"\{(\$[^{}]+)\}")
REFERENCE: Final = re.compile(
    r"\$(?:(?P<kind>step|workflow)s\.(?P<owner>[\w-]+)\.outputs|(?P<inputs>inputs)|outputs)"
    r"\.(?P<name>[\w-]+)(?P<rest>.*)"
)
_BODY: Final = "$response.body"
_SHARED_INPUTS: Final = "#/components/inputs/"
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_HELP: Final = (
    "A plan can say $inputs.NAME, $steps.STEP.outputs.NAME, $workflows.NAME.outputs.NAME and,"
    " in outputs and criteria, $response.body#/POINTER."
)


class Choice(Struct, frozen=True):
    """The workflow that is the plan, None for the first, and the values of its inputs as text."""

    workflow: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Choice:
        """Return the choice in `:NAME?INPUT=VALUE&INPUT=VALUE`, the text after the dialect."""
        name, _, inputs = text.partition("?")
        pairs = parse_qsl(inputs, keep_blank_values=True)
        return cls(name.removeprefix(":") or None, tuple(pairs))


class Inputs(Struct, frozen=True):
    """The inputs of a workflow: their schemas by name, and the names of those that are required.

    `components` are those of the document, to which the schemas may refer.
    """

    declared: Mapping[str, Mapping[str, Json]]
    required: list[Json]
    components: Json = None

    @classmethod
    def of(cls, workflow: Place, root: Place) -> Inputs:
        """Return the inputs that `workflow` declares, or refers to in the components of `root`."""

        def followed(place: Place) -> Place:
            reference = place.text("$ref")
            if not reference.startswith(_SHARED_INPUTS):
                return place
            return root.at("components", "inputs", reference.removeprefix(_SHARED_INPUTS))

        schema = followed(workflow.at("inputs"))
        properties = schema.at("properties")
        declared = {name: followed(properties.at(name)).node for name in properties.node}
        return cls(declared, schema.at("required").items, root.at("components").value)

    def filled(self, given: Outputs) -> dict[str, Value]:
        """Return the values `given`, and the `const` or `default` of the other inputs."""
        stated = {
            name: Literal(schema.get("const", schema.get("default")))
            for name, schema in self.declared.items()
            if "const" in schema or "default" in schema
        }
        return {**stated, **given}

    def unfit(self, given: Outputs) -> Iterator[str]:
        """Yield a sentence for each known value that does not fit the schema of its input."""
        for name, value in given.items():
            if not isinstance(value, Literal) or name not in self.declared:
                continue
            try:
                schema = Schema.load({**self.declared[name], "components": self.components})
                found = [str(each.message) for each in schema.violations(value.value)]
            except SchemaError as error:
                found = [f"its schema cannot be used: {error}"]
            if found:
                yield f"The input {shown(name)} does not fit: {found[0].rstrip('.')}."

    def read(self, given: tuple[tuple[str, str], ...]) -> dict[str, Value]:
        """Return values given as text: JSON, or plain text, as an input that is a string wants."""
        return {name: Literal(self._value(name, text)) for name, text in given}

    def _value(self, name: str, text: str) -> Json:
        if self.declared.get(name, {}).get("type") == "string":
            return text
        try:
            return read_json(text, every_digit=True)
        except (ValueError, RecursionError):
            return text


class Scope(Struct):
    """Values that expressions refer to: those of inputs, and the outputs so far.

    `steps` are the outputs of this workflow's steps, `workflows` those of the workflows before.
    `own` are those of the workflow that a step calls, while the outputs of this step are read.
    `is_chosen` says that users can give values to the inputs.
    """

    inputs: Outputs
    workflows: Mapping[str, Outputs]
    is_chosen: bool
    steps: dict[str, Outputs] = field(default_factory=dict[str, Outputs])
    own: Outputs | None = None

    def read_text(self, text: str) -> ParsedText:
        """Return the meaning of a text: an expression, text with expressions in it, or the text."""
        if "$" not in text:
            return ParsedText(Literal(text))
        if not _EXPRESSION.fullmatch(text):
            return values.read_parts(text, _EMBEDDED, self._embedded)
        found = self._value(text)
        if isinstance(found, TextProblem):
            return ParsedText(Literal(text), (found,))
        return ParsedText(found)

    def _value(self, expression: str) -> Value | TextProblem:
        found = REFERENCE.fullmatch(expression)
        if found is None:
            return _cannot(f"A plan has no {shown(expression)}.")
        name, kind, owner = found["name"], found["kind"], found["owner"]
        if found["inputs"]:
            if name not in self.inputs:
                return _cannot(
                    f"The input {shown(name)} has no value, and a plan has no inputs.",
                    f"Give it one: --dialect 'arazzo?{name}=VALUE', or 'default' in its schema."
                    if self.is_chosen
                    else "Give it one: 'parameters' of the calling step, or 'default' in its"
                    " schema.",
                )
            known = self.inputs
        elif kind is None:
            if self.own is None:
                return _cannot(f"A plan has no {shown(expression)}.")
            known, kind, owner = self.own, "workflow", "called"
        else:
            outputs = (self.steps if kind == "step" else self.workflows).get(owner)
            if outputs is None:
                message = f"No earlier {kind} has the id {shown(owner)}: {shown(expression)}."
                return TextProblem("unknown-step", message)
            known = outputs
        if name not in known:
            message = f"The {kind} {shown(owner)} has no output {shown(name)} that a plan can have."
            return TextProblem("unknown-output", message)
        path = read_path(found["rest"])
        if path is None:
            return TextProblem("reference-syntax", f"{shown(expression)} cannot be read.", _HELP)
        part = _part(known[name], path)
        if part is None:
            return TextProblem("unknown-output", f"There is nothing at {shown(expression)}.")
        return part

    def _embedded(self, found: re.Match[str]) -> values.Resolved:
        if not _EXPRESSION.fullmatch(found[1]):
            return None
        match self._value(found[1]):
            case TextProblem() as problem:
                return problem
            case Ref() as ref:
                return (ref,)
            case Template(parts):
                return parts
            case Literal(value):
                return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),)
            case _:
                return _cannot(f"{shown(found[1])} cannot stand inside a text.")


def body_path(expression: str) -> Path | None:
    """Return the path of `$response.body#/POINTER`, None for any other expression."""
    if not expression.startswith(_BODY):
        return None
    return read_path(expression.removeprefix(_BODY))


def read_path(rest: str) -> Path | None:
    """Return the path that `#/a/0`, or `.a[0]`, spells; None where it cannot be read."""
    if rest == "#" or rest.startswith("#/"):
        return tuple(int(t) if _INDEX.fullmatch(t) else t for t in split_pointer(rest[1:]))
    try:
        path = parse_path(rest)
    except PathSyntaxError:
        return None
    return None if EVERY in path else path


def write_path(path: Path) -> str:
    """Return `path` as the pointer behind `$response.body`."""
    return "#" + "".join(f"/{escape_pointer(str(each))}" for each in path) if path else ""


def refusal(ref: Ref) -> str | None:
    """Return why the path of `ref` cannot be written, None where it can."""
    for each in ref.path:
        if each is EVERY:
            return "has no '[*]'"
        if isinstance(each, str) and (_INDEX.fullmatch(each) or re.search(r"[\s{}]", each)):
            return f"has no way to write the key {shown(each)}"
    return None


def write_text(value: Written, names: Mapping[Ref, str]) -> str:
    """Return a text, with the output that holds each reference in its place."""

    def write(ref: Ref) -> str:
        expression = f"$steps.{ref.step}.outputs.{names[ref]}"
        return expression if value == ref else "{" + expression + "}"

    return values.write_parts(value, write)


def _part(value: Value, path: Path) -> Value | None:
    """Return the part of `value` at `path`, None where there is nothing."""
    for at, key in enumerate(path):
        match value:
            case Ref(step, before):
                return Ref(step, (*before, *path[at:]))
            case Literal(literal):
                try:
                    return Literal(select(literal, path[at:]))
                except NotThere:
                    return None
            case Object(fields) if key in dict(fields):
                value = dict(fields)[str(key)]
            case Array(items) if isinstance(key, int) and key < len(items):
                value = items[key]
            case _:
                return None
    return value


def _cannot(message: str, help: str = _HELP) -> TextProblem:
    return TextProblem("cannot-express", message, help)


_OPERATOR: Final = r"\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
_SIMPLE = re.compile(
    rf"\s*(?P<left>\$[^\s=!<>&|]+){_OPERATOR}(?P<right>'(?:[^']|'')*'|[^\s'&|]+)\s*"
)
_QUOTED: Final = r"""'[^'\\]*'|"[^"\\\x00-\x1f]*\""""
_SEGMENTS: Final = rf"(?:\.[^\W\d][\w-]*|\[(?:0|[1-9][0-9]{{0,8}})\]|\[(?:{_QUOTED})\])*"
_TEST: Final = rf"(?P<path>{_SEGMENTS})(?:{_OPERATOR}(?P<right>{_QUOTED}|[^\s'\"&|()\[\]]+))?\s*"
_JSON_PATH = re.compile(rf"\s*\${_TEST}")
_FILTER = re.compile(rf"\s*\$(?P<path>{_SEGMENTS})\[\s*\?\s*\(?(?P<tests>@[^?]*?)\)?\s*\]\s*")
_FILTER_TEST = re.compile(rf"\s*@{_TEST}")
_STATUS_PATTERN = re.compile(r"\^?(?:[0-9.]|\\d|\[[0-9-]+\])+\$?")
"""The patterns that a status is compared with: nothing repeats in them."""
_LONGEST_STATUS_PATTERN: Final = 40
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_BOUNDS: Final = {
    "<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum",
}  # fmt: skip
_SUCCESSES: Final = range(200, 300)
_NO_OTHER_STATUS: Final = "A call succeeds with a status of 2xx, and with no other."


class Unsayable(Exception):
    """A criterion has no counterpart in a plan; the message gives the reason."""


class Condition(Struct, frozen=True):
    """A success criterion: a path into the step's response, and the schema its value must fit."""

    path: Path
    schema: Json


def criterion(fields: Mapping[str, Json]) -> list[Condition]:
    """Return the conditions of a criterion on the response (Arazzo 1.0.1, 4.6.12).

    A call succeeds by a status of 2xx: a criterion for it adds no condition.
    """
    kind, text = fields.get("type", "simple"), fields.get("condition")
    if isinstance(kind, dict):
        kind = kind.get("type")
    if not isinstance(text, str):
        raise Unsayable("A criterion has a text as its 'condition'.")
    if kind == "simple":
        return _simple(text)
    if kind not in ("regex", "jsonpath"):
        raise Unsayable(f"A plan has no criteria of the type {shown(str(kind))}.")
    context = fields.get("context")
    if not isinstance(context, str):
        raise Unsayable(f"A criterion of the type '{kind}' has an expression as its 'context'.")
    if kind == "regex" and context == "$statusCode":
        if len(text) <= _LONGEST_STATUS_PATTERN and _STATUS_PATTERN.fullmatch(text):
            with suppress(re.error):
                if any(re.search(text, str(status)) for status in _SUCCESSES):
                    return []
        raise Unsayable(_NO_OTHER_STATUS)
    path = _in_body(context)
    if kind == "regex":
        return [Condition(path, {"type": "string", "pattern": text})]
    return [_json_path(path, text)]


def _simple(text: str) -> list[Condition]:
    alternatives = text.split("||")
    if len(alternatives) > 1:
        if not all(_is_success(_SIMPLE.fullmatch(each)) for each in alternatives):
            raise Unsayable("A plan has no '||' in a condition.")
        return []
    asked: list[Condition] = []
    for part in text.split("&&"):
        found = _SIMPLE.fullmatch(part)
        if found is None:
            raise _unsayable(part)
        if found["left"] != "$statusCode":
            right = found["right"]
            value = right[1:-1].replace("''", "'") if right[0] == "'" else _plain(right)
            path = _in_body(found["left"])
            asked.append(Condition(path, _compared(found["operator"], value)))
        elif not _is_success(found):
            raise Unsayable(_NO_OTHER_STATUS)
    return asked


def _json_path(context: Path, text: str) -> Condition:
    """Return the condition that a JSONPath (RFC 9535) finds something in the value at `context`.

    `$.a == 1`, not a JSONPath, is read as the comparison of `$.a`, as published workflows mean it.
    """
    if found := _JSON_PATH.fullmatch(text):
        path = parse_path(found["path"])
        if not found["operator"]:
            return Condition(context, _at(path, True))
        schema = _compared(found["operator"], _quoted_or_plain(found["right"]))
        return Condition((*context, *path), schema)
    found = _FILTER.fullmatch(text)
    if found is None:
        raise _unsayable(text)
    tests: list[Json] = []
    for each in found["tests"].split("&&"):
        asked = _FILTER_TEST.fullmatch(each)
        if asked is None:
            raise _unsayable(each)
        path, schema = parse_path(asked["path"]), True
        if asked["operator"]:
            value = _quoted_or_plain(asked["right"])
            is_bound = asked["operator"] in _BOUNDS
            schema = _compared(asked["operator"], value) if is_bound else {"const": value}
        test = _at(path, schema)
        # a missing node is unequal to every value (RFC 9535, 2.3.5.2.2)
        tests.append({"not": test} if asked["operator"] == "!=" else test)
    child: Json = {"allOf": tests}
    some: Json = {
        "anyOf": [
            {"type": "array", "contains": child},
            {"type": "object", "not": {"additionalProperties": {"not": child}}},
        ]
    }
    return Condition((*context, *parse_path(found["path"])), some)


def _at(path: Path, schema: Json) -> Json:
    """Return the schema of values with a part at `path` that fits `schema`."""
    for each in reversed(path):
        if isinstance(each, int):
            items: Json = [*([True] * each), schema]
            schema = {"type": "array", "minItems": each + 1, "prefixItems": items}
        else:
            schema = {"type": "object", "required": [str(each)], "properties": {str(each): schema}}
    return schema


def _compared(comparison: str, value: Json) -> Json:
    """Return the schema of values that fulfil a comparison; texts are compared without case."""
    if comparison in _BOUNDS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _unsayable(f"{comparison} {value}")
        return {"type": "number", _BOUNDS[comparison]: value}
    equal: Json = {"const": value}
    if isinstance(value, str):
        equal = {"type": "string", "pattern": f"^{''.join(map(_either_case, value))}$"}
    return equal if comparison == "==" else {"not": equal}


def _either_case(letter: str) -> str:
    if letter.lower() != letter.upper() and len(letter.lower()) == len(letter.upper()) == 1:
        return f"[{letter.lower()}{letter.upper()}]"
    return re.escape(letter) if letter in r"\.^$*+?()[]{}|/" else letter


def _is_success(found: re.Match[str] | None) -> bool:
    """Return whether a comparison holds for a status that every successful call may have."""
    if found is None or found["left"] != "$statusCode" or not found["right"].isdecimal():
        return False
    compare, number = _COMPARISONS[found["operator"]], int(found["right"][:9])
    holds = [compare(status, number) for status in _SUCCESSES]
    return any(holds) if found["operator"] == "==" else all(holds)


def _in_body(expression: str) -> Path:
    path = body_path(expression)
    if path is None:
        raise Unsayable(f"A criterion looks at $response.body, not at {shown(expression)}.")
    return path


def _quoted_or_plain(text: str) -> Json:
    return text[1:-1] if text[0] in "'\"" else _plain(text)


def _plain(text: str) -> Json:
    """Return the number or word that `text` is, in the range in which JSON keeps it exact."""
    if text not in ("true", "false", "null") and _NUMBER.fullmatch(text) is None:
        raise _unsayable(text)
    return read_json(text)


def _unsayable(text: str) -> Unsayable:
    return Unsayable(f"The condition {shown(text.strip())} cannot be said.")
