"""Times in a question: every phrase of the table, the laws that hold for any text, the document.

The table is `temporal_phrases.json`; its rows say what is found on a day: the words, first and last
day (null for an open side), `ambiguous` where one of them is, and `bad` for what is no date.
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import NotRequired, TypedDict, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.planners.grounded.dates import (
    DateRange,
    Weeks,
    find_bad_dates,
    find_times,
)
from toolplan.planners.grounded.dates.dates import PHRASES as DATES
from toolplan.planners.grounded.dates.mentions import CUES, OPENERS
from toolplan.planners.grounded.dates.parts import ARTICLE, PARTS
from toolplan.planners.grounded.dates.relative import PHRASES as RELATIVE
from toolplan.planners.grounded.dates.spelling import Spelling
from toolplan.planners.grounded.dates.words import Text


class Phrase(TypedDict):
    text: str
    times: list[list[str | None]]
    ambiguous: NotRequired[bool]
    bad: NotRequired[list[str]]


class Group(TypedDict):
    about: str
    today: str
    weeks: Weeks
    phrases: list[Phrase]


HERE = Path(__file__).parent
GROUPS = cast(
    "list[Group]", json.loads((HERE / "temporal_phrases.json").read_text(encoding="utf-8"))
)
WEDNESDAY = date(2025, 10, 15)


def found(text: str, today: date = WEDNESDAY, weeks: Weeks = "rolling") -> list[DateRange]:
    return [mention.range for mention in find_times(text, today, weeks)]


def days(first: str, last: str) -> list[DateRange]:
    return [DateRange(date.fromisoformat(first), date.fromisoformat(last))]


ROWS = [
    pytest.param(date.fromisoformat(group["today"]), group["weeks"], row, id=row["text"][:40])
    for group in GROUPS
    for row in group["phrases"]
]


@pytest.mark.parametrize(("today", "weeks", "row"), ROWS)
def test_each_phrase_of_the_table_is_read_as_the_table_says(
    today: date, weeks: Weeks, row: Phrase
) -> None:
    mentions = find_times(row["text"], today, weeks)
    assert [
        [each.text, *(side and side.isoformat() for side in each.range)] for each in mentions
    ] == row["times"]
    assert any(each.ambiguous for each in mentions) == row.get("ambiguous", False)
    bad = find_bad_dates(row["text"], today)
    assert [row["text"][start:end] for start, end, _ in bad] == row.get("bad", [])


def test_the_table_is_large() -> None:
    assert sum(len(group["phrases"]) for group in GROUPS) >= 150


@pytest.mark.parametrize(
    ("phrase", "first", "last"),
    [
        ("today", "2025-10-12", "2025-10-12"),
        ("yesterday", "2025-10-11", "2025-10-11"),
        ("last week", "2025-10-05", "2025-10-12"),
        ("this week", "2025-10-06", "2025-10-12"),
        ("this month", "2025-10-01", "2025-10-12"),
        ("last month", "2025-09-01", "2025-09-30"),
        ("last 30 days", "2025-09-12", "2025-10-12"),
    ],
)
def test_the_printed_table_holds_f000_38(phrase: str, first: str, last: str) -> None:
    """F000-38, with C-01: this week begins on the ISO Monday, 2025-10-06, not on 2025-10-07."""
    assert found(phrase, date(2025, 10, 12)) == days(first, last)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("Get me shipments from last week", "2025-10-04", "2025-10-11"),
        (
            "Get contaminated shipments from last week and show me the contaminant details",
            "2025-10-04",
            "2025-10-11",
        ),
        ("Analyze today's contaminants in Hannover", "2025-10-11", "2025-10-11"),
        (
            "From the inspections accepted this week, did we detect any high-risk contaminants?",
            "2025-10-06",
            "2025-10-11",
        ),
    ],
)
def test_the_scenarios_get_their_ranges_f003_23_to_26(question: str, first: str, last: str) -> None:
    """F003-23, F003-24, F003-25, F003-26."""
    assert found(question, date(2025, 10, 11)) == days(first, last)


def test_last_week_follows_the_profile_and_says_so_c_06() -> None:
    """C-06: rolling by default, calendar on request; the reading always says which."""
    (rolling,) = find_times("last week", date(2025, 10, 12))
    (calendar,) = find_times("last week", date(2025, 10, 12), "calendar")
    assert rolling.reading == (
        "last week = 2025-10-05 to 2025-10-12 (the 7 days before today, and today)"
    )
    assert calendar.reading == (
        "last week = 2025-09-29 to 2025-10-05 (Monday to Sunday of the week before this one)"
    )


def test_last_month_on_the_31st_is_the_month_before() -> None:
    assert found("last month", date(2025, 10, 31)) == days("2025-09-01", "2025-09-30")


def test_a_mention_covers_its_cue_words_and_its_possessive() -> None:
    text = "Which of yesterday's loads came  since\tMonday?"
    assert [mention.text for mention in find_times(text, WEDNESDAY)] == [
        "of yesterday's",
        "since\tMonday",
    ]


def test_a_reading_says_what_the_other_choice_would_have_been() -> None:
    (mention,) = find_times("07/10/2025", WEDNESDAY)
    assert mention.ambiguous
    assert "2025-10-07" in mention.reading


def test_typographic_dashes_and_apostrophes_are_read() -> None:
    assert found("today’s loads") == days("2025-10-15", "2025-10-15")
    assert found("October 1–10") == days("2025-10-01", "2025-10-10")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2025-13-45", "There is no month 13."),
        ("2025-02-29", "February 2025 has 28 days, not 29."),
        ("February 30", "February has no day 30 in any year."),
        ("October 45th", "There is no day 45 in any month."),
        ("32/13/2025", "Neither 32 nor 13 is a month."),
        ("Tuesday, October 6, 2025", "2025-10-06 is a Monday, not a Tuesday."),
        ("Q5 2025", "A year has 4 quarters, not 5."),
        ("week 53 of 2025", "2025 has 52 calendar weeks, not 53."),
        (
            "from 2025-10-12 to 2025-10-01",
            "The range ends on 2025-10-01, before it begins on 2025-10-12.",
        ),
    ],
)
def test_what_is_no_date_on_any_day_is_reported_with_the_reason(text: str, why: str) -> None:
    question = f"shipments of {text}, please"
    ((start, end, reason),) = find_bad_dates(question)
    assert text in question[start:end]
    assert reason == why
    assert found(question) == []


def test_what_is_no_date_only_today_is_reported_when_today_is_given() -> None:
    text = "from yesterday to 2025-10-01"
    assert find_bad_dates(text) == []
    assert [reason for _, _, reason in find_bad_dates(text, WEDNESDAY)] == [
        "The range ends on 2025-10-01, before it begins on 2025-10-14."
    ]


VAGUE = ["not", "except", "every", "early", "around", "fiscal"]


@pytest.mark.parametrize("word", VAGUE)
def test_a_time_that_is_denied_or_blurred_is_not_read(word: str) -> None:
    assert found(f"shipments {word} October") == []


def test_two_times_that_stand_side_by_side_are_not_guessed_at() -> None:
    assert found("shipments this day last year") == []


# text that is near the grammar: its own words, glued together in any order
WORDS = sorted(
    {
        word
        for group in GROUPS
        for row in group["phrases"]
        for word in re.findall(r"\w+|[^\w\s]", row["text"])
    }
)
NEAR_TEXT = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", " ", " ", "", "\n", "-", ", "])),
    max_size=14,
).map(lambda parts: "".join(word + gap for word, gap in parts))
ANY_TEXT = st.one_of(st.text(), NEAR_TEXT, NEAR_TEXT)
ANY_DAY = st.one_of(st.dates(), st.dates(date(2024, 1, 1), date(2026, 12, 31)))
WEEKS = st.sampled_from(("rolling", "calendar"))


@given(ANY_TEXT, ANY_DAY, WEEKS)
def test_any_text_gives_ordered_mentions_within_it(text: str, today: date, weeks: Weeks) -> None:
    mentions = find_times(text, today, weeks)
    behind = 0
    for mention in mentions:
        assert behind <= mention.start < mention.end <= len(text)
        assert mention.text == text[mention.start : mention.end]
        first, last = mention.range
        assert first or last
        assert first is None or last is None or first <= last
        behind = mention.end
    assert find_times(text, today, weeks) == mentions
    for start, end, why in find_bad_dates(text, today):
        assert 0 <= start < end <= len(text)
        assert why.endswith(".")
    find_bad_dates(text)


@given(NEAR_TEXT, ANY_DAY)
def test_capitals_alone_decide_nothing_but_names(text: str, today: date) -> None:
    """Lower case finds nothing that capitals deny, besides the verbs and the given names."""
    names = {"may", "march", "april", "june", "august", "jan"}
    if names & set(re.findall(r"[a-z]+", text.lower())):
        return
    assert [each.range for each in find_times(text.lower(), today)] == [
        each.range for each in find_times(text, today)
    ]


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)), st.dates(), WEEKS)
def test_a_written_date_is_itself_on_any_day(day: date, today: date, weeks: Weeks) -> None:
    assert found(day.isoformat(), today, weeks) == [DateRange(day, day)]
    spelt = f"{day.year:04}-{day.month}-{day.day}"
    assert found(f"on {spelt}.", today, weeks) == [DateRange(day, day)]


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(1, 9999))
def test_a_rolling_window_ends_today_and_is_as_long_as_said(today: date, count: int) -> None:
    assert found(f"last {count} days", today) == [DateRange(today - timedelta(days=count), today)]
    assert found(f"{count} days ago", today) == [DateRange(*[today - timedelta(days=count)] * 2)]


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)))
def test_named_periods_lie_whole_where_they_belong(today: date) -> None:
    ((first, last),) = found("last month", today)
    assert first is not None
    assert last is not None
    assert first.day == 1
    assert (last + timedelta(days=1)).day == 1
    assert last + timedelta(days=1) == today.replace(day=1)
    ((monday, until),) = found("this week", today)
    assert monday is not None
    assert monday.weekday() == 0
    assert until == today
    assert (today - monday).days < 7


def test_long_texts_take_time_in_proportion() -> None:
    # deep nesting and repeated cues: nothing here may recurse or backtrack without bound
    for text in ("end of " * 3000, "the last week of " * 1000, "1-1-" * 3000, " " * 50_000):
        assert find_times(text, WEDNESDAY) == []


SPELLINGS = [
    *(phrase.spelling for phrase in (*RELATIVE, *DATES)),
    *(part.prefix for part in PARTS),
    *(cue.spelling for cue in CUES),
    ARTICLE,
    OPENERS,
]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.text[:40])
def test_a_spelling_may_stand_in_what_it_matches(spelling: Spelling) -> None:
    """A spelling is compiled for the first text that has what it needs; no other is looked at."""

    @given(st.from_regex(spelling.pattern))
    def law(text: str) -> None:
        assert spelling.may_stand_in(text)

    law()


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.text[:40])
def test_a_spelling_needs_something(spelling: Spelling) -> None:
    assert not spelling.may_stand_in("")


def test_few_patterns_are_compiled_for_a_question() -> None:
    text = Text(question := "get contaminated shipments from last week", question)
    assert sum(each.may_stand_in(text.folded) for each in SPELLINGS) < len(SPELLINGS) / 5
