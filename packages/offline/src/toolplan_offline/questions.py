"""Functions of meaning for whole questions: lists, figures, ranks and reports."""

from __future__ import annotations

from collections.abc import Sequence

from toolplan_offline.fits import apply, fill, groups, many, put
from toolplan_offline.lexicon import Val, Word
from toolplan_offline.meaning import (
    NP,
    Agg,
    Call,
    Cond,
    Not,
    Num,
    Rank,
    Set,
    Show,
    To,
    When,
    sets_of,
)
from toolplan_offline.phrases import HOLE, Group, by_field, pre
from toolplan_offline.schemas import ENGLISH, Entity
from toolplan_offline.words import spoken
from toolplan_offline.world import Out, Part, World

# --- lists


def show(w: World, np: NP) -> Out:
    """Show things; of a bare noun in the singular it is not known which."""
    day = w.lex.entities[np.set.entity].day if np.kinds else ""
    if np.kinds and all(c.field == day for c in np.set.conditions):
        w.refuse(f"The {many(w, np.set)}, or each kind of them once?")
    elif not (np.one and not np.set.parts):
        yield Show((np.set,), np.last is not None), 0


def show_field(w: World, f: Word, np: NP, one: str = "") -> Out:
    """Show the things whose field is asked for; `one`: of one thing only."""
    if one and not np.set.is_one:
        return
    if f.entity == np.set.entity:
        yield Show((np.set,), field=f if w.lex.field(f).kind == "number" else None), 0
    elif np.set.is_record and w.lex.reach(np.set.entity, f.entity):
        for s, cost in apply(w, Set(f.entity), To(np)):
            yield Show((s,)), cost


def show_fields(w: World, f: Word, np: NP | None = None) -> Out:
    """Show each value of a field, with the number of these things, or of all."""
    things = np.set if np else Set(f.entity)
    if f.entity == things.entity:
        for g, _ in by_field(w, f):
            yield from ((a._replace(said=False), c) for a, c in by(w, Show((things,)), g))


def fields(w: World, a: Word | frozenset[Word], b: frozenset[Word] = frozenset()) -> Out:
    """Read a list of fields."""
    yield b | (a if isinstance(a, frozenset) else {a}), 0


def show_all(w: World, q: Part, fields: frozenset[Word], word: str = "") -> Out:
    """Show things with all their fields; those that are asked for are among these."""
    q = Show((q.set,)) if isinstance(q, NP) else q
    said = map(w.lex.field, fields if word == "with" else ())
    if any(f.nullable and f.kind in ("text", "") and not f.values for f in said):
        w.refuse("Only those that have it, or all of them? Say “with their …” for all.")
    elif isinstance(q, Show | Rank) and {f.entity for f in fields} == {sets_of(q)[-1].entity}:
        yield q, 0


def of_one(w: World, np: NP, wanted: str) -> Out:
    """Show the record that is asked for its amount or a name: a field has the unit or the kind."""
    found = w.lex.entities[np.set.entity].fields.values() if np.set.is_one else ()
    if any({f.unit, f.kind} & {*wanted.split(",")} for f in found):
        yield Show((np.set,)), 0


def dated_one(w: World, q: Part) -> Out:
    """Show the one thing whose date is asked for."""
    sets = sets_of(q)
    one = sets and (sets[0].limit == 1 or sets[0].is_one or getattr(q, "top", None) == 1)
    if one and w.lex.entities[sets[0].entity].day:
        yield q, 0


def check(w: World, np: NP, m: Part) -> Out:
    """Show the record that tells whether something holds of it."""
    if np.set.is_one and isinstance(m, Val | Num) and any(True for _ in apply(w, np.set, m)):
        yield Show((np.set,)), 0


def about(w: World, a: NP, b: NP) -> Out:
    """Show the things to which others belong."""
    for s, cost in apply(w, a.set, To(b)):
        yield Show((s,)), cost


def role_of(w: World, said: Word, np: NP) -> Out:
    """Show the holders of a role, as the manager of a parcel, if nothing else ties them."""
    there = w.lex.field(said).ref.split(".")[0]
    if np.set.entity == said.entity and said.entity not in w.lex.named(there):
        yield from about(w, NP(Set(there)), np)


# --- several sets


def more(w: World, a: Part, np: NP) -> Out:
    """Show one more set; its open references ("their", "in them") are to the one before."""
    if not isinstance(a, Show):
        return
    if np.set.has_hole:
        yield from _more_of_those(w, a, np.set)
        return
    before = a.sets[-1]
    unlike = np.set.is_record and (not before.is_record or np.set.entity == before.entity)
    if not unlike and not (np.one and not np.set.parts) and not _is_unclear(w, a, np):
        # in "late orders and invoices" the scope of "late" is not clear
        yield Show((*a.sets, np.set), np.last is not None), int(a.post)


def _more_of_those(w: World, a: Show, s: Set) -> Out:
    said = [link.to.limit for link in s.links if link.to.hole]
    is_one = any(said)  # "its": of the one record
    fits = list[Set]()
    for before in [x for x in a.sets if x.is_record] if is_one else reversed(a.sets):
        got = fill(w, s, before)
        if got is not None and got != before:
            fits.append(got)
    for got in fits if 0 in said else fits[:1]:  # a second "their" can be of either
        yield Show((*a.sets, got)), 0


def _is_unclear(w: World, a: Show, np: NP) -> bool:
    """Return whether a condition may hold for both sets, and say so."""
    s, before = np.set, a.sets[-1]
    last = np.last is not None and (not a.post or isinstance(np.last, When))
    if last and any(x != before for x, _ in apply(w, before, np.last)):
        w.refuse(f"Does what stands last hold for the {many(w, before)}, too?")
        return True
    if bool(s.parts) != bool(before.parts):
        bare, other = (s, before) if not s.parts else (before, s)
        w.refuse(f"Which {many(w, bare)}: all of them, or those of the {many(w, other)}?")
        return True
    return False


def then(w: World, a: Part, np: NP) -> Out:
    """Show one more set that belongs to the one before, even where no word says so."""
    if isinstance(a, Show) and np.set.has_hole:
        yield from more(w, a, np)
    elif isinstance(a, Show):
        for s, _ in apply(w, np.set, To(NP(HOLE))):
            yield from more(w, a, np._replace(set=s))


def topic(w: World, a: NP, b: Part) -> Out:
    """Show sets that belong to things which are named first."""
    if not isinstance(b, Show) or any(s.links for s in b.sets[1:] if not s.has_hole):
        return
    out: tuple[Set, ...] = (a.set,)
    for s in b.sets:
        tied = s if s.has_hole else next((t for t, _ in apply(w, s, To(NP(HOLE)))), None)
        got = fill(w, tied, out[-1] if s.has_hole else a.set) if tied else None
        if got is None:
            return
        out = (*out, got)
    yield Show(out[1:] if a.set.is_record else out), 0


# --- figures


def count(w: World, np: NP, fn: str = "count") -> Out:
    """Count things; a total is not a number for each value that is named."""
    if not np.set.has_hole and np.set.limit is None:
        yield Agg(fn, "", np.set), 0


def measure(w: World, fn: str, f: Word, np: NP | None = None) -> Out:
    """Compute a figure of a field."""
    found = w.lex.field(f)
    if not found.column or found.kind != "number" or (np and np.set.limit is not None):
        return
    unit = (f.unit, f.factor) if f.factor != 1 else None
    if np is None:
        yield Agg(fn, f.field, Set(f.entity), said=False, unit=unit), 0
    elif np.set.entity == f.entity:
        yield Agg(fn, f.field, np.set, unit=unit), 0
    elif w.lex.reach(f.entity, np.set.entity):  # of the things that belong to those
        for s, cost in apply(w, Set(f.entity), To(np)):
            yield Agg(fn, f.field, s, unit=unit), cost + 1


def measure_only(w: World, fn: str, np: NP, bare: str = "", units: str = "") -> Out:
    """Compute a figure of the one number of things, in `units`; a bare total may be their count."""
    word = _only_number(w, np, units.split(",") if units else ())
    figures = ("avg", "median") if bare else ("sum", "avg", "median")
    if word and fn in figures and (np.one or not bare):  # of "average loads" it is their number
        yield from measure(w, fn, word, np)


def _only_number(w: World, np: NP, units: Sequence[str] = ()) -> Word | None:
    e = w.lex.entities.get(np.set.entity)
    numbers = [f for f in e.fields.values() if f.kind == "number" and not f.ref] if e else []
    numbers = [f for f in numbers if f.unit in units] if units else numbers
    said = (m for noun in (e.nouns if e else ()) for c, m in w.lex.entries[noun] if c == "F")
    if not units and any(w.lex.field(m).kind == "number" for m in said):
        return None  # "the largest load" may be that of something else
    return Word(numbers[0].entity, numbers[0].name) if len(numbers) == 1 else None


def different(w: World, g: Group) -> Out:
    """Count the different values of a field."""
    if g[1] != "id" and g[0] != "time":
        yield Agg("different", g[1], Set(g[0]), said=False), 0


def rate(w: World, v: Val, np: NP | None = None, noun: str = "") -> Out:
    """Compute the share of a value; a report that gives it comes first."""
    s = Set(v.entity) if np is None else np.set
    fits = s.entity == v.entity and noun in ("", s.entity) and s.limit is None
    if fits and all(c.field != v.field for c in s.conditions):
        cond, own = Cond(v.field, "=", v.value), v.field if noun and np is None else ""
        yield Agg("rate", own, s, cond=cond, said=np is not None), 1 + bool(own)


def stated_rate(w: World, v: Val, np: NP | None = None) -> Out:
    """Compute a rate; of a kind among several, only if no tool states that rate itself."""
    said = {t for t, found in w.lex.entries.items() if ("VR", v) in found} & w.lex.rates
    if said and not isinstance(v.value, bool):
        w.refuse(f"A tool states the {said.pop()} rate in its own way. Of all, say the share of.")
    else:
        yield from rate(w, v, np)


def restrict(w: World, a: Part, m: Part) -> Out:
    """Restrict the set of a figure; with groups the meaning of "not" is not clear."""
    if isinstance(a, Rank) and isinstance(m, When) and not a.set.links:
        yield from ((a._replace(set=s), cost) for s, cost in apply(w, a.set, m))
    if not isinstance(a, Agg) or a.order or (a.cond and a.field and not isinstance(m, When)):
        return  # "share of late orders from X": of those from X, or of the late ones?
    is_own = not isinstance(m, To) or m.np.set == a.set
    denies = isinstance(m, Not) or (isinstance(m, Val) and m.value is False)
    if a.by and isinstance(m, To) and not m.negated and not m.np.set.parts:
        return  # "by kind of boat" is about the kind, not about the boats
    if a.said or (is_own and not (a.by and denies)):
        for s, cost in apply(w, a.set, m):
            yield a._replace(set=s, said=a.said or isinstance(m, To)), cost


def done_by(w: World, a: NP | Agg, m: Part) -> Out:
    """Restrict things by their doer; where some may not have been done, a question is asked."""
    values = {str(v) for f in w.lex.entities[a.set.entity].fields.values() for v in f.values}
    if undone := " or ".join(sorted(values & ENGLISH.classes["undone"])):
        w.refuse(f"Are {many(w, a.set)} meant that are {undone}, too?")
    else:
        yield from restrict(w, a, m) if isinstance(a, Agg) else pre(w, m, a)


# --- groups


def _figures(w: World, a: Show) -> list[Agg]:
    """Return total and average of the requested number, or else the count."""
    s = a.sets[0]
    if a.field:
        return [got for fn in ("sum", "avg") for got, _ in measure(w, fn, a.field, NP(s))]
    return [Agg("count", "", s)] if len(a.sets) == 1 and not (s.has_hole or s.limit) else []


def by(w: World, a: Part, g: Group) -> Out:
    """Compute a figure for each group."""
    for figure in _figures(w, a) if isinstance(a, Show) else ():
        yield from by(w, figure, g)
    if not isinstance(a, Agg) or (a.cond and a.field):
        return
    if g[0] == "pair":
        for one, cost in by(w, a, g[1]):
            yield from ((two, cost + extra) for two, extra in by(w, one, g[2]))
        return
    own = g[:2] == (a.set.entity, "id")
    if own and a.fn == "avg" and not a.by:
        yield a, 0  # the average of a field per thing
    elif not (own or a.order or g[:2] in a.by) and len(a.by) < 2 and groups(w, a.set.entity, g):
        yield a._replace(by=(*a.by, g[:2])), int(g[0] not in ("time", a.set.entity))


def top(w: World, g: Group, order: str, a: Part, n: float | str | None = "") -> Out:
    """Show the groups with the greatest or the least figure; of one in the singular, the first.

    `n`: the number of them; None for all.
    """
    if isinstance(a, NP) and not a.set.has_hole and a.set.limit is None:
        a = Agg("count", "", a.set)
    if not isinstance(a, Agg) or a.by or g[:2] == (a.set.entity, "id"):
        return
    if a.fn == "sum" and ENGLISH.classes["levels"] & {*a.field.split("_")}:
        w.refuse(f"By the average {spoken(a.field)}, or by the highest or lowest one?")
    elif groups(w, a.set.entity, g):
        first = None if n is None else int(n) if n else 1 if len(g) > 2 else None
        yield a._replace(by=(g[:2],), order=order, top=first), int(g[0] != a.set.entity)


def top_in(w: World, g: Group, m: Part, order: str, a: Part) -> Out:
    """Show the groups with the greatest or the least figure under a condition, as in a period."""
    if isinstance(m, To) and m.np.set.entity != a.set.entity:
        return  # of a deed: only of the things that come of it
    if not isinstance(m, When) and g[1] != "id" and w.lex.field(Word(*g[:2])).kind != "person":
        return  # a deed is of people, or of things with an identity
    for said, cost in pre(w, m, a) if isinstance(a, NP) else restrict(w, a, m):
        yield from ((found, cost + more) for found, more in top(w, g, order, said))


def more_than(w: World, g: Group, op: str, n: float, np: NP) -> Out:
    """Show the groups with more than a number of things."""
    if op in (">", ">=") and n == int(n) and n > 0:
        for a, cost in top(w, g[:2], "desc", np):
            yield a._replace(having=(op, int(n))), cost


def commonest(w: World, g: Group, order: str, n: float | None = None, m: Part = None) -> Out:
    """Show the values that occur most often, perhaps under a condition."""
    if g[1] != "id" and g[0] != "time":
        first = int(n) if n else 1 if len(g) > 2 else None
        for s, cost in apply(w, Set(g[0]), m) if m else [(Set(g[0]), 0)]:
            yield Agg("count", "", s, (g[:2],), order=order, top=first), cost


# --- ranks


def rank(w: World, np: NP, order: str | None, f: Word, *n: float | None) -> Out:
    """Sort things by a field, the first `n` of them; upwards where the question does not say."""
    found, given = w.lex.field(f), [int(each) for each in n if each]
    sorts = found.column and f.entity == np.set.entity and found.kind in ("number", "date")
    if sorts and not np.set.has_hole and len(given) + bool(np.set.limit) < 2:
        first = given[0] if given else np.set.limit or (1 if np.one else None)
        yield Rank(np.set._replace(limit=None), f.field, order or f.order or "asc", first), 0


def largest(w: World, order: str, np: NP, units: str = "") -> Out:
    """Sort things by the one number that they have, in `units`."""
    if word := _only_number(w, np, units.split(",") if units else ()):
        yield from rank(w, np, order, word)


def newest(w: World, order: str, np: NP, *n: float | None) -> Out:
    """Sort things by their date; the list of a tool that is sorted so is only cut."""
    e, given = w.lex.entities.get(np.set.entity), [int(each) for each in n if each]
    more = len(given) + bool(np.set.limit) > 1  # two numbers of things are no limit
    if more or not e or not e.day or not e.fields[e.day].column or np.set.has_hole:
        return
    if order == "asc" and e.label and e.label.kind == "person":
        return  # the oldest is not the first to come
    s = _so_far(w, np.set, e, order)
    if s is None:
        return
    first = given[0] if given else s.limit or (1 if np.one else None)
    if first and e.limit and e.order == (e.day, order):
        yield Show((s._replace(limit=first),)), 0
    else:
        yield Rank(s._replace(limit=None), e.day, order, first), 0


def _so_far(w: World, s: Set, e: Entity, order: str) -> Set | None:
    """Return the things up to today; None, and ask, where another date or another end is meant."""
    texts = {t for c in s.conditions for t in e.fields[c.field].values.get(c.value, ())}
    others = [f for f in e.fields.values() if f.kind == "date" and f.name != e.day]
    if any(texts & {*f.words} for f in others):
        w.refuse(f"The {many(w, s)} by which of their dates?")
        return None
    ends = [c.value for c in s.conditions if c.field == e.day and c.op == "<="]
    if order == "asc" or not e.plans_ahead(e.day) or (ends and ends[0] <= w.today):
        return s
    if {str(c.value) for c in s.conditions} & ENGLISH.classes["ahead"]:
        w.refuse(f"The last {many(w, s)} up to today, or of those that lie ahead?")
        return None
    return put(s, Cond(e.day, "<=", w.today))


def ordered(w: World, q: Part, order: str) -> Out:
    """Sort the groups of a figure, or a list that is sorted already."""
    if isinstance(q, Rank) and q.top is None:
        yield q._replace(order=order), 0
    if isinstance(q, Agg) and q.by and not q.order:
        yield q._replace(order=order), 0


def nearest(w: World, np: NP, whole: Word) -> Out:
    """Sort things by the share of a field that another one fills, the fullest first."""
    e = w.lex.entities.get(np.set.entity)
    parts = [f for f in e.fields.values() if f.column and f.part_of == whole.field] if e else []
    if whole.entity == np.set.entity and len(parts) == 1 and not np.set.has_hole:
        yield Rank(np.set, parts[0].name, "desc", None, whole.field), 0


# --- reports


def report(w: World, name: str) -> Out:
    """Call a report."""
    yield Call(name), 0


def report_when(w: World, t: Call, m: Part) -> Out:
    """Call a report for a period."""
    if t.when is None and isinstance(m, When) and m.field is None and w.lex.reports[t.name].start:
        yield t._replace(when=m), 0


# --- the first words


def front(w: World, m: Part, q: Part) -> Out:
    """Restrict a question by a phrase before it."""
    if isinstance(m, To) and not m.np.set.parts:
        return  # "for each of them" groups
    if isinstance(q, Call):
        yield from report_when(w, q, m)
    elif isinstance(q, Show) and len(q.sets) == 1:
        for s, cost in apply(w, q.sets[0], m):
            yield Show((s,)), cost + 1
    else:
        yield from restrict(w, q, m)
