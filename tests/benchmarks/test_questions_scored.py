"""The scorer of questions: what counts as right, wrong, asked and flipped."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.questions.__main__ import figures, lines
from benchmarks.questions.asking import Checked, Verdict, check
from benchmarks.questions.plans import calls, is_right, is_same
from benchmarks.questions.results import one_table, ordered_by, same_table, same_tables
from benchmarks.questions.sets import SETS, TODAY, Talk, Turn, demo, published
from toolplan.planners import Clarification, Draft, Proposal, Question
from toolplan.schema.tool import Effects


class Scripted:
    """A planner that answers each question with the steps that are kept for it."""

    def __init__(self, steps: dict[str, list[dict[str, Any]]]) -> None:
        self.steps = steps

    async def propose(self, question: Question, *_: object, **__: object) -> Proposal:
        if question.text not in self.steps:
            return Clarification(f"What is {question.text}?")
        return Draft(json.dumps({"toolplan": 1, "steps": self.steps[question.text]}))


def listed(**args: Any) -> dict[str, Any]:
    return {"id": "a", "tool": "shipments_list", "args": args}


def computed(sql: str) -> list[dict[str, Any]]:
    columns = {"t": {"status": "string", "has_contaminants": "boolean", "carrier": "string"}}
    return [
        listed(),
        {
            "id": "b",
            "tool": "sql",
            "args": {"sql": sql, "tables": {"t": "${a.data}"}, "columns": columns},
        },
    ]


SQL = "SELECT * FROM t WHERE status = 'rejected'"
UPDATE = {"id": "a", "tool": "shipments_update", "args": {"id": "S1", "status": "rejected"}}


@pytest.mark.parametrize(
    ("given", "turn", "verdict", "flip"),
    [
        ([listed(status="rejected")], Turn("q", plans=[computed(SQL)]), Verdict.RIGHT, False),
        (
            [listed(status="rejected")],
            Turn("q", queries=["SELECT id FROM shipments WHERE status='rejected'"]),
            Verdict.RIGHT,
            False,
        ),
        ([listed(status="delivered")], Turn("q", plans=[computed(SQL)]), Verdict.WRONG, False),
        (
            [listed(has_contaminants=True)],
            Turn("q", plans=[[listed(has_contaminants=False)]]),
            Verdict.WRONG,
            True,
        ),
        ([UPDATE], Turn("q", plans=[[listed(status="rejected")]]), Verdict.WRONG, True),
        ([UPDATE], Turn("q", plans=[[UPDATE]]), Verdict.RIGHT, False),
        ([listed(status="rejected")], Turn("q"), Verdict.WRONG, False),
        (
            [{**listed(), "tool": "nothing_list"}],
            Turn("q", plans=[[listed()]]),
            Verdict.FAILED,
            False,
        ),
        (None, Turn("q", plans=[[listed()]]), Verdict.ASKED, False),
        (None, Turn("q"), Verdict.ASKED, False),
    ],
)
def test_a_plan_is_right_where_it_gives_the_same_rows(
    given: list[dict[str, Any]] | None, turn: Turn, verdict: Verdict, flip: bool
) -> None:
    planner = Scripted({} if given is None else {"q": given})

    async def asked() -> Checked:
        (found,) = [each async for each in check([Talk("k", [turn], demo())], planner)]
        return found

    found = asyncio.run(asked())
    assert (found.verdict, found.flip) == (verdict, flip), found.reason


def test_the_sums_count_what_is_answered_of_what_has_an_answer() -> None:
    def made(verdict: Verdict, *, due: bool = False, flip: bool = False) -> Checked:
        return Checked("k", 0, "why", verdict, 0.002, "a reason", (), due, flip)

    found = [
        made(Verdict.RIGHT),
        made(Verdict.WRONG, flip=True),
        made(Verdict.ASKED),
        made(Verdict.ASKED, due=True),
        made(Verdict.WRONG, due=True),
    ]
    sums = figures(found)
    assert sums[:6] == (3, 2, 1, 2, 2, 1)
    assert sums.milliseconds == pytest.approx(2)
    shown = list(lines(found, asked=True))
    assert shown[0] == "WRONG FLIP  why"
    assert shown.count("asked  why\n    a reason") == 1


TIED = [{"a": "y", "n": 1}, {"a": "x", "n": 1}]
ROWS = [{"id": "1", "n": 2}, {"id": "2", "n": 1}]


@pytest.mark.parametrize(
    ("given", "wanted", "order", "same"),
    [
        ([{"id": "2"}, {"id": "1"}], ROWS, None, True),
        ([{"id": "2"}, {"id": "1"}], ROWS, "n", False),
        ([{"id": "1"}, {"id": "1"}], ROWS, None, False),
        ([{"id": "1"}], ROWS, None, False),
        ([{"who": "x", "many": 3, "more": 1}], [{"carrier": "x", "n": 3}], None, True),
        ([{"who": "x"}], [{"carrier": "x", "n": 3}], None, False),
        ([{"a": "x", "n": 1}, {"a": "y", "n": 1}], TIED, "n", True),
    ],
)
def test_tables_are_compared_by_identities_or_by_cells(
    given: list[dict[str, Any]], wanted: list[dict[str, Any]], order: str | None, same: bool
) -> None:
    assert same_table(given, wanted, order) is same
    assert same_tables([given], [wanted], order) is same


def test_the_order_is_that_of_the_statement_itself() -> None:
    assert ordered_by("highest rates", "SELECT a FROM t ORDER BY rate DESC NULLS LAST") == "rate"
    assert ordered_by("rates by carrier", "SELECT a FROM t ORDER BY rate DESC") is None
    assert ordered_by("highest rates", "SELECT rank() OVER (ORDER BY n) FROM t") is None


def test_things_in_one_table_or_in_two_are_the_same() -> None:
    one, two = {"id": "1"}, {"id": "2"}
    assert same_tables([[one, two]], [[two], [one]])
    assert not same_tables([[one]], [[two], [one]])
    assert not same_tables([[{"n": 1}]], [[{"n": 1}], []])


def test_steps_may_stand_in_any_order_and_lists_are_sets() -> None:
    given = calls(
        {
            "steps": [
                {"id": "x", "tool": "b", "args": {"ids": ["2", "1"]}},
                {"id": "y", "tool": "a"},
                {"id": "z", "tool": "c", "args": {"of": "${y.data[*].id}"}},
            ]
        }
    )
    gold = calls(
        {
            "steps": [
                {"id": "s0", "tool": "a"},
                {"id": "s1", "tool": "c", "args": {"of": "${s0.data[*].id}"}},
                {"id": "s2", "tool": "b", "args": {"ids": ["1", "2"]}},
            ]
        }
    )
    assert is_same(given, gold)
    assert not is_same(given[:2], gold)


@pytest.mark.parametrize(
    ("args", "right"), [({}, True), ({"status": "x"}, True), ({"status": "y"}, False)]
)
def test_a_read_below_a_computing_step_may_ask_for_more(args: dict[str, Any], right: bool) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "tool": "r", "args": args},
        {"id": "b", "tool": "sql", "args": {}},
    ]
    expect = {"sql": True, "reads": [{"tool": "r", "args": {"status": "X", "limit": 100}}]}
    assert is_right(calls({"steps": steps}), expect) is right
    assert not is_right(calls({"steps": steps[:1]}), expect)


def test_published_questions_are_read_without_those_in_doubt(tmp_path: Path) -> None:
    step: dict[str, Any] = {"tool": "shipments_list", "args": {"status": "rejected"}, "after": []}
    then: dict[str, Any] = {"tool": "c", "args": {}, "after": [0], "refs": {"ids": "0.data[*].id"}}
    row: dict[str, Any] = {"question": "q", "today": TODAY, "kind": "k"}
    rows = [
        {**row, "expect": {"plan": [step, then]}},
        {**row, "expect": {"plan": [step]}, "doubt": True},
        {**row, "expect": {"refuse": "a reason"}},
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    first, second = published(tmp_path)
    (plan,) = first.turns[0].plans
    assert [each["args"] for each in plan] == [{"status": "rejected"}, {"ids": "${s0.data[*].id}"}]
    assert not second.turns[0].plans
    assert list(published(tmp_path / "nowhere")) == []


def test_the_sets_have_as_many_questions_as_were_written() -> None:
    counted = {name: sum(len(talk.turns) for talk in SETS[name]()) for name in ("demo", "traps")}
    assert counted["demo"] >= 700
    assert counted["traps"] >= 400


@pytest.mark.parametrize("name", ["blind-demo", "blind-hinted", "blind-plain"])
def test_what_is_right_for_a_blind_question_can_be_run(name: str) -> None:
    talks = [*SETS[name]()]
    turns = [talk.turns[0] for talk in talks]
    database = talks[0].domain.database()
    found = [database.execute(query).fetchall() for turn in turns for query in turn.queries]
    assert len({turn.question for turn in turns}) == 150
    assert sum(not rows for rows in found) <= 8
    assert 10 <= sum(not (turn.queries or turn.plans) for turn in turns) <= 20


def test_tools_without_hints_have_none() -> None:
    hinted, plain = (
        next(iter(SETS[f"blind-{name}"]())).domain.tools() for name in ("hinted", "plain")
    )
    assert sorted(plain) == sorted(hinted)
    assert {tool.effects for tool in plain.values()} == {Effects.READ}
    assert '"x-' in json.dumps([tool.raw_input for tool in hinted.values()])
    assert '"x-' not in json.dumps(
        [[plain[name].raw_input, plain[name].raw_output] for name in set(plain) - {"sql"}]
    )


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ([[{"id": "F1"}, {"id": "F2"}], [{"id": "F2"}]], [{"id": "F1"}, {"id": "F2"}]),
        ([[{"id": "F1"}], [{"count": 3}]], []),
        ([[{"id": "F1"}, {"id": "F1"}]], []),
    ],
)
def test_things_of_several_tables_are_one_table(
    tables: list[list[dict[str, Any]]], expected: list[dict[str, Any]]
) -> None:
    assert one_table(tables) == expected
