"""Replacement of a value of the previous plan: *the same for Oslo*, *and last month?*.

Where the plan has several values of the kind, the user is asked. Nothing is replaced where the old
value also stands in a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Literal, Plan, rename_steps
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.dates import DateRange
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revised, Revision, Unsure
from toolplan.planners.grounded.dialogue.reading import Placed
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Time

_NOT_OF_A_NAME: Final = re.compile(r"[^a-z0-9]+")

_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

Changes: TypeAlias = Mapping[tuple[str, str], Json]
"""New values, by the step's id and the argument's name; None removes the argument."""


class Spot(Struct, frozen=True):
    """An argument, its value, and the possible new value."""

    step: str
    argument: str
    old: str
    new: str


def replace_value(exchange: Exchange, placed: Placed, old: Placed | None = None) -> Revision | None:
    """Replace the plan's value of the kind that `placed` names, or the value `old`.

    None where there is no such value, or it cannot be replaced.
    """
    match placed.mention.what:
        case Time(mention=time):
            return _replace_time(exchange, placed, time.range, None if old is None else _range(old))
        case _:
            return _replace_named(exchange, placed, None if old is None else _names(old))


def change(plan: Plan, changes: Changes) -> Plan:
    """Return `plan` with arguments changed."""
    steps = list(plan.steps)
    for at, step in enumerate(steps):
        own = {name: value for (id_, name), value in changes.items() if id_ == step.id}
        kept = {name: value for name, value in step.args.items() if name not in own}
        new = {name: Literal(value) for name, value in own.items() if value is not None}
        order = {name: new.get(name, kept.get(name)) for name in (*step.args, *new)}
        args = {name: value for name, value in order.items() if value is not None}
        steps[at] = replace(step, args=args) if own else step
    return replace(plan, steps=tuple(steps))


def ranges(exchange: Exchange) -> dict[tuple[str, str], list[tuple[str, str | None, str | None]]]:
    """Return the times of the plan: first and last day (`""` where open), and their steps.

    Each step is its id, with the names of its two arguments.
    """
    found: dict[tuple[str, str], list[tuple[str, str | None, str | None]]] = {}
    for step in exchange.turn.plan.steps:
        card = exchange.catalogue.cards.get(step.tool)
        if card is None:
            continue
        names = (card.argument("range.start"), card.argument("range.end"))
        start, end = (_text(step.args.get(name)) if name is not None else "" for name in names)
        if start or end:
            found.setdefault((start, end), []).append((step.id, *names))
    return found


def _replace_time(
    exchange: Exchange, placed: Placed, new: DateRange, old: DateRange | None
) -> Revision | None:
    found = ranges(exchange)
    if old is not None:
        found = {days: who for days, who in found.items() if days == _days(old)}
    if not found:
        return None
    shown = placed.mention.text
    if new.start is not None and new.start > exchange.words.today:
        return Unsure(f"{shown[:1].upper()}{shown[1:]} is in the future. Which time do you mean?")
    if len(found) > 1:
        options = tuple(f"{shown} instead of {_spoken(*days)}" for days in found)
        return Unsure(f"Which time should {shown} replace?", options)
    (days, who), *_ = found.items()
    changes: dict[tuple[str, str], Json] = {}
    for step, *names in who:
        for name, day in zip(names, new, strict=True):
            if name is not None:
                changes[step, name] = None if day is None else day.isoformat()
            elif day is not None:
                return None
    plan = change(exchange.turn.plan, changes)
    if any(_DAY.match(text) for text in literals(plan)):
        return None  # a statement has dates of its own
    whole = _replaced_time(exchange, placed, days)
    time = placed.mention.what
    notes = (time.mention.reading,) if isinstance(time, Time) else ()
    return Revised(plan, whole, dict.fromkeys(changes, shown), notes)


def _replace_named(
    exchange: Exchange, placed: Placed, meant: frozenset[str] | None
) -> Revision | None:
    spots = list(spots_of(exchange, placed))
    if meant is not None:
        spots = [spot for spot in spots if fold(spot.old) in meant]
    olds = tuple(dict.fromkeys(spot.old for spot in spots))
    if not olds:
        return None
    shown = placed.mention.text
    if len(olds) > 1:
        options = tuple(f"{shown} instead of {each}" for each in olds)
        return Unsure(f"Which value should {shown} replace?", options)
    changes: dict[tuple[str, str], Json] = {(s.step, s.argument): s.new for s in spots}
    plan = change(exchange.turn.plan, changes)
    if _stands_in_statement(plan, olds):
        return None
    first = spots[0]
    names = _names_of_steps(plan, first.old, first.new)
    said = {(names.get(step, step), name): shown for step, name in changes}
    whole = reword(exchange, first.old, shown)
    return Revised(rename_steps(plan, names), whole, said)


def spots_of(exchange: Exchange, placed: Placed) -> Iterator[Spot]:
    """Yield the arguments that have another value of the same kind."""
    linker = Linker(exchange.catalogue)
    for step in exchange.turn.plan.steps:
        card = exchange.catalogue.cards.get(step.tool)
        for name, shape in card.arguments.items() if card is not None else ():
            old = _text(step.args.get(name))
            new = _new_value(placed, shape, linker)
            if (
                old
                and new is not None
                and fold(old) != fold(new)
                and _same_kind(old, shape, linker)
            ):
                yield Spot(step.id, name, old, new)


def _new_value(placed: Placed, shape: Shape, linker: Linker) -> str | None:
    """Return what `placed` says as a value of `shape`."""
    what = placed.mention.what
    if isinstance(what, Code):
        owner = linker.owner(what.text)
        return what.text if owner is not None and shape.ref == f"{owner}.id" else None
    known = {*shape.gazetteer, *shape.enum}
    values = (value.value for value in placed.mention.values)
    return next((v for v in values if isinstance(v, str) and v in known), None)


def _same_kind(old: str, shape: Shape, linker: Linker) -> bool:
    """Return whether `old` is an id where ids stand; a name may be unknown."""
    return shape.ref is None or shape.ref == f"{linker.owner(old)}.id"


def _stands_in_statement(plan: Plan, texts: Iterable[str]) -> bool:
    """Return whether any of `texts` stands in a statement."""
    wanted = {fold(text) for text in texts if text}
    return not wanted.isdisjoint(map(fold, literals(plan)))


def literals(plan: Plan) -> tuple[str, ...]:
    """Return the string literals in statements of `plan`, each once."""
    quoted = (found for sql in statements_of(plan) for found in _QUOTED.findall(sql))
    return tuple(dict.fromkeys(found.replace("''", "'") for found in quoted))


def statements_of(plan: Plan) -> list[str]:
    """Return the statements of `plan`."""
    return [_text(step.args.get("sql")) for step in plan.steps if step.tool == SQL_TOOL]


def _names_of_steps(plan: Plan, old: str, new: str) -> dict[str, str]:
    """Return new ids for the steps whose id contains the old value."""
    before, after = (_NOT_OF_A_NAME.sub("_", fold(each)).strip("_") for each in (old, new))
    taken = {step.id for step in plan.steps}
    if not before or not after:
        return {}
    renamed = {
        step.id: step.id.replace(before, after)
        for step in plan.steps
        if re.search(rf"(?:^|_){re.escape(before)}(?:_|$)", step.id)
    }
    return renamed if taken.isdisjoint(renamed.values()) else {}


def reword(exchange: Exchange, old: str, new: str) -> str | None:
    """Return the previous whole question with `new` for `old`; None unless it has `old` once."""
    whole = exchange.turn.whole
    if whole is None:
        return None
    found = [
        each
        for each in exchange.words.read(whole)
        if fold(old) in _names(each) or fold(each.mention.text) == fold(old)
    ]
    return _put(whole, found, new)


def _replaced_time(exchange: Exchange, placed: Placed, old: tuple[str, str]) -> str | None:
    whole = exchange.turn.whole
    if whole is None:
        return None
    times = [each for each in exchange.words.read(whole) if _is_time(each)]
    same = [each for each in times if (days := _range(each)) is not None and _days(days) == old]
    # the same words mean other days on another day
    return _put(whole, same or times, placed.mention.text)


def _put(text: str, places: list[Placed], new: str) -> str | None:
    if len(places) != 1:
        return None
    return f"{text[: places[0].start]}{new}{text[places[0].end :]}"


def _is_time(placed: Placed) -> bool:
    return isinstance(placed.mention.what, Time)


def _range(placed: Placed) -> DateRange | None:
    what = placed.mention.what
    return what.mention.range if isinstance(what, Time) else None


def _days(days: DateRange) -> tuple[str, str]:
    start, end = (day.isoformat() if day is not None else "" for day in days)
    return start, end


def _spoken(start: str, end: str) -> str:
    match (start, end):
        case (_, ""):
            return f"since {start}"
        case ("", _):
            return f"until {end}"
        case _:
            return start if start == end else f"{start} to {end}"


def _names(placed: Placed) -> frozenset[str]:
    """Return everything that `placed` may name, folded."""
    what = placed.mention.what
    codes = [what.text] if isinstance(what, Code) else []
    values = [v.value for v in placed.mention.values if isinstance(v.value, str)]
    return frozenset(map(fold, (*codes, *values, placed.mention.text)))


def _text(value: object) -> str:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else ""
