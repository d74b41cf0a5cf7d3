"""What an answer says of a run: what was found, how many, and what went wrong."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

import toolplan.show.answer
from toolplan.events import (
    Event,
    Failure,
    RunEnded,
    RunStarted,
    RunState,
    StepCancelled,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
    fold,
)
from toolplan.plan.model import Array, Literal, Object, Plan, Ref, Step, Template, Value, needs
from toolplan.plan.path import EVERY, Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.answer import Answer, InsightFunction, answer

BOOKS: Json = {
    "type": "object",
    "properties": {
        "data": {
            "type": "array",
            "items": {
                "type": "object",
                "x-entity": "library book",
                "properties": {"price": {"type": "number", "x-unit": "EUR"}},
            },
        },
        "count": {"type": "integer"},
    },
}


def books(count: int) -> Json:
    rows: list[Json] = [
        {"id": f"B{at}", "genre": "crime" if at % 3 else "poetry", "price": 10 + at % 7}
        for at in range(count)
    ]
    return {"data": rows, "count": count}


def execution_plan(steps: Sequence[Step], output: Value | None = None) -> ExecutionPlan:
    return ExecutionPlan(
        Plan(tuple(steps), output),
        tuple(step.id for step in steps),
        {step.id: needs(step) for step in steps},
        {},
        (),
        "digest",
    )


def answered(
    steps: Sequence[Step],
    *events: Event,
    status: RunState = RunState.SUCCEEDED,
    output: Value | None = None,
    given: Json = None,
    schemas: Mapping[str, Json] | None = None,
    insights: Sequence[InsightFunction] = (),
    rows: int = 10,
) -> Answer:
    run = fold(
        [
            RunStarted("r1", "digest", tuple(step.id for step in steps), 0.0),
            *events,
            RunEnded(status, given, 9.0),
        ]
    )
    plan = execution_plan(steps, output)
    return answer(plan, run, schemas=schemas, insights=insights, rows=rows)


def gave(step: str, output: Json) -> StepSucceeded:
    return StepSucceeded(step, output, 1, None, 1.0)


LIST = Step("s0", "books_list")


def test_what_was_found_is_named_by_the_entity_of_the_schema_and_counted() -> None:
    result = answered([LIST], gave("s0", books(37)), schemas={"s0": BOOKS})
    assert result.headline == "37 library books were found [s0]."
    assert result.sections[0].total == 37
    assert len(result.sections[0].shown) == 10
    assert "10 of 37 rows shown." in result.text


def test_every_fact_names_the_step_that_its_figures_come_from() -> None:
    result = answered([LIST], gave("s0", books(37)), schemas={"s0": BOOKS})
    insights = result.sections[0].insights
    assert {insight.step for insight in insights} == {"s0"}
    assert "genre: crime 24 of 37 (65 %), poetry 13 (35 %)." in [
        insight.text for insight in insights
    ]
    assert "price: 10 to 16 EUR, median 13 EUR, sum 476 EUR." in [
        insight.text for insight in insights
    ]
    assert "library books [s0]" in result.text


@pytest.mark.parametrize(
    ("output", "schema", "headline", "shown"),
    [
        (books(37), None, "37 rows were found by t [s0].", ()),
        (
            {"data": {"days": 30, "trends": [{"day": "2024-01-01", "n": 1}, {"n": 2}]}},
            None,
            "2 rows, one for each day [s0].",
            ("days: 30.",),
        ),
        (
            {"period_days": 30, "trends": [{"day": "2024-01-01", "n": 1}], "count": 1},
            None,
            "day: 2024-01-01, n: 1 [s0].",
            ("period_days: 30.",),
        ),
        (
            {"id": "B1", "title": "Faust", "tags": ["a", "b"], "shelf": {"no": 4}},
            {"type": "object", "x-entity": "book"},
            "book: id: B1, title: Faust [s0].",
            ("tags   a, b", 'shelf  {"no": 4}'),
        ),
        ({"data": {"id": "B1", "n": 2}, "ok": True}, None, "t: id: B1, n: 2 [s0].", ()),
        (["Faust", "Emma", "Ulysses"], None, "3 rows were found by t [s0].", ("Emma",)),
    ],
)
def test_what_was_found_is_said_by_its_shape(
    output: Json, schema: Json, headline: str, shown: Sequence[str]
) -> None:
    result = answered([Step("s0", "t")], gave("s0", output), schemas={"s0": schema})
    assert result.headline == headline
    assert all(text in result.text for text in shown)


@pytest.mark.parametrize(
    ("output", "schema", "text"),
    [
        (books(0), BOOKS, "No library books were found [q]."),
        ([], None, "No rows were found by sql [q]."),
        ({"data": [{"count": 37}], "count": 1}, None, "count: 37 [q]."),
        ({"rows": [{"genre": "crime", "rate": 0.1 + 0.2}]}, None, "genre: crime, rate: 0.3 [q]."),
    ],
)
def test_little_is_said_as_a_sentence(output: Json, schema: Json, text: str) -> None:
    assert answered([Step("q", "sql")], gave("q", output), schemas={"q": schema}).text == text


def test_identities_are_never_cut_to_make_room_in_a_wide_table() -> None:
    notes: dict[str, Json] = {f"note{n}": "w" * 20 for n in range(9)}
    rows: Json = [{"id": f"B-2024-01-{at:02d}-{'x' * 15}", **notes} for at in range(30)]
    result = answered([LIST], gave("s0", rows))
    assert "B-2024-01-00-xxxxxxxxxxxxxxx" in result.text
    assert result.sections[0].hidden[-1] == "note8"


def test_a_small_computed_table_is_the_answer_with_its_highest_and_lowest() -> None:
    rows: Json = {
        "data": [
            {"genre": "crime", "n": 20, "rate": 0.31},
            {"genre": "poetry", "n": 10, "rate": 0.02},
            {"genre": "drama", "n": 7, "rate": 0.02},
        ]
    }
    result = answered(
        [LIST, Step("q", "sql", {"tables": Ref("s0")})],
        gave("s0", books(37)),
        gave("q", rows),
        schemas={"s0": BOOKS},
    )
    assert result.headline == "3 rows, one for each genre [q]."
    texts = [insight.text for insight in result.sections[0].insights]
    assert texts[:2] == [
        "Highest rate: crime with 0.31.",
        "Lowest rate: poetry and drama with 0.02.",
    ]
    assert "n in all: 37." in texts
    assert not any("median" in text for text in texts)
    assert result.on_the_way == ("s0: 37 library books",)


def test_a_computed_table_of_twenty_rows_is_shown_whole() -> None:
    rows: Json = [{"month": f"2024-{at % 12 + 1:02d}-0{at // 12 + 1}", "n": at} for at in range(20)]
    result = answered([Step("q", "sql")], gave("q", rows))
    assert len(result.sections[0].shown) == 20
    assert "rows shown" not in result.text


def test_a_computed_series_says_where_it_goes() -> None:
    rows: Json = [{"month": f"2024-{at:02d}", "n": 3 * at} for at in range(1, 10)]
    result = answered([Step("q", "sql")], gave("q", rows))
    assert "n: rising over month, from 3 to 27." in result.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (42, "count_books: 42 [c]."),
        (2.50, "count_books: 2.5 [c]."),
        (True, "count_books: true [c]."),
        ("all is well", "count_books: all is well [c]."),
        (None, "count_books: – [c]."),
        ("", "count_books is empty."),
    ],
)
def test_a_single_value_is_said_as_it_is(value: Json, text: str) -> None:
    assert answered([Step("c", "count_books")], gave("c", value)).text == text


def test_rows_of_all_calls_of_a_for_each_are_one_list_and_gaps_are_reported() -> None:
    step = Step("s0", "books_list", for_each=Literal(["a", "b", "c"]))
    result = answered([step], gave("s0", [books(2), None, books(3)]), schemas={"s0": BOOKS})
    assert result.headline == "5 library books were found [s0]."
    assert "1 call returned nothing; their rows are missing here." in result.text


@pytest.mark.parametrize(
    ("count", "outputs", "text"),
    [
        (2, [{"ok": True}, {"ok": True}], "mail_send was called 2 times and returned 2 rows"),
        (1, [{"ok": True}], "mail_send was called once and returned 1 row"),
        (0, [], "mail_send was not called"),
        (2, [{"data": [{"a": 1}, {"a": 2}]}, {"data": [{"a": 3}]}], "2 times and returned 3 rows"),
    ],
)
def test_calls_with_effects_find_nothing(count: int, outputs: list[Json], text: str) -> None:
    step = Step("mails", "mail_send", for_each=Literal([*range(count)]))
    plan = replace(execution_plan([step]), effects=("mails",))
    events = RunStarted("r", "d", ("mails",), 0.0), gave("mails", [*outputs])
    found = answer(plan, fold((*events, RunEnded(RunState.SUCCEEDED, None, 2.0))))
    assert f"{text} [mails]." in found.headline
    assert "found" not in found.headline


def test_for_each_over_records_and_over_bare_lists_gives_rows() -> None:
    step = Step("s0", "books_get", for_each=Literal([1, 2]))
    entity: Json = {"type": "object", "x-entity": "book"}
    listed: Json = {"type": "array", "items": entity}
    records: Json = [{"id": "B1", "parts": [{"n": 1}]}, {"id": "B2", "parts": [{"n": 2}]}]
    for schema in (entity, listed):
        assert answered([step], gave("s0", records), schemas={"s0": schema}).headline == (
            "2 books were found [s0]."
        )
    lists: Json = [[{"id": "B1"}], [{"id": "B2"}, {"id": "B3"}]]
    nested: Json = {"type": "array", "items": listed}
    for schema in (listed, nested):
        assert answered([step], gave("s0", lists), schemas={"s0": schema}).headline == (
            "3 books were found [s0]."
        )


@pytest.mark.parametrize(
    ("output", "each", "text"),
    [
        # several counts: the greatest is how many there are
        ({"data": [{"n": 1}], "count": 1, "total": 9}, False, "1 of the 9 rows"),
        (
            {"data": [{"n": 1}], "total_count": 7, "row_count": 3, "total": 5},
            False,
            "of the 7 rows",
        ),
        # what stands beside the lists of several calls, and beside one in many fields
        ([{"data": [{"n": 1}], "truncated": True}], True, "truncated: true."),
        (
            [{"data": [{"n": at}], "truncated": at > 1, "source": "x"} for at in range(3)],
            True,
            "truncated: false, true, source: x.",
        ),
        ({"data": [{"n": 1}], "a": 1, "b": 2, "c": 3, "d": 4, "cut": True}, False, "cut: true."),
        # a sum without a number that is too large to be summed
        ([{"amount": 1}, {"amount": 10**200}, {"amount": 3}], False, None),
        # a median with all of its digits
        ([{"x": 1.23456}, {"x": 2.0}, {"x": 1.00004}, {"x": 12.3456}], False, "median 1.6173"),
        ([{"x": 1000}, {"x": 2001}, {"x": 1}, {"x": 3000}], False, "median 1500.5"),
    ],
)
def test_nothing_is_dropped_or_rounded_silently(output: Json, each: bool, text: str | None) -> None:
    step = Step("s0", "t", for_each=Literal([1]) if each else None)
    schema: Json = {"type": "array", "items": {"x-entity": "row"}}
    found = answered([step], gave("s0", output), schemas={"s0": None if each else schema}).text
    assert text in found if text else "sum" not in found


def test_a_list_that_the_tool_cut_says_so_and_has_no_trend() -> None:
    rows: list[Json] = [{"id": f"B{at}", "date": f"2024-01-{at + 1:02d}"} for at in range(20)]
    result = answered([LIST], gave("s0", {"data": rows, "count": 120}))
    assert "The list has 20 of the 120 rows that the tool counts." in result.text
    assert "trend" not in result.text


def test_a_failed_run_says_so_first_with_the_reason_of_each_step() -> None:
    steps = [LIST, Step("s1", "books_get", {"id": Ref("s0", ("data",))}), Step("s2", "now")]
    result = answered(
        steps,
        StepFailed("s0", Failure("tool-error", "the library is closed"), 3, 1.0),
        StepSkipped("s1", Failure("upstream-failed", "'s0' failed"), 1.0),
        gave("s2", {"data": [], "count": 0}),
        status=RunState.FAILED,
    )
    assert result.headline.startswith("The run failed: 1 of 3 steps failed.")
    assert result.headline.endswith("No rows were found by now [s2].")
    assert result.text.splitlines()[1:3] == [
        "• s0 failed: the library is closed",
        "• s1 skipped: 's0' failed",
    ]
    assert [problem.fatal for problem in result.problems] == [True, True]


def test_a_cancelled_run_and_one_that_continues_say_so() -> None:
    result = answered([LIST], StepCancelled("s0", 1.0), status=RunState.CANCELLED)
    assert result.text == "The run was cancelled; 0 of 1 step succeeded.\n• s0 cancelled."
    open_run = fold([RunStarted("r", "d", ("s0",), 0.0), StepStarted("s0", None, 0.5)])
    result = answer(execution_plan([LIST]), open_run)
    assert result.text == "The run is not over; 0 of 1 step succeeded so far."


def test_a_step_that_the_plan_continued_without_is_reported_and_is_no_result() -> None:
    failure = Failure("timeout", "no answer within 2 s")
    result = answered([LIST], StepSucceeded("s0", None, 1, failure, 1.0))
    assert result.sections == ()
    assert result.text == (
        "The plan has no results.\n• s0 failed, and the plan continued: no answer within 2 s"
    )
    assert not result.problems[0].fatal


def test_a_condition_that_was_false_is_no_failure() -> None:
    skipped = StepSkipped("s1", Failure("when-false", "the value is 0"), 1.0)
    result = answered([LIST, Step("s1", "now")], gave("s0", books(1)), skipped)
    assert "• s1 skipped: the value is 0" in result.text
    assert not result.problems[0].fatal


def test_the_output_of_the_plan_decides_what_is_reported() -> None:
    steps = [LIST, Step("s1", "now", {"x": Ref("s0")})]
    output = Object((("first", Ref("s0", ("data", 0, "price"))), ("all", Ref("s0", ("data",)))))
    result = answered(
        steps, gave("s0", books(4)), gave("s1", 1), output=output, schemas={"s0": BOOKS}
    )
    assert result.headline == "first: 10 [s0]. 4 library books were found [s0]."
    assert result.on_the_way == ("s1: 1 result by now",)


def test_an_output_of_text_names_all_the_steps_in_it() -> None:
    steps = [LIST, Step("s1", "now")]
    output = Array((Template(("at ", Ref("s1"), " there were ", Ref("s0", ("count",)))),))
    result = answered(
        steps, gave("s0", books(4)), gave("s1", 1), output=output, given=["at 1 there were 4"]
    )
    assert result.headline == "result: at 1 there were 4 [s1, s0]."


def test_a_path_with_every_element_reads_the_schema_along_the_way() -> None:
    step = Step("s0", "books_list", for_each=Literal([1, 2]))
    output = Ref("s0", (EVERY, "data"))
    result = answered(
        [step], gave("s0", [books(1), books(2)]), output=output, schemas={"s0": BOOKS}
    )
    assert result.sections[0].total == 2


def test_functions_of_a_domain_get_the_entity_and_all_rows_and_come_first() -> None:
    seen: list[tuple[str, int]] = []

    def dear(entity: str, rows: list[dict[str, Json]]) -> list[str]:
        seen.append((entity, len(rows)))
        return [f"{at} is \x1b[31mdear" for at in range(14)]

    result = answered([LIST], gave("s0", books(37)), schemas={"s0": BOOKS}, insights=[dear])
    assert seen == [("library book", 37)]
    texts = [insight.text for insight in result.sections[0].insights]
    assert (texts[0], texts[12]) == ("0 is \\x1b[31mdear", "And 2 more of this kind.")


def test_output_of_tools_never_reaches_the_terminal_raw_r17() -> None:
    rows: Json = [
        {"id": "\x1b[2J\x07B1", "a\x1b[31m": "x\u202ey\nz", "note": "w" * 500},
        {"id": "B2", "a\x1b[31m": "\ud800", "note": "ok"},
    ]
    result = answered([Step("s0", "t\x1b[1m")], gave("s0", rows))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", result.text)
    assert "\\x1b[2J\\x07B1" in result.text
    assert max(map(len, result.text.splitlines())) <= 100


def test_constant_and_empty_columns_give_way_in_a_wide_table() -> None:
    rows: Json = [
        {f"c{at}": (None if at == 3 else "same" if at == 4 else row * at) for at in range(10)}
        for row in range(30)
    ]
    section = answered([LIST], gave("s0", rows)).sections[0]
    assert section.hidden == ("c3", "c4")
    assert "All 30: c0 is 0; c4 is same." in [insight.text for insight in section.insights]


def test_many_results_are_all_reported() -> None:
    steps = [Step(f"s{at}", f"tool{at}") for at in range(5)]
    result = answered(steps, *(gave(step.id, at) for at, step in enumerate(steps)))
    assert result.headline.endswith("2 more results are below.")
    assert "tool4: 4 [s4]." in result.text


def test_the_wire_form_is_json_and_holds_the_rows_as_given() -> None:
    result = answered([LIST], gave("s0", books(12)), schemas={"s0": BOOKS}, rows=3)
    wire = json.loads(json.dumps(result.to_json()))
    assert wire["sections"][0]["rows"][0] == {"id": "B0", "genre": "poetry", "price": 10}
    assert len(wire["sections"][0]["rows"]) == 3
    assert (wire["sections"][0]["total"], wire["text"]) == (12, result.text)


def test_the_answer_knows_no_noun_of_the_demo() -> None:
    folder = Path(toolplan.show.answer.__path__[0])
    source = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py")).casefold()
    nouns = ("shipment", "facilit", "contamin", "inspect", "carrier", "waste", "berlin")
    assert [noun for noun in nouns if noun in source] == []
