"""Times in a text: every phrase of the table, the laws that hold for any text, the document.

The rows of `phrases.json` say what is found on a day: first and last day of each time (null for an
open side), and the words that are asked about.
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

from toolplan.dates import MONTHS, DateRange, FoundDate, Weeks, find_dates, read_dates, vocabulary


class Phrase(TypedDict):
    text: str
    times: list[list[str | None]]
    asked: NotRequired[list[str]]


class Group(TypedDict):
    about: str
    today: str
    weeks: Weeks
    phrases: list[Phrase]


HERE = Path(__file__).parent
GROUPS = cast("list[Group]", json.loads((HERE / "phrases.json").read_text(encoding="utf-8")))
DATES_PAGE = HERE.parents[1] / "docs" / "dates.md"
WEDNESDAY = date(2025, 10, 15)


def found(text: str, today: date = WEDNESDAY, weeks: Weeks = "rolling") -> list[DateRange]:
    return [each.range for each in find_dates(text, today, weeks) if each.range]


def days(first: str, last: str) -> list[DateRange]:
    return [DateRange(date.fromisoformat(first), date.fromisoformat(last))]


ROWS = [
    pytest.param(date.fromisoformat(group["today"]), group["weeks"], row, id=row["text"][:40])
    for group in GROUPS
    for row in group["phrases"]
]


@pytest.mark.parametrize(("today", "weeks", "row"), ROWS)
def test_each_phrase_is_read_or_asked_as_the_table_says(
    today: date, weeks: Weeks, row: Phrase
) -> None:
    times = find_dates(row["text"], today, weeks)
    assert [
        [side and side.isoformat() for side in each.range] for each in times if each.range
    ] == row["times"]
    asked = [row["text"][each.start : each.end] for each in times if each.range is None]
    assert asked == row.get("asked", [])


def test_the_table_is_large() -> None:
    assert sum(len(group["phrases"]) for group in GROUPS) >= 500


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


@pytest.mark.parametrize(
    ("phrase", "note"),
    [
        ("last week", "the 7 days before today, and today"),
        ("last 7 days", "the 7 days before today, and today"),
        ("past 2 weeks", "the 2 weeks before today, and today"),
        ("last 1 month", "the 1 month before today, and today"),
        ("past week", "one week back from today, and today"),
        ("past year", "one year back from today, and today"),
        ("next 3 days", "today, and the 3 days after it"),
        ("07/10/2025", "month first; day first it is 2025-10-07"),
        ("next Friday", "the Friday of next week; the coming one is 2025-10-17"),
        ("yesterday at 3pm", "the time of day is left out"),
        ("last 24 hours", "hours are rounded up to days"),
        ("3 months ago", "one day, not a whole month"),
        ("October 20", "it lies ahead"),
        ("since last week", "the 7 days before today, and today"),
        ("from last week to today", "the 7 days before today, and today"),
        ("last Tuesday", ""),
    ],
)
def test_a_note_says_which_reading_was_taken(phrase: str, note: str) -> None:
    (time,) = find_dates(phrase, WEDNESDAY)
    assert time.note == note


def test_last_week_follows_the_profile_and_says_so_c_06() -> None:
    """C-06: rolling by default, calendar on request; the note always says which."""
    (calendar,) = find_dates("last week", date(2025, 10, 12), "calendar")
    assert calendar.range == days("2025-09-29", "2025-10-05")[0]
    assert calendar.note == "Monday to Sunday of the week before this one"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("2025-13-45", "“2025-13-45” is no date: month must be in 1..12."),
        ("February 30", "“february 30” is no date: day is out of range for month."),
        ("Tuesday, October 6, 2025", "2025-10-06 is a Monday, not a Tuesday."),
        ("Q5 2025", "A year has 4 quarters."),
        ("week 60", "“week 60” is no date: there is no week 60."),
        (
            "from 2025-10-12 to 2025-10-01",
            "The range ends on 2025-10-01, before it begins on 2025-10-12. Which days?",
        ),
        ("the last months of 2024", "How many months? Say for example: the last 3 months."),
        ("by Friday", "Until 2025-10-10, or until 2025-10-17?"),
    ],
)
def test_what_is_no_range_is_asked_with_the_reason(text: str, question: str) -> None:
    (time,) = find_dates(f"shipments of {text}, please", WEDNESDAY)
    assert (time.range, time.question) == (None, question)


def test_words_are_read_as_a_text_is() -> None:
    words = ["inspections", "from", "Monday", "to", "Friday", ",", "by", "carrier"]
    assert read_dates(words, WEDNESDAY) == [
        FoundDate(1, 5, DateRange(date(2025, 10, 13), date(2025, 10, 17)))
    ]


def test_the_vocabulary_has_the_words_of_times() -> None:
    assert {"week", "yesterday", "until", "first", "weekend", *MONTHS} <= vocabulary()


@pytest.mark.parametrize("word", ["not", "except", "every", "early", "around", "fiscal"])
def test_a_time_that_is_denied_or_blurred_is_not_read(word: str) -> None:
    assert find_dates(f"shipments {word} October", WEDNESDAY) == []


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
def test_any_text_gives_ordered_times_within_it(text: str, today: date, weeks: Weeks) -> None:
    times = find_dates(text, today, weeks)
    behind = 0
    for each in times:
        assert behind <= each.start < each.end <= len(text)
        assert (each.range is None) == bool(each.question)
        if each.range:
            first, last = each.range
            assert first or last
            assert first is None or last is None or first <= last
        behind = each.end
    assert find_dates(text, today, weeks) == times


@given(NEAR_TEXT, ANY_DAY)
def test_capitals_decide_nothing(text: str, today: date) -> None:
    assert found(text.lower(), today) == found(text, today)


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
    assert last + timedelta(days=1) == today.replace(day=1)
    ((monday, until),) = found("this week", today)
    assert monday is not None
    assert monday.weekday() == 0
    assert until == today
    assert (today - monday).days < 7


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.sampled_from(sorted(MONTHS)))
def test_the_coming_and_the_last_one_lie_on_their_side_of_today(today: date, month: str) -> None:
    for weekday in ("Monday", "Thursday", "Sunday"):
        ((coming, _),) = found(f"coming {weekday}", today)
        ((last, _),) = found(f"last {weekday}", today)
        assert coming is not None
        assert last is not None
        assert timedelta(0) < coming - today <= timedelta(7)
        assert timedelta(0) < today - last <= timedelta(7)
    ((first, _),) = found(f"next {month}", today)
    assert first is not None
    assert first > today
    ((_, end),) = found(f"last {month}", today)
    assert end is not None
    assert end < today


@pytest.mark.parametrize(
    "text",
    ["end of " * 300, "the last week of " * 100, "1-1-" * 300, " " * 50_000, "to May " * 300],
)
def test_long_texts_give_times_of_a_bounded_length(text: str) -> None:
    assert all(each.end - each.start < 200 for each in find_dates(text, WEDNESDAY))


def shown(times: list[FoundDate]) -> str:
    return "; ".join(str(each.range or "?") for each in times)


def test_the_document_shows_what_is_read() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", DATES_PAGE.read_text("utf-8"), re.M)
    assert len(rows) > 80
    for phrase, rolling, calendar in rows:
        assert (phrase, shown(find_dates(phrase, WEDNESDAY))) == (phrase, rolling)
        assert (phrase, shown(find_dates(phrase, WEDNESDAY, "calendar"))) == (phrase, calendar)


@pytest.mark.parametrize(
    ("heading", "expected"), [("What is asked", "?"), ("What is not read", "")]
)
def test_the_document_lists_what_is_not_read(heading: str, expected: str) -> None:
    _, _, section = DATES_PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")
    phrases = re.findall(r"^- `([^`]+)`", section.partition("\n## ")[0], flags=re.MULTILINE)
    assert len(phrases) >= 8
    for phrase in phrases:
        assert (phrase, shown(find_dates(phrase, WEDNESDAY))) == (phrase, expected)


@pytest.mark.parametrize(
    "text",
    [
        "10/06/2025",
        "since 10/06/2025",
        "before 10/06/2025",
        "the day before 10/06/2025",
        "the day after 10/06/2025",
        "the week of 10/06/2025",
        "weekend of 10/06/2025",
        "10/06/2025 to 10/08/2025",
        "from 2025-10-01 to 10/06/2025",
        "after 10/06/2025 and before 11/08/2025",
        "after 10/06/2025 and before 2025-12-01",
    ],
)
def test_a_day_that_could_be_the_month_never_comes_without_a_note(text: str) -> None:
    assert "day first it is 2025-06-10" in find_dates(text, WEDNESDAY)[0].note
