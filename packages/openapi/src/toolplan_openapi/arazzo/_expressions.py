"""Runtime expressions of Arazzo as values of a plan, and the inputs that they refer to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct, field

from toolplan.dialects import values
from toolplan.plan.canonical import ParsedText, TextProblem, Written, shown
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
from toolplan.tools.replies import read_json
from toolplan_openapi._document import Place

Outputs: TypeAlias = Mapping[str, Value]

_EXPRESSION = re.compile(
    r"\$(?:inputs|outputs|steps|workflows|sourceDescriptions|components|request|response|message)"
    r"\.[^\s{}]+|\$(?:url|method|statusCode|self)"
)
_EMBEDDED = re.compile(r"\{(\$[^{}]+)\}")
_REFERENCE = re.compile(
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
    """Which workflow is the plan, None for the first, and the values of its inputs as text."""

    workflow: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Choice:
        """Return what `:NAME?INPUT=VALUE&INPUT=VALUE`, behind the name of the dialect, chooses."""
        name, _, inputs = text.partition("?")
        pairs = parse_qsl(inputs, keep_blank_values=True)
        return cls(name.removeprefix(":") or None, tuple(pairs))


class Inputs(Struct, frozen=True):
    """The inputs of a workflow: their schemas by name, and the names of those that are required."""

    declared: Mapping[str, Mapping[str, Json]]
    required: list[Json]

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
        return cls(declared, schema.at("required").items)

    def filled(self, given: Outputs) -> dict[str, Value]:
        """Return the values `given`, and the `const` or `default` of the other inputs."""
        stated = {
            name: Literal(schema.get("const", schema.get("default")))
            for name, schema in self.declared.items()
            if "const" in schema or "default" in schema
        }
        return {**stated, **given}

    def read(self, given: tuple[tuple[str, str], ...]) -> dict[str, Value]:
        """Return values given as text: JSON, or plain text, as an input that is a string wants."""
        return {name: Literal(self._value(name, text)) for name, text in given}

    def _value(self, name: str, text: str) -> Json:
        if self.declared.get(name, {}).get("type") == "string":
            return text
        try:
            return read_json(text)
        except (ValueError, RecursionError):
            return text


class Scope(Struct):
    """What expressions refer to: the values of inputs, and the outputs so far.

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
        """Return what a text says: an expression, text with expressions in it, or the text."""
        if "$" not in text:
            return ParsedText(Literal(text))
        if not _EXPRESSION.fullmatch(text):
            return values.read_parts(text, _EMBEDDED, self._embedded)
        found = self._value(text)
        if isinstance(found, TextProblem):
            return ParsedText(Literal(text), (found,))
        return ParsedText(found)

    def unset_input(self, value: Json) -> str | None:
        """Return the name of the input without a value that `value` is; None for all else."""
        found = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if found is None or not found["inputs"] or found["name"] in self.inputs:
            return None
        return found["name"]

    def _value(self, expression: str) -> Value | TextProblem:
        found = _REFERENCE.fullmatch(expression)
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
                said = f"No earlier {kind} has the id {shown(owner)}: {shown(expression)}."
                return TextProblem("unknown-step", said)
            known = outputs
        if name not in known:
            said = f"The {kind} {shown(owner)} has no output {shown(name)} that a plan can have."
            return TextProblem("unknown-output", said)
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
