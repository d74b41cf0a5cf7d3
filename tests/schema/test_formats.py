"""Times are read as they are written in practice: seconds and offset may be left out."""

import pytest

from toolplan.schema import Schema


@pytest.mark.parametrize(
    ("form", "text", "fits"),
    [
        ("date-time", "2025-10-06T12:00:00Z", True),
        ("date-time", "2025-10-06T12:00:00.25+02:00", True),
        ("date-time", "2025-10-06T12:00:00", True),
        ("date-time", "2025-10-06 12:00", True),
        ("date-time", "1990-12-31T23:59:60Z", True),
        ("date-time", "2025-10-06", False),
        ("date-time", "2025-02-30T12:00:00Z", False),
        ("date-time", "2025-10-06T24:30:00Z", False),
        ("date-time", "2025-10-06T12:00:00+25:00", False),
        ("date-time", "noon", False),
        ("time", "18:00", True),
        ("time", "18:00:00Z", True),
        ("time", "6 pm", False),
        ("time", "18:61", False),
        ("date", "2025-10-06", True),
        ("date", "2025-10-06T00:00:00", False),
    ],
)
def test_formats_of_time(form: str, text: str, fits: bool) -> None:
    assert Schema.load({"type": "string", "format": form}).is_valid(text) is fits
