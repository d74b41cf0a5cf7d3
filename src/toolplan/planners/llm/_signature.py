"""A tool as one line of types, with a tenth of the tokens of its schemas."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema import Schema, SchemaError, required
from toolplan.schema.tool import Tool

MAX_CHARACTERS: Final = 2_400
"""The longest side of a signature; a longer one is cut, and ends with `…`."""

_DEPTH: Final = 4
_WORTH_A_NAME: Final = 60
_WORTH_A_CHOICE: Final = 20
_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"((?: \| "(?:[^"\\]|\\.)*")*)')
_NAMES: Final = 40
_VALUES: Final = 24
_FORMATS: Final = {"date": "date", "date-time": "datetime", "time": "time"}
_SHORT: Final = {
    "boolean": "bool", "integer": "int", "string": "str", "null": "null", "number": "number",
}  # fmt: skip


def signature_text(tool: Tool) -> str:
    """Return `tool` as `name(argument: type, optional?: type) -> type`.

    Types are `str`, `int`, `number`, `bool`, `date`, `datetime`, `null`, `any`, values in quotes,
    `[T]` for lists, `{name: T}` for objects; `?` marks what may be missing, `|` a choice, `…` what
    was left out. The output is `any` where the tool declares none.
    """
    try:
        given = _Types(tool.input, bounds=True).arguments()
    except SchemaError:
        given = "…"
    # a schema learned from results is not shown: its names come from what tools returned
    output = tool.output
    # a plan writes no values of a result, so their bounds are of no use
    gives = "any" if output is None else _Types(output, bounds=False).type(output.node)
    return f"{tool.name}({_cut(given)}) -> {_cut(gives)}"


def signatures_text(tools: Iterable[Tool]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types that several of `tools` share, by generated names, and each signature.

    The signatures use these names: a row that ten tools return is written once.
    """
    texts = {tool.name: signature_text(tool) for tool in tools}
    found = (each for text in texts.values() for each in _STRINGS.finditer(text) if each[1])
    counts = Counter(each[0] for each in found)
    worth = [part for part, n in counts.items() if n > 1 and len(part) > _WORTH_A_CHOICE]
    choices = {part: f"Choice{at}" for at, part in enumerate(worth, 1)}
    texts = {
        tool: _STRINGS.sub(lambda found: choices.get(found[0], found[0]), text)
        for tool, text in texts.items()
    }
    # the object types that several texts share get names
    parts = {part for text in texts.values() for part in _objects(text)}
    shared: dict[str, str] = {}
    # the longest first: their parts are then shared less often, or not at all
    for part in sorted(parts, key=lambda each: (-len(each), each)):
        if len(part) < _WORTH_A_NAME or sum(part in each for each in texts.values()) < 2:
            continue
        name = f"Type{len(shared) + 1}"
        # a longer type may hold this one
        shared = {other: text.replace(part, name) for other, text in shared.items()}
        shared[name] = part
        texts = {tool: text.replace(part, name) for tool, text in texts.items()}
    return shared | {name: part for part, name in choices.items()}, texts


def _objects(text: str) -> Iterator[str]:
    """Yield the object types in `text`, inner ones too."""
    opened: list[int] = []
    quoted = False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif char == "{" and not quoted:
            opened.append(at)
        elif char == "}" and opened and not quoted:
            yield text[opened.pop() : at + 1]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + " …"


class _Types:
    """Writes types of `schema`; `bounds` says whether those of numbers are shown."""

    def __init__(self, schema: Schema, *, bounds: bool) -> None:
        self._schema = schema
        self._bounds = bounds

    def arguments(self) -> str:
        """Return the properties that the schema declares, in declared order."""
        node = self._schema.node
        properties = node.get("properties") if isinstance(node, dict) else None
        if isinstance(properties, dict):
            return self._named(properties, {*required(self._schema)}, _DEPTH, frozenset())
        text = self.type(node)
        return "" if text in ("{}", "any") else f"**{text}"

    def type(self, node: Json, depth: int = _DEPTH, seen: frozenset[int] = frozenset()) -> str:
        """Return the type that `node` describes; `seen` are the nodes around it."""
        if not isinstance(node, dict):
            return "nothing" if node is False else "any"
        if id(node) in seen or depth < 0:
            return "…"
        seen |= {id(node)}
        if "$ref" in node:
            target = self._schema.target(node["$ref"])
            return "any" if target is None else self.type(target, depth, seen)
        if isinstance(values := node.get("enum"), list) and values:
            return _values(values)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(parts := node.get(keyword), list) and parts:
                return " | ".join(dict.fromkeys(self.type(each, depth, seen) for each in parts))
        if "const" in node:
            return _values([node["const"]])
        if isinstance(parts := node.get("allOf"), list) and parts and "type" not in node:
            return " & ".join(dict.fromkeys(self.type(each, depth, seen) for each in parts))
        kinds = node.get("type")
        listed = kinds if isinstance(kinds, list) else [kinds]
        return " | ".join(self._of_kind(node, kind, depth, seen) for kind in listed)

    def _of_kind(self, node: dict[str, Json], kind: Json, depth: int, seen: frozenset[int]) -> str:
        match kind:
            case "array":
                return f"[{self.type(node.get('items', True), depth, seen)}]"
            case "string":
                return _FORMATS.get(str(node.get("format")), "str")
            case "integer" | "number":
                return _SHORT[kind] + (_bounds(node) if self._bounds else "")
            case str() if kind != "object":
                return _SHORT.get(kind, "any")
            case _:
                if kind != "object" and "properties" not in node:
                    return "any"
        properties = node.get("properties")
        if not isinstance(properties, dict) or not properties:
            values = node.get("additionalProperties")
            return (
                f"{{*: {self.type(values, depth - 1, seen)}}}" if isinstance(values, dict) else "{}"
            )
        if depth <= 0:
            return "{…}"
        stated = node.get("required")
        needed = {str(each) for each in stated} if isinstance(stated, list) else set[str]()
        return f"{{{self._named(properties, needed, depth, seen)}}}"

    def _named(
        self, properties: dict[str, Json], needed: set[str], depth: int, seen: frozenset[int]
    ) -> str:
        parts: list[str] = []
        for name, node in list(properties.items())[:_NAMES]:
            written = name if name.isidentifier() else json.dumps(name, ensure_ascii=False)
            mark = "" if name in needed else "?"
            parts.append(f"{written}{mark}: {self.type(node, depth - 1, seen)}")
        return ", ".join([*parts, "…"] if len(properties) > _NAMES else parts)


def _values(values: list[Json]) -> str:
    shown = " | ".join(json.dumps(each, ensure_ascii=False) for each in values[:_VALUES])
    return shown if len(values) <= _VALUES else f"{shown} | …"


def _bounds(node: dict[str, Json]) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if least is None and most is None:
        return ""
    return f" {'' if least is None else least}..{'' if most is None else most}"


TOOL_CHARACTERS: Final = 900
"""Maximum number of characters about the arguments of one tool."""
ALL_CHARACTERS: Final = 8_000
"""Maximum number of characters about the arguments of all tools of a request."""
SMALL: Final = 800
"""The same for a small model."""

_SENTENCE: Final = 140
_VALUE: Final = 60
_ARGUMENTS: Final = 60
_FACTS_DEPTH: Final = 3
_BRANCHES: Final = 8
_EXAMPLES: Final = 2
_END: Final = re.compile(r"[.!?](?=\s|$)(?<!e\.g\.)(?<!i\.e\.)")
_WORD: Final = re.compile(r"[a-z0-9]+")
_NO_WORDS: Final = frozenset(("the", "a", "an", "of", "to", "for", "this", "optional"))
_IN_THE_TYPE: Final = frozenset(("date", "date-time", "time"))
_BOUNDS: Final = (
    ("minLength", "{} characters or more"),
    ("maxLength", "{} characters or less"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minItems", "{} items or more"),
    ("maxItems", "{} items or less"),
)


def argument_lines(
    tools: Iterable[Tool], all_characters: int = ALL_CHARACTERS
) -> dict[str, tuple[str, ...]]:
    """Return for each tool the lines about its arguments, in declared order.

    All that a provider wrote is in quotes. Where the lines are too long for one tool or for all of
    them, the last lines of the longest are left out, and the tool's lines end with `…`.
    """
    lines = {tool.name: list(_lines(tool)) for tool in tools}
    for most in range(TOOL_CHARACTERS, 0, -50):
        cut = {name: _within(of_tool, most) for name, of_tool in lines.items()}
        if sum(len(line) for of_tool in cut.values() for line in of_tool) <= all_characters:
            return cut
    return dict.fromkeys(lines, ())


def _within(lines: Sequence[str], most: int) -> tuple[str, ...]:
    fitting = sum(length <= most for length in accumulate(map(len, lines)))
    return tuple(lines) if fitting == len(lines) else (*lines[:fitting], "…")


def _lines(tool: Tool) -> Iterator[str]:
    try:
        schema = tool.input
    except SchemaError:
        return
    for place, node in islice(_arguments(schema, schema.node, "", _FACTS_DEPTH), _ARGUMENTS):
        if facts := "; ".join(_facts(schema, node, place.rpartition(".")[2])):
            yield f"{place}: {facts}"


def _arguments(schema: Schema, node: Json, place: str, depth: int) -> Iterator[tuple[str, Json]]:
    """Yield the arguments below `node` with their places, `filter.month`; inner ones too."""
    for branch in _branches(schema, node) if depth > 0 else ():
        if place and isinstance(items := branch.get("items"), dict):
            yield from _arguments(schema, items, f"{place}[*]", depth - 1)
        named = branch.get("properties")
        for name, inner in named.items() if isinstance(named, dict) else ():
            written = name if name.isidentifier() else json.dumps(name, ensure_ascii=False)
            inside = f"{place}.{written}" if place else written
            yield inside, inner
            yield from _arguments(schema, inner, inside, depth - 1)


def _branches(schema: Schema, node: Json) -> list[Mapping[str, Json]]:
    """Return `node`, its references and its alternatives, one level after the other."""
    found: list[Mapping[str, Json]] = []
    open_: list[Json] = [node]
    while open_ and len(found) < _BRANCHES:
        each = open_.pop(0)
        if not isinstance(each, dict):
            continue
        found.append(each)
        if "$ref" in each:
            open_.append(schema.target(each["$ref"]))
        for keyword in ("anyOf", "oneOf", "allOf"):
            inner = each.get(keyword)
            open_ += inner if isinstance(inner, list) else []
    return found


def _facts(schema: Schema, node: Json, name: str) -> Iterator[str]:
    """Yield the facts of an argument: its first sentence, form, bounds, default, examples."""
    branches = _branches(schema, node)
    described = next((text for each in branches if (text := each.get("description"))), None)
    sentence = first_sentence(described) if isinstance(described, str) else ""
    said = set(_WORD.findall(sentence.lower())) - _NO_WORDS
    if not said <= set(_WORD.findall(name.lower().replace("_", " "))):
        yield json.dumps(sentence, ensure_ascii=False)
    items = [each["items"] for each in branches if "items" in each]
    for each in (*branches, *(part for one in items for part in _branches(schema, one))):
        form, pattern = each.get("format"), each.get("pattern")
        if isinstance(form, str) and form not in _IN_THE_TYPE:
            yield f"format {_value(form)}"
        if isinstance(pattern, str) and len(pattern) < _VALUE:
            yield f"matches {_value(pattern)}"
        for keyword, words in _BOUNDS:
            bound = each.get(keyword)
            is_plain = keyword == "minLength" and bound == 1
            if isinstance(bound, int | float) and not isinstance(bound, bool) and not is_plain:
                yield words.replace("{}", f"{bound:g}")
    default = next((each["default"] for each in branches if "default" in each), None)
    if default is not None:
        yield f"default {_value(default)}"
    examples: list[Json] = []
    for each in branches:
        listed = each.get("examples")
        examples += listed if isinstance(listed, list) else []
        examples += [each["example"]] if "example" in each else []
    if shown := [text for text in map(_value, examples) if text != "…"]:
        yield f"e.g. {', '.join(dict.fromkeys(shown[:_EXAMPLES]))}"


def first_sentence(text: str) -> str:
    """Return the first sentence of `text`, on one line, without invisible characters, and cut.

    >>> first_sentence("The month, e.g. 2026-10. Defaults to now.")
    'The month, e.g. 2026-10.'
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    end = next((found.end() for found in _END.finditer(line)), len(line))
    line = line[:end]
    return line if len(line) <= _SENTENCE else line[: _SENTENCE - 1] + "…"


def _value(value: Json) -> str:
    """Return `value` as JSON, `…` where it is too long to be shown."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE and text.isprintable() else "…"
