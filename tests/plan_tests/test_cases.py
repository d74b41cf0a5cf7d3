"""Files of plan tests: what they say, and what is wrong with them."""

import re
from pathlib import Path

import pytest

from toolplan.testing.plans.cases import CaseError, Recorded, read_cases

GOOD = """\
tools: toolplan_demo:TOOLS
today: 2025-10-12
tests:
  - Get contaminated shipments
  - question: Which facilities are in Berlin?
    today: "2025-01-01"
    expect:
      tools: [facilities_list]
      forbidden: [shipments_update]
      max_calls: 3
      includes: {steps: [{id: f, tool: facilities_list}]}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "demo.plans.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    file = read_cases(write(tmp_path, GOOD))
    assert (file.tools, file.planner, file.model) == ("toolplan_demo:TOOLS", None, None)
    first, second = file.cases
    assert (first.question, first.today, first.expect) == (
        "Get contaminated shipments",
        "2025-10-12",
        None,
    )
    assert second.today == "2025-01-01"
    assert second.expect is not None
    assert second.expect.tools == {"facilities_list"}
    assert second.expect.max_calls == 3


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("tests:", "other: 3\ntests:", "unknown field `other`"),
        ("tests:", "tests: 3\nplanner:", "Expected `array`, got `int` - at"),
        ("tools: toolplan_demo:TOOLS", "tool: x", "unknown field `tool`"),
        ("max_calls: 3", "max_call: 3", r"unknown field `max_call` - at `\$.tests\[1\].expect`"),
        (
            "max_calls: 3",
            "max_calls: true",
            r"Expected `int`, got `bool` - at `\$.tests\[1\].expect.max_calls`",
        ),
        ("max_calls: 3", "no_plan: true", "no_plan must be alone"),
        ("max_calls: 3", "max_calls:", r"Expected `int`, got `null`"),
        ("tools: [facilities_list]", "tools:", r"Expected `array`, got `null`"),
        ("includes: {steps: [{id: f, tool: facilities_list}]}", "includes:", "is not a plan"),
        ("today: 2025-10-12", "today: yesterday", r"Invalid .* - at `\$.today`"),
        (
            "[facilities_list]",
            "facilities_list",
            r"Expected `array`, got `str` - at `\$.tests\[1\].expect.tools`",
        ),
        ("id: f, tool", "id: f, tol", r"includes is not a plan. /steps/0"),
        ("question: Which", "asked: Which", r"unknown field `asked` - at `\$.tests\[1\]`"),
        ("tests:", "tests: [", "demo.plans.yaml:"),
    ],
)
def test_what_is_wrong_is_named_by_place(tmp_path: Path, old: str, new: str, expected: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(CaseError) as caught:
        read_cases(path)
    assert caught.value.code == "bad-plan-test"
    assert re.search(expected, caught.value.with_help)


def test_files_that_are_none(tmp_path: Path) -> None:
    for content in (b"", b"[]", b"tests: []", b"\xff", b"tests: [{}]", b"tests: [{question: 3}]"):
        path = tmp_path / "x.plans.yaml"
        path.write_bytes(content)
        with pytest.raises(CaseError):
            read_cases(path)
    with pytest.raises(CaseError, match="No such file"):
        read_cases(tmp_path / "nowhere")


def test_recorded_plans_are_kept_beside_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    case = read_cases(path).cases[0]
    recorded = Recorded(path)
    assert case not in recorded
    recorded[case] = None
    recorded.save()
    assert case in Recorded(path)
    assert Recorded(path)[case] is None
    assert path.read_text("utf-8") == GOOD
    recorded.path.write_text('{"plans": 3}', "utf-8")
    with pytest.raises(CaseError, match="not a file of recorded plans"):
        Recorded(path)
