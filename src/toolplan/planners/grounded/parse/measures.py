"""What is measured: counts, rates and statistics."""

from __future__ import annotations

from toolplan.planners.grounded.catalogue.kinds import ColumnOf, ValueOf
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import FINITE, WordClass
from toolplan.planners.grounded.language.words import dimension, fold, stem, word_set
from toolplan.planners.grounded.parse import amounts
from toolplan.planners.grounded.parse.computation_state import ComputationState
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import Count, Rate, Statistic

FUNCTIONS = {
    "average": "avg", "mean": "avg", "avg": "avg", "typical": "avg", "averaged": "avg",
    "total": "sum", "sum": "sum", "combined": "sum", "overall": "sum", "summed": "sum",
    "cumulative": "sum", "maximum": "max", "max": "max", "minimum": "min", "min": "min",
    "median": "median", "sum of": "sum",
}  # fmt: skip
_TOTALS = {**FUNCTIONS, "altogether": "sum", "together": "sum"}
_SAID_OF = FINITE | word_set("""
    come comes came go goes went belong belongs belonged have has had contain contains contained
    hold holds held do does did
    """)
_LASTING = frozenset({"take", "takes", "took", "last", "lasts", "lasted"})


def read_rates(state: ComputationState) -> None:
    """Read "share of red", "rejection rate"."""
    for at in state.where(WordClass.RATE):
        if state.found.measure is not None or isinstance(state.what(at - 1), Number):
            continue
        before = state.free(at - 1)
        having = _having(state, before) if before is not None else ()
        if having:
            state.measure(Rate(having), at - 1, at)
            continue
        behind = state.skip(at + 1)
        if state.cue(behind) in ("of", "for"):
            said = state.free(state.skip(behind + 1))
            having = _having(state, said) if said is not None and not said.nouns else ()
            after = state.skip(behind + 1)
            verb = _predicate(state, after)
            if having and verb is None and not _noun_after_values(state, after):
                state.measure(Rate(having), at, behind, after)
                continue
            state.measure(Rate(()), at, behind)
            state.found.predicate = verb
        elif state.mentions[at].text.casefold() not in ("rate", "rates", "ratio"):
            state.measure(Rate(()), at)
            state.found.predicate = _predicate(state, at + 1)


def _predicate(state: ComputationState, at: int) -> int | None:
    """Return where the verb begins that is said of the things named from `at` on."""
    things = False
    for behind, mention in enumerate(state.mentions[at:], at):
        before = state.mentions[behind - 1]
        verb = fold(mention.text).split()[0] in _SAID_OF
        if things and verb and not before.does(WordClass.RELATIVE):
            return None if mention.does(WordClass.RELATIVE) else mention.first
        things = things or bool(mention.nouns or mention.values)
    return None


def _having(state: ComputationState, mention: Mention) -> tuple[ValueOf, ...]:
    """Return the values that "return", "rejection", "rejected" speak of in a rate."""
    named = tuple(
        ValueOf(each.entity, each.attribute, True)
        for each in mention.columns
        if state.catalogue.attribute(each).shape.is_boolean
    )
    if named:
        return named
    if mention.values:
        return mention.values
    if len(mention.text.split()) > 1:
        return ()
    return state.catalogue.stems.get(stem(mention.text), ())


def _noun_after_values(state: ComputationState, at: int) -> bool:
    """Return whether a thing stands behind the values joined from `at` on: "oak and ash books"."""
    joined = state.skip(at + 1, WordClass.AND, WordClass.OR, WordClass.COMMA)
    while joined > at + 1 and (said := state.free(joined)) is not None and said.values:
        at = joined
        joined = state.skip(at + 1, WordClass.AND, WordClass.OR, WordClass.COMMA)
    return state.noun_after(at)


def read_counts(state: ComputationState) -> None:
    """Read "how many", where a thing to be counted follows."""
    for at in state.where(WordClass.COUNT):
        if state.found.measure is not None:
            return
        behind = state.skip(at + 1, WordClass.FILLER, WordClass.DETAIL)
        if _noun_comes(state, behind):
            state.measure(Count(), at)


def _noun_comes(state: ComputationState, at: int) -> bool:
    """Return whether a thing, or something that is counted like one, is spoken of from `at` on."""
    return any(mention.nouns or mention.columns for mention in state.mentions[at:])


def read_statistics(state: ComputationState) -> None:
    """Read "average weight of the books"."""
    for at in state.where(WordClass.STATISTIC):
        if state.found.measure is not None:
            return
        behind = state.skip(at + 1)
        behind = state.skip(behind) if state.cue(behind) != "of" else behind + 1
        behind = state.skip(behind)
        noun = state.free(behind)
        if noun is not None and noun.nouns and not state.numeric(behind):
            if _adds_up_itself(state, at, noun):
                return
            behind += 1
            if state.mentions[at].text.casefold() == "total" and not state.numeric(behind):
                state.measure(Count(), at)  # "total loans": of things there is nothing but a number
                return
        behind = _behind_values(state, behind)
        if state.numeric(behind) and not _is_bound(state, at, behind):
            function = FUNCTIONS[" ".join(words.keys(state.mentions[at].text))]
            state.measure(Statistic(function, state.mentions[behind].columns), at, behind)
            if state.cue(at + 1) == "of":
                state.take(at + 1)


def _adds_up_itself(state: ComputationState, at: int, noun: Mention) -> bool:
    """Take "total of the loans" where loans have a number of that name: the sum of it."""
    columns = tuple(c for c in state.numeric(at) if c.entity in noun.nouns)
    if state.cue(at + 1) != "of" or len(columns) != 1 or is_singular(noun):
        return False
    function = FUNCTIONS[" ".join(words.keys(state.mentions[at].text))]
    name = columns[0].attribute
    prefix = {"sum": "the sum"}.get(function, function)
    state.found.notes.append(f"{state.mentions[at].text} = {prefix} of their '{name}'")
    state.measure(Statistic(function, columns), at, at + 1)
    return True


def _is_bound(state: ComputationState, at: int, column: int) -> bool:
    """Return whether a number says how much it must be: "minimum weight 5 kg"."""
    return at + 1 == column and amounts.bound_behind(state.mentions, at) is not None


def _behind_values(state: ComputationState, at: int) -> int:
    """Return the index behind the values that stand before a number of theirs: "oak weight"."""
    behind = at
    while (said := state.free(behind)) is not None and said.values and not said.columns:
        behind += 1
    return behind if state.numeric(behind) else at


def _are_of_the_calendar(state: ComputationState, unit: str | None, column: ColumnOf) -> bool:
    """Return whether days are asked for, and not how long something took that nobody named."""
    named = any(column.entity in mention.nouns for mention in state.mentions)
    return unit is not None and words.key(unit) == "day" and not named


def read_amounts(state: ComputationState) -> None:
    """Read "how much oak", "how many tonnes": the sum of what is measured in that way."""
    for at in state.where(WordClass.HOW_MUCH, WordClass.COUNT, WordClass.STATISTIC):
        behind = state.skip(at + 1)
        if state.found.measure is not None or state.free(behind) is None:
            continue
        asked = state.does(behind, WordClass.UNIT)
        much = state.does(at, WordClass.HOW_MUCH) and _is_stuff(state, behind)
        if not asked and not much:
            continue
        stuff = state.skip(behind + asked)
        if asked and state.cue(stuff) == "of":
            stuff = state.skip(stuff + 1)
        said = state.mentions[behind].text.casefold() if asked else None
        columns = state.numeric(stuff) or weighed(state, stuff, said)
        if len(columns) != 1 or _are_of_the_calendar(state, said, columns[0]):
            continue
        function = FUNCTIONS.get(state.mentions[at].text.casefold(), "sum")
        state.measure(Statistic(function, columns, said), at)
        if asked:
            state.take(*range(behind, stuff if state.cue(stuff - 1) == "of" else behind + 1))
        if _is_bare_stuff(state, stuff) or state.numeric(stuff):
            state.take(stuff)


def read_durations(state: ComputationState) -> None:
    """Read "how long do loans take on average": the mean of the one number that is a duration."""
    for at in state.where(WordClass.HOW_LONG):
        verbs = [
            behind
            for behind in range(at + 1, len(state.mentions))
            if state.free(behind) is not None and fold(state.mentions[behind].text) in _LASTING
        ]
        nouns = [m for m in state.mentions[at:] if m.nouns]
        if state.found.measure is not None or len(verbs) != 1 or not nouns:
            return
        noun = nouns[0]
        columns = _measured_in(state, set(noun.nouns), "duration")
        linker = Linker(state.catalogue)
        codes = [m.what.text for m in state.mentions if isinstance(m.what, Code)]
        if len(columns) != 1 or any(linker.owner(code) in noun.nouns for code in codes):
            return  # one thing has a number of its own, and no mean
        said = [word for m in state.mentions for word in fold(m.text).split()]
        functions = sorted({_TOTALS[word] for word in said if word in _TOTALS})
        if is_singular(noun) or len(functions) > 1:
            return
        function = functions[0] if functions else "avg"
        state.measure(Statistic(function, columns), at, verbs[0])
        for mean in state.where(WordClass.STATISTIC):
            state.take(mean, *(at for at in (mean - 1,) if state.cue(at) in ("on", "in")))
        words_for = {"avg": "average", "sum": "sum"}.get(function, function)
        state.found.notes.append(f"how long = the {words_for} of their '{columns[0].attribute}'")


def _is_stuff(state: ComputationState, at: int) -> bool:
    mention = state.free(at)
    return mention is not None and bool(mention.values or _is_bare_stuff(state, at))


def _is_bare_stuff(state: ComputationState, at: int) -> bool:
    """Return whether a column stands here for what is measured: "how much timber came"."""
    mention = state.free(at)
    if mention is None or not mention.columns or mention.nouns or state.numeric(at):
        return False
    return not mention.values and not state.value_behind(at)  # "full boxes" says which boxes


def weighed(state: ComputationState, at: int, unit: str | None) -> tuple[ColumnOf, ...]:
    """Return the one number that is measured in `unit`, of what is spoken of.

    What is measured decides, else the nouns. Else, where something happened, it is the only thing
    with a date that is measured so.
    """
    wanted = dimension(unit) or "mass"
    stuff = state.free(at)
    said = (*stuff.values, *stuff.columns) if stuff is not None else ()
    own = {each.entity for each in said}
    nouns = {entity for m in state.mentions for entity in m.nouns}
    others = {c.entity for m in state.mentions for c in m.columns} if not nouns else set[str]()
    happened = any(m.does(WordClass.LINK) or m.values for m in state.mentions)
    dated = {e for e, kind in state.catalogue.kinds.items() if kind.moment is not None}
    if own and not any(_measured_in(state, {entity}, wanted) for entity in own):
        return ()  # how much of a thing that is not measured so: not how much of what held it
    for entities in (own, nouns, others, dated if happened else set[str]()):
        found = _measured_in(state, entities, wanted)
        if len(found) == 1:
            return found
    return ()


def _measured_in(state: ComputationState, entities: set[str], wanted: str) -> tuple[ColumnOf, ...]:
    return tuple(
        ColumnOf(entity, attribute.name)
        for entity in sorted(entities)
        for attribute in state.catalogue.kinds[entity].attributes.values()
        if attribute.column is not None and dimension(attribute.shape.unit) == wanted
    )
