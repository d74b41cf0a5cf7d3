"""Several sources in one toolbox: which names collide, and what the tools are then called."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import toolplan
from toolplan import Tool, Toolbox, ToolObjectError, ToolplanError
from toolplan.tools._base import OpenedTools
from toolplan.tools.named import NamedSource, combined, distinct, labels_of


def _tool(name: str, *aliases: str) -> Tool:
    return Tool(name, "", {"type": "object", "x-aliases": [*aliases]})


def _source(spec: str, *tools: Tool) -> NamedSource:
    return NamedSource(spec, labels_of(spec, Path("/nowhere")), OpenedTools(Toolbox(tools)))


def _joined(*sources: NamedSource) -> Toolbox:
    return combined(sources)[0].tools


NAMES = {
    "nothing collides": ({"a:X": ["one"], "b:X": ["two"]}, {"one", "two"}),
    "one name": ({"a:X": ["send", "one"], "b:X": ["send"]}, {"a.send", "b.send", "one"}),
    "three": ({"a:X": ["s"], "b:X": ["s"], "c:X": ["s"]}, {"a.s", "b.s", "c.s"}),
    "one module": ({"a:X": ["s"], "a:Y": ["s"]}, {"a.X.s", "a.Y.s"}),
    "whole module": ({"a:*": ["s"], "a:s": ["s"]}, {"a.s", "a.s.s"}),
    "last parts": ({"x.a:T": ["s"], "y.a:T": ["s"]}, {"x.a.T.s", "y.a.T.s"}),
    "one is longer": ({"x.a:T": ["s"], "a:T": ["s"]}, {"x.a.T.s", "a.T.s"}),
    "servers": ({"x.a": ["m.s"], "y.b": ["m.s"]}, {"a.m.s", "b.m.s"}),
    "case": ({"a:X": ["Send"], "b:X": ["send"]}, {"Send", "send"}),
    "label alone": (
        {"a:X": ["s", "t"], "x.a:Y": ["t"], "b:Z": ["s"]},
        {"a.X.s", "a.X.t", "a.Y.t", "b.s"},
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_do_not_depend_on_the_order(case: str) -> None:
    given, expected = NAMES[case]
    found: set[frozenset[str]] = set()
    for order in itertools.permutations(given):
        found.add(frozenset(_joined(*(_source(s, *map(_tool, given[s])) for s in order))))
    assert found == {frozenset(expected)}


def test_a_name_that_still_collides_is_refused() -> None:
    sources = [_source("mail:X", _tool("s")), _source("chat:X", _tool("s"))]
    with pytest.raises(ToolObjectError, match=r"'mail\.s'.*'mcp:X'|'mcp:X'.*'mail\.s'"):
        combined([*sources, _source("mcp:X", _tool("mail.s"))])


def test_one_tool_of_two_sources_is_one() -> None:
    shared = _tool("send")
    assert [*_joined(_source("a:X", shared), _source("a:send", shared))] == ["send"]


def test_the_short_name_means_no_tool() -> None:
    tools = _joined(_source("a:X", _tool("send")), _source("b:X", _tool("send")))
    assert "send" not in tools
    assert tools.alias("send") is None
    assert tools.full_names("send") == ("a.send", "b.send")
    assert Toolbox([tools["a.send"]]).alias("send") is None


def test_an_alias_of_two_tools_means_none_of_them() -> None:
    tools = _joined(_source("a:X", _tool("mail", "send")), _source("b:X", _tool("chat", "send")))
    assert tools.alias("send") is None
    assert tools.ambiguity("send") == "'send' is ambiguous: the tools are 'mail' and 'chat'."


def test_the_same_source_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[]")
    given = ["t.json", "./t.json", "m:X", str(tmp_path / "t.json"), "m:X"]
    for order in itertools.permutations(given):
        assert len(distinct(order, tmp_path)) == 2
    assert len({tuple(distinct(order, tmp_path)) for order in itertools.permutations(given)}) == 1


def _file(folder: Path, *names: str) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "tools.json"
    path.write_text(
        json.dumps([{"name": name, "annotations": {"effects": "read"}} for name in names])
    )
    return str(path)


def test_files_of_one_name_take_their_folder(tmp_path: Path) -> None:
    files = [_file(tmp_path / "home", "send", "list"), _file(tmp_path / "work", "send")]
    with toolplan.open(files, settings={}) as app, toolplan.open(files[::-1], settings={}) as other:
        assert [*app.tools] == [*other.tools]
        assert {"home.tools.send", "work.tools.send", "list"} <= {*app.tools}


def test_a_toolbox_of_the_settings_is_several_sources(tmp_path: Path) -> None:
    files = [_file(tmp_path / "home", "send"), _file(tmp_path / "work", "send")]
    with toolplan.open(toolbox="all", settings={"toolboxes": {"all": {"tools": files}}}) as app:
        assert {"home.tools.send", "work.tools.send"} <= {*app.tools}


def test_a_policy_that_names_the_short_name_lets_no_plan_pass(tmp_path: Path) -> None:
    files = [_file(tmp_path / "home", "send"), _file(tmp_path / "work", "send")]
    plan = '{"steps": [{"id": "a", "tool": "home.tools.send", "args": {}}]}'
    with toolplan.open(files, settings={}, policy={"egress": {"tools": ["send"]}}) as app:
        assert [each.code for each in app.check(plan).diagnostics] == ["policy-tool"]


def test_objects_stand_beside_sources(tmp_path: Path) -> None:
    @toolplan.tool(effects="read")
    def send(to: str) -> str:
        return to

    @toolplan.tool(effects="read")
    def look() -> int:
        return 1

    with toolplan.open([_file(tmp_path / "x", "send"), send, Toolbox([look])], settings={}) as app:
        assert {"tools.send", "python.send", "look"} <= {*app.tools}


@pytest.mark.parametrize("how", ["settings", "argument"])
def test_a_label_for_an_ambiguous_name_is_refused(tmp_path: Path, how: str) -> None:
    files = [_file(tmp_path / "home", "send"), _file(tmp_path / "work", "send")]
    labels = {"send": "write"}
    settings = {"effects": labels} if how == "settings" else {}
    effects = labels if how == "argument" else {}
    with pytest.raises(ToolplanError, match=r"home\.tools\.send' and 'work\.tools\.send"):
        toolplan.open(files, settings=settings, effects=effects)


def test_labels_for_all_full_names_are_taken(tmp_path: Path) -> None:
    files = [_file(tmp_path / "home", "send"), _file(tmp_path / "work", "send")]
    labels = {"send": "read", "home.tools.send": "write", "work.tools.send": "destructive"}
    with toolplan.open(files, settings={"effects": labels}) as app:
        found = {name: tool.effects.value for name, tool in app.tools.items() if "send" in name}
    assert found == {"home.tools.send": "write", "work.tools.send": "destructive"}
    with toolplan.open(files[0], settings={"effects": labels}) as app:
        assert app.tools["send"].effects.value == "read"


def test_a_built_in_tool_does_not_take_an_ambiguous_name(tmp_path: Path) -> None:
    files = [_file(tmp_path / "home", "sql"), _file(tmp_path / "work", "sql")]
    with toolplan.open(files, settings={}) as app:
        assert "sql" not in app.tools


def test_accept_goes_to_the_source_of_the_tool() -> None:
    asked: list[tuple[str, str | None]] = []

    def source(label: str) -> NamedSource:
        def accept(name: str | None) -> Path:
            asked.append((label, name))
            return Path(label)

        opened = OpenedTools(Toolbox([_tool("send"), _tool(label)]), accept=accept)
        return NamedSource(label, (label,), opened)

    tools, accept = combined([source("a"), source("b"), _source("c:X", _tool("look"))])
    assert accept is not None
    assert "b.send" in tools.tools
    assert accept("b.send") == (Path("b"),)
    assert accept("a") == (Path("a"),)
    assert accept(None) == (Path("a"), Path("b"))
    assert asked == [("b", "send"), ("a", "a"), ("a", None), ("b", None)]
    for name, why in {"send": "ambiguous", "look": "not pinned", "sned": "no tool"}.items():
        with pytest.raises(ToolObjectError, match=why):
            accept(name)
