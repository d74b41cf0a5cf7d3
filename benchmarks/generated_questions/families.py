"""Families of generated questions, each question with a query that goes another way."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from benchmarks.generated_questions.domains import Domain, Group, Measure, Said, Things

_TRIES: Final = 40


class Generated(NamedTuple):
    """A question; each of `queries` gives a right answer. `ordered`: in this order."""

    family: str
    question: str
    queries: tuple[str, ...]
    ordered: bool = False


_PERIODS: Final = (
    Said("", "1"),
    Said(" in 2025", "{day} BETWEEN '2025-01-01' AND '2025-12-31'"),
    Said(" in 2024", "{day} BETWEEN '2024-01-01' AND '2024-12-31'"),
    Said(" this year", "{day} BETWEEN '2025-01-01' AND '2025-12-31'"),
    Said(" last month", "{day} BETWEEN '2025-09-01' AND '2025-09-30'"),
    Said(" in March 2025", "{day} BETWEEN '2025-03-01' AND '2025-03-31'"),
    Said(" in Q2 2025", "{day} BETWEEN '2025-04-01' AND '2025-06-30'"),
    Said(" since August 2025", "{day} >= '2025-08-01'"),
    Said(" before March 2025", "{day} < '2025-03-01'"),
    Said(" between 1 May 2025 and 15 June 2025", "{day} BETWEEN '2025-05-01' AND '2025-06-15'"),
)


class _Part(NamedTuple):
    """Things that a question is about: `{state} {many} {end}{period}`, and which rows they are."""

    words: str
    period: str
    where: str


def _choose(draw: random.Random, things: Things, *, plain: bool = False) -> _Part:
    state, end = draw.choice(things.states), draw.choice(things.ends)
    period = draw.choice(_PERIODS) if things.day else _PERIODS[0]
    if plain:
        end = things.ends[0]
    words = " ".join(filter(None, (state.words, things.many, end.words)))
    where = f"{state.where} AND {end.where} AND {period.where.format(day=things.day)}"
    return _Part(words, period.words, where)


_TOTALS: Final = (
    ("total", "sum"), ("average", "avg"), ("mean", "avg"), ("highest", "max"), ("lowest", "min"),
    ("maximum", "max"),
)  # fmt: skip


def _ranked(things: Things, group: Group, value: str, where: str, limit: int) -> tuple[str, ...]:
    return tuple(
        f"SELECT {shown}, {value} AS value FROM {things.table} WHERE {where}"
        f" AND {group.column} IS NOT NULL GROUP BY {group.column} ORDER BY value DESC"
        f" LIMIT {limit}"
        for shown in group.shown
    )


def _top_groups(draw: random.Random, things: Things) -> Generated:
    group, part, count = draw.choice(things.groups), _choose(draw, things), draw.choice((2, 3, 5))
    first = draw.choice((f"top {count} {group.many}", f"Top {count} {group.many}"))
    said = draw.choice(
        (
            f"{first} by {part.words}{part.period}",
            f"{first} by number of {part.words}{part.period}",
            f"which {count} {group.many} have the most {part.words}{part.period}?",
        )
    )
    return Generated(
        "top groups", said, _ranked(things, group, "count(*)", part.where, count), ordered=True
    )


def _top_totals(draw: random.Random, things: Things) -> Generated:
    group, measure = draw.choice(things.groups), draw.choice(things.measures)
    part, count = _choose(draw, things, plain=True), draw.choice((2, 3, 5))
    word, function = draw.choice(_TOTALS[:2])
    said = draw.choice(
        (
            f"top {count} {group.many} by {word} {measure.noun} of {part.words}{part.period}",
            f"Top {count} {group.many} by {word} {part.words[:-1]} {measure.noun}{part.period}",
        )
    )
    value = f"{function}({measure.column})"
    return Generated(
        "top totals", said, _ranked(things, group, value, part.where, count), ordered=True
    )


def _most(draw: random.Random, things: Things) -> Generated:
    group, part = draw.choice(things.groups), _choose(draw, things, plain=True)
    said = f"Which {group.one} has the most {part.words}{part.period}?"
    return Generated("most", said, _ranked(things, group, "count(*)", part.where, 1))


def _top_rows(draw: random.Random, things: Things) -> Generated:
    measure, part = draw.choice(things.measures), _choose(draw, things)
    count = draw.choice((2, 3, 5))
    said = draw.choice(
        (
            f"top {count} {part.words} by {measure.noun}{part.period}",
            f"the {count} {part.words}{part.period} with the highest {measure.noun}",
        )
    )
    query = (
        f"SELECT id, {measure.column} AS value FROM {things.table} WHERE {part.where}"
        f" AND {measure.column} IS NOT NULL ORDER BY value DESC LIMIT {count}"
    )
    return Generated("top rows", said, (query,), ordered=True)


def _how_many(draw: random.Random, things: Things) -> Generated:
    part = _choose(draw, things)
    said = draw.choice(
        (f"How many {part.words} were there{part.period}?", f"How many {part.words}{part.period}?")
    )
    return Generated("how many", said, (f"SELECT count(*) FROM {things.table} WHERE {part.where}",))


def _total(draw: random.Random, things: Things) -> Generated:
    measure, part = draw.choice(things.measures), _choose(draw, things)
    word, function = draw.choice(_TOTALS)
    said = f"What is the {word} {measure.noun} of {part.words}{part.period}?"
    query = f"SELECT {function}({measure.column}) FROM {things.table} WHERE {part.where}"
    return Generated("total", said, (query,))


def _how_much(draw: random.Random, things: Things) -> Generated:
    measure, part = draw.choice(things.measures), _choose(draw, things)
    did = measure.did or "amount to"
    said = f"How much did {part.words} {did}{part.period}?"
    if did == "last":
        said = f"How long did {part.words} last in total{part.period}?"
    query = f"SELECT sum({measure.column}) FROM {things.table} WHERE {part.where}"
    return Generated("how much", said, (query,))


def _per_group(draw: random.Random, things: Things) -> Generated:
    measure, group = draw.choice(things.measures), draw.choice(things.groups)
    part, (word, function) = _choose(draw, things), draw.choice(_TOTALS)
    said = f"{word} {measure.noun} of {part.words} per {group.one}{part.period}"
    queries = tuple(
        f"SELECT {shown}, {function}({measure.column}) FROM {things.table} WHERE {part.where}"
        f" AND {group.column} IS NOT NULL GROUP BY {group.column}"
        for shown in group.shown
    )
    return Generated("per group", said, queries)


def _bound(draw: random.Random, measure: Measure) -> Said:
    unit, factor = draw.choice(measure.units)
    value = draw.choice(measure.bounds)
    if value % factor:
        unit, factor = measure.units[0]
    shown = unit.format(f"{value / factor:g}")
    if shown == "1 hours":
        shown = "1 hour"
    above, below = f"{measure.column} > {value:g}", f"{measure.column} < {value:g}"
    choices = [
        Said(f"over {shown}", above),
        Said(f"under {shown}", below),
        Said(f"of more than {shown}", above),
        Said(f"of less than {shown}", below),
        Said(f"of at least {shown}", f"{measure.column} >= {value:g}"),
        Said(f"of at most {shown}", f"{measure.column} <= {value:g}"),
        Said(f"with a {measure.noun} below {shown}", below),
        Said(f"with a {measure.noun} above {shown}", above),
        Said(f"between {value / factor / 2:g} and {shown}", f"{measure.column} BETWEEN"
             f" {value / 2:g} AND {value:g}"),
        *(Said(f"{word} {shown}", above) for word in measure.more),
        *(Said(f"{word} {shown}", below) for word in measure.less),
    ]  # fmt: skip
    return draw.choice(choices)


def _bounded_rows(draw: random.Random, things: Things) -> Generated:
    part, bound = _choose(draw, things), _bound(draw, draw.choice(things.measures))
    said = draw.choice(
        (
            f"{part.words} {bound.words}{part.period}",
            f"list {part.words}{part.period} {bound.words}",
            f"Which {part.words}{part.period} are {bound.words}?",
        )
    )
    query = f"SELECT id FROM {things.table} WHERE {part.where} AND {bound.where}"
    return Generated("under and over", said, (query,))


def _bounded_count(draw: random.Random, things: Things) -> Generated:
    part, bound = _choose(draw, things), _bound(draw, draw.choice(things.measures))
    said = draw.choice(
        (
            f"How many {part.words} {bound.words}{part.period}?",
            f"How many {part.words}{part.period} were {bound.words}?",
        )
    )
    query = f"SELECT count(*) FROM {things.table} WHERE {part.where} AND {bound.where}"
    return Generated("how many under and over", said, (query,))


def _having(draw: random.Random, things: Things) -> Generated:
    group, part = draw.choice(things.groups), _choose(draw, things, plain=True)
    count = draw.choice((3, 10, 20))
    said = f"Which {group.many} have more than {count} {part.words}{part.period}?"
    queries = tuple(
        f"SELECT {shown} FROM {things.table} WHERE {part.where} AND {group.column} IS NOT NULL"
        f" GROUP BY {group.column} HAVING count(*) > {count}"
        for shown in group.shown
    )
    return Generated("more than", said, queries)


def _two(draw: random.Random, things: Things) -> tuple[Said, Said] | None:
    """Return two states of `things`; None where there are not two."""
    states = [each for each in things.states if each.words]
    if len(states) < 2:
        return None
    one, other = draw.sample(states, 2)
    return one, other


def _share(draw: random.Random, things: Things) -> Generated | None:
    chosen = _two(draw, things)
    if chosen is None:
        return None
    of, what = chosen
    end = draw.choice(things.ends)
    words = " ".join(filter(None, (of.words, things.many, end.words)))
    said = draw.choice(
        (
            f"What share of {words} was {what.words}?",
            f"What percentage of {words} were {what.words}?",
            f"What share of all {words} is {what.words}?",
        )
    )
    query = (
        f"SELECT avg(CASE WHEN {what.where} THEN 1.0 ELSE 0 END) FROM {things.table}"
        f" WHERE {of.where} AND {end.where}"
    )
    return Generated("share", said, (query,))


def _most_per_group(draw: random.Random, things: Things) -> Generated | None:
    if len(things.groups) < 2:
        return None
    ranked, within = draw.sample(things.groups, 2)
    part = _choose(draw, things)
    said = draw.choice(
        (
            f"Which {ranked.one} has the most {part.words} per {within.one}{part.period}?",
            f"the {ranked.one} with the most {part.words} for each {within.one}{part.period}",
            f"Most common {ranked.one} of {part.words} per {within.one}{part.period}",
        )
    )
    queries = tuple(
        f"SELECT {own}, {other} FROM (SELECT *, {ranked.column}, {within.column}, rank() OVER"
        f" (PARTITION BY {within.column} ORDER BY count(*) DESC) AS place FROM {things.table}"
        f" WHERE {part.where} AND {ranked.column} IS NOT NULL AND {within.column} IS NOT NULL"
        f" GROUP BY {ranked.column}, {within.column}) WHERE place = 1"
        for own in ranked.shown
        for other in within.shown
    )
    return Generated("most per group", said, queries)


def _sides(draw: random.Random, things: Things) -> Generated | None:
    chosen = _two(draw, things)
    if chosen is None or _column(chosen[0]) != _column(chosen[1]):
        return None
    one, other = chosen
    group, period = draw.choice(things.groups), draw.choice(_PERIODS)
    said = draw.choice(
        (
            f"Compare {one.words} and {other.words} {things.many} per {group.one}{period.words}",
            f"Number of {one.words} and {other.words} {things.many} per {group.one}{period.words}",
            f"{one.words} vs {other.words} {things.many} by {group.one}{period.words}",
        )
    )
    where = f"({one.where} OR {other.where}) AND {period.where.format(day=things.day)}"
    column = _column(one)
    queries = tuple(
        f"SELECT {shown}, {column}, count(*) FROM {things.table} WHERE {where}"
        f" AND {group.column} IS NOT NULL GROUP BY {group.column}, {column}"
        for shown in group.shown
    )
    return Generated("two sides", said, queries)


def _column(state: Said) -> str:
    return state.where.split(" = ")[0]


def _per_month(draw: random.Random, things: Things) -> Generated | None:
    if not things.day:
        return None
    part = _choose(draw, things)
    said = draw.choice(
        (
            f"{part.words} per month{part.period}",
            f"How many {part.words} were there each month{part.period}?",
            f"monthly number of {part.words}{part.period}",
        )
    )
    query = (
        f"SELECT substr({things.day}, 1, 7) || '-01' AS month, count(*) FROM {things.table}"
        f" WHERE {part.where} GROUP BY month"
    )
    return Generated("per month", said, (query,))


FAMILIES: Final = (
    _top_groups, _top_totals, _most, _top_rows, _how_many, _total, _how_much, _per_group,
    _bounded_rows, _bounded_count, _having, _share, _most_per_group, _sides, _per_month,
)  # fmt: skip


def generate(domain: Domain, each: int, seed: int = 1) -> Iterator[Generated]:
    """Yield up to `each` questions of every family over `domain`, none twice.

    Left out are questions without rows, and ranks that a tie leaves open.
    """
    draw = random.Random(f"{domain.name} {seed}")
    database = domain.database()
    seen: set[str] = set()
    for family in FAMILIES:
        made = 0
        for _ in range(each * _TRIES):
            if made == each:
                break
            found = family(draw, draw.choice(domain.things))
            if found is None:
                continue
            if found.question not in seen and _is_definite(database, found):
                seen.add(found.question)
                made += 1
                yield found


def _is_definite(database: sqlite3.Connection, found: Generated) -> bool:
    query, _, limit = found.queries[0].partition(" LIMIT ")
    rows = database.execute(query).fetchall()
    if not rows or rows in ([(None,)], [(0,)]):
        return False
    if not limit:
        return True
    count = int(limit)
    values = [row[-1] for row in rows[: count + 1]]
    return len(rows) >= count and len(set(values)) == len(values)
