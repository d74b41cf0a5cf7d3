"""Runtime expressions of Arazzo, as values of a plan."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolplan.dialects import values
from toolplan.path import EVERY, Json, Path
from toolplan.plan import (
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    escape_pointer,
    split_pointer,
)
from toolplan.plan_json import ParsedText, TextProblem, shown

Problem: TypeAlias = TextProblem

_EXPRESSION = re.compile(
    r"\$(?:inputs|outputs|steps|workflows|sourceDescriptions|components|request|response|message)"
    r"\.[^\s{}]+|\$(?:url|method|statusCode|self)"
)
_EMBEDDED = re.compile(r"\{(\$[^{}]+)\}")
_STEP = re.compile(r"\$steps\.(?P<step>[\w-]+)\.outputs\.(?P<name>[\w-]+)(?P<rest>.*)")
_WORKFLOW = re.compile(r"\$workflows\.(?P<step>[\w-]+)\.outputs\.(?P<name>[\w-]+)(?P<rest>.*)")
_OWN = re.compile(r"\$outputs\.(?P<name>[\w-]+)(?P<rest>.*)")
_INPUT = re.compile(r"\$inputs\.(?P<name>[\w-]+)(?P<rest>.*)")
_BODY = re.compile(r"\$response\.body(?P<rest>.*)")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_DOTTED = re.compile(r"(?:\.[^.\[\]#]+|\[[0-9]{1,9}\])*")
_DOT_SEGMENT = re.compile(r"\.([^.\[\]#]+)|\[([0-9]{1,9})\]")
_HELP: Final = (
    "A plan can say $inputs.NAME, $steps.STEP.outputs.NAME, $workflows.NAME.outputs.NAME and,"
    " in outputs and criteria, $response.body#/POINTER."
)


class Scope(Struct):
    """What expressions refer to: the values of inputs, and the outputs so far.

    `outputs` are those of this workflow's steps, `workflows` those of the workflows before. `own`
    are those of the workflow that a step calls, while the outputs of this step are read.
    `is_chosen` says that users can give values to the inputs.
    """

    inputs: Mapping[str, Value]
    outputs: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    workflows: Mapping[str, Mapping[str, Value]] = field(
        default_factory=dict[str, Mapping[str, Value]]
    )
    own: Mapping[str, Value] | None = None
    is_chosen: bool = True

    def read_text(self, text: str) -> ParsedText:
        """Return what a text says: an expression, text with expressions in it, or the text."""
        if "$" not in text:
            return ParsedText(Literal(text))
        if _EXPRESSION.fullmatch(text):
            found = self.value_of(text)
            if isinstance(found, TextProblem):
                return ParsedText(Literal(text), (found,))
            return ParsedText(found)
        return values.read_parts(text, _EMBEDDED, self._embedded)

    def value_of(self, expression: str) -> Value | Problem:
        """Return what an expression stands for."""
        found = _STEP.fullmatch(expression)
        if found is not None:
            outputs = self.outputs.get(found["step"])
            return _output("step", found["step"], outputs, found, expression)
        found = _WORKFLOW.fullmatch(expression)
        if found is not None:
            outputs = self.workflows.get(found["step"])
            return _output("workflow", found["step"], outputs, found, expression)
        found = _OWN.fullmatch(expression)
        if found is not None and self.own is not None:
            return _output("workflow", "called", self.own, found, expression)
        found = _INPUT.fullmatch(expression)
        if found is not None:
            return self._input(found["name"], found["rest"], expression)
        return _cannot(f"A plan has no {shown(expression)}.")

    def _embedded(self, found: re.Match[str]) -> values.Resolved:
        if not _EXPRESSION.fullmatch(found[1]):
            return None
        value = self.value_of(found[1])
        match value:
            case TextProblem():
                return value
            case Ref():
                return (value,)
            case Template(parts):
                return parts
            case Literal(str(text)):
                return (text,)
            case Literal(other):
                return (json.dumps(other, ensure_ascii=False),)
            case _:
                return _cannot(f"{shown(found[1])} cannot stand inside a text.")

    def _input(self, name: str, rest: str, expression: str) -> Value | Problem:
        if name not in self.inputs:
            return _cannot(
                f"The input {shown(name)} has no value, and a plan has no inputs.",
                f"Give it one: --dialect 'arazzo?{name}=VALUE', or 'default' in its schema."
                if self.is_chosen
                else "Give it one: 'parameters' of the calling step, or 'default' in its schema.",
            )
        path = read_path(rest)
        if path is None:
            return TextProblem("reference-syntax", f"{shown(expression)} cannot be read.", _HELP)
        return _further(self.inputs[name], path, expression)


def unset_input(value: Json, scope: Scope) -> str | None:
    """Return the name of the input without a value that `value` stands for; None for all else."""
    found = _INPUT.fullmatch(value) if isinstance(value, str) else None
    return None if found is None or found["name"] in scope.inputs else found["name"]


def _output(
    kind: str,
    owner: str,
    outputs: Mapping[str, Value] | None,
    found: re.Match[str],
    expression: str,
) -> Value | Problem:
    if outputs is None:
        said = f"No earlier {kind} has the id {shown(owner)}: {shown(expression)}."
        return TextProblem("unknown-step", said)
    name = found["name"]
    if name not in outputs:
        said = f"The {kind} {shown(owner)} has no output {shown(name)} that a plan can have."
        return TextProblem("unknown-output", said)
    path = read_path(found["rest"])
    if path is None:
        return TextProblem("reference-syntax", f"{shown(expression)} cannot be read.", _HELP)
    return _further(outputs[name], path, expression)


def body_path(expression: str) -> Path | None:
    """Return the path of `$response.body#/POINTER`, None for any other expression."""
    found = _BODY.fullmatch(expression)
    return None if found is None else read_path(found["rest"])


def read_path(rest: str) -> Path | None:
    """Return the path that `#/a/0`, or `.a[0]`, spells; None where it cannot be read."""
    if rest.startswith("#"):
        pointer = rest[1:]
        if pointer and not pointer.startswith("/"):
            return None
        return tuple(int(t) if _INDEX.fullmatch(t) else t for t in split_pointer(pointer))
    if _DOTTED.fullmatch(rest) is None:
        return None
    return tuple(
        int(found[2]) if found[2] is not None else found[1] for found in _DOT_SEGMENT.finditer(rest)
    )


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


def write_text(value: values.Written, names: Mapping[Ref, str]) -> str:
    """Return a text, with the output that holds each reference in its place."""

    def write(ref: Ref) -> str:
        expression = f"$steps.{ref.step}.outputs.{names[ref]}"
        return expression if value == ref else "{" + expression + "}"

    return values.write_parts(value, write)


def _further(value: Value, path: Path, expression: str) -> Value | Problem:
    """Return the part of `value` at `path`."""
    for at, each in enumerate(path):
        inner = _inside(value, each)
        if inner is not None:
            value = inner
        elif isinstance(value, Ref):
            return Ref(value.step, (*value.path, *path[at:]))
        else:
            return TextProblem("unknown-output", f"There is nothing at {shown(expression)}.")
    return value


def _inside(value: Value, key: object) -> Value | None:
    match value:
        case Literal(dict() as fields) if isinstance(key, str) and key in fields:
            return Literal(fields[key])
        case Literal(list() as items) if isinstance(key, int) and key < len(items):
            return Literal(items[key])
        case Object(members) if isinstance(key, str):
            return dict(members).get(key)
        case Array(elements) if isinstance(key, int) and key < len(elements):
            return elements[key]
        case _:
            return None


def _cannot(message: str, help: str = _HELP) -> Problem:
    return TextProblem("cannot-express", message, help)
