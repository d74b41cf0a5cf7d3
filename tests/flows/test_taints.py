"""Verdicts beside an interpreter that follows each value as it comes, written for this alone.

It runs a plan step by step, and each value carries how far it is to be trusted. What is decided
before a run is never looser than what was found in it, and seldom stricter.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.flows.mails import TOOLS, step
from tests.flows.taint_sql import Select, statement
from tests.flows.test_non_interference import POLICY, checked_once
from toolplan.compiler import flows_of
from toolplan.plan.canonical import load
from toolplan.plan.model import (
    Array,
    Literal,
    Object,
    Ref,
    Step,
    Template,
    Value,
    split_pointer,
    step_refs,
)
from toolplan.plan.path import Json
from toolplan.policy import Trust
from toolplan.schema.tool import Toolbox
from toolplan.testing import scripted_extract

U, L, T, S = Trust.UNTRUSTED, Trust.LISTED, Trust.TRUSTED, Trust.SAID


@dataclass(frozen=True)
class Tainted:
    """A value with its trust; parts have their own."""

    trust: Trust
    parts: Mapping[str | int, Tainted] | None = None

    def all(self) -> Trust:
        """Return the least trust in it."""
        return min([self.trust, *(part.all() for part in (self.parts or {}).values())])

    def picked(self, by: Trust) -> Tainted:
        """Return it as something with the trust `by` chose it."""
        most = S if by >= T else L
        parts = None if self.parts is None else {k: p.picked(by) for k, p in self.parts.items()}
        return Tainted(min(self.trust, most), parts)


Env: TypeAlias = dict[str, Tainted]
_FIELDS: Final[dict[str, dict[str, Trust]]] = {
    "inbox": {"id": L, "sender": U, "text": U},
    "accounts": {"iban": T, "due": T, "note": U},
    "contacts": {"name": T, "email": T},
}


def _rows(tool: str, count: int) -> Tainted:
    row: dict[str | int, Tainted] = {name: Tainted(each) for name, each in _FIELDS[tool].items()}
    # what a policy says of `[*].iban` it says of how many there are, too: docs/policy.md
    return Tainted(S, {at: Tainted(S, row) for at in range(count)})


def _select(value: Tainted, path: tuple[object, ...]) -> Tainted:
    """Return the part at `path`; of `[*]`, a list as long as the one that it goes through."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    parts = value.parts or {}
    if isinstance(head, str | int):
        if head not in parts:
            raise _Stopped
        return _select(parts[head], rest)
    found: dict[str | int, Tainted] = {at: _select(each, rest) for at, each in parts.items()}
    return Tainted(value.trust, found)


class _Stopped(Exception):
    """A step failed."""


class _Skipped(_Stopped):
    """A step is left out, so that what refers to it is left out, too."""


class Interpreter:
    """Follows the values of one plan."""

    def __init__(self, chance: random.Random, statements: Mapping[str, Select]) -> None:
        self._chance = chance
        self._statements = statements
        self._env: Env = {}
        self._under: dict[str, Trust] = {}
        self.met: dict[tuple[str, str], Trust] = {}
        """The least trust that was found of each argument of a call with effects."""
        self.decided: dict[str, Trust] = {}
        """The least trust of what decided whether and how often a step with effects is made."""

    def run(self, document: Json) -> None:
        """Run the steps, which stand in their order."""
        plan = load(document).plan
        assert plan is not None
        for each in plan.steps:
            try:
                self._step(each)
            except _Skipped:
                continue
            except _Stopped:
                if each.on_error == "continue":
                    self._env[each.id] = Tainted(S)

    def _step(self, each: Step) -> None:
        behind = {ref.step for _, ref in step_refs(each) if ref.step not in ("item", "index")}
        if not behind <= self._env.keys():
            raise _Skipped
        under = [self._under[name] for name in behind]
        holds = True
        if each.when is not None:
            under.append(self._value(each.when.value, {}).all())
            holds = self._chance.random() < 0.7
        listed = Tainted(S) if each.for_each is None else self._value(each.for_each, {})
        self._under[each.id] = min([*under, listed.all()], default=S)
        self.decided[each.id] = self._under[each.id]
        if not holds:
            raise _Skipped
        if each.on_error == "continue" and self._chance.random() < 0.3:
            raise _Stopped
        if each.for_each is None:
            self._env[each.id] = self._call(each, {})
            return
        found: dict[str | int, Tainted] = {}
        for at, item in (listed.parts or {}).items():
            found[at] = self._call(each, {"item": item, "index": Tainted(S)})
        self._env[each.id] = Tainted(listed.trust, found).picked(listed.all())

    def _value(self, value: Value, here: Env) -> Tainted:
        match value:
            case Literal():
                return Tainted(S)
            case Ref(step=name, path=path):
                return _select({**self._env, **here}[name], path)
            case Template(parts):
                return Tainted(
                    min(self._value(p, here).all() if isinstance(p, Ref) else S for p in parts)
                )
            case Array(items):
                return Tainted(S, {at: self._value(each, here) for at, each in enumerate(items)})
            case Object(fields):
                return Tainted(S, {name: self._value(each, here) for name, each in fields})

    def _call(self, step: Step, here: Env) -> Tainted:
        given = {key: self._value(each, here) for key, each in step.args.items()}
        for key, each in given.items():
            if step.tool in ("send", "delete"):
                at = step.id, key
                self.met[at] = min(self.met.get(at, S), each.all())
        if step.tool == "extract":
            return _extracted(given["text"].all())
        if step.tool == "sql":
            return self._selected(self._statements[step.id], given["tables"])
        if step.tool not in _FIELDS:
            return Tainted(U)
        least = min((each.all() for each in given.values()), default=S)
        return _rows(step.tool, self._chance.randrange(1, 4)).picked(least)

    def _selected(self, select: Select, given: Tainted) -> Tainted:
        tables = {
            str(name): [
                {str(key): cell.trust for key, cell in (row.parts or {}).items()}
                for row in (table.parts or {}).values()
            ]
            for name, table in (given.parts or {}).items()
        }
        rows: dict[str | int, Tainted] = {}
        for at, (one, two) in enumerate(select.rows(tables)):
            rows[at] = Tainted(S, {"r": Tainted(one.label), "s": Tainted(two.label)})
        return Tainted(S, {"data": Tainted(S, rows)})


def _extracted(text: Trust) -> Tainted:
    """Return what a model reads: a choice of the plan's own values, and a text of its own."""
    chosen = T if text >= T else L
    return Tainted(T, {"kind": Tainted(chosen), "name": Tainted(T if text >= T else U)})


_SINGLE: Final = (
    *("${m[0].id}", "${m[0].text}", "${c[0].email}", "${a[0].iban}", "${a[0].note}", "said"),
    *("${k[0].email}", "${y[0][0].email}", "${m[*].id}", "${a[*].due}", "${c}", "${y}", "${a[0]}"),
    *("${q.data[0].r}", "${q.data[0].s}", "${p.data[0].r}", "${q.data[*].s}", "${x.kind}"),
    *("${x.name}", "${w.kind}", "${w.name}", "${n[0].email}", "${z[0][0].email}", "${z}"),
)
_LISTS: Final = (
    *("${m}", "${c}", "${a[*].iban}", "${m[*].id}", "${k}", "${y[0]}", "${q.data}", "${z}"),
    *("${q.data[*].r}", "${y}", "${y[*][*].email}"),
)
_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"kind": {"enum": ["one", "two"]}, "name": {"type": "string"}},
    "additionalProperties": False,
}


def _plan(chance: random.Random, statements: Mapping[str, Select]) -> dict[str, Json]:
    def value() -> Json:
        one, two = chance.choice(_SINGLE), chance.choice(_SINGLE)
        return chance.choice([one, one, one, f"{one} and {two}", [one, two], {"a": one, "b": two}])

    def maybe(made: dict[str, Json]) -> dict[str, Json]:
        found = dict(made)
        if chance.random() < 0.2:
            found["when"] = {"value": chance.choice(_SINGLE[:6]), "is": {"minLength": 1}}
        if chance.random() < 0.2:
            found["on_error"] = "continue"
        return found

    def extract(name: str, text: Json) -> dict[str, Json]:
        return step(name, "extract", text=text, instruction="What?", schema=_SCHEMA)

    item = chance.choice(["${item}", "${index}", "x ${item}", "${c[0].name}"])
    tables: Json = {"a": "${a}", "m": "${m}"}
    again: Json = {
        "a": "${a}",
        "m": [{"id": "${q.data[0].r}", "sender": "${m[0].id}", "text": "x"}],
    }
    steps: list[Json] = [
        step("m", "inbox"),
        step("a", "accounts"),
        step("c", "contacts", name="Bob"),
        maybe(step("k", "contacts", name=chance.choice(_SINGLE[:6]))),
        step("y", "contacts", name="${item}", for_each=chance.choice(_LISTS[:4])),
        step("z", "contacts", name=chance.choice(["${item}", "x"]), for_each="${y}"),
        step("q", "sql", sql=statements["q"].text, tables=tables),
        step("p", "sql", sql=statements["p"].text, tables=chance.choice([tables, again])),
        extract("x", chance.choice([*_SINGLE[:6], "${q.data[0].r}"])),
        extract("w", chance.choice(["${x.kind}", "${x.name}", "${x}", ["${x.kind}", "said"]])),
        maybe(step("n", "contacts", name=chance.choice(["${q.data[0].s}", "${x.kind}", "said"]))),
        maybe(step("s", "send", to=value(), body=value())),
        maybe(step("d", "delete", id=item, for_each=chance.choice([*_LISTS, [value(), value()]]))),
    ]
    return {"toolplan": 1, "steps": steps}


TOOLBOX: Final = Toolbox(
    [
        *(TOOLS[name] for name in TOOLS if name != "sql"),
        checked_once(TOOLS["sql"]),
        scripted_extract(lambda text, instruction: None),
    ]
)


def check(seed: int) -> tuple[int, int]:
    """Return how many flows the plan of `seed` has, and how many are stricter than what was met."""
    chance = random.Random(seed)
    statements = {name: statement(chance) for name in ("q", "p")}
    document = _plan(chance, statements)
    interpreter = Interpreter(random.Random(seed), statements)
    interpreter.run(document)
    plan = load(document).plan
    assert plan is not None
    compared = stricter = 0
    found = [*flows_of(plan, TOOLBOX, POLICY)]
    places = [
        (flow.label.trust, interpreter.met.get((flow.step, split_pointer(flow.pointer)[-1])))
        for flow in found
        if flow.kind == "argument"
    ]
    for name, met in interpreter.decided.items():
        if name in ("s", "d"):
            decided = (each for each in found if each.step == name and each.kind != "argument")
            places.append((min((each.label.trust for each in decided), default=S), met))
    for label, met in places:
        if met is not None:  # a call that was not made shows nothing
            assert label <= met, (seed, document, label, met)
            compared += 1
            stricter += label < met
    return compared, stricter


def test_what_is_decided_before_is_never_looser_than_what_is_met_and_seldom_stricter() -> None:
    totals = [check(seed) for seed in range(300)]
    assert sum(each[1] for each in totals) <= 0.05 * sum(each[0] for each in totals)
