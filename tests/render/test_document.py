"""A document as plain text and on a rich console."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from toolplan.render.answer_view import AnswerView
from toolplan.render.document import (
    Bullets,
    Document,
    Fields,
    Heading,
    Lead,
    Note,
    Table,
    column_widths,
    document_text,
)
from toolplan.render.printable import printable

DOCUMENT: Document = (
    Lead("Two things [red]were[/red] found."),
    Heading("things [s0]"),
    Table(("id", "n"), (False, True), (("東京", "1"), ("b", "200"))),
    Note("All shown."),
    Heading("one [s1]"),
    Fields((("id", "b"), ("colour", "red"))),
    Bullets(("first", "second"), bad=True),
)


def on_console(document: Document, *, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    Console(file=stream, width=width, color_system=None).print(AnswerView(document))
    stream.flush()
    stream.seek(0)
    return stream.read()


def test_plain_text_is_aligned_and_has_no_trailing_space() -> None:
    assert document_text(DOCUMENT).splitlines() == [
        "Two things [red]were[/red] found.",
        "",
        "things [s0]",
        "id      n",
        "────  ───",
        "東京    1",
        "b     200",
        "All shown.",
        "",
        "one [s1]",
        "id      b",
        "colour  red",
        "• first",
        "• second",
    ]


def test_a_console_shows_the_same_words() -> None:
    drawn = "─ "
    plain = [word for word in document_text(DOCUMENT).split() if word.strip(drawn)]
    shown = [word for word in on_console(DOCUMENT).split() if word.strip(drawn)]
    assert shown == plain


def test_a_terminal_that_is_not_utf_8_shows_it_too_c12() -> None:
    text = on_console(DOCUMENT, encoding="ascii")
    assert "\\u6771\\u4eac" in text
    assert "* first" in text


def test_wide_tables_give_way_in_their_widest_columns() -> None:
    table = Table(("id", "note"), (False, False), (("B1", "x" * 300), ("B2", "y")))
    assert column_widths(table, 40) == (2, 36)
    assert max(map(len, document_text((table,), width=40).splitlines())) == 40
    assert "B1" in on_console((table,), width=40)


CELLS = st.text(max_size=60).map(printable)


@settings(max_examples=30)
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1)))
def test_any_table_can_be_shown(rows: list[tuple[str, ...]]) -> None:
    table = Table(rows[0], (False,) * len(rows[0]), tuple(rows))
    assert len(document_text((table,)).split("\n")) == len(rows) + 2
