"""Outputs below `trusted` change nothing that is `trusted`: random plans, run twice.

The second run gets other outputs wherever outsiders can write. Arguments with a label of `trusted`
or better are the same in both, and where what decides about a step has one too, so is the number of
its calls.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.flows.mails import TOOLS, step
from toolplan.approval import approve
from toolplan.compiler import compile_plan
from toolplan.engines import run
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Trust, parse_policy
from toolplan.path import Json
from toolplan.plan import split_pointer
from toolplan.testing import scripted_extract
from toolplan.tools import Arguments, Toolbox, current_call

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
)
PARTS: Final = (
    *("${m[0].id}", "${m[1].text}", "${c[0].email}", "${a[0].iban}", "${a[1].due}", "${a[0].note}"),
    *("${q.data[0].r}", "${q.data[0].s}", "${d[0].email}", "said", "${q.count}"),
    *("${m}", "${a[*].iban}", "${c}", "${a[0]}", "${q.data}"),
    *("${x.kind}", "${x.name}", "${x}", "${y[0][0].email}", "${y[*][*].name}", "${y}"),
)
BEFORE_D: Final = tuple(part for part in PARTS if not part.startswith("${d"))
BEFORE_X: Final = tuple(part for part in PARTS[:6])
LISTS: Final = ("${m}", "${a}", "${c}", "${a[*].iban}", "${q.data}", "${m[*].id}", "${d}", "${y}")
SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"kind": {"enum": ["one", "two", "three"]}, "name": {"type": "string"}},
}


def plan(chance: random.Random) -> dict[str, object]:
    """Return a random plan."""

    def value() -> str:
        return "v " + " ".join(chance.choice(PARTS) for _ in range(chance.choice((1, 1, 2))))

    def condition() -> dict[str, Json]:
        if chance.random() < 0.6:
            return {}
        return {"when": {"value": chance.choice(BEFORE_D), "is": {"pattern": "[0-4a-m]"}}}

    chosen = chance.choice(["Bob", "${m[0].text}", "${a[0].iban}", "${m[0].id}"])
    tables: Json = {"a": "${a}", "m": "${m}"}
    steps = [
        step("m", "inbox"),
        step("a", "accounts"),
        step("c", "contacts", name=chosen),
        step("q", "sql", sql=chance.choice(STATEMENTS), tables=tables),
        step(
            "x",
            "extract",
            text=[chance.choice(BEFORE_X) for _ in range(chance.choice((1, 1, 2)))],
            instruction="What it says.",
            schema=SCHEMA,
        ),
        step(
            "y",
            "contacts",
            name=f"${{index}} {chance.choice(('${item.iban}', '${item.due}', '${item.note}'))}",
            for_each=chance.choice(("${a}", ["${a[0]}", "${a[1]}"])),
        ),
        step(
            "d", "contacts", name=chance.choice(["${q.data[0].r}", "${c[0].email}"]), **condition()
        ),
        step("s", "send", to=value(), body=value(), **condition()),
        {
            **step("e", "delete", id=value(), for_each=chance.choice(LISTS), **condition()),
            "after": chance.choice([[], ["s"]]),
            "on_error": chance.choice(["fail", "continue"]),
        },
        step("f", "send", to=f"${{s}} {value()}", body=value()),
    ]
    return {"toolplan": 1, "steps": steps}


def tools(outsiders: random.Random, calls: Calls) -> Toolbox:
    """Return the tools, which give what `outsiders` write where they can write."""

    def word() -> str:
        return "".join(outsiders.choice("abmxyz019") for _ in range(3))

    def answer(name: str, arguments: Arguments) -> Json:
        match name:
            case "inbox":
                count = outsiders.randrange(2, 5)
                return [{"id": word(), "sender": word(), "text": word()} for _ in range(count)]
            case "accounts":
                return [{"iban": f"I{n}", "due": f"d{9 - n}", "note": word()} for n in range(3)]
            case "contacts":
                return [{"name": "x", "email": f"{arguments['name']}@ours"}]
            case _:
                return "done"

    def made(name: str) -> Toolbox:
        async def call(arguments: Arguments) -> Json:
            attended = current_call()
            assert attended is not None
            calls.setdefault(attended.step, []).append(arguments)
            return answer(name, arguments)

        return Toolbox([replace(TOOLS[name], call=call)])

    names = ("inbox", "accounts", "contacts", "send", "delete")
    own = [made(name)[name] for name in names]
    return Toolbox([*own, TOOLS["sql"], scripted_extract(_read)])


def _read(text: str, instruction: str) -> Json:
    del instruction
    kinds = ("one", "two", "three")
    return {"kind": kinds[sum(map(ord, text)) % 3], "name": text[::-1]}


def called(document: Mapping[str, object], seed: int) -> tuple[ExecutionPlan, Calls]:
    calls: Calls = {}
    given = tools(random.Random(seed), calls)
    compiled = compile_plan(document, tools=given, policy=POLICY)
    assert compiled.plan is not None, compiled.diagnostics
    asyncio.run(run(compiled.plan, given, approval=approve(compiled.plan), concurrency=1))
    return compiled.plan, calls


def check(seed: int) -> int:
    """Compare two runs of the plan of `seed`; return how many arguments were compared."""
    document = plan(random.Random(seed))
    compiled, one = called(document, seed + 1_000_000)
    _, other = called(document, seed + 2_000_000)
    compared = 0
    decided = {
        each.step for each in compiled.flows if each.kind != "argument" and each.label.trust < 2
    }
    for flow in compiled.flows:
        if flow.kind != "argument" or flow.label.trust < Trust.TRUSTED:
            continue
        name = split_pointer(flow.pointer)[-1]
        values = [
            sorted(str(arguments[name]) for arguments in calls.get(flow.step, ()))
            for calls in (one, other)
        ]
        if flow.step in decided:  # how often, and for which items, was not promised
            values = [list(dict.fromkeys(each)) for each in values if each]
            if flow.step == "e":
                continue
        assert all(each == values[0] for each in values), (seed, document, flow)
        compared += 1
    return compared


@pytest.mark.parametrize("part", range(2))
def test_what_outsiders_write_changes_nothing_that_is_trusted(part: int) -> None:
    """`check(seed)` takes any seed."""
    assert sum(check(seed) for seed in range(part * 12, part * 12 + 12)) > 5
