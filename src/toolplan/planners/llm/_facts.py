"""Facts of a schema about an argument, beside its type: one short line for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema import Schema, SchemaError
from toolplan.schema.tool import Tool

TOOL_CHARACTERS: Final = 900
"""Maximum number of characters about the arguments of one tool."""
ALL_CHARACTERS: Final = 8_000
"""Maximum number of characters about the arguments of all tools of a request."""
SMALL: Final = 800
"""The same for a small model."""

_SENTENCE: Final = 140
_VALUE: Final = 60
_ARGUMENTS: Final = 60
_DEPTH: Final = 3
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
    for place, node in islice(_arguments(schema, schema.node, "", _DEPTH), _ARGUMENTS):
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
    if sentence and _adds(sentence, name):
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


def _adds(sentence: str, name: str) -> bool:
    """Return whether `sentence` says more than the name of the argument."""
    words = set(_WORD.findall(sentence.lower())) - _NO_WORDS
    return not words <= set(_WORD.findall(name.lower().replace("_", " ")))


def _value(value: Json) -> str:
    """Return `value` as JSON, `…` where it is too long to be shown."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE and text.isprintable() else "…"
