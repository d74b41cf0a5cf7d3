"""A search index over the tools of a toolbox: BM25 over weighted fields (Robertson et al. 2004)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox
from toolplan.tools.search._terms import terms

NAME_WEIGHT: Final = 3.0
ARGUMENT_WEIGHT: Final = 1.0
TEXT_WEIGHT: Final = 1.0
DETAIL_WEIGHT: Final = 0.5

_SATURATION: Final = 1.2  # k1: how fast repeated terms stop counting
_LENGTH: Final = 0.6  # b: the penalty for long descriptions
_BEGINNING: Final = 0.4  # the weight of a term that only begins like one of the tool
_SHORTEST_BEGINNING: Final = 3
_MOST_BEGINNINGS: Final = 50
_EXACT_NAME: Final = 1_000.0
_MOST_PROPERTIES: Final = 200


class Found(Struct, frozen=True):
    """A tool that matches a query; a higher `score` is a better match."""

    tool: Tool
    score: float


class ToolIndex:
    """The terms of the tools of a toolbox; a search takes one or two milliseconds."""

    def __init__(self, toolbox: Toolbox) -> None:
        """Index names, aliases, descriptions and arguments of the tools of `toolbox`."""
        self._tools = tuple(toolbox.values())
        self._names = {tool.name.casefold(): at for at, tool in enumerate(self._tools)}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        lengths: list[float] = []
        for at, tool in enumerate(self._tools):
            counted = _weighted_terms(tool)
            lengths.append(sum(counted.values()))
            for term, weight in counted.items():
                self._postings.setdefault(term, []).append((at, weight))
        self._vocabulary = sorted(self._postings)
        average = sum(lengths) / len(lengths) if lengths else 1.0
        self._norms = [
            _SATURATION * (1 - _LENGTH + _LENGTH * length / (average or 1.0)) for length in lengths
        ]

    def search(self, query: str, limit: int = 20) -> list[Found]:
        """Return at most `limit` tools that share a term with `query`, the best first.

        A tool whose whole name is the query comes first. Tools with equal scores have the order of
        the toolbox. A term that no tool has matches terms that begin with it.
        """
        scores: dict[int, float] = {}
        for term, count in Counter(terms(query)).items():
            for known, share in self._known(term):
                self._add(scores, known, share * (1 + math.log(count)))
        exact = self._names.get(query.strip().casefold())
        if exact is not None:
            scores[exact] = scores.get(exact, 0.0) + _EXACT_NAME
        ranked = sorted(scores, key=lambda at: (-scores[at], at))
        return [Found(self._tools[at], scores[at]) for at in ranked[: max(limit, 0)]]

    @cached_property
    def named(self) -> Mapping[str, tuple[Tool, ...]]:
        """The tools by each term of their names."""
        return _grouped((term, tool) for tool in self._tools for term in set(terms(tool.name)))

    @cached_property
    def giving(self) -> Mapping[str, tuple[Tool, ...]]:
        """The tools by each field of their declared output."""
        return _grouped((name, tool) for tool in self._tools for name in tool.signature.outputs)

    @cached_property
    def of_source(self) -> Mapping[str, tuple[Tool, ...]]:
        """The tools by their sources."""
        return _grouped((tool.source, tool) for tool in self._tools)

    def _add(self, scores: dict[int, float], term: str, share: float) -> None:
        postings = self._postings[term]
        rarity = math.log(1 + (len(self._tools) - len(postings) + 0.5) / (len(postings) + 0.5))
        for at, weight in postings:
            gain = weight * (_SATURATION + 1) / (weight + self._norms[at])
            scores[at] = scores.get(at, 0.0) + share * rarity * gain

    def _known(self, term: str) -> Iterator[tuple[str, float]]:
        """Yield the terms of tools that `term` matches, each with its weight."""
        if term in self._postings:
            yield term, 1.0
            return
        if len(term) < _SHORTEST_BEGINNING:
            return
        first = bisect_left(self._vocabulary, term)
        for known in self._vocabulary[first : first + _MOST_BEGINNINGS]:
            if not known.startswith(term):
                return
            yield known, _BEGINNING


def index_of(toolbox: Toolbox) -> ToolIndex:
    """Return the index of `toolbox`, built once."""
    index = toolbox.derived.get(ToolIndex)
    if not isinstance(index, ToolIndex):
        index = toolbox.derived[ToolIndex] = ToolIndex(toolbox)
    return index


def search_tools(toolbox: Toolbox, query: str, limit: int = 20) -> list[Found]:
    """Return at most `limit` tools of `toolbox` that match `query`, the best first.

    Names count most, then names of arguments, then descriptions.
    """
    return index_of(toolbox).search(query, limit)


def _grouped(pairs: Iterable[tuple[str, Tool]]) -> dict[str, tuple[Tool, ...]]:
    found: dict[str, list[Tool]] = {}
    for key, tool in pairs:
        found.setdefault(key, []).append(tool)
    return {key: tuple(tools) for key, tools in found.items()}


def _weighted_terms(tool: Tool) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, weight in _weighted_texts(tool):
        for term in terms(text):
            found[term] = found.get(term, 0.0) + weight
    return found


def _weighted_texts(tool: Tool) -> Iterator[tuple[str, float]]:
    for name in (tool.name, *tool.aliases):
        yield name, NAME_WEIGHT
    yield tool.description, TEXT_WEIGHT
    yield tool.source, DETAIL_WEIGHT
    for name, part in _properties(tool.raw_input):
        yield name, ARGUMENT_WEIGHT
        for text in _details(part):
            yield text, DETAIL_WEIGHT
    for name, _ in _properties(tool.raw_output):
        yield name, DETAIL_WEIGHT


def _properties(schema: Json) -> list[tuple[str, Json]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return list(properties.items())[:_MOST_PROPERTIES] if isinstance(properties, dict) else []


def _details(part: Json) -> Iterator[str]:
    """Yield the description and the named values of an argument."""
    if not isinstance(part, dict):
        return
    description, values = part.get("description"), part.get("enum")
    if isinstance(description, str):
        yield description
    if isinstance(values, list):
        yield from (value for value in values[:_MOST_PROPERTIES] if isinstance(value, str))
