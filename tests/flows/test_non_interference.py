"""Outputs below `trusted` change nothing that is `trusted`: random plans, run twice.

The second run gets other outputs wherever outsiders can write. Arguments with a label of `trusted`
or better are the same in both, and where what decides about a step has one too, so is the number of
its calls.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, cast

import duckdb
import pytest
from msgspec.structs import replace

from tests.flows.mails import TOOLS, step
from toolplan import approve, compile_plan, current_call, run
from toolplan.events import Run, StepState
from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json, Path
from toolplan.policy import Flow, Trust, parse_policy
from toolplan.schema import Schema
from toolplan.schema.tool import (
    Arguments,
    ComputedOutput,
    Effects,
    Lineage,
    Tool,
    Toolbox,
    ToolError,
)
from toolplan.testing import scripted_extract

Calls = dict[str, list[Arguments]]

POLICY: Final = parse_policy(
    """
[trusted]
outputs = ["contacts", "accounts[*].iban", "accounts[*].due"]
[listed]
outputs = ["inbox[*].id"]
"""
)
STATEMENTS: Final = (
    "SELECT iban AS r, due AS s FROM a ORDER BY due, iban",
    "SELECT iban AS r, note AS s FROM a ORDER BY iban",
    "SELECT iban AS r, due AS s FROM a ORDER BY note, iban",
    "SELECT iban AS r, upper(due) AS s FROM a WHERE note < 'm' OR iban = 'I1' ORDER BY iban",
    "SELECT max(iban) AS r, count(*) AS s FROM a",
    "SELECT max(due) AS r, max(note) AS s FROM a",
    "SELECT CASE WHEN note < 'm' THEN iban ELSE due END AS r, iban AS s FROM a ORDER BY iban",
    "SELECT a.iban AS r, m.text AS s FROM a LEFT JOIN m ON m.text = a.note ORDER BY a.iban",
    "WITH k AS (SELECT * FROM a WHERE due < 'x') SELECT iban AS r, note AS s FROM k ORDER BY iban",
    "SELECT iban AS r, due AS s FROM a UNION ALL SELECT text, id FROM m ORDER BY r, s",
    "SELECT iban AS r, row_number() OVER (ORDER BY note) AS s FROM a ORDER BY iban",
    "SELECT (SELECT max(text) FROM m) AS r, iban AS s FROM a ORDER BY iban",
    "SELECT e.value AS r, e.key AS s FROM a, entries(MAP {'x': iban, 'y': note}) e ORDER BY s, due",
    "SELECT e.value AS r, e.key AS s FROM a, entries(MAP {'x': iban, 'y': due}) e ORDER BY s, r",
    "WITH RECURSIVE k(r, s) AS (SELECT iban, 1 FROM a UNION ALL SELECT r || 'x', s + 1 FROM k"
    " WHERE s < 3) SELECT r, s FROM k ORDER BY r, s",
    "WITH RECURSIVE k(r, s) AS (SELECT iban, 1 FROM a UNION ALL SELECT m.text, s + 1 FROM k, m"
    " WHERE s < 2) SELECT r, s FROM k ORDER BY s, r",
    "SELECT iban AS r, lag(note) OVER (ORDER BY due) AS s FROM a ORDER BY iban",
    "SELECT iban AS r, due AS s FROM a EXCEPT SELECT iban, due FROM a WHERE note > 'm' ORDER BY r",
    "SELECT DISTINCT 'c' AS r, length(note) AS s FROM a",
    "SELECT list(iban ORDER BY due) AS r, list(note ORDER BY due) AS s FROM a",
    "SELECT unnest([iban, due]) AS r, unnest([note, due]) AS s FROM a ORDER BY iban",
    "SELECT {'k': iban, 'l': note} AS r, {'k': due} AS s FROM a ORDER BY iban",
    "SELECT coalesce(nullif(due, note), iban) AS r, iban || due AS s FROM a ORDER BY iban",
    "SELECT iban AS r, (SELECT count(*) FROM m WHERE m.id < a.note) AS s FROM a ORDER BY iban",
    "SELECT r, s FROM (SELECT iban AS r, due AS s, note FROM a) z WHERE note IS NOT NULL",
    "SELECT due AS r, count(*) AS s FROM a GROUP BY due HAVING max(note) > 'm' ORDER BY due",
)
PARTS: Final = (
    *("${m[0].id}", "${m[1].text}", "${c[0].email}", "${a[0].iban}", "${a[1].due}", "${a[0].note}"),
    *("${q.data[0].r}", "${q.data[0].s}", "${d[0].email}", "said", "${q.count}"),
    *("${m}", "${a[*].iban}", "${c}", "${a[0]}", "${q.data}", "${q.data[*].r}", "${q.data[*].s}"),
    *("${x.kind}", "${x.name}", "${x}", "${y[0][0].email}", "${y[*][*].name}", "${y}", "${z}"),
    *("${w}", "${w[0][0].email}", "${p.kind}", "${p.name}"),
)
LATE: Final = ("${d", "${z", "${w", "${p")
BEFORE_D: Final = tuple(part for part in PARTS if not part.startswith(LATE))
CONDITIONS: Final[tuple[tuple[str, Json], ...]] = (
    *((text, {"pattern": "[0-4a-m]"}) for text in PARTS[:6]),
    *((items, {"minItems": 2}) for items in ("${m}", "${c}", "${a[*].iban}", "${q.data}")),
    *(("${x.kind}", {"const": kind}) for kind in ("one", "two")),
    *(("${q.count}", {"minimum": 2}), ("${a[0]}", {"required": ["note"]})),
)
"""Values before `d`, each with a schema that applies to it."""
BEFORE_X: Final = tuple(part for part in PARTS[:6])
LISTS: Final = (
    *("${m}", "${a}", "${c}", "${a[*].iban}", "${q.data}", "${m[*].id}", "${d}", "${y}", "${w}"),
    *("${q.data[*].r}", "${y[*][*].email}"),
)
SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"kind": {"enum": ["one", "two", "three"]}, "name": {"type": "string"}},
}


def plan(chance: random.Random) -> dict[str, object]:
    """Return a random plan."""

    def value() -> str:
        return "v " + " ".join(chance.choice(PARTS) for _ in range(chance.choice((1, 1, 2))))

    def whole() -> Json:
        one, two = chance.choice(PARTS), chance.choice(PARTS)
        return chance.choice([one, one, [one, two], {"a": one, "b": [two]}, {"a": {"b": one}}])

    def condition() -> dict[str, Json]:
        if chance.random() < 0.6:
            return {}
        value, schema = chance.choice(CONDITIONS)
        return {"when": {"value": value, "is": schema}}

    chosen = chance.choice(["Bob", "${m[0].text}", "${a[0].iban}", "${m[0].id}"])
    tables: Json = {"a": "${a}", "m": "${m}"}
    steps = [
        step("m", "inbox"),
        step("a", "accounts"),
        step("c", "contacts", name=chosen),
        step("q", "sql", sql=chance.choice(STATEMENTS), tables=tables),
        _extract("x", [chance.choice(BEFORE_X) for _ in range(chance.choice((1, 1, 2)))]),
        _extract("p", chance.choice(["${x}", "${x.kind}", "${x.name}", "${q.data}"])),
        step(
            "y",
            "contacts",
            name=f"${{index}} {chance.choice(('${item.iban}', '${item.due}', '${item.note}'))}",
            for_each=chance.choice(("${a}", ["${a[0]}", "${a[1]}"])),
        ),
        step("w", "contacts", name="of ${item[0].email}", for_each="${y}"),
        {  # a failure that stops what stands behind it is not promised away: docs/policy.md
            **step("z", "contacts", name=f"fails {chance.choice(BEFORE_D)}", **condition()),
            "on_error": "continue",
        },
        step(
            "d",
            "contacts",
            name=chance.choice(["of ${q.data[0].r}", "${c[0].email}"]),
            **condition(),
        ),
        step("s", "send", to=value(), body=value(), **condition()),
        {
            **step("e", "delete", id=value(), for_each=chance.choice(LISTS), **condition()),
            "after": chance.choice([[], ["s"]]),
            "on_error": chance.choice(["fail", "continue"]),
        },
        step("f", "send", to=f"${{s}} {value()}", body=value()),
        step("k", "keep", one=whole(), other=whole(), **condition()),
    ]
    return {"toolplan": 1, "steps": steps}


def _extract(name: str, text: Json) -> dict[str, Json]:
    return step(name, "extract", text=text, instruction="What it says.", schema=SCHEMA)


class World:
    """What outsiders write where they can write, and the calls that are made."""

    def __init__(self) -> None:
        self.seed = 0
        self.outsiders = random.Random()
        self.calls: Calls = {}

    def begin(self, seed: int) -> Calls:
        """Begin another run, with other outsiders; return where its calls will be."""
        self.seed, self.outsiders, self.calls = seed, random.Random(seed), {}
        return self.calls

    def word(self) -> str:
        return "".join(self.outsiders.choice("abmxyz019") for _ in range(3))

    def answer(self, name: str, arguments: Arguments) -> Json:
        match name:
            case "inbox":
                count = self.outsiders.randrange(2, 5)
                kinds = ("id", "sender", "text")
                return [{kind: self.word() for kind in kinds} for _ in range(count)]
            case "accounts":
                return [
                    {"iban": f"I{n}", "due": f"d{9 - n}", "note": self.word()} for n in range(3)
                ]
            case "contacts":
                given = str(arguments["name"])
                if given.startswith("fails") and sum(map(ord, given)) % 2:
                    raise ToolError("There is none.")
                return [{"name": "x", "email": f"{given}@ours"}]
            case _:
                return "done"

    def tool(self, tool: Tool) -> Tool:
        async def call(arguments: Arguments) -> Json:
            attended = current_call()
            assert attended is not None
            self.calls.setdefault(attended.step, []).append(arguments)
            return self.answer(tool.name, arguments)

        return replace(tool, call=call)


_COLUMNS: Final = {"a": ("iban", "due", "note"), "m": ("id", "sender", "text")}


def quick(tool: Tool, *, every: int = 10) -> Tool:
    """Return the tool `sql` whose calls are real ones once in `every` worlds.

    The others run in this process, in one database that stays open.
    """
    database = duckdb.connect(config={"threads": 1})
    database.execute(
        "CREATE MACRO entries(o) AS TABLE SELECT unnest(map_entries(o), max_depth := 2)"
    )

    async def call(arguments: Arguments) -> Json:
        if WORLD.seed % every == 0:
            assert tool.call is not None
            return await tool.call(arguments)
        tables = cast("dict[str, list[dict[str, Json]]]", arguments["tables"])
        for name, columns in _COLUMNS.items():
            types = ", ".join(f"{column} VARCHAR" for column in columns)
            database.execute(f"CREATE OR REPLACE TABLE {name} ({types})")
            values = [row[column] for row in tables[name] for column in columns]
            places = ", ".join(["(?, ?, ?)"] * len(tables[name]))
            database.execute(f"INSERT INTO {name} VALUES {places}", values)
        found = database.execute(str(arguments["sql"]))
        names = [each[0] for each in found.description or ()]
        data: list[Json] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return {"data": data, "count": len(data)}

    return replace(tool, call=call)


def checked_once(tool: Tool) -> Tool:
    """Return a tool that is asked only once about what it says of the same arguments."""
    computed: dict[str, ComputedOutput] = {}
    followed: dict[str, Callable[[Path], Lineage] | None] = {}

    def key(literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]) -> str:
        known = {at: None if each is None else each.document for at, each in schemas.items()}
        return json.dumps([dict(literals), known], sort_keys=True)

    def compute_output(
        literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> ComputedOutput:
        at = key(literals, schemas)
        if at not in computed:
            assert tool.compute_output is not None
            computed[at] = tool.compute_output(literals, schemas)
        return computed[at]

    def compute_flow(
        literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> Callable[[Path], Lineage] | None:
        at = key(literals, schemas)
        if at not in followed:
            assert tool.compute_flow is not None
            followed[at] = tool.compute_flow(literals, schemas)
        return followed[at]

    return replace(tool, compute_output=compute_output, compute_flow=compute_flow)


def _read(text: str, instruction: str) -> Json:
    del instruction
    kinds = ("one", "two", "three")
    return {"kind": kinds[sum(map(ord, text)) % 3], "name": text[::-1]}


KEEP: Final = Tool(
    "keep", "", {"type": "object", "properties": {"one": {}, "other": {}}}, effects=Effects.WRITE
)
WORLD: Final = World()
OWN: Final = Toolbox(
    [
        *(WORLD.tool(TOOLS[name]) for name in ("inbox", "accounts", "contacts", "send", "delete")),
        WORLD.tool(KEEP),
        checked_once(quick(TOOLS["sql"])),
        scripted_extract(_read),
    ]
)


def check(seed: int) -> int:
    """Compare two runs of the plan of `seed`; return how many arguments were compared."""
    document = plan(random.Random(seed))
    found = compile_plan(document, tools=OWN, policy=POLICY)
    assert found.plan is not None, found.diagnostics
    compiled, runs = found.plan, list[tuple[Calls, Run]]()
    for first in (1_000_000, 2_000_000):
        calls = WORLD.begin(seed + first)
        ended = asyncio.run(run(compiled, OWN, approval=approve(compiled), concurrency=1))
        runs.append((calls, ended))
    decided = {
        each.step for each in compiled.flows if each.kind != "argument" and each.label.trust < 2
    }
    compared = 0
    for flow in compiled.flows:
        if flow.kind == "argument" and flow.label.trust >= Trust.TRUSTED:
            given = [_given(calls, flow) for calls, _ in runs]
            failed = any(_failed(ended, flow.step) for _, ended in runs)
            assert _agree(*given, may_miss=failed or flow.step in decided), (seed, document, flow)
            compared += 1
    return compared


def _given(calls: Calls, flow: Flow) -> Counter[str]:
    """Return what was given where the flow ends, by how often."""
    name = split_pointer(flow.pointer)[-1]
    return Counter(json.dumps(arguments[name]) for arguments in calls.get(flow.step, ()))


def _failed(ended: Run, step: str) -> bool:
    """Return whether something failed that stopped the step: that it does not, nobody promised."""
    return ended.steps[step].state is not StepState.SUCCEEDED


def _agree(one: Counter[str], other: Counter[str], *, may_miss: bool) -> bool:
    """Return whether two runs gave the same; one that `may_miss` calls made no others."""
    return one == other or (may_miss and (one.keys() <= other.keys() or other.keys() <= one.keys()))


@pytest.mark.parametrize("part", range(2))
def test_what_outsiders_write_changes_nothing_that_is_trusted(part: int) -> None:
    """`check(seed)` takes any seed."""
    assert sum(check(seed) for seed in range(part * 12, part * 12 + 12)) > 5
