"""Functions of meaning for parts of a question: modifiers, things, amounts and groups."""

from __future__ import annotations

from typing import Final

from toolplan_offline.fits import apply, tails, undated
from toolplan_offline.lexicon import Val, Word
from toolplan_offline.meaning import (
    NP,
    Both,
    Cond,
    Free,
    Limit,
    Not,
    Num,
    Out,
    Part,
    Set,
    To,
    When,
    World,
)
from toolplan_offline.words import near

Identity = tuple[str, str]
Group = Part
Amount = tuple[float, frozenset[Word]]
_HOLE: Final = Set("", hole=True)
_NAMES: Final = ("place", "person", "organisation", "name", "")


def same(w: World, x: Part) -> Out:
    """Mean what the part means."""
    yield x, 0


# --- modifiers


def cue(w: World, said: Word, v: Val, f: Word | None = None) -> Out:
    """Read a value behind its cue."""
    if said[:2] == v[:2] and (f is None or f[:2] == v[:2]) and not v.cued:
        yield v._replace(cued=True), 0


def field_value(w: World, f: Word, v: Val) -> Out:
    """Read a value beside the name of its field."""
    if f[:2] == v[:2]:
        yield v._replace(cued=True), 0


def named(w: World, said: Word, text: str) -> Out:
    """Accept an unknown name after a cue word, unchanged."""
    f = w.lex.field(said)
    if f.kind not in _NAMES or not f.equal or (f.lower and text[:1].isupper()):
        return
    if f.kind == "place" and text[1:] != text[1:].lower() and " " not in text:
        return  # a name with capitals inside is no place
    if close := [str(v) for v in f.values if near(text.lower(), str(v).lower())]:
        w.refuse(f"{text}: is {close[0]} meant?")
        return
    yield Val(said.entity, said.field, text, cued=True, free=True), 1


def free(w: World, text: str) -> Out:
    """Accept an unknown name in CamelCase without a cue word."""
    if text[1:] != text[1:].lower():
        yield Free(text), 0


def not_(w: World, m: Part) -> Out:
    """Negate a modifier."""
    if isinstance(m, Val | To | Both | Free):
        yield Not(m), 0


def by_name(w: World, v: Val) -> Out:
    """Read the name of somebody behind any preposition."""
    if w.lex.field(v).kind in ("organisation", "person") and not v.cued:
        yield v._replace(cued=True), 0


def join(w: World, a: Part, b: Part, word: str) -> Out:
    """Join two modifiers, by "and" or by "or"."""
    yield Both(a, b, word), 0


def to(w: World, np: NP, word: str = "of") -> Out:
    """Tie a thing to another behind a preposition."""
    yield To(np, word=word), 0


def to_two(w: World, a: NP, b: NP, word: str) -> Out:
    """Tie a thing to two others."""
    if not (a.set.is_record and b.set.is_record):
        yield Both(To(a, word=word), To(b, word=word), "and"), 0


def to_all(w: World, np: NP, word: str) -> Out:
    """Tie a thing to all of some things; of things without conditions, "each" groups instead."""
    if np.set.parts:
        yield To(np, word=word), 0


def have(w: World, np: NP) -> Out:
    """Restrict to what has some things; a phrase of the schema is likelier."""
    yield To(np, word="with"), 1


def without(w: World, np: NP) -> Out:
    """Restrict to what has none of some things."""
    yield To(np, True, "with"), 0


def inside(w: World) -> Out:
    """Tie a thing to those that were named before."""
    yield To(NP(_HOLE)), 0


def neighbours(w: World, a: When, b: When) -> Out:
    """Join two periods of which one follows the other."""
    if a.hi and b.lo and (b.lo - a.hi).days == 1:
        yield When(a.lo, b.hi), 0


def dated(w: World, said: Word, when: When) -> Out:
    """Read a period behind the verb that says which date it is about."""
    yield when._replace(field=said), 0


def done(w: World, e: str) -> Out:
    """Restrict to what a deed was done to: there is a record of it."""
    yield To(NP(Set(e))), 0


def done_more(w: World, e: str, m: Part) -> Out:
    """Restrict to what a deed was done to at a place or time."""
    for s, cost in apply(w, Set(e), m):
        if s != Set(e):
            yield To(NP(s)), cost


def done_not(w: World, e: str, m: Part = None) -> Out:
    """Restrict to what a deed was never done to."""
    for t, cost in done(w, e) if m is None else done_more(w, e, m):
        yield t._replace(negated=True), cost


# --- amounts


def limit(w: World, n: float) -> Out:
    """Read a number of things; one that can be a year is asked about."""
    if 1900 <= n < 2100:
        w.refuse(f"Is {n:.0f} a year, or a number of things?")
    elif n == int(n) and n > 0:
        yield Limit(int(n)), 0


def quantity(w: World, n: float, unit: Word | None = None) -> Out:
    """Read a number, with its unit."""
    yield (n, frozenset({unit} if unit else ())), 0


def num(w: World, op: str, q: Amount, f: Word | None = None) -> Out:
    """Read a bound; without a field or a unit it says nothing."""
    if f or q[1]:
        yield Num(frozenset({f} if f else ()), op, q[0], q[1]), 0


def between(w: World, a: Amount, b: Amount, f: Word | None = None) -> Out:
    """Read two bounds."""
    for low, _ in num(w, ">=", (a[0], b[1]), f):
        for high, _ in num(w, "<=", b, f):
            yield Both(low, high, "and"), 0


def equal(w: World, n: float, unit: Word) -> Out:
    """Read an exact amount."""
    yield Num(frozenset(), "=", n, frozenset({unit})), 0


# --- things


def noun(w: World, e: str, cost: str = "0") -> Out:
    """Mean all things of a kind."""
    yield NP(Set(e)), int(cost)


def one(w: World, e: str) -> Out:
    """Mean one thing of a kind, or all of them."""
    yield NP(Set(e), one=True), 0


def value_noun(w: World, v: Val, one: str = "") -> Out:
    """Mean things of a kind that has a name of its own; `one`: the name is in the singular."""
    yield NP(Set(v.entity, frozenset({Cond(v.field, "=", v.value)})), one=bool(one)), 1


def value_nouns(w: World, a: Val, b: Val, op: str) -> Out:
    """Mean things of two such kinds."""
    if a[:2] == b[:2] and a.value != b.value:
        yield NP(Set(a.entity, frozenset({Cond(a.field, op, (a.value, b.value))}))), 1


def record(w: World, identity: Identity) -> Out:
    """Mean the thing with an identity."""
    yield NP(Set(identity[0], frozenset({Cond("id", "=", identity[1])}))), 0


def named_record(w: World, e: str, identity: Identity) -> Out:
    """Mean the thing with an identity behind the noun of its kind."""
    if e == identity[0]:
        yield from record(w, identity)


def numbered(w: World, e: str, n: float) -> Out:
    """Mean the thing with a number behind its noun, where things have numbers."""
    found = w.lex.entities[e].fields.get("id")
    numbers = found and not w.lex.entities[e].prefix and found.json in ("integer", "string")
    if found and numbers and n == int(n):
        number = int(n) if found.json == "integer" else str(int(n))
        yield NP(Set(e, frozenset({Cond("id", "=", number)}))), 0


def two_records(w: World, a: NP, identity: Identity) -> Out:
    """Mean one more thing."""
    if a.set.is_record and a.set.entity == identity[0]:
        ids = (*a.set.conditions[0].values, identity[1])
        yield NP(Set(identity[0], frozenset({Cond("id", "in", ids)}))), 0


def pre(w: World, m: Part, np: NP) -> Out:
    """Restrict a noun by what stands before it; nothing stands before "those" or "their"."""
    if np.closed:
        return
    for s, cost in apply(w, np.set, m):
        yield np._replace(set=s), cost


def post(w: World, np: NP, m: Part) -> Out:
    """Restrict a noun by a phrase behind it; to reach past a nearer noun costs."""
    if np.set.is_record or (np.tail and undated(w, np.tail.set, m)):
        return  # it is one thing already, or the period may be that of the nearer one
    far = int(np.tail is not None and any(True for _ in tails(w, np.tail, m)))
    if np.had and isinstance(m, When):
        far = 0  # behind "with …" both are meant as often
    tail, had = np.tail, np.had
    if isinstance(m, To) and not m.np.set.hole:
        tail, had = m.np, m.word not in ("of", "in")
    for s, cost in apply(w, np.set, m):
        yield NP(s, tail, np.one, m, had, np.closed), cost + far


def hole(w: World) -> Out:
    """Mean the things that were named before."""
    yield NP(_HOLE), 0


def typed_hole(w: World, np: NP) -> Out:
    """Mean those things of a kind that were named before."""
    if not np.set.hole:
        yield np._replace(set=np.set._replace(hole=True), closed=True), 0


def their(w: World, np: NP, most: str) -> Out:
    """Link a noun to the previous things; `most`: 1 for "its", 0 for "their" (any number)."""
    for tied, cost in pre(w, To(NP(_HOLE._replace(limit=int(most)))), np):
        yield tied._replace(closed=True), cost


# --- groups


def by_field(w: World, f: Word, e: str | None = None, one: str = "") -> Out:
    """Group by a field, perhaps of a thing that is named; `one`: one group is meant."""
    found = w.lex.field(f)
    groups = found.column and found.kind not in ("number", "text", "date", "list")
    if groups and e in (None, f.entity):
        yield (f.entity, f.field, *one), 0


def by_entity(w: World, e: str, one: str = "") -> Out:
    """Group by a kind of thing; `one`: one of them is meant."""
    yield (e, "id", *one), 0


def pair(w: World, g: Group, h: Group) -> Out:
    """Group by two things."""
    yield ("pair", g[:2], h[:2]), 0


def by_time(w: World, unit: str) -> Out:
    """Group by a unit of time."""
    yield ("time", unit), 0
