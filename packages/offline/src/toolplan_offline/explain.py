"""Questions back to the user, with their reasons, and example questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from toolplan.plan.path import Json
from toolplan.planners import Attempt, Clarification
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import Agg, Call, Cond, Meaning, Rank, Set, Show
from toolplan_offline.reading import Reading
from toolplan_offline.schemas import Entity, Field
from toolplan_offline.words import plural, spoken
from toolplan_offline.world import World

BEYOND: Final = (
    "Without a model I read lists, figures, rankings and groups of one kind of thing."
    " A model understands more: name one with --model."
)


def unknown_words(reading: Reading) -> Clarification:
    """Name the unknown words."""
    words = tuple(dict.fromkeys(reading.unknown))
    listed = ", ".join(f'"{word}"' for word in words)
    return Clarification(f"I did not understand: {listed}. {BEYOND}", unexplained=words)


def did_you_mean(better: str, reading: Reading, plan: Json) -> Clarification:
    """Offer a question without its slips of the finger."""
    words = tuple(dict.fromkeys(reading.unknown))
    return Clarification(f'Did you mean "{better}"?', (better,), words, plans=(plan,))


def one_of(said: tuple[str, ...], plans: tuple[Json, ...]) -> Clarification:
    """Ask which of several plans is meant; more than three are not listed."""
    if len(said) > 3 or len({*said}) < len(said):
        return Clarification(f"This can be read in {len(said)} ways. Please say more.")
    return Clarification(f"Which is meant: {'; or: '.join(said)}?", said, plans=plans)


def called(tool: str, args: Mapping[str, object]) -> str:
    """Return a call in words."""
    given = ", ".join(f"{spoken(name)} {value}" for name, value in args.items())
    return f"{spoken(tool)} with {given}" if given else spoken(tool)


def not_together(reading: Reading, world: World, reason: str | None) -> Clarification:
    """Explain that all words are known but no reading gives a plan."""
    if reason:
        return Clarification(reason if reason[-1] in "?." else f"{reason}.")
    if world.why:
        return Clarification(" ".join(world.why))
    if not reading.kept:
        return Clarification("What would you like to know?")
    pieces = " ".join(f"[{piece}]" for piece in reading.pieces())
    text = f"I understand the pieces, but not how they go together: {pieces}. {BEYOND}"
    return Clarification(text, unexplained=())


def tried(attempt: Attempt) -> Clarification:
    """Explain that the only plan was proposed before and failed."""
    refused = next((each.message for each in attempt.diagnostics if each.blocks), None)
    message = "The only plan for these words has been tried. Please ask in other words."
    if refused is not None:
        message = f"The only plan for these words does not pass the check: {refused}"
    return Clarification(message, partial_plan=json.loads(attempt.draft.text))


# --- questions that can be asked


def example_questions(lex: Lexicon, answers: Callable[[str], bool]) -> tuple[str, ...]:
    """Return up to three questions for which `answers` returns true, of different things."""
    found: list[str] = []
    for entity in [e for e in lex.entities.values() if e.list_tool][:6]:
        texts = [*_of(entity)]
        first = len(found) % len(texts)  # of each thing another kind of question
        found += islice(filter(answers, [*texts[first:], *texts[:first]]), 1)
    return tuple(found[:3])


def _of(entity: Entity) -> Iterator[str]:
    many = plural(entity.nouns[0])
    filters = [f for f in entity.fields.values() if f.equal and f.values]
    period = " from last month" if entity.day else ""
    for state in [f for f in filters if f.kind == "enum"][:1]:
        yield f"{_first(state)} {many}{period}".capitalize()
    for place in [f for f in filters if f.kind == "place" and f.cues and not f.cued][:1]:
        yield f"{many} {place.cues[0]} ".capitalize() + _first(place)
    yield f"How many {many} were there this year?" if entity.day else f"How many {many} are there?"
    yield f"List {many}"


def _first(field: Field) -> str:
    return next(text for texts in field.values.values() for text in texts[:1])


# --- meanings in words

_FIGURES: Final = {"count": "number", "total": "number", "sum": "total", "avg": "average"}
_FIGURES["different"] = "number of different"


def described(lex: Lexicon, said: Meaning) -> str:
    """Return a meaning in words that tell it from others."""
    match said:
        case Show(sets=sets):
            return ", then ".join(_set(lex, s) for s in sets)
        case Agg(set=s):
            groups = " and ".join(_group(lex, g) for g in said.by)
            figure = f"the {_FIGURES.get(said.fn, said.fn)} {spoken(said.field)}".rstrip() + " of"
            what = f"the share of {_condition(said.cond)} among" if said.cond else figure
            text = f"{what} {_set(lex, s)}"
            return text + (f" per {groups}" if groups else "")
        case Rank(set=s):
            share = f" as a share of {spoken(said.of)}" if said.of else ""
            return f"{_set(lex, s)} by {spoken(said.field)}{share}"
        case Call(name=name):
            return spoken(name)


def _set(lex: Lexicon, s: Set) -> str:
    first = f"the first {s.limit} " if s.limit else ""
    said = " and ".join(_condition(c) for c in s.conditions)
    links = "".join(f"{' not' if k.negated else ''} of {_set(lex, k.to)}" for k in s.links)
    things = plural(lex.entities[s.entity].nouns[0])
    return f"{first}{things}" + (f" ({said})" if said else "") + links


def _condition(c: Cond) -> str:
    if c.op == "is":
        return f"no {spoken(c.field)}"
    value = (" and " if c.op == "all" else " or ").join(
        "yes" if v is True else "no" if v is False else str(v) for v in c.values
    )
    op = f"{c.op} " if c.op in ("!=", "<", "<=", ">", ">=") else ""
    return f"{spoken(c.field)} {op}{value}"


def _group(lex: Lexicon, group: tuple[str, str]) -> str:
    entity, field = group
    if entity == "time":
        return field
    return lex.entities[entity].nouns[0] if field == "id" else f"{spoken(field)} of the {entity}"
