"""Options of `@toolplan.tool` that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from toolplan.sources.python import tool
from toolplan.tools import ToolObjectError


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effects": "reads"}, "effects='reads' is not a label"),
        ({"effects": 3}, "effects=3 is not a label"),
        ({"effects": []}, "is not a label"),
        ({"hints": "x"}, "hints is a value of type str"),
        ({"hints": 3}, "hints is a value of type int"),
        ({"inject": 3}, "inject is not a dict of functions"),
        ({"inject": {"city": 3}}, "inject is not a dict of functions"),
    ],
)
def test_a_wrong_option_names_the_tool_and_what_it_takes(
    options: dict[str, Any], words: str
) -> None:
    def look(city: str) -> str:
        return city

    with pytest.raises(ToolObjectError, match=words) as caught:
        tool(**options)(look)
    assert "Tool 'look'" in str(caught.value)
    assert caught.value.help


def test_the_help_of_a_wrong_label_has_the_labels() -> None:
    wrong: Any = "reads"
    with pytest.raises(ToolObjectError) as caught:
        tool(effects=wrong)(max)
    assert caught.value.help == "The labels are read, write, destructive, unknown."


def test_what_is_no_function_is_named() -> None:
    three: Any = 3
    with pytest.raises(ToolObjectError, match="A value of type int cannot be a tool"):
        tool(three)

    def look(city: str) -> str:
        return city

    made: Any = tool(look)
    with pytest.raises(ToolObjectError, match="'look' is a tool already"):
        tool(made)
