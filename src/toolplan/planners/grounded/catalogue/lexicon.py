"""Which phrases mean what, for one catalogue: every word of a domain that a planner understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.inferred import infer_hints
from toolplan.planners.grounded.catalogue.kinds import (
    SQL_TOOL,
    Attribute,
    Catalogue,
    ColumnOf,
    CueOf,
    Kind,
    Noun,
    Reading,
    ReportOf,
    ToolCard,
    ValueOf,
    Verb,
    VerbOf,
    read_card,
    read_kinds,
)
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import PHRASES
from toolplan.tools import Toolbox

_LEGAL_FORMS: Final = words.word_set("ag co corp ev gmbh inc kg llc ltd plc sa se")
_SHORTEST_VERB: Final = 4
_SHORTEST_NAME: Final = 3

_Keys: TypeAlias = tuple[str, ...]
"""A phrase, as the keys of its words."""


def _all_keys(*phrases: str) -> tuple[_Keys, ...]:
    return tuple(map(words.keys, phrases))


# so that "with a" makes known "has a", "containing a"; and "without a" makes known "has no a"
_WITH: Final = _all_keys(
    *words.phrase_list("""
    with|have|has|had|having|contain|contained|containing|carrying|carried|carry|that have|showing
    """)
)
_WITHOUT: Final = _all_keys(
    *words.phrase_list("""
    without|no|with no|have no|has no|had no|having no|free of|free from|lacking|not have
    |not contain|not having|not containing|contain no|containing no|not with|n't have|n't contain
    |contained no|not carry|n't carry|not had|n't had|not has|not carrying
    """)
)

_IN: Final = _all_keys("where", "in which", "at which", "during which")
_SEEN: Final = _all_keys(
    "came up", "were found", "were detected", "turned up", "showed up", "was found"
)


def compile_catalogue(tools: Toolbox) -> Catalogue:
    """Compile the catalogue of `tools`."""
    cards = {card.name: card for tool in infer_hints(tools.values()) if (card := read_card(tool))}
    kinds = read_kinds(cards.values())
    lexicon: dict[tuple[str, ...], tuple[Reading, ...]] = {}
    for phrase, reading in _entries(kinds.values(), cards.values()):
        for found in words.spellings(phrase) if phrase else ():
            known = lexicon.get(found)
            if known is None:
                lexicon[found] = (reading,)
            elif reading not in known:
                lexicon[found] = (*known, reading)
    return Catalogue(
        kinds=kinds,
        cards=cards,
        lexicon=lexicon,
        stems=_stems(lexicon),
        verbs=_verbs_of_nouns(lexicon),
        longest=max(map(len, lexicon), default=0),
        # another tool of that name takes other arguments
        computes=SQL_TOOL in tools and tools[SQL_TOOL].compute_output is not None,
    )


def _entries(kinds: Iterable[Kind], cards: Iterable[ToolCard]) -> Iterator[tuple[_Keys, Reading]]:
    for kind in kinds:
        yield words.keys(kind.entity), Noun(kind.entity)
        for attribute in kind.attributes.values():
            yield from _of_attribute(attribute)
            if attribute.equal is None and attribute.column is not None:
                yield from _cues(attribute.shape)  # an argument's are read below
    for card in cards:
        reading = ReportOf(card.name) if card.verb is Verb.REPORT else Noun(card.entity)
        for phrase in card.synonyms:
            yield words.keys(phrase), reading
        for argument in card.arguments.values():
            yield from _cues(argument)


def _cues(shape: Shape) -> Iterator[tuple[_Keys, Reading]]:
    for cue in shape.cues:
        said = words.keys(cue)
        yield said, CueOf(" ".join(said))


def _of_attribute(attribute: Attribute) -> Iterator[tuple[_Keys, Reading]]:
    shape = attribute.shape
    column = ColumnOf(attribute.entity, attribute.name)
    for phrase in (*shape.synonyms, *_humanised(attribute)):
        yield words.keys(phrase), column
    for value in shape.enum:
        yield words.keys(value), ValueOf(attribute.entity, attribute.name, value)
    known: set[tuple[_Keys, bool]] = set()
    for value, phrases in shape.values.items():
        truth = shape.is_boolean and value in ("true", "false")
        json_value: Json = value == "true" if truth else value
        reading = ValueOf(attribute.entity, attribute.name, json_value)
        for phrase in phrases:
            yield words.keys(phrase), reading
        if shape.is_boolean and isinstance(json_value, bool):
            yield from _implied(reading, json_value, phrases, known)
    yield from _names(attribute)


def _humanised(attribute: Attribute) -> Iterator[str]:
    """Yield the attribute's name as words; an identity is spoken of by its thing's noun instead."""
    shape = attribute.shape
    parts = [part for part in attribute.name.replace("-", "_").split("_") if part]
    if shape.ref is not None or attribute.name == "id" or shape.is_date or parts[:1] == ["has"]:
        return
    if len(parts) > 1 and words.key(parts[-1]) in words.UNITS:
        parts.pop()
    yield " ".join(parts)


def _implied(
    reading: ValueOf, value: bool, phrases: Iterable[str], known: set[tuple[_Keys, bool]]
) -> Iterator[tuple[_Keys, Reading]]:
    """Yield phrases that follow from those of a boolean: other verbs, and the opposite.

    `known` gets what was said of: "without a" says again what "with a" did.
    """
    opposite = replace(reading, value=not value)
    for phrase in phrases:
        first, _, following = phrase.partition(" ")
        if first not in ("with", "without") or not following:
            continue
        rest, is_with = words.keys(following), first == "with"
        same, other = (_WITH, _WITHOUT) if is_with else (_WITHOUT, _WITH)
        if (rest, value is is_with) not in known:
            known.add((rest, value is is_with))
            yield from ((verb + rest, reading) for verb in same)
            yield from ((verb + rest, opposite) for verb in other)
        if is_with:
            yield from ((word + rest + seen, reading) for word in _IN for seen in _SEEN)


def _names(attribute: Attribute) -> Iterator[tuple[_Keys, Reading]]:
    """Yield the names that are known to occur, and the short forms that only one of them has."""
    gazetteer = attribute.shape.gazetteer
    for name in gazetteer:
        reading = ValueOf(attribute.entity, attribute.name, name)
        yield words.keys(name), reading
        parts = name.split()
        if len(parts) > 1 and parts[-1].casefold().rstrip(".") in _LEGAL_FORMS:
            yield words.keys(" ".join(parts[:-1])), reading
    if attribute.shape.kind == "person":
        shorts = Counter(part for name in gazetteer for part in set(name.split()))
        for name in gazetteer:
            for part in (name.split()[0], name.split()[-1]):
                said = words.keys(part)
                plain = said not in PHRASES
                if part != name and len(part) >= _SHORTEST_NAME and shorts[part] == 1 and plain:
                    yield said, ValueOf(attribute.entity, attribute.name, name)


def _stems(lexicon: dict[tuple[str, ...], tuple[Reading, ...]]) -> dict[str, tuple[ValueOf, ...]]:
    found: dict[str, dict[ValueOf, None]] = {}
    for phrase, readings in lexicon.items():
        for reading in readings:
            # only the plain word for a value: what a synonym's stem shares with it is not sure
            if isinstance(reading, ValueOf) and len(phrase) == 1 and _is_plain(phrase[0], reading):
                found.setdefault(words.stem(phrase[0]), {})[reading] = None
    return {stem: tuple(values) for stem, values in found.items()}


def _verbs_of_nouns(lexicon: dict[tuple[str, ...], tuple[Reading, ...]]) -> dict[str, VerbOf]:
    """Return what the verbs behind nouns speak of: "translate" behind "translation"."""
    found: dict[str, set[str]] = {}
    for phrase, readings in lexicon.items():
        if len(phrase) != 1 or len(phrase[0]) <= _SHORTEST_VERB:
            continue
        if entities := {reading.entity for reading in readings if isinstance(reading, Noun)}:
            found.setdefault(words.stem(phrase[0]), set()).update(entities)
    return {s: VerbOf(next(iter(entities))) for s, entities in found.items() if len(entities) == 1}


def _is_plain(word: str, reading: ValueOf) -> bool:
    value = reading.value
    return isinstance(value, bool) or (isinstance(value, str) and words.keys(value) == (word,))
