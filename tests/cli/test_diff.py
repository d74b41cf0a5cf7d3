"""`toolplan diff`: what differs between two plans or runs."""

import json
from pathlib import Path

import pytest

from tests.cli.calls import Call

BEFORE = {
    "toolplan": 1,
    "steps": [
        {"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}},
        {"id": "s", "tool": "shipments_list", "args": {"facility_id": "${f.data[0].id}"}},
    ],
}
AFTER = {
    "toolplan": 1,
    "steps": [
        {"id": "x", "tool": "facilities_list", "args": {"location": "Berlin\u202e"}},
        {"id": "y", "tool": "shipments_list", "args": {"facility_id": "${x.data[0].id}"}},
        {"id": "z", "tool": "shipments_update", "args": {"id": "S1", "status": "rejected"}},
    ],
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path, plan in zip(paths, (BEFORE, AFTER), strict=True):
        path.write_text(json.dumps(plan), "utf-8")
    return str(paths[0]), str(paths[1])


def test_what_differs_is_printed(files: tuple[str, str], call: Call) -> None:
    said = call("diff", *files, "--tools", "toolplan_demo:TOOLS", code=1)
    lines = said.out.splitlines()
    assert lines[:2] == [
        "~ f → x: facilities_list",
        '    /args/location: "Berlin" → "Berlin\\u202e"',
    ]
    assert lines[2].startswith("+ z: shipments_update")
    assert lines[-1] == "1 step added, 1 step changed."
    assert "y" not in "".join(line[:4] for line in lines)


def test_the_same_plan_exits_with_0(files: tuple[str, str], call: Call) -> None:
    said = call("diff", files[0], files[0])
    assert (said.code, said.out) == (0, "The plans make the same calls.\n")
    assert call("diff", files[0], files[0], "--json").json["same"] is True


def test_json(files: tuple[str, str], call: Call) -> None:
    said = call("diff", *files, "--json", code=1)
    assert [each["kind"] for each in said.json["steps"]] == ["changed", "added"]
    assert said.json["steps"][0]["changes"] == [
        {"pointer": "/args/location", "before": "Berlin", "after": "Berlin\u202e"}
    ]
    assert said.json["before"] == {"file": files[0]}


@pytest.mark.usefixtures("home")
def test_a_run_is_compared_with_what_was_approved_for(files: tuple[str, str], call: Call) -> None:
    ran = call("run", files[0], "--tools", "toolplan_demo:TOOLS", "--json")
    name = ran.json["run"]
    said = call("diff", name[:8], files[0], "--json", code=0)
    assert said.json["before"] == {
        "run": name,
        "status": "succeeded",
        "approved": False,
        "approvals": [],
    }
    assert f"run {name[:8]}: succeeded, was not approved." in call("diff", name[:8], files[1]).out


@pytest.mark.usefixtures("home")
def test_bad_input(files: tuple[str, str], tmp_path: Path, call: Call) -> None:
    (tmp_path / "c.json").write_text('{"toolplan": 1, "steps": [{}]}', "utf-8")
    for words, code, expected in (
        (("-", "-"), 2, "Both plans are standard input."),
        ((files[0], "nowhere"), 2, "nowhere: No such file or directory."),
        ((files[0], str(tmp_path / "c.json")), 1, "is not a complete plan"),
        ((files[0],), 2, "B is missing."),
    ):
        said = call("diff", *words, code=code)
        assert expected in said.err


def test_several_files_are_checked_one_after_the_other(
    files: tuple[str, str], tmp_path: Path, call: Call
) -> None:
    (tmp_path / "c.json").write_text('{"toolplan": 1, "steps": [{}]}', "utf-8")
    assert call("check", *files).code == 0
    said = call("check", *files, str(tmp_path / "c.json"), code=1)
    assert said.out.count("no problems.") == 2
    names = [*files, str(tmp_path / "c.json")]
    found = [line.removesuffix(":") for line in said.out.splitlines() if line.endswith(".json:")]
    assert found == names
    assert "The step has no 'id'." in said.out
    assert "name one file" in call("check", *files, "--json").err
