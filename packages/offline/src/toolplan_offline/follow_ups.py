"""Functions of meaning for follow-ups: a piece of a question edits the meaning before it."""

from __future__ import annotations

from typing import Any

from toolplan_offline.fits import apply, fill
from toolplan_offline.lexicon import Val
from toolplan_offline.meaning import NP, Agg, Both, Cond, Free, Not, Num, Set, Show, When, sets_of
from toolplan_offline.questions import by, restrict
from toolplan_offline.world import Out, Part, World


def edit(w: World, m: Part) -> Out:
    """Change the condition of the same kind, or add one: "the same for …", "and last month?"."""
    if isinstance(m, Val | When | Num | Both | Not | Free) and getattr(m, "op", "") != "is":
        for s in _open(w):
            for got in _edited(w, s, m):
                yield _with(w.before, s, got), 0


def narrow(w: World, m: Part) -> Out:
    """Add a condition: "only the … ones"; one that contradicts an old one narrows nothing."""
    for s in _open(w):
        for got, cost in apply(w, s, m):
            if got != s:
                yield _with(w.before, s, got), cost


def edit_count(w: World, m: Part = None) -> Out:
    """Count the things shown, perhaps under one more condition: "how many of them are …?"."""
    for a in (Agg("count", "", s) for s in _open(w) if not s.limit):
        yield from [(a, 0)] if m is None else restrict(w, a, m)


def edit_by(w: World, g: tuple[Any, ...]) -> Out:
    """Group the figure or things asked for: "per month"."""
    before = w.before
    if isinstance(before, Agg):
        before = before._replace(by=(), order="", top=None, having=None)
    yield from by(w, before, g)


def edit_their(w: World, np: NP) -> Out:
    """Show things that belong to those before: "their …", "what was found in them"."""
    before = sets_of(w.before)
    if not before or not np.set.has_hole or isinstance(w.before, Agg):
        return
    is_one = any(link.to.hole and link.to.limit for link in np.set.links)
    records = [each for s in before for each in s.all() if each.is_record]
    got = fill(w, np.set, records[0] if is_one and records else before[-1])
    if got is not None and got != before[-1]:
        yield Show((got,)), 0


# --- inside a meaning


def _open(w: World) -> list[Set]:
    """Return the sets that a follow-up can be about: the last, and those it does not hang on."""
    sets = sets_of(w.before)
    return sets if len(sets) > 1 and not sets[-1].links else sets[-1:]


def _with(before: Part, old: Set, new: Set) -> Part:
    """Return the meaning before with a set in place of another."""
    return Show((new,)) if isinstance(before, Show) else before._replace(set=new)


def _replaced(s: Set, old: Set, new: Set) -> Set:
    links = {p: p._replace(to=_replaced(p.to, old, new)) for p in s.links}
    return (
        new if s == old else s._replace(parts=frozenset(s.parts - links.keys()) | {*links.values()})
    )


def _edited(w: World, s: Set, m: Part) -> list[Set]:
    """Change the innermost set with a condition of that kind; else restrict the outer one."""
    for one in reversed(s.all()):
        old = [c for c in one.conditions if _speaks(w, one, c, m)]
        if not old:
            continue
        if not isinstance(m, Val):
            got = [x for x, _ in apply(w, one._replace(parts=one.parts - {*old}), m)]
            return [_replaced(s, one, x) for x in got]
        # of two that fit, each, in the order of the schema: then it is asked
        old.sort(key=lambda c: [*w.lex.entities[one.entity].fields].index(c.field))
        moved = [(c, m._replace(cued=True, entity=one.entity, field=c.field)) for c in old]
        bare = [(one._replace(parts=one.parts - {c}), v) for c, v in moved]
        return [_replaced(s, one, x) for left, v in bare for x, _ in apply(w, left, v)]
    return [x for x, _ in apply(w, s, m) if x != s]


def _speaks(w: World, s: Set, c: Cond, m: Part) -> bool:
    """Return whether a condition is of the kind that `m` says something of."""
    e = w.lex.entities[s.entity]
    match m:
        case When():
            return c.field == (m.field.field if m.field else e.day)
        case Num():
            return any(word[:2] == (s.entity, c.field) for word in m.words or m.unit)
        case Val():
            same_place = e.fields[c.field].kind == "place" and m.value in e.fields[c.field].values
            return m[:2] == (s.entity, c.field) or (same_place and not m.cued)
        case Both() if m.values():
            return all(v[:2] == (s.entity, c.field) for v in m.values())
        case _:
            return False
