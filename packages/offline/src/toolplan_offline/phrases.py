"""Functions of meaning for parts of a question: modifiers, things, amounts and groups."""

from __future__ import annotations

from typing import Any, Final

from toolplan_offline.fits import apply, tails, undated
from toolplan_offline.lexicon import Val, Word
from toolplan_offline.meaning import NP, Both, Cond, Free, Limit, Not, Num, Set, To, When
from toolplan_offline.words import near
from toolplan_offline.world import Out, Part, World

Identity = tuple[str, str | int]
Group = Part
Amount = tuple[float, frozenset[Word]]
HOLE: Final = Set("", hole=True)
_NAMES: Final = ("place", "person", "organisation", "name", "code", "")


def same(w: World, x: Part) -> Out:
    """Mean the same as the part."""
    yield x, 0


# --- modifiers


def two(w: World, said: Word, a: Val | str, b: Val | str, word: str) -> Out:
    """Read two values, or unknown names, behind their cue; people have more than a surname."""
    read: Any = cue if isinstance(a, Val) else named
    if read is cue or w.lex.field(said).kind != "person":
        for first, cost in read(w, said, a):
            yield from ((Both(first, second, word), cost) for second, _ in read(w, said, b))


def cue(w: World, said: Word, v: Val, f: Word | None = None) -> Out:
    """Read a value beside its cue or the name of its field."""
    is_noun = f is None or f[:2] == v[:2] or v.value in w.lex.field(f).values
    if said[:2] == v[:2] and is_noun and not v.cued:
        yield v._replace(cued=True), 0


def named(w: World, said: Word, text: str, noun: Word | None = None) -> Out:
    """Accept an unknown name after a cue word, unchanged; the name of the field may follow."""
    f = w.lex.field(said)
    if noun and noun[:2] != said[:2]:
        return
    if f.kind not in _NAMES or not f.equal or (f.lower and text[:1].isupper()):
        return
    if f.kind == "place" and text[1:] != text[1:].lower() and " " not in text:
        return  # a name with capitals inside is no place
    if close := [str(v) for v in f.values if near(text.lower(), str(v).lower())]:
        w.refuse(f"{text}: is {close[0]} meant?")
        return
    yield Val(said.entity, said.field, text, cued=True, free=True), 1


def free(w: World, text: str, one: str = "") -> Out:
    """Accept an unknown name with capitals inside; `one`: if it is one word."""
    if text[1:] != text[1:].lower() and not (one and " " in text):
        yield Free(text), 0


def not_(w: World, m: Part) -> Out:
    """Negate a modifier."""
    if isinstance(m, Val | To | Both | Free | NP):
        yield Not(m), 0


def role(w: World, said: Word, by: Part) -> Out:
    """Tie a thing to the holder of its role ("led by"): a thing, a name or a phrase about it."""
    there = w.lex.field(said).ref.split(".")[0]
    if isinstance(by, str):
        found = called(w, there, by, "name")
    elif isinstance(by, NP):
        found = iter([(by, 0)] if by.set.entity == there else [])
    else:
        found = ((NP(s), cost) for s, cost in apply(w, Set(there), by))
    yield from ((To(np, role=said.entity), cost) for np, cost in found)


def by_name(w: World, v: Val, f: Word | None = None) -> Out:
    """Read the name of somebody behind any preposition, or a value of a list that has no cue.

    The name of the list may follow: "on the west side".
    """
    found = w.lex.field(v)
    if f is not None:
        if found.kind == "enum" and f[:2] == v[:2]:
            yield v, 1
    elif found.kind in ("organisation", "person") and not v.cued:
        yield v._replace(cued=True), 0
    elif found.kind == "enum" and not found.cued:
        yield v, 0


def join(w: World, a: Part, b: Part, word: str) -> Out:
    """Join two modifiers, by "and" or by "or"."""
    yield Both(a, b, word), 0


def to(w: World, np: NP, word: str = "of", cost: str = "0", none: str = "") -> Out:
    """Tie a thing to another, or with `none` to no other; a phrase of the schema is likelier."""
    yield To(np, bool(none), word), int(cost)


def dated(w: World, said: Word, when: When) -> Out:
    """Read a period behind the verb or the field that says which date it is about."""
    if w.lex.field(said).kind == "date" or said.field == w.lex.entities[said.entity].year:
        yield when._replace(field=said), 0


def missing(w: World, f: Word) -> Out:
    """Restrict to things without a value of a field, if that can be."""
    found = w.lex.field(f)
    if found.nullable and found.column and found.kind != "bool":
        yield Val(f.entity, f.field, None, "is", cued=True), 0


def span(w: World, a: When, b: When) -> Out:
    """Read a period and the one that follows it as one."""
    if a.hi and b.lo and (b.lo - a.hi).days == 1:
        yield When(a.lo, b.hi), 0


def done(w: World, e: str, m: Part = None, never: str = "") -> Out:
    """Restrict to things with a record of a deed, or `never` with one, perhaps at a place."""
    for s, cost in [(Set(e), 0)] if m is None else apply(w, Set(e), m):
        if m is None or s != Set(e):
            yield To(NP(s), bool(never)), cost


# --- amounts


def limit(w: World, n: float) -> Out:
    """Read a number of things; one that can be a year is asked about."""
    if 1900 <= n < 2100:
        w.refuse(f"Is {n:.0f} a year, or a number of things?")
    elif n == int(n) and n > 0:
        yield Limit(int(n)), 0


def quantity(w: World, n: float | str, unit: Word | None = None) -> Out:
    """Read a number, with its unit."""
    yield (float(n), frozenset({unit} if unit else ())), 0


def num(w: World, op: str, q: Amount, f: Word | None = None) -> Out:
    """Read a bound; without a field or a unit it has no meaning."""
    if q[1] if f is None else w.lex.field(f).kind == "number":
        yield Num(frozenset({f} if f else ()), op, q[0], q[1]), 0


def between(w: World, a: Amount, b: Amount, f: Word | None = None) -> Out:
    """Read two bounds, the lower one first; others are asked about."""
    in_order = a[0] <= b[0] or (a[1] or b[1]) != b[1]
    for low, _ in num(w, ">=", (a[0], a[1] or b[1]), f) if in_order else ():
        for high, _ in num(w, "<=", b, f):
            yield Both(low, high, "and"), 0


# --- things


def noun(w: World, e: str, cost: str = "0", one: str = "", kinds: str = "") -> Out:
    """Mean all things of a kind; `one`: perhaps one of them; `kinds`: or values of a field."""
    yield NP(Set(e), one=bool(one), kinds=bool(kinds)), int(cost)


def who(w: World, e: str, m: Part) -> Out:
    """Mean people by their own attributes or deeds."""
    yield from ((NP(s, last=m), cost) for s, cost in apply(w, Set(e), m) if not s.links)


def everything(w: World) -> Out:
    """Mean things of any kind."""
    yield from ((NP(Set(e.name), one=True), 2) for e in w.lex.entities.values() if e.list_tool)


def value_noun(w: World, v: Val, one: str = "", f: Word | None = None) -> Out:
    """Mean things by a value that serves as a noun, or by their material ("dry wood").

    `one`: the noun is in the singular.
    """
    made = f and f[:2] == v[:2] and w.lex.field(v).kind == "name" and not v.cued
    if made or f is None:
        yield NP(Set(v.entity, frozenset({Cond(v.field, "=", v.value)})), one=bool(one)), 1


def either(w: World, a: Val, b: Val) -> Out:
    """Mean things by either of two values that serve as nouns."""
    if a[:2] == b[:2] and a.value != b.value and not isinstance(a.value, bool):
        yield NP(Set(a.entity, frozenset({Cond(a.field, "in", (a.value, b.value))}))), 1


def record(w: World, identity: Identity, e: str | None = None) -> Out:
    """Mean the thing with an identity, perhaps behind the noun of its kind."""
    if e in (None, identity[0]):
        yield NP(Set(identity[0], frozenset({Cond("id", "=", identity[1])}))), 0


def named_thing(w: World, v: Val) -> Out:
    """Mean the thing with a name of its own."""
    if v.field in ("name", "title", f"{v.entity}_name") and not v.cued:
        yield NP(Set(v.entity, frozenset({Cond(v.field, "=", v.value)}))), 1


def called(w: World, e: str, text: str, said: str = "") -> Out:
    """Mean the thing with a name that no schema knows; `said`: a word says that it is a name."""
    there = w.lex.entities[e]
    places = any(f.kind == "place" for f in there.fields.values())
    if there.label and (said or there.label.kind == "person" or not places):
        yield NP(Set(e, frozenset({Cond(there.label.name, "=", text)}))), 1


def known_as(w: World, text: str) -> Out:
    """Mean a thing of any kind that has a name; the rest of the question says which kind."""
    for e in w.lex.entities:
        yield from ((np, 3) for np, _ in called(w, e, text, "name"))


def coded(w: World, e: str, code: str | float) -> Out:
    """Mean the thing with an identity behind its noun, where no schema defines its form."""
    found = w.lex.entities[e].fields.get("id")
    if not found or w.lex.entities[e].prefix or found.json not in ("integer", "string"):
        return
    if isinstance(code, float) and code.is_integer():
        code = int(code) if found.json == "integer" else str(int(code))
    if isinstance(code, int if found.json == "integer" else str):
        yield from record(w, (e, code))


def two_records(w: World, a: NP, identity: Identity) -> Out:
    """Mean one more thing."""
    if a.set.is_record and a.set.entity == identity[0]:
        ids = (*a.set.conditions[0].values, identity[1])
        yield NP(Set(identity[0], frozenset({Cond("id", "in", ids)}))), 0


def pre(w: World, m: Part, np: NP) -> Out:
    """Restrict a noun by the modifier before it; "those" and "their" have none."""
    if np.closed:
        return
    for s, cost in apply(w, np.set, m):
        yield np._replace(set=s), cost


def post(w: World, np: NP, m: Part) -> Out:
    """Restrict a noun by a phrase behind it; to reach past a nearer noun costs."""
    if np.set.is_one or (np.tail and undated(w, np.tail.set, m)):
        return  # it is one thing already, or the period may be that of the nearer one
    far = int(np.tail is not None and any(True for _ in tails(w, np.tail, m)))
    never = isinstance(np.last, Not) or (isinstance(np.last, To) and np.last.negated)
    if np.had and (never or isinstance(m, When)):
        far = 0  # behind "with …" or "never …" both are meant as often
    tail, had = np.tail, np.had
    tie = m.of if isinstance(m, Not) else m
    if isinstance(tie, To) and not tie.np.set.hole:
        tail, had = tie.np, tie.word not in ("of", "in")
    for s, cost in apply(w, np.set, m):
        yield NP(s, tail, np.one, m, had, np.closed), cost + far


def hole(w: World) -> Out:
    """Mean the things that were named before."""
    yield NP(HOLE), 0


def typed_hole(w: World, np: NP) -> Out:
    """Mean those things of a kind that were named before."""
    if not np.set.hole:
        yield np._replace(set=np.set._replace(hole=True), closed=True), 0


def their(w: World, np: NP, most: str) -> Out:
    """Link a noun to the previous things; `most`: 1 for "its", 0 for "their" (any number)."""
    for tied, cost in pre(w, To(NP(HOLE._replace(limit=int(most)))), np):
        yield tied._replace(closed=True), cost


# --- groups


def by_field(w: World, f: Word, e: str | None = None, one: str = "") -> Out:
    """Group by a field, perhaps of a thing that is named; `one`: one group is meant."""
    found = w.lex.field(f)
    kind = "year" if f.field == w.lex.entities[f.entity].year else found.kind
    groups = found.column and kind not in ("number", "text", "date", "list")
    if groups and e in (None, f.entity):
        yield (f.entity, f.field, *one), 0


def mover(w: World, f: Word, one: str = "") -> Out:
    """Group by who can carry or send things; a place does neither."""
    if w.lex.field(f).kind != "place":
        yield from by_field(w, f, None, one)


def group(w: World, kind: str, of: str, one: str = "") -> Out:
    """Group by a kind of thing or a unit of time; `one`: one group is meant."""
    yield (kind, of, *one), 0


def pair(w: World, g: Group, h: Group) -> Out:
    """Group by two things."""
    yield ("pair", g[:2], h[:2]), 0
