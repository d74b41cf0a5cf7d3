"""Laws of answers, for any rows: nothing raises, totals are right, no noise in the text."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from toolplan.events import RunEnded, RunStarted, RunState, StepSucceeded, fold
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.answer import Answer, answer
from toolplan.show.answer.insights import Kind, columns_of, share_text
from toolplan.show.answer.shape import NO_HINTS, Row, Rows, hints, shape_of

# no letters of "nan" and "inf": they may only come from numbers
TEXTS = st.text(alphabet="bdexz 0-:\x1b\u202e\n\ud800東", max_size=12)
DATES = st.dates().map(str) | st.datetimes().map(lambda at: at.isoformat())
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([0.1, 1e308]) | TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS | DATES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["id", "b", "rate", "count", "date", "data", "x\x1b", ""])


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """Rows whose columns mostly hold values of one kind, as those of tools do."""
    kinds = [st.booleans(), st.integers(), st.floats(), DATES, st.sampled_from("bde"), VALUES]
    names = draw(st.lists(NAMES, max_size=5, unique=True))
    columns: dict[str, st.SearchStrategy[Json]] = {
        name: st.none() | draw(st.sampled_from(kinds)) for name in names
    }
    return draw(st.lists(st.fixed_dictionaries({}, optional=columns), max_size=30))


def answered(output: Json, schema: Json, *, each: bool) -> Answer:
    step = Step("s0", "tool", for_each=Literal([]) if each else None)
    plan = ExecutionPlan(Plan((step,)), ("s0",), {"s0": ()}, {}, (), "d")
    events = (
        RunStarted("r", "d", ("s0",), 0.0),
        StepSucceeded("s0", output, 1, None, 1.0),
        RunEnded(RunState.SUCCEEDED, output, 2.0),
    )
    return answer(plan, fold(events), schemas={"s0": schema})


def check_text(text: str) -> None:
    assert not re.search(r"(?i)\b(nan|inf|infinity)\b", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    assert "0000000" not in re.sub(r"\b[\d,]+\b", "", text)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.booleans())
def test_any_output_has_an_answer(output: Json, each: bool) -> None:
    result = answered(output, None, each=each)
    check_text(result.text)
    assert result.to_json()["text"] == result.text


@settings(max_examples=50, deadline=None)
@given(VALUES, VALUES, st.booleans())
def test_any_schema_can_be_read(output: Json, schema: Json, each: bool) -> None:
    check_text(answered(output, schema, each=each).text)
    assert hints(schema).inner("data").inner(0).entity == ""


@settings(max_examples=150, deadline=None)
@given(tables(), st.booleans())
def test_the_total_shown_is_the_number_of_rows(rows: list[Row], wrapped: bool) -> None:
    listed: list[Json] = [*rows]
    result = answered({"data": listed, "count": len(rows)} if wrapped else listed, None, each=False)
    (section,) = result.sections
    assert section.total == len(rows)
    assert len(section.shown) <= section.total
    assert result == answered(listed, None, each=False) or wrapped
    check_text(result.text)


@settings(max_examples=100, deadline=None)
@given(tables())
def test_shares_sum_to_the_total(rows: list[Row]) -> None:
    for column in columns_of(rows, NO_HINTS):
        if column.kind is Kind.CATEGORIES:
            assert sum(count for _, count in column.counts) == len(column.at) <= len(rows)


@settings(max_examples=40, deadline=None)
@given(st.lists(tables(), max_size=4))
def test_a_for_each_has_the_rows_of_all_its_calls(calls: list[list[Row]]) -> None:
    outputs: list[Json] = [[*rows] for rows in calls]
    shape = shape_of(outputs, NO_HINTS, each=True)
    assert isinstance(shape, Rows)
    assert shape.rows == [row for rows in calls for row in rows]


@given(st.integers(min_value=1, max_value=10**9), st.data())
def test_a_part_never_reads_as_none_or_as_all(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(min_value=0, max_value=total))
    assert (share_text(count, total) == "0 %") == (count == 0)
    assert (share_text(count, total) == "100 %") == (count == total)
