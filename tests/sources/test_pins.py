"""Pins: the lock file, what has changed, and what is accepted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from toolplan.plan.comparison import ABSENT, Absent, Change
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolObjectError
from toolplan.tools.mcp.opening import COMMANDS, shown
from toolplan.tools.pins import Pins, RefusedTool, SourcedTool, differences, digest_of

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def sourced(name: str = "it.look", /, **wire: Json) -> SourcedTool:
    return SourcedTool(
        name=name,
        description="Looks.",
        raw_input={"type": "object"},
        source="it",
        wire={"name": "look", **wire},
        identity={"name": "wire", "version": "1"},
    )


def test_no_file_is_no_pins(tmp_path: Path) -> None:
    assert Pins.load(tmp_path / "none").pins == {}


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "toolplan.lock.json"
    pins = Pins(path).accept(Toolbox([sourced("b"), sourced("a", big=2**70, text="é")]))
    pins.save()
    assert Pins.load(path) == pins
    assert list(json.loads(path.read_text("utf-8"))["tools"]) == ["a", "b"]
    first = path.read_bytes()
    Pins.load(path).save()
    assert path.read_bytes() == first
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "not a lock file"),
        ('{"lock": 1, "tools": {}, "tools": {}}', "the key 'tools' twice"),
        ('{"lock": 1}', "not a lock file"),
        ('{"lock": 2, "tools": {}}', "newer toolplan"),
        ('{"lock": 1, "tools": {"a": 1}}', "changed by hand"),
    ],
)
def test_what_is_no_lock_file_is_said(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(text, "utf-8")
    with pytest.raises(ToolObjectError, match=message):
        Pins.load(path)


def test_a_pin_that_was_changed_by_hand_is_no_pin(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    Pins(path).accept(Toolbox([sourced(title="Look")])).save()
    path.write_text(path.read_text("utf-8").replace('"Look"', '"Looks"'), "utf-8")
    with pytest.raises(ToolObjectError, match=r"pin of 'it\.look' was changed by hand"):
        Pins.load(path)


def test_new_and_changed_tools_are_reported(tmp_path: Path) -> None:
    before = Toolbox([sourced("same"), sourced("gone"), sourced("other", title="A")])
    pins = Pins(tmp_path / "lock").accept(before)
    after = Toolbox([sourced("same"), sourced("new"), sourced("other", title="B", more=None)])
    pins.save()
    assert Pins.pin_new(pins.path, after)[1] == ("new",)
    [change] = pins.changed(after)
    assert change.name == "other"
    assert change.lines == ("more: was nothing, is null", 'title: was "A", is "B"')


def test_all_is_accepted_without_losing_pins_of_servers_that_are_away(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "lock").accept(Toolbox([sourced("a"), sourced("b")]))
    again = pins.accept(Toolbox([sourced("b", title="B")]))
    assert set(again.pins) == {"a", "b"}
    assert again.changed(Toolbox([sourced("b", title="B")])) == ()


def test_a_refused_tool_says_why_and_how_to_continue(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "lock").accept(Toolbox([sourced(title="A")]))
    guarded = pins.guarded(Toolbox([sourced(title="B"), sourced("it.other")]))
    refused = guarded["it.look"]
    assert isinstance(refused, RefusedTool)
    assert refused.unusable is not None
    assert 'title: was "A", is "B"' in refused.unusable
    assert "toolplan tools it.look --tools FILE --accept" in refused.unusable
    assert guarded["it.other"].unusable is None
    assert guarded.labelled({"it.look": Effects.READ})["it.look"].unusable == refused.unusable
    assert pins.accept(guarded).changed(Toolbox([sourced(title="B")])) == ()


def test_where_nothing_has_changed_the_toolbox_is_the_same(tmp_path: Path) -> None:
    box = Toolbox([sourced()])
    assert Pins(tmp_path / "lock").accept(box).guarded(box) is box
    assert Pins(tmp_path / "lock").guarded(box) is box


def test_tools_of_any_source_can_be_pinned(tmp_path: Path) -> None:
    tool = Tool("plain", "Adds.", {"type": "object"}, source="python")
    pins = Pins(tmp_path / "lock").accept(Toolbox([tool]))
    assert pins.changed(Toolbox([tool])) == ()
    assert pins.changed(Toolbox([replace(tool, description="Adds!")])) != ()


def test_what_is_shown_of_a_change_is_bounded_and_cannot_steer_a_terminal(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "lock").accept(Toolbox([sourced()]))
    wide: dict[str, Json] = {f"k{n}": "\x1b[2J" + "x" * 10_000 for n in range(50)}
    [change] = pins.changed(Toolbox([sourced(**wide)]))
    assert len(change.lines) == 13
    assert change.lines[-1] == "and 38 more"
    assert all(len(line) < 200 and line.isprintable() for line in change.lines)


@given(JSON_VALUES, JSON_VALUES)
def test_the_digest_is_the_same_exactly_where_nothing_differs(one: Json, other: Json) -> None:
    same = list(differences(one, other)) == []
    digests = {digest_of({"x": each}, {}) for each in (one, other)}
    assert same == (len(digests) == 1)


def test_whole_numbers_beyond_what_is_canonical_still_count() -> None:
    digests = {digest_of({"n": n}, {}) for n in (2**53, 2**53 + 1, -(2**53), str(2**53), None)}
    assert len(digests) == 5


def test_differences_are_the_smallest_places() -> None:
    before: Json = {"a": [1, {"b/c": True}], "d": 1, "e": [1]}
    after: Json = {"a": [1, {"b/c": 1}], "d": 1.0, "e": [1, 2], "f": None}
    assert list(differences(before, after)) == [
        Change("/a/1/b~1c", True, 1),
        Change("/e", [1], [1, 2]),
        Change("/f", ABSENT, None),
    ]
    assert isinstance(ABSENT, Absent)


def test_eight_processes_at_once_keep_all_pins(tmp_path: Path) -> None:
    """D18: each reads what the others have written, and writes the file as a whole."""
    lock = tmp_path / "toolplan.lock.json"
    code = """
import sys
from pathlib import Path
from toolplan.tools.mcp.opening import COMMANDS, keep_shown
from toolplan.tools.pins import Pins
from toolplan.schema.tool import Tool, Toolbox
lock, name = Path(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for at in range(5):
    each = f"{name}_{at}"
    Pins.pin_new(lock, Toolbox([Tool(each, "", {"type": "object"}, None)]))
    keep_shown(lock.parent, COMMANDS, {each: "server"})
    keep_shown(lock.parent, each, {each: "digest"})
"""
    words = [sys.executable, "-c", code, str(lock)]
    processes = [
        subprocess.Popen([*words, f"tool{at}"], stdin=subprocess.PIPE, text=True) for at in range(8)
    ]
    for each in processes:
        each.communicate("go\n")
    assert [each.returncode for each in processes] == [0] * 8
    names = {f"tool{process}_{at}" for process in range(8) for at in range(5)}
    assert set(Pins.load(lock).pins) == names
    assert shown(tmp_path, COMMANDS).keys() == names
    assert all(shown(tmp_path, each) for each in names)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_pin_of_another_process_is_not_overwritten(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    Pins.pin_new(lock, Toolbox([sourced(title="A")]))
    kept = lock.read_text("utf-8")
    Pins.pin_new(lock, Toolbox([sourced(title="B")]))
    assert lock.read_text("utf-8") == kept
