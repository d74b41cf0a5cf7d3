"""A source's word about its own tools can only raise what they may change, and who reads calls."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import toolplan
from tests.sources.mcp.scripts import Scripted, listed_tool, one_page, text
from toolplan import Effects, Tool, ToolplanError
from toolplan.policy import Policy, Vouched
from toolplan_openapi import openapi_toolbox

LOWERING: tuple[dict[str, Any], ...] = (
    {"readOnlyHint": True},
    {"read_only_hint": True},
    {"readOnlyHint": True, "destructiveHint": False},
    {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    {"effects": "read"},
    {"effects": "read", "idempotent": True},
    {"effects": "write"},
    {"destructiveHint": False},
    {"destructive_hint": False, "idempotent_hint": True},
    {"idempotentHint": True},
    {"idempotent": True},
    {"effects": "unknown", "idempotent": True},
)
RAISING: tuple[tuple[dict[str, Any], Effects], ...] = (
    ({"destructiveHint": True}, Effects.DESTRUCTIVE),
    ({"effects": "destructive"}, Effects.DESTRUCTIVE),
    ({"readOnlyHint": True, "destructiveHint": True}, Effects.DESTRUCTIVE),
    ({"effects": "read", "destructive_hint": True}, Effects.DESTRUCTIVE),
    ({"readOnlyHint": True, "destructiveHint": "true"}, Effects.DESTRUCTIVE),
    ({"readOnlyHint": True, "destructive_hint": 1}, Effects.DESTRUCTIVE),
    ({"destructiveHint": False, "destructive_hint": True}, Effects.DESTRUCTIVE),
    ({"readOnlyHint": True, "read_only_hint": False}, Effects.UNKNOWN),
    ({"readOnlyHint": True, "effects": "destroys"}, Effects.UNKNOWN),
    ({"readOnlyHint": True, "effects": ["read"]}, Effects.UNKNOWN),
    ({"destructiveHint": None}, Effects.UNKNOWN),
    ({"readOnlyHint": "true"}, Effects.UNKNOWN),
    ({"readOnlyHint": 1}, Effects.UNKNOWN),
    ({"effects": "READ"}, Effects.UNKNOWN),
    ({}, Effects.UNKNOWN),
)


def tool_of(hints: dict[str, Any]) -> Tool:
    return Tool.from_json({"name": "t", "annotations": hints})


@pytest.mark.parametrize("hints", LOWERING, ids=json.dumps)
def test_a_word_that_lowers_is_a_claim_until_it_is_accepted(hints: dict[str, Any]) -> None:
    own, doubted = tool_of(hints), tool_of(hints).doubted()
    assert doubted.effects is Effects.UNKNOWN
    assert not doubted.may_repeat
    assert doubted.has_effects
    assert str(doubted.claim)
    believed = doubted.believed()
    assert (believed.effects, believed.idempotent) == (own.effects, own.idempotent)
    assert believed.claim is None


@pytest.mark.parametrize(("hints", "effects"), RAISING, ids=str)
def test_a_word_that_raises_counts_at_once(hints: dict[str, Any], effects: Effects) -> None:
    doubted = tool_of(hints).doubted()
    assert doubted.effects is effects
    assert doubted.claim is None


@pytest.mark.parametrize(
    ("hints", "effects"), [each for each in RAISING if each[0].get("effects") != "read"], ids=str
)
def test_of_two_words_of_a_tool_file_the_worse_counts(
    hints: dict[str, Any], effects: Effects
) -> None:
    assert tool_of(hints).effects is effects


def test_a_tool_object_that_a_person_labelled_is_read_back_as_labelled() -> None:
    labelled = replace(tool_of({"destructiveHint": True}), effects=Effects.READ)
    assert Tool.from_json(labelled.to_json()).effects is Effects.READ


@pytest.mark.parametrize(
    ("hints", "repeats"),
    [
        ({"idempotentHint": True, "idempotent_hint": False}, False),
        ({"idempotentHint": True, "idempotent": False}, False),
        ({"idempotentHint": False, "idempotent": True}, True),
        ({"idempotentHint": True}, True),
    ],
)
def test_whether_a_call_may_be_repeated(hints: dict[str, Any], repeats: bool) -> None:
    assert tool_of(hints).may_repeat is repeats


def described(**operations: dict[str, Any]) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://example.com"}],
        "paths": {"/x": operations},
    }


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize(
    "hint",
    [{"x-toolplan-effects": "read"}, {"x-toolplan-effects": "read", "x-toolplan-idempotent": True}],
    ids=json.dumps,
)
def test_no_document_can_say_that_a_writing_method_reads(method: str, hint: dict[str, Any]) -> None:
    document = described(**{method: {"operationId": "wipe", **hint}}, get={"operationId": "see"})
    box = openapi_toolbox(document)
    assert box["wipe"].has_effects
    assert [fault.pointer for fault in box.faults] == [f"/paths/~1x/{method}"]
    assert "does not count" in box.faults[0].message
    assert box["see"].effects is Effects.READ
    named = openapi_toolbox(document, trusted=["wipe"])
    assert named["wipe"].has_effects  # its effects are those that the user labels it with
    assert named.faults == ()
    assert openapi_toolbox(document, trusted=True)["wipe"].effects is Effects.READ


@pytest.mark.parametrize("effects", ["write", "destructive", "unknown"])
def test_a_document_can_say_that_a_reading_method_does_not_only_read(effects: str) -> None:
    box = openapi_toolbox(described(get={"operationId": "wipe", "x-toolplan-effects": effects}))
    assert box["wipe"].effects is Effects(effects)
    assert box.faults == ()


def configuration(folder: Path, *tools: dict[str, Any]) -> Path:
    results = {tool["name"]: text("done") for tool in tools}
    server = Scripted(folder, pages=one_page(*tools), results=results).server()
    file = folder / "mcp.json"
    entry = {"command": server.command, "args": [*server.args]}
    file.write_text(json.dumps({"mcpServers": {"it": entry}}), "utf-8")
    return file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "home"))


def effects_in(file: Path, **options: Any) -> dict[str, Effects]:
    with toolplan.open(str(file), journal=file.with_name("runs.sqlite"), **options) as app:
        return {name: tool.effects for name, tool in app.tools.items() if tool.source == "it"}


def no(claim: str) -> bool:
    return not claim


def test_a_source_is_asked_about_once_and_the_answer_is_kept(tmp_path: Path) -> None:
    file = configuration(tmp_path, listed_tool("wipe_everything"), listed_tool("look"))
    asked: list[str] = []

    def accepts(claim: str) -> bool:
        asked.append(claim)
        return True

    assert set(effects_in(file).values()) == {Effects.UNKNOWN}
    assert set(effects_in(file, on_claim=accepts).values()) == {Effects.READ}
    assert asked == ["it says that it only reads: it.wipe_everything, it.look"]
    assert set(effects_in(file, on_claim=accepts).values()) == {Effects.READ}
    assert len(asked) == 1
    assert set(effects_in(file).values()) == {Effects.READ}


def test_a_refusal_is_kept_too(tmp_path: Path) -> None:
    file = configuration(tmp_path, listed_tool("look"))
    assert effects_in(file, on_claim=no) == {"it.look": Effects.UNKNOWN}

    def never(claim: str) -> bool:
        raise AssertionError(claim)

    assert effects_in(file, on_claim=never) == {"it.look": Effects.UNKNOWN}


def test_what_was_accepted_holds_for_that_tool_alone(tmp_path: Path) -> None:
    file = configuration(tmp_path, listed_tool("look"))
    effects_in(file, on_claim=bool)
    configuration(tmp_path, listed_tool("look"), listed_tool("wipe"))
    assert effects_in(file) == {"it.look": Effects.READ, "it.wipe": Effects.UNKNOWN}
    configuration(tmp_path, listed_tool("look", description="Looks, and deletes."))
    with toolplan.open(str(file), journal=tmp_path / "runs.sqlite") as app:
        assert app.tools["it.look"].unusable is not None


def test_settings_name_a_source_that_is_trusted(tmp_path: Path) -> None:
    file = configuration(tmp_path, listed_tool("look"))
    trusted = {"sources": {"it": {"trusted": True}}}
    assert effects_in(file, settings=trusted) == {"it.look": Effects.READ}
    assert effects_in(file, settings={"sources": {"other": {"trusted": True}}}) == {
        "it.look": Effects.UNKNOWN
    }
    assert effects_in(file, settings={"effects": {"it.look": "read"}}) == {"it.look": Effects.READ}
    with pytest.raises(ToolplanError, match=r"\[sources.it\] cannot be used"):
        effects_in(file, settings={"sources": {"it": {"trusted": "yes"}}})


@pytest.mark.parametrize(
    "hints",
    [{}, {"openWorldHint": False}, {"open_world_hint": False}, {"egress": False}, *LOWERING],
    ids=json.dumps,
)
def test_a_remote_tool_is_egress_whatever_it_says(hints: dict[str, Any]) -> None:
    tool = tool_of(hints).doubted()
    for each in (tool, tool.believed()):
        assert Vouched(Policy(), {"t": each}).is_egress(each)
        closed = Policy(closed=("t",))
        assert not Vouched(closed, {"t": each}).is_egress(each)
    assert not Vouched(Policy(), {"t": tool_of(hints)}).is_egress(tool_of(hints))


def test_a_server_that_is_called_python_is_not_the_users_program(tmp_path: Path) -> None:
    output = {"type": "string", "x-trust": "trusted"}
    said = Tool.from_json({"name": "t", "output_schema": output, "annotations": {}})
    for source in ("python", "builtin"):
        tool = replace(said.doubted(), source=source)
        label = Vouched(Policy(), {"t": tool}).outputs("t").label("a", "t", ())
        assert label.trust.word == "untrusted"
