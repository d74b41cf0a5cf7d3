"""Search among many tools: ranked by words, without a model.

The index is BM25 over weighted fields (Robertson et al. 2004).
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final

from msgspec import Struct

from toolplan.plan.diagnostics import words
from toolplan.plan.path import Json
from toolplan.schema import required
from toolplan.schema.tool import Tool, Toolbox

_LONGEST: Final = 60
_MOST_TEXT: Final = 20_000
_FIRST_WITHOUT_SPACES: Final = "\u2e80"
_LAST_WITHOUT_SPACES: Final = "\uffdc"

_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")

# fmt: off
STOP_WORDS: Final = frozenset((
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but",
    "by", "can", "could", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if",
    "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "shall",
    "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
))
# fmt: on
"""Words that no tool is about, however rare they are in a catalogue."""


def terms(text: str) -> Iterator[str]:
    """Yield the terms of `text`, in order; names in any spelling are split into words.

    Text in scripts without spaces yields every pair of neighbouring characters.

    >>> list(terms("listShipments: the facility_ids of deleted shipments"))
    ['list', 'shipment', 'facility', 'id', 'delet', 'shipment']
    """
    for word in _WORD.findall(_SEAM.sub(" ", text[:_MOST_TEXT])):
        yield from _terms_of(word)


@lru_cache(maxsize=16_384)  # catalogues repeat their words
def _terms_of(run: str) -> tuple[str, ...]:
    word = _plain(run)
    if len(word) > _LONGEST or word in STOP_WORDS:
        return ()
    if _FIRST_WITHOUT_SPACES <= word[0] <= _LAST_WITHOUT_SPACES and len(word) > 2:
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    return (stem(word),)


def stem(word: str) -> str:
    """Return `word`, in lower case, without its inflection.

    >>> [stem(word) for word in ("creates", "created", "creating", "creation", "status", "ids")]
    ['creat', 'creat', 'creat', 'creat', 'status', 'id']
    """
    word = _singular(word)
    for ending in ("ing", "ion", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            rest = word[: -len(ending)]
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singular(word: str) -> str:
    if len(word) <= 2 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _plain(word: str) -> str:
    """Return `word` in lower case and without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare) or word


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
            counted: dict[str, float] = {}
            for text, weight in _weighted_texts(tool):
                for term in terms(text):
                    counted[term] = counted.get(term, 0.0) + weight
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

        A tool whose whole name is the query comes first. Names count most, then names of arguments,
        then descriptions. Tools with equal scores have the order of the toolbox. A term that no
        tool has matches terms that begin with it.
        """
        scores: dict[int, float] = {}
        for term, count in Counter(terms(query)).items():
            for known, share in self._known(term):
                postings = self._postings[known]
                others = len(self._tools) - len(postings)
                rarity = math.log(1 + (others + 0.5) / (len(postings) + 0.5))
                for at, weight in postings:
                    gain = weight * (_SATURATION + 1) / (weight + self._norms[at])
                    more = share * (1 + math.log(count)) * rarity * gain
                    scores[at] = scores.get(at, 0.0) + more
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


def _grouped(pairs: Iterable[tuple[str, Tool]]) -> dict[str, tuple[Tool, ...]]:
    found: dict[str, list[Tool]] = {}
    for key, tool in pairs:
        found.setdefault(key, []).append(tool)
    return {key: tuple(tools) for key, tools in found.items()}


def _weighted_texts(tool: Tool) -> Iterator[tuple[str, float]]:
    for name in (tool.name, *tool.aliases):
        yield name, NAME_WEIGHT
    yield tool.description, TEXT_WEIGHT
    yield tool.source, DETAIL_WEIGHT
    for name, part in _properties(tool.raw_input):
        yield name, ARGUMENT_WEIGHT
        if isinstance(part, dict):
            values = part.get("enum")
            named = values[:_MOST_PROPERTIES] if isinstance(values, list) else []
            details = (part.get("description"), *named)
            yield from ((text, DETAIL_WEIGHT) for text in details if isinstance(text, str))
    for name, _ in _properties(tool.raw_output):
        yield name, DETAIL_WEIGHT


def _properties(schema: Json) -> list[tuple[str, Json]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return list(properties.items())[:_MOST_PROPERTIES] if isinstance(properties, dict) else []


FEW: Final = 40
"""Maximum number of tools of a toolbox that a model sees whole."""

SMALL_SOURCE: Final = 12
"""Maximum number of tools of a source that is taken whole where one of its tools matches."""

_FEW_GIVERS: Final = 5

_ID_WORDS: Final = frozenset(("id", "ids", "uuid", "guid", "key", "slug", "code", "number"))


def relevant(toolbox: Toolbox, question: str, limit: int = FEW) -> Toolbox:
    """Return the tools that are relevant to `question`, at most `limit`, in the toolbox's order.

    It is `toolbox` itself where it has no more than `limit`. Otherwise, in this order as far as
    there is room: tools whose output is computed from their arguments (`sql`); three quarters by
    words; tools that may return arguments that the best of these require; the rest of small
    sources with a tool among the best; other matches; and the first of the rest.
    """
    if len(toolbox) <= limit:
        return toolbox
    index = index_of(toolbox)
    ranked = [found.tool for found in index.search(question, limit)]
    chosen: dict[str, None] = {}

    def choose(tools: Iterator[Tool]) -> None:
        for tool in tools:
            if len(chosen) >= limit:
                return
            chosen.setdefault(tool.name)

    choose(tool for tool in toolbox.values() if tool.compute_output is not None)
    best = ranked[: max(1, limit // 4)]
    choose(iter(ranked[: limit - limit // 4]))
    choose(_givers(index, best))
    wholes = (index.of_source[each] for each in dict.fromkeys(tool.source for tool in best) if each)
    choose(tool for whole in wholes if len(whole) <= SMALL_SOURCE for tool in whole)
    choose(iter((*ranked, *toolbox.values())))
    return Toolbox(tool for name, tool in toolbox.items() if name in chosen)


def _givers(index: ToolIndex, tools: list[Tool]) -> Iterator[Tool]:
    """Yield tools that may return arguments that `tools` require.

    For `token`, the few tools with a `token` in their declared output; for `facility_id`, tools
    whose name has *facility*, and that do not require the identifier themselves.
    """
    for field in dict.fromkeys(field for tool in tools for field in _required(tool)):
        givers = index.giving.get(field, ())
        yield from givers if len(givers) <= _FEW_GIVERS else ()
    for thing in dict.fromkeys(thing for tool in tools for thing in _things(tool)):
        for tool in index.named.get(thing, ()):
            if not tool.has_effects and thing not in _things(tool):
                yield tool


def _required(tool: Tool) -> tuple[str, ...]:
    return () if tool.unusable is not None else required(tool.input)


def _things(tool: Tool) -> dict[str, None]:
    """Return the things whose identifiers the tool requires: `facility` of `facility_id`."""
    found: dict[str, None] = {}
    for name in _required(tool):
        parts = words(name)
        if len(parts) > 1 and parts[-1] in _ID_WORDS:
            found[stem(parts[-2])] = None
    return found
