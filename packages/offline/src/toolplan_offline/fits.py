"""How a set is restricted: each way in which a modifier fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolplan_offline.lexicon import Val
from toolplan_offline.meaning import NP, Both, Cond, Free, Limit, Link, Not, Num, Set, To, When
from toolplan_offline.schemas import ENGLISH, Entity
from toolplan_offline.words import plural, spoken
from toolplan_offline.world import Out, Part, World

_BOUNDS: Final = frozenset({">=", "<=", ">", "<"})
_INSIDE: Final = ("in", "at", "from", "for", "on", "inside", "within", "under", "during")


def put(s: Set, *parts: Cond | Link) -> Set | None:
    """Return `s` with more parts; None where they contradict those it has."""
    for new in (p for p in parts if isinstance(p, Cond)):
        for old in s.conditions:
            ends = {old.op, new.op} <= _BOUNDS and old.op[0] != new.op[0]
            if old.field == new.field and old != new and not ends:
                return None
    return s._replace(parts=s.parts | {*parts})


def apply(w: World, s: Set, m: Part) -> Out:
    """Yield `s` restricted by the modifier `m`, in each way that fits, with its cost."""
    fits = _FITS.get(m.__class__) if s.entity else None
    if fits is not None:
        yield from fits(w, s, w.lex.entities[s.entity], m)


def _kept(got: Set | None) -> Out:
    if got is not None:
        yield got, 0


def condition(v: Val) -> Cond:
    """Return the condition for a value."""
    return Cond(v.field, v.op, v.value)


def _when(w: World, s: Set, e: Entity, m: When) -> Out:
    day = m.field.field if m.field and m.field.entity == s.entity else "" if m.field else e.day
    if not day:
        undated(w, s, m)
        return
    lo, hi = m.lo, m.hi
    if day == e.year:
        yield from _years(s, m) if e.fields[day].kind == "number" else ()
        return
    of_years = f"{lo}".endswith("-01-01") or f"{hi}".endswith("-12-31")
    year, verb = spoken(e.year) if of_years else "", spoken(day)
    if not m.field and (year or verb.split()[0] in ENGLISH.classes["acquired"]):
        w.refuse(f"Is the {year or 'time of something else'} meant, or {verb}? Please say which.")
        return
    if m.ahead and e.plans_ahead(day):
        if m.ahead.first != lo:
            w.refuse(f"Is {m.ahead} meant, or the last one before today? Please give its date.")
            return
        lo, hi = m.ahead
    parts = [Cond(day, op, d.isoformat()) for op, d in ((">=", lo), ("<=", hi)) if d]
    got = put(s, *parts)
    if got and not any(old.field == day for old in s.conditions):
        yield got, 0


def _years(s: Set, m: When) -> Out:
    """Restrict a field that holds a year, where its verb is said and the years are whole."""
    first, last = m.lo and m.lo.replace(month=1, day=1), m.hi and m.hi.replace(month=12, day=31)
    if m.field and (first, last) == (m.lo, m.hi):
        ends = ((">=", first), ("<=", last))
        yield from _kept(put(s, *(Cond(m.field.field, op, d.year) for op, d in ends if d)))


def _num(w: World, s: Set, e: Entity, m: Num) -> Out:
    for word in m.words or m.unit:
        if word.entity != s.entity or (m.unit and not any(u[:2] == word[:2] for u in m.unit)):
            continue
        value = m.value * next((u.factor for u in m.unit if u[:2] == word[:2]), 1.0)
        whole = int(value) if value == int(value) else value
        if got := put(s, Cond(word.field, m.op, whole)):
            yield got, 0


def _to(w: World, s: Set, e: Entity, m: To) -> Out:
    target = m.np.set
    if m.role not in ("", s.entity):
        return
    if target.hole and target.entity == s.entity and not target.parts:
        return
    if not target.hole and not m.negated and target == Set(s.entity):
        yield s, 0  # of things of the kind that they are already
        return
    if undated(w, s, m.np.last) or not (target.hole or _suits(w, s.entity, target, m)):
        return
    flag = e.fields.get(f"has_{plural(target.entity)}")
    if flag and target == Set(target.entity) and m.word == "with":
        yield from apply(w, s, Val(s.entity, flag.name, not m.negated))
    elif target.entity == "" or (
        s.entity != target.entity and w.lex.linked(s.entity, target.entity)
    ):
        got = put(s, Link(target, m.negated))
        if got and not (target.hole and any(link.to.hole for link in s.links)):
            yield got, 0


def _suits(w: World, here: str, target: Set, m: To) -> bool:
    """Return whether the word between two nouns suits the way in which their things are tied."""
    there = target.entity
    if target.limit is not None:
        return False  # "with two of them" counts, and does not select
    if m.word == "named":  # only where nothing else has a name that it can be
        own, known = w.lex.entities[here], [e for e in w.lex.entities.values() if e.label]
        names = [f for f in own.fields.values() if f.kind in ("person", "place", "organisation")]
        near = {e.name for e in known if w.lex.linked(here, e.name)}
        return not names and own.label is None and near == {there} and w.lex.reach(here, there)
    if m.word in _INSIDE:
        ends = any(f.cued for f in w.lex.entities[here].fields.values())
        if m.word == "from" and ends and target.is_record:
            w.refuse(
                f"From {target.conditions[0].value}: where a {here} comes from, or where it is?"
            )
            return False
        return w.lex.reach(here, there) or not w.lex.reach(there, here)
    if m.word == "with":
        return w.lex.reach(there, here) or target.is_record
    return True


def _val(w: World, s: Set, e: Entity, m: Val) -> Out:
    if m.entity == s.entity:
        if (m.cued or not e.fields[m.field].cued) and (got := put(s, condition(m))):
            yield got, int(m.free)
    elif w.lex.reach(s.entity, m.entity) and _belongs(w, s, e, m):
        yield s.linked(Set(m.entity, frozenset({condition(m)}))), 1 + m.free


def _belongs(w: World, s: Set, e: Entity, m: Val) -> bool:
    """Return whether a value of another thing can describe this one."""
    theirs = w.lex.field(m)
    label = w.lex.entities[m.entity].label
    is_place = theirs.kind == "place" or theirs.name in ENGLISH.classes["place"]
    lives = label and label.equal and label.kind == "person" if is_place else m.free
    common = theirs.name in ("type", "status") or m.entity not in w.lex.named(s.entity)
    if lives or theirs.cued or (not m.cued and common):
        return False  # where people live, a free name, an end of a way, or common to many things
    any_ = theirs.kind in ("place", "person", "organisation")  # of mine all values may be known
    alike = [f for f in e.fields.values() if f.kind == theirs.kind]
    mine = [f for f in alike if m.value in f.values or (any_ and not f.values)]
    near = [w.lex.entities[each] for each in {s.entity, *w.lex.named(s.entity)} - {m.entity}]
    open_ = [f for each in near for f in each.fields.values() if f.equal and not f.values]
    unclear = m.free and any(f.kind in ("place", "name", "") for f in open_)
    if unclear or (mine and not m.cued):
        cues = [cue for f in mine for cue in f.cues[:1]]
        say = f" Say {', '.join(cues)} or {theirs.cues[0]}." if cues and theirs.cues else ""
        w.refuse(f"{m.value}: of a {e.nouns[0]}, or of its {m.entity}?{say}")
        return False
    # where it has such a thing already, the value belongs there
    return not any(k.to.entity == m.entity and not k.to.hole and not k.negated for k in s.links)


def _both(w: World, s: Set, e: Entity, m: Both) -> Out:
    values = m.values()
    if values:
        yield from _values(w, s, e, m, values)
    if values or (isinstance(m.one, Val) and isinstance(m.other, Val)):
        return
    if m.word == "and" and not isinstance(m.one, Free):
        yield from _each(w, s, m)


def _values(w: World, s: Set, e: Entity, m: Both, values: list[Val]) -> Out:
    """Yield a set restricted by several values: of one field any of them, of several each."""
    first, texts = values[0], tuple(v.value for v in values)
    same = all(v[:2] == first[:2] and v.op == "=" for v in values)
    if not same or len({*texts}) < len(texts):
        if not same and m.word == "and" and len({v.entity for v in values}) == 1:
            yield from _each(w, s, m)
        return
    if isinstance(first.value, bool):
        return
    every = "all" if w.lex.field(first).kind == "list" else "each"
    op = every if m.word == "and" else "in"
    if first.entity != s.entity:
        for one, cost in _val(w, s, e, first):
            to = Set(first.entity, frozenset({Cond(first.field, op, texts)}))
            yield one._replace(parts=s.parts | {Link(to)}), cost
    elif not e.fields[first.field].cued or first.cued:
        yield from _kept(put(s, Cond(first.field, op, texts)))


def _each(w: World, s: Set, m: Both) -> Out:
    for first, cost in apply(w, s, m.one):
        for second, more in apply(w, first, m.other):
            yield second, cost + more


def _limit(w: World, s: Set, e: Entity, m: Limit) -> Out:
    if s.limit is None:
        yield s._replace(limit=m.n), 0


def _free(w: World, s: Set, e: Entity, m: Free) -> Out:
    named = [f for f in e.fields.values() if f.kind in ("organisation", "person") and f.equal]
    fits = [f for f in named if f is not e.label]
    if len(fits) == 1 and (got := put(s, Cond(fits[0].name, "=", m.text))):
        yield got, 2
    near = sorted(w.lex.named(e.name)) if not fits else ()
    known = [f for f in (w.lex.entities[each].label for each in near) if f]
    if len(known) > 1:
        w.refuse(f"{m.text}: the name of a {' or a '.join(f.entity for f in known)}?")
    elif known and known[0].kind == "person":
        yield s.linked(Set(known[0].entity, frozenset({Cond(known[0].name, "=", m.text)}))), 2


def _not(w: World, s: Set, e: Entity, m: Not) -> Out:
    match m.of:
        case Val(value=bool(value)) as v if v.entity == s.entity:
            yield from apply(w, s, v._replace(value=not value))
        case Val() as v:
            yield from _not_value(w, s, e, v)
        case Free() as name:
            for one, cost in apply(w, s, name):
                old = next((p for p in one.parts - s.parts if isinstance(p, Cond)), None)
                if old and (got := put(s, old._replace(op="!="))):
                    yield got, cost
        case NP(set=Set(parts=parts) as left) if left.entity == s.entity and len(parts) == 1:
            op = {"=": "!=", "in": "not in"}.get(left.conditions[0].op) if left.conditions else ""
            yield from _kept(put(s, left.conditions[0]._replace(op=op))) if op else ()
        case To(negated=False) as link if not names_kinds(e):
            yield from apply(w, s, link._replace(negated=True))
        case Both() as both:
            values = both.values()
            same = values and all(v[:2] == (s.entity, values[0].field) for v in values)
            if same and not isinstance(values[0].value, bool):
                texts = tuple(v.value for v in values)
                yield from _kept(put(s, Cond(values[0].field, "not in", texts)))
        case _:
            return


def _not_value(w: World, s: Set, e: Entity, v: Val) -> Out:
    if v.entity == s.entity:
        if (v.cued or not e.fields[v.field].cued) and (got := put(s, Cond(v.field, "!=", v.value))):
            yield got, int(v.free)
    elif w.lex.reach(s.entity, v.entity) and not names_kinds(e):
        for one, cost in _val(w, s, e, v):
            (link,) = (p for p in one.parts - s.parts if isinstance(p, Link))
            yield s.linked(link.to, negated=True), cost


def names_kinds(e: Entity) -> bool:
    """Return whether the noun names kinds as well: then a negated place is ambiguous."""
    return any({*f.words} & {*e.nouns} for f in e.fields.values())


def undated(w: World, s: Set, m: Part) -> bool:
    """Return whether `m` is a period and these things have dates, none of them the default."""
    e = w.lex.entities.get(s.entity)
    if e is None or e.day or not isinstance(m, When) or m.field:
        return False
    dates = [f.words[0] for f in e.fields.values() if f.kind == "date"]
    if dates:
        w.refuse(f"Which date is meant: {' or '.join(dates)} of the {many(w, s)}, or another?")
    return bool(dates)


def tails(w: World, np: NP, m: Part) -> Out:
    """Yield the nearer things that a phrase could belong to."""
    yield from apply(w, np.set, m)
    if isinstance(m, Not) and isinstance(m.of, To):  # "other than F2" leaves out one of the nearer
        yield from apply(w, np.set, Not(m.of.np))
    if np.tail is not None:
        yield from tails(w, np.tail, m)


def fill(w: World, s: Set, by: Set) -> Set | None:
    """Return `s` with its holes filled by a set; None where it does not fit."""
    if s.hole:
        return _fill_hole(w, s._replace(limit=None), by)
    parts: set[Cond | Link] = set()
    for part in s.parts:
        if isinstance(part, Link) and part.to.has_hole:
            to = fill(w, part.to, by)
            if to is None or to.entity == s.entity or not w.lex.linked(s.entity, to.entity):
                return None
            part = part._replace(to=to)
        parts.add(part)
    return s._replace(parts=frozenset(parts))


def _fill_hole(w: World, s: Set, by: Set) -> Set | None:
    if s.entity == "":
        return by
    if s.entity == by.entity:
        return by._replace(parts=by.parts | s.parts)
    inner = next((k.to for k in by.links if k.to.entity == s.entity and not k.negated), None)
    if inner is not None and not w.lex.reach(by.entity, s.entity):
        return inner
    if not w.lex.linked(s.entity, by.entity):
        return None
    return s._replace(hole=False, parts=s.parts | {Link(by)})


def many(w: World, s: Set) -> str:
    """Return the plural of the noun of a set."""
    return plural(w.lex.entities[s.entity].nouns[0])


def groups(w: World, e: str, g: tuple[Any, ...]) -> bool:
    """Return whether things can be put into groups."""
    if g[0] == "time":
        day = w.lex.entities[e].fields.get(w.lex.entities[e].day)
        return bool(day and day.column) and not undated(w, Set(e), When(None, None))
    return g[0] == e or w.lex.reach(e, g[0])


_FITS: Final[dict[type, Callable[..., Out]]] = {
    Val: _val,
    When: _when,
    Num: _num,
    To: _to,
    Not: _not,
    Both: _both,
    Limit: _limit,
    Free: _free,
}
