"""Hints that are proposed for tools: values that occur, and other words for things and fields.

Values come from the rows of lists that only read and require nothing; words come from a model, if
one is given. Nothing is applied: a person reviews the tool objects that `with_hints` returns.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.providers import Message, Model, ModelRequest, complete
from toolplan.schema import flat
from toolplan.schema.tool import Effects, Tool, ToolError

MOST_VALUES: Final = 30
"""Maximum number of values of a field that are proposed; more are names, not kinds."""
_REPEATED: Final = 2
_MOST_TOKENS: Final = 4_000
_ASKED: Final = (
    "Give other words that people use in questions for these things and fields, as a JSON object"
    " that maps each name to a list of at most five words or short phrases in the singular. Leave"
    " out names that need none.\n"
)

Node = dict[str, Json]


class ProposedHint(Struct, frozen=True):
    """A keyword for a part of a tool's schemas; `at` are the keys from the tool object to it."""

    tool: str
    at: tuple[str, ...]
    keyword: str
    value: Json
    reason: str


async def propose_values(tools: Iterable[Tool]) -> tuple[list[ProposedHint], list[str]]:
    """Return hints for values that occur in lists, and why tools gave none, a sentence each."""
    found, faults = list[ProposedHint](), list[str]()
    for tool in tools:
        needs = _node(tool.raw_input).get("required")
        if tool.effects is not Effects.READ or tool.call is None or needs:
            continue
        try:
            rows = list(_rows(await tool.call({})))
        except ToolError as error:
            faults.append(f"{tool.name}: {error}")
            continue
        for name, values in _repeated(rows).items():
            reason = f"{len(values)} values in {len(rows)} rows"
            found += [
                ProposedHint(tool.name, at, "x-gazetteer", [*values], reason)
                for at in _places(tool, name)
            ]
    return found, faults


async def propose_words(tools: Iterable[Tool], model: Model) -> list[ProposedHint]:
    """Return hints for other words that a model gives for things and fields."""
    places: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for tool in tools:
        root = ("input_schema",)
        thing = _node(tool.raw_input).get("x-entity") or tool.name
        if not _node(tool.raw_input).get("x-synonyms"):
            places.setdefault(str(thing), []).append((tool.name, root))
        for name, node in _node(_node(tool.raw_input).get("properties")).items():
            if not _node(node).get("x-synonyms"):
                places.setdefault(name, []).append((tool.name, (*root, "properties", name)))
    question = Message("user", _ASKED + json.dumps([*places], ensure_ascii=False))
    words = _read((await complete(model, ModelRequest((question,), None, 0.0, _MOST_TOKENS))).text)
    return [
        ProposedHint(tool, at, "x-synonyms", [*said], f"words of {model.name}")
        for name, said in words.items()
        for tool, at in places.get(name, [])
    ]


def with_hints(tools: Iterable[Tool], hints: Iterable[ProposedHint]) -> list[Node]:
    """Return the tool objects with `hints` in them; no keyword that is there is replaced."""
    objects = {tool.name: copy.deepcopy(tool.to_json()) for tool in tools}
    for hint in hints:
        node: Node = objects[hint.tool]
        for key in hint.at:
            node = _node(node.get(key))
        node.setdefault(hint.keyword, hint.value)
    return list(objects.values())


def _node(value: Json) -> Node:
    return cast("Node", value) if isinstance(value, dict) else {}


def _rows(output: Json) -> Iterator[Node]:
    """Yield the records of the first list of records in a result."""
    lists = [output, *_node(output).values()]
    for each in lists:
        if isinstance(each, list) and each and isinstance(each[0], dict):
            yield from (row for row in each if isinstance(row, dict))
            return


def _repeated(rows: list[Node]) -> dict[str, list[str]]:
    """Return the texts of each column that has few of them, each in several rows."""
    found: dict[str, list[str]] = {}
    for name in rows[0] if rows else ():
        texts = [row[name] for row in rows if isinstance(row.get(name), str)]
        values = sorted({text for text in texts if isinstance(text, str) and text.strip()})
        if 1 < len(values) <= MOST_VALUES and len(texts) >= _REPEATED * len(values):
            found[name] = values
    return found


def _places(tool: Tool, column: str) -> Iterator[tuple[str, ...]]:
    """Yield where a column is described: its argument, and its field of the rows."""
    for name, node in _node(_node(flat(tool.raw_input)).get("properties")).items():
        if column in (name, _node(node).get("x-field")) and _takes_names(_node(node)):
            yield ("input_schema", "properties", name)
    yield from _columns(tool.raw_output, ("output_schema",), column)


def _columns(schema: Json, at: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    node = _node(schema)
    if "items" in node:
        inner = _node(_node(node["items"]).get("properties"))
        if column in inner and _takes_names(_node(inner[column])):
            yield (*at, "items", "properties", column)
    for name, each in _node(node.get("properties")).items():
        yield from _columns(each, (*at, "properties", name), column)


def _takes_names(node: Mapping[str, Json]) -> bool:
    known = ("enum", "const", "format", "x-gazetteer", "x-ref", "pattern")
    return "string" in str(node.get("type")) and not any(key in node for key in known)


def _read(reply: str) -> dict[str, list[str]]:
    """Return the words of a reply, and drop anything else."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        given: Json = json.loads(reply[start : end + 1]) if start >= 0 else None
    except ValueError:
        given = None
    found: dict[str, list[str]] = {}
    for name, words in _node(given).items():
        listed = words if isinstance(words, list) else []
        if said := [word for word in listed if isinstance(word, str) and word.strip()]:
            found[name] = said
    return found
