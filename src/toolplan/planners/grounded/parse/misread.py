"""Words that a reading would use in a sense that they have not: each is asked about.

Each function yields words with the reason. They look at the words alone, so they hold for every way
to read a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, TypeAlias

from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf, Noun
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, key, word_set
from toolplan.planners.grounded.parse.directions import BREAKS, misdirected
from toolplan.planners.grounded.parse.groups import DIFFERENT
from toolplan.planners.grounded.parse.mentions import Code, Mention, Name, Number, Phrase, Time
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import (
    ByColumn,
    Computation,
    Count,
    Distinct,
    Statistic,
)

Misread: TypeAlias = tuple[Mention, str]

NONE_SHOWN: Final = "those with others are no answer to which have none: ask which have some"
_DOING: Final = word_set("do does did don't doesn't didn't has have had hasn't haven't hadn't")
_HELPING: Final = _DOING | word_set("is are was were isn't aren't wasn't weren't been")
_DENYING: Final = word_set("not no never free")
_A_DAY: Final = re.compile(r"(?:longer|shorter) than (?:an?|one|1) (?:day|week|month|quarter|year)")
_CLOCK: Final = re.compile(
    r"\b(?:noon|midnight|morning|afternoon|evening|night|tonight|o'clock|[ap]m)\b|\d:\d\d"
    r"|\bat \d"
)
_PRESENT: Final = word_set("now currently stored left remaining")
_MOST: Final = (
    WordClass.MOST, WordClass.FEWEST, WordClass.HIGHEST, WordClass.LOWEST, WordClass.EXTREME,
    WordClass.WORST,
)  # fmt: skip
_COMINGS: Final = frozenset({"arrivals", "departures"})
_OF: Final = word_set("of to by from at in")
_KINDS: Final = frozenset(
    {"kinds of", "what kinds of", "what kind of", "sorts of", "what sorts of"}
)


def misread(
    mentions: Sequence[Mention], computation: Computation | None, catalogue: Catalogue
) -> Iterator[Misread]:
    """Yield what would be misread in `mentions`, of which `computation` is to be computed."""
    distinct = computation is not None and isinstance(computation.measure, Distinct)
    if distinct and none_of(mentions, computation) is None:
        yield from _without_any(mentions)
    yield from _did_not(mentions)
    yield from _different(mentions, computation, catalogue)
    yield from _waiting(mentions)
    yield from _two_meanings(mentions, computation, catalogue)
    yield from _done_by(mentions, catalogue)
    yield from _out_of(mentions)
    yield from _how_many_units(mentions, computation)
    yield from _lasting_a_day(mentions)
    yield from _hours(mentions, computation, catalogue)
    yield from _times_of_day(mentions, catalogue)
    yield from _including(mentions)
    yield from _but_at_another_time(mentions)
    yield from _again(mentions)
    yield from _by_number_of_others(mentions, computation)
    yield from _of_the_one_with_most(mentions)
    yield from _there_now(mentions, computation)
    yield from _but_of_a_time(mentions)
    yield from _supposed(mentions)
    yield from _comings(mentions)
    yield from _kinds_of_things(mentions)
    yield from misdirected(mentions, catalogue)
    yield from _never_of_names(mentions, catalogue)
    yield from _superlative_of_one(mentions)
    if computation is None:
        yield from _unknown_one(mentions)


def _without_any(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "not" of "which towns did not send boxes": other boxes do not show that."""
    for at, mention in enumerate(mentions):
        # some values say it themselves: "not broken"
        helped = at > 0 and fold(mentions[at - 1].text) in _HELPING
        denies = helped and bool(mention.values) and fold(mention.text).split()[0] in _DENYING
        if not denies and not mention.does(WordClass.NOT, WordClass.WITHOUT):
            continue
        noun = max((i for i, m in enumerate(mentions[:at]) if m.nouns), default=None)
        said_of_rows = noun is not None and (
            mention.does(WordClass.WITHOUT)
            or any(m.does(WordClass.RELATIVE) for m in mentions[noun:at])
        )
        if not said_of_rows:
            yield mention, NONE_SHOWN


def none_of(mentions: Sequence[Mention], computation: Computation | None) -> Mention | None:
    """Return the "not" of "which towns did not send boxes", where those of no row are asked for."""
    if computation is None or not isinstance(computation.measure, Distinct):
        return None
    others = [m for m in mentions if m.does(WordClass.NOT, WordClass.WITHOUT)]
    if len(others) != 1 or len(computation.groups) != 1:
        return None
    at = mentions.index(others[0])
    before = fold(mentions[at - 1].text) if at else ""
    helped = before in _HELPING or fold(mentions[at].text) in ("never", *_HELPING)
    things = any(m.nouns for m in mentions[:at])
    clear = not any(_makes_unclear(m) for m in mentions)
    return mentions[at] if helped and not things and clear else None


def _makes_unclear(mention: Mention) -> bool:
    """Return whether what is denied may be each of two, or a sum: "not oak and ash", "not 5 t"."""
    said = fold(mention.text) in ("only", "just", "yet")
    return said or mention.does(WordClass.AND) or isinstance(mention.what, Number)


def _did_not(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "not" of "towns that did not break boxes": towns with other boxes may have."""
    for at, mention in enumerate(mentions):
        before = fold(mentions[at - 1].text) if at else ""
        if not mention.does(WordClass.NOT) or not any(m.nouns for m in mentions[:at]):
            continue
        if before not in _DOING and fold(mention.text) not in ("never", *_DOING):
            continue
        behind = [m for m in mentions[at + 1 :] if not m.does(WordClass.FILLER)]
        clause = list(takewhile(lambda m: not m.does(*BREAKS), behind))
        if clause and clause[0].values and any(m.nouns for m in clause[1:]):
            yield mention, NONE_SHOWN


def _different(
    mentions: Sequence[Mention], computation: Computation | None, catalogue: Catalogue
) -> Iterator[Misread]:
    """Yield the "different" of things that are called like their kind: "different woods"."""
    groups = [] if computation is None else computation.mentions
    for mention, following in pairwise(mentions):
        if fold(mention.text) not in DIFFERENT or following in groups:
            continue
        if any(_has_a_name_of_its_kind(entity, catalogue) for entity in following.nouns):
            said = f'"{mention.text} types of {following.text}", or "{following.text}"'
            yield mention, f"say {said}"


def _has_a_name_of_its_kind(entity: str, catalogue: Catalogue) -> bool:
    """Return whether one word is both a thing and a column of it: two such things may be alike."""
    for readings in catalogue.lexicon.values():
        if any(isinstance(r, Noun) and r.entity == entity for r in readings) and any(
            isinstance(r, ColumnOf) and r.entity == entity and catalogue.attribute(r).shape.is_text
            for r in readings
        ):
            return True
    return False


def _waiting(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the state of "waiting for a visit", which is not that of a visit."""
    for mention, following in pairwise(mentions):
        if mention.values and following.cue == "for" and fold(mention.text).endswith("ing"):
            yield mention, f'what is "{mention.text} for" something has none yet: no row shows it'


def _two_meanings(
    mentions: Sequence[Mention], computation: Computation | None, catalogue: Catalogue
) -> Iterator[Misread]:
    """Yield a word that is a thing, and a number of another thing: "the average load of boxes"."""
    measured = getattr(computation.measure, "columns", ()) if computation is not None else ()
    for at, mention in enumerate(mentions):
        others = [
            column
            for column in mention.columns
            if column.entity not in mention.nouns and catalogue.attribute(column).shape.is_number
        ]
        if not mention.nouns or not others or not is_singular(mention):
            continue
        others_said = [m for m in mentions if m is not mention]
        spoken = {entity for m in others_said for entity in m.nouns}
        owners = {column.entity for column in others}
        named = any(column.entity in owners for m in others_said for column in m.columns)
        behind = at + 1 < len(mentions) and mentions[at + 1].cue == "of"
        if any(column in measured for column in others):
            unclear = owners.isdisjoint(spoken) and (bool(spoken) or _says_more(others_said))
        else:
            unclear = behind and not named
        if unclear:
            names = " or ".join(sorted(owners))
            yield mention, f'"{mention.text}" is a thing, and a number of a {names}: say which'


def _says_more(mentions: Sequence[Mention]) -> bool:
    """Return whether something is said of what is measured: "the average load to Hull"."""
    return any(m.values or isinstance(m.what, Time | Name) for m in mentions)


def _done_by(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[Misread]:
    """Yield a state before a thing, of which a person is said to be the doer: "Ada broke boxes"."""
    for at, (mention, following) in enumerate(pairwise(mentions)):
        people = {v.entity for v in mention.values if catalogue.attribute(v).shape.kind == "person"}
        if not people or not following.values or not fold(following.text).endswith("ed"):
            continue
        for behind in mentions[at + 2 :]:
            if behind.does(*BREAKS):
                break
            if behind.nouns and people.isdisjoint(behind.nouns):
                yield following, f'"{following.text}" may be said of either: ask for one of them'
                break


def _out_of(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "out" of "boxes out of Hull": "of" alone would not say that they left it."""
    for at, (mention, following) in enumerate(pairwise(mentions)):
        of = fold(mention.text) == "out" and following.cue == "of"
        if of and any(m.nouns for m in mentions[:at]):
            yield mention, 'say "from"'


def _how_many_units(
    mentions: Sequence[Mention], computation: Computation | None
) -> Iterator[Misread]:
    """Yield the "days" of "how many days had boxes", where boxes would be counted."""
    if computation is None or not isinstance(computation.measure, Count):
        return
    for at, mention in enumerate(mentions):
        if mention.does(WordClass.COUNT):
            behind = next((m for m in mentions[at + 1 :] if not m.does(WordClass.FILLER)), None)
            if behind is not None and behind.does(WordClass.UNIT):
                yield behind, f"ask for the figure per {key(behind.text)}"


def _lasting_a_day(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "day" of "visits longer than a day", which is no day of the calendar."""
    for at, mention in enumerate(mentions):
        time = fold(mention.text) if isinstance(mention.what, Time) else ""
        if "than" in time and _A_DAY.fullmatch(time) is not None:
            yield mention, "say it in hours"
        elif mention.does(WordClass.UNIT) and at > 1 and fold(mentions[at - 1].text) in ("a", "an"):
            said = mentions[at - 2]
            if said.cue in ("over", "during") or said.does(WordClass.ABOVE, WordClass.BELOW):
                yield mention, "say it as a number"


def _hours(
    mentions: Sequence[Mention], computation: Computation | None, catalogue: Catalogue
) -> Iterator[Misread]:
    """Yield the "hour" of "boxes per hour": the hours at which a yard is open are no time."""
    if computation is None:
        return
    taken = [group.said for group in computation.groups if isinstance(group, ByColumn)]
    if isinstance(computation.measure, Distinct):
        taken.extend(computation.mentions)
    for mention in taken:
        shapes = [catalogue.attribute(column).shape for column in mention.columns]
        times = any(shape.is_number or shape.is_date for shape in shapes)
        if mention in mentions and mention.does(WordClass.UNIT) and shapes and not times:
            yield mention, "rows are counted by days, and by longer times"


def _times_of_day(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[Misread]:
    """Yield "at noon" where rows have a time of the day, of which only the day can be said."""
    kinds = [catalogue.kinds[entity] for mention in mentions for entity in mention.nouns]
    listed = [(kind.date_column, kind.listing.rows) for kind in kinds if kind.listing is not None]
    moments = [rows.columns.get(column) for column, rows in listed if column and rows]
    if not any(shape is not None and shape.format == "date-time" for shape in moments):
        return
    for mention in mentions:
        if isinstance(mention.what, Time) and _CLOCK.search(fold(mention.text)) is not None:
            yield mention, "only whole days can be asked for"


def _including(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "including" of "boxes, including red ones": all are meant, not the red ones."""
    for mention, following in pairwise(mentions):
        if fold(mention.text) == "including" and following.values:
            yield mention, "say only what is wanted"


def _but_at_another_time(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "but" of "opened in May but sent in April", where both times would be one."""
    times = [at for at, mention in enumerate(mentions) if isinstance(mention.what, Time)]
    for one, other in pairwise(times):
        for mention in mentions[one + 1 : other]:
            if fold(mention.text) == "but":
                yield mention, "ask for each alone"


def _again(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "again" of "boxes that were opened again": once would be enough for a row."""
    for at, mention in enumerate(mentions):
        before = mentions[at - 1] if at else None
        done = before is not None and (bool(before.verbs) or bool(before.values))
        if fold(mention.text) == "again" and done and any(m.nouns for m in mentions[:at]):
            yield mention, "say how often"


def _by_number_of_others(
    mentions: Sequence[Mention], computation: Computation | None
) -> Iterator[Misread]:
    """Yield the "number of" of "towns by number of boxes", where towns would be counted."""
    if computation is None or not isinstance(computation.measure, Count) or computation.groups:
        return
    for at, mention in enumerate(mentions):
        if not mention.does(WordClass.COUNT) or at == 0 or mentions[at - 1].cue != "by":
            continue
        before = {entity for m in mentions[:at] for entity in m.nouns}
        behind = next((m for m in mentions[at + 1 :] if m.nouns), None)
        if before and behind is not None and before.isdisjoint(behind.nouns):
            yield mention, f'ask for the "number of {behind.text} per …"'


def _of_the_one_with_most(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "most" of "boxes of the sender with the most letters": it chooses the sender."""
    for at, mention in enumerate(mentions):
        ties = [
            i
            for i, m in enumerate(mentions[:at])
            if m.cue == "with" or m.does(WordClass.HAVE, WordClass.RELATIVE)
        ]
        if not mention.does(*_MOST) or not ties:
            continue
        named = [
            i for i, m in enumerate(mentions[: ties[-1]]) if m.nouns or (m.columns and not m.values)
        ]
        between = mentions[named[-2] + 1 : named[-1]] if len(named) > 1 else ()
        one = bool(between) and is_singular(mentions[named[-1]])
        if one and any(m.cue in _OF for m in between):
            yield mention, f'ask first which "{mentions[named[-1]].text}" it is'


def _there_now(mentions: Sequence[Mention], computation: Computation | None) -> Iterator[Misread]:
    """Yield the "stored" of "how many tons are stored in the yard": all that ever came is more."""
    if computation is None or not isinstance(computation.measure, Statistic):
        return
    if computation.measure.function != "sum" or any(isinstance(m.what, Time) for m in mentions):
        return
    for mention, following in pairwise([*mentions, *mentions[-1:]]):
        said = set(fold(mention.text).split())
        is_there = not said.isdisjoint(("is", "are")) and following.cue in ("in", "at")
        if is_there or not _PRESENT.isdisjoint(said):
            yield mention, "what is there now is not the sum of all that came"


def _but_of_a_time(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "but" of "all boxes but today's", where today's alone would be listed."""
    for mention, following in pairwise(mentions):
        if fold(mention.text).split()[-1:] == ["but"] and isinstance(following.what, Time):
            yield mention, "say the time that is wanted"


def _supposed(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "if" of what is only supposed: "what if B1 were red", "would B1 be red if …"."""
    for at, mention in enumerate(mentions):
        said, before = fold(mention.text), mentions[at - 1] if at else None
        following = fold(mentions[at + 1].text) if at + 1 < len(mentions) else ""
        if said == "would" and before is None and following not in ("you", "like"):
            yield mention, "tools say what is, not what would be"
        if said == "if" and before is not None and (fold(before.text) == "what" or before.values):
            yield mention, "tools say what is, not what would be"


def _unknown_one(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the noun of "show the box", where nothing says which one."""
    nouns = [at for at, mention in enumerate(mentions) if mention.nouns]
    others = [m for m in mentions if not m.nouns]
    if any(m.values or m.columns or m.verbs or not isinstance(m.what, Phrase) for m in others):
        return
    if len(nouns) != 1 or nouns[0] == 0 or fold(mentions[nouns[0] - 1].text) not in ("the", "that"):
        return
    if is_singular(mentions[nouns[0]]):
        yield mentions[nouns[0]], "which one?"


def _comings(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield "arrivals" alone: what comes is meant, and not a check of the kind "arrival"."""
    if not any(mention.nouns for mention in mentions):
        for mention in mentions:
            if fold(mention.text) in _COMINGS and mention.values:
                yield mention, "say of what"


def _kinds_of_things(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "kinds of" of "how many kinds of boxes", where boxes would be counted."""
    for mention, following in pairwise(mentions):
        if fold(mention.text) in _KINDS and following.nouns and not is_singular(following):
            yield mention, f'say "types of {following.text}", or only "{following.text}"'


def _never_of_names(mentions: Sequence[Mention], catalogue: Catalogue) -> Iterator[Misread]:
    """Yield the "never" of "woods never found in yard Y3": oak found elsewhere is no answer.

    A row is one time that it was found; which woods were not is not in any row.
    """
    subject = next((at for at, m in enumerate(mentions) if m.nouns), None)
    if subject is None:
        return
    entities = mentions[subject].nouns
    if not any(_has_a_name_of_its_kind(entity, catalogue) for entity in entities):
        return
    for at, mention in enumerate(mentions[subject + 1 :], subject + 1):
        behind = mentions[at + 1 :]
        clause = list(takewhile(lambda m: m.cue is None and not m.does(*BREAKS), behind))
        said, denies = fold(mention.text), mention.does(WordClass.NOT)
        found = len(behind) > 1 and behind[0].does(WordClass.LINK) and behind[1].cue is not None
        but = fold(mentions[at - 1].text) == "but" and bool(behind) and behind[0].cue is not None
        own = any(not set(entities).isdisjoint(m.nouns) for m in clause)
        never = denies and (said.split()[0] == "never" or found or but)
        if never or (mention.does(WordClass.WITHOUT) and own):  # "woods without red woods"
            yield mention, NONE_SHOWN
        elif said == "both" and behind and isinstance(behind[0].what, Code):
            yield mention, "ask for each alone"


def _superlative_of_one(mentions: Sequence[Mention]) -> Iterator[Misread]:
    """Yield the "most red" of "the most red box", where the red ones would be listed."""
    for mention, following in pairwise(mentions):
        superlative = mention.values and fold(mention.text).split()[0] == "most"
        if superlative and following.nouns and is_singular(following):
            value = mention.values[0].value
            yield mention, f'say "{value}" if that is meant'
