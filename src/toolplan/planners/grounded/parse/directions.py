"""Where things come from: words for it that would be read as where they go.

"Boxes sent from yard Y3" are not those that lie there, if what they are sent from is a town.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.mentions import Code, Mention

_SENDING: Final = word_set("send sends sent ship ships shipped dispatch dispatches dispatched")
_COMING: Final = word_set("come comes came coming originate originates originated originating")
BREAKS: Final = (WordClass.STOP, WordClass.COMMA, WordClass.THEN, WordClass.AND)
"""Words at which what is said of one thing ends."""


def misdirected(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[tuple[Mention, str]]:
    """Yield the words for where something comes from that no column says, with the reason."""
    yield from _from(mentions, catalogue)
    yield from _sent_by(mentions, catalogue)


def _from(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[tuple[Mention, str]]:
    """Yield the "from" of "boxes sent from yard Y3", where boxes are sent from towns to yards.

    "Boxes from yard Y3" alone are those that are there.
    """
    for at, mention in enumerate(mentions):
        spoken = next((m for m in reversed(mentions[:at]) if m.nouns or m.columns), None)
        behind = [m for m in mentions[at + 1 :] if not m.does(WordClass.FILLER)]
        if mention.cue is None or "from" not in mention.cue.split() or not behind:
            continue
        came = at > 0 and not _COMING.isdisjoint(fold(mentions[at - 1].text).split())
        if mention.cue == "from" and not came and not any(m.cue == "to" for m in behind):
            continue
        place = takewhile(lambda m: m.cue is None and not m.does(*BREAKS), behind)
        named = next((m for m in place if m.nouns or isinstance(m.what, Code)), None)
        for entity in _entities(spoken):
            column = _column_from(entity, mention, catalogue)
            if named is not None and column is not None and entity not in named.nouns:
                what = f"the {column.replace('_', ' ')} of a {entity}"
                yield mention, f'"{mention.text}" says {what}, and "{named.text}" is none'


def _entities(mention: Mention | None) -> tuple[str, ...]:
    if mention is None:
        return ()
    return mention.nouns or tuple(column.entity for column in mention.columns)


def _column_from(entity: str, cue: Mention, catalogue: Catalogue) -> str | None:
    """Return the column before whose value `cue` stands; None where one is a reference."""
    named = {
        name: each.shape.ref
        for name, each in catalogue.kinds[entity].attributes.items()
        if cue.cue in each.shape.cue_keys
    }
    return None if any(named.values()) else next(iter(named), None)


def _sent_by(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[tuple[Mention, str]]:
    """Yield the "sent" of "yards that sent boxes", where those that got them would be listed."""
    for at, mention in enumerate(mentions):
        from_which = fold(mention.text) == "from which"
        if at == 0 or not (from_which or _SENDING.intersection(fold(mention.text).split())):
            continue
        before = [m for m in mentions[:at] if not m.does(WordClass.RELATIVE, WordClass.FILLER)]
        behind = [m for m in mentions[at + 1 :] if not m.does(WordClass.FILLER)]
        by = mention.cue is not None and mention.cue.split()[-1] == "by"
        if behind and behind[0].cue == "by":
            by, behind = True, behind[1:]
        does = behind[:1] if by else before[-1:]
        sent = {entity for m in mentions for entity in m.nouns}
        doers = {entity for m in does for entity in m.nouns}
        if not does or not (doers or isinstance(does[0].what, Code)):
            continue
        goods = [entity for entity in sent - doers if _comes_from(entity, catalogue)]
        sends = by or not any(entity in doers for entity in sent if _comes_from(entity, catalogue))
        if goods and sends:
            yield mention, f"no tool says which of them sent a {goods[0]}"


def _comes_from(entity: str, catalogue: Catalogue) -> bool:
    """Return whether a column of it says where it comes from, and none which thing sent it."""
    shapes = [each.shape for each in catalogue.kinds[entity].attributes.values()]
    from_ = [shape for shape in shapes if any("from" in cue.split() for cue in shape.cue_keys)]
    return bool(from_) and all(shape.ref is None for shape in from_)
