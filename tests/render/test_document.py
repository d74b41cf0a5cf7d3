"""A document as plain text and on a rich console."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.screens import on_console
from toolplan.show.document import (
    Bullets,
    Document,
    DocumentView,
    Fields,
    Heading,
    Lead,
    Note,
    Table,
    document_text,
)
from toolplan.show.printable import printable

DOCUMENT: Document = (
    Lead("Two things [red]were[/red] found."),
    Heading("things [s0]"),
    Table(("id", "n"), (False, True), (("東京", "1"), ("b", "200"))),
    Note("All shown."),
    Heading("one [s1]"),
    Fields((("id", "b"), ("colour", "red"))),
    Bullets(("first", "second"), bad=True),
)


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
    shown = [word for word in on_console(DocumentView(DOCUMENT)).split() if word.strip(drawn)]
    assert shown == plain


def test_a_terminal_that_is_not_utf_8_shows_it_too_c12() -> None:
    text = on_console(DocumentView(DOCUMENT), encoding="ascii")
    assert "\\u6771\\u4eac" in text
    assert "* first" in text


def test_a_table_without_room_leaves_out_whole_columns_and_names_them() -> None:
    table = Table(
        ("id", "note", "day", "kg"),
        (False, False, False, True),
        (("S20261031-010", "late, and wet", "2026-10-31", "1,362,410"),),
        ranks=(0, 2, 1, 1),
        hidden=("carrier",),
    )
    wide, narrow = (document_text((table,), width).splitlines() for width in (60, 40))
    assert wide[0] == "id             note           day                kg"
    assert wide[-1] == "Columns not shown: carrier."
    assert narrow[0] == "id             day                kg"
    assert narrow[2] == "S20261031-010  2026-10-31  1,362,410"
    assert narrow[-1] == "Columns not shown: note, carrier."


def test_a_table_with_room_for_few_columns_lists_the_fields_of_each_row() -> None:
    uuids = "0cda34e8-459e-4316-a463-a84ebc26e0d3", "40685955-f7e2-4ae0-b68e-546296e4ed08"
    table = Table(("id", "customer_id"), (False, False), (uuids, uuids[::-1]))
    assert document_text((table,), 60).splitlines() == [
        f"id           {uuids[0]}",
        f"customer_id  {uuids[1]}",
        "",
        f"id           {uuids[1]}",
        f"customer_id  {uuids[0]}",
    ]
    narrow = document_text((table,), 40).splitlines()
    assert narrow[:4] == ["id", f"    {uuids[0]}", "customer_id", f"    {uuids[1]}"]


CELLS = st.text(max_size=60).map(printable)


@settings(max_examples=30)
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1)))
def test_any_table_can_be_shown(rows: list[tuple[str, ...]]) -> None:
    table = Table(rows[0], (False,) * len(rows[0]), tuple(rows))
    shown = document_text((table,)).split()
    assert all(word in shown for row in rows for word in row[0].split())
