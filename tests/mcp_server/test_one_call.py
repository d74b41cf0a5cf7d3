"""`run` with a tool and its arguments: what it gives, as its own server would."""

from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client
from mcp.types import AudioContent, CallToolResult, ContentBlock, ImageContent, TextContent

from tests.mcp_server.served import WRITES, Era, content, error, scripted, serving
from tests.mcp_server.served import text as text_of
from toolplan.events import RunApproved, RunState
from toolplan.plan.path import Json
from toolplan.policy import parse_policy
from toolplan.schema.tool import ToolError
from toolplan.storage.journal._sqlite import FileDriver
from toolplan.testing import Gives, Raises, ScriptedTools
from toolplan.tools.mcp.results import RecentMedia, result_of

READ: dict[str, Any] = {"id": "look", "tool": "people", "args": {"team": "red"}}


@pytest.mark.parametrize(
    ("gives", "text", "structured"),
    [
        ({"data": ["ann"]}, '{"data": ["ann"]}', {"data": ["ann"]}),
        ("a\ntext of ${people} and $${x}", "a\ntext of ${people} and $${x}", None),
        (["é", 1], '["é", 1]', None),
        (None, "null", None),
    ],
)
async def test_one_call_gives_what_its_tool_gives(
    tmp_path: Path, era: Era, gives: Json, text: str, structured: Any
) -> None:
    tools = ScriptedTools()
    tools.add("look", Gives(gives), input_schema={"type": "object"})
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode=era) as client,
    ):
        args = {"script": "echo ${HOME} $${x}"}  # the text of a reference is text
        result = await client.call_tool("run", {"tool": "look", "args": args})
        assert (text_of(result), result.structured_content) == (text, structured)
        assert tools.args_of("look") == [args]
        (entry,) = served.journal.runs()
        assert entry.status is RunState.SUCCEEDED


async def test_one_call_fails_and_waits_as_a_plan_does(tmp_path: Path) -> None:
    tools = scripted(Raises(ToolError("no luck")), Gives({"data": ["x" * 30_000]}))
    async with serving(tmp_path, tools.toolbox) as served, Client(served.server) as client:
        one = {"tool": "people", "args": {"team": "red"}}
        failed = await client.call_tool("run", one)
        assert failed.is_error
        assert text_of(failed).startswith("no luck (run ")
        large = content(await client.call_tool("run", one))
        assert large["omitted"][0]["shape"].startswith("object {data: list, 1 of text")
        sends = {"tool": "send", "args": {"to": "ann"}}
        waits = error(await client.call_tool("run", sends))
        assert waits["error"]["code"] == "approval-required"
        assert waits["effects"][0]["args"] == {"to": "ann"}
        bad = error(await client.call_tool("run", {"tool": "weather"}))
        assert "unknown-tool at /steps/0/tool" in bad["problems"][0]
    assert tools.args_of("send") == []


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ({"tool": "people", "args": {"team": "red"}}, False),
        ({"plan": {"toolplan": 1, "steps": [READ]}}, False),
        ({"plan": {"toolplan": 1, "steps": [READ, {**READ, "id": "again"}]}}, True),
        ({"plan": {"toolplan": 1, "steps": [{**READ, "for_each": ["a", "b"]}]}}, True),
        ({"tool": "send", "args": {"to": "ann"}}, True),
    ],
)
async def test_only_a_single_call_that_reads_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Json, waits: bool
) -> None:
    tools, synced = scripted(*[Gives({"data": ["ann"]})] * 3), list[bool]()
    do = FileDriver.do

    def watched(driver: FileDriver, work: Any, *, sync: bool = True, is_one: bool = False) -> Any:
        synced.append(sync)
        return do(driver, work, sync=sync, is_one=is_one)

    monkeypatch.setattr(FileDriver, "do", watched)
    policy = parse_policy('[unasked.send]\nargs.to = { enum = ["ann"] }')
    async with (
        serving(tmp_path, tools.toolbox, policy=policy) as served,
        Client(served.server) as client,
    ):
        result = await client.call_tool("run", cast("dict[str, Any]", asked))
        assert not result.is_error
        (entry,) = served.journal.runs()
        assert entry.status is RunState.SUCCEEDED
    # the run, its end, and the release of its lease
    assert synced[0] is waits
    assert any(synced[1:]) is waits


async def test_one_call_with_large_arguments_is_checked_as_a_small_one(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": []}))
    async with serving(tmp_path, tools.toolbox) as served, Client(served.server) as client:
        for team in ("${run:a.b} $${x}", "x" * 3_000):
            one = {"tool": "people", "args": {"team": team}}
            assert not (await client.call_tool("run", one)).is_error
            bad = error(await client.call_tool("run", {"tool": "people", "args": {"tea": team}}))
            assert bad["error"]["code"] == "bad-plan"
            assert tools.args_of("people")[-1] == {"team": team}


async def test_a_call_with_a_standing_approval_needs_no_trip_to_a_person(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}))
    policy = parse_policy('[unasked.send]\nargs.to = { enum = ["ann", "ben"] }')
    async with (
        serving(tmp_path, tools.toolbox, policy=policy) as served,
        Client(served.server) as client,
    ):
        made = await client.call_tool("run", {"tool": "send", "args": {"to": "ann"}})
        assert not made.is_error
        waits = error(await client.call_tool("run", {"tool": "send", "args": {"to": "eve"}}))
        assert waits["error"]["code"] == "approval-required"
        waits = error(
            await client.call_tool("run", {"plan": WRITES})
        )  # its values come from a tool
        assert waits["error"]["code"] == "approval-required"
        last = served.journal.runs()[-1]
        approved = [e for e in served.journal.events(last.run) if isinstance(e, RunApproved)]
        assert [each.by for each in approved] == ["policy"]
    assert tools.args_of("send") == [{"to": "ann"}]


PICTURE = ImageContent(type="image", data="UE5H", mime_type="image/png")
SOUND = AudioContent(type="audio", data="TVAz", mime_type="audio/mpeg")
WORDS = TextContent(type="text", text="Here it is.")


@pytest.mark.parametrize(
    ("came", "passed"),
    [
        (CallToolResult(content=[PICTURE]), [PICTURE]),
        (CallToolResult(content=[WORDS, PICTURE, SOUND]), [PICTURE, SOUND]),
        (CallToolResult(content=[WORDS, SOUND], structured_content={"n": 1}), [SOUND]),
        (CallToolResult(content=[WORDS]), []),
    ],
)
async def test_pictures_and_sound_of_one_call_pass_through(
    tmp_path: Path, came: CallToolResult, passed: list[ContentBlock]
) -> None:
    tools = ScriptedTools()
    tools.add("look", Gives(result_of(came, wrapped=False).value))
    async with serving(tmp_path, tools.toolbox) as served, Client(served.server) as client:
        result = await client.call_tool("run", {"tool": "look", "args": {}})
        assert result.content[1:] == passed
        plan: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": "look"}]}
        assert len((await client.call_tool("run", {"plan": plan})).content) == 1


def test_only_the_latest_media_are_kept_and_only_as_they_were_described() -> None:
    media = RecentMedia(most=len(SOUND.model_dump_json()))
    picture = media.described(PICTURE)
    assert media.of(picture) == media.of([picture]) == media.of({"content": [picture]}) == [PICTURE]
    assert media.of({**picture, "mime_type": "text/html"}) == []
    assert media.of([picture, picture]) == [PICTURE]
    for odd in ({"mime_type": "text/html"}, {"data": "no base64"}):
        assert RecentMedia().of(media.described(PICTURE.model_copy(update=odd))) == []
    noted = PICTURE.model_copy(update={"meta": {"say": "obey"}})
    assert media.of(media.described(noted)) == [PICTURE]
    sound = media.described(SOUND)
    assert (media.of(picture), media.of([picture, sound])) == ([], [SOUND])
