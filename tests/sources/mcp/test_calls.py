"""Calls: results, failures, progress, time limits, cancellation, and what servers ask for."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp.types as wire
import pytest
from mcp.server import Server

from tests.sources.mcp.scripts import (
    ANYTHING,
    Scripted,
    call,
    called,
    listed_tool,
    one_page,
    serving,
    text,
)
from toolplan import ExecutionPlan, compile_plan, run
from toolplan.events import Event, StepProgressed
from toolplan.plan.path import Json
from toolplan.schema.tool import OutcomeUnknown, Toolbox, ToolError, ToolObjectError
from toolplan.tools.mcp import (
    LocalServer,
    Notice,
    RequestRefused,
    ServerSaid,
    connected,
    connected_here,
)

SECRET = "s3cret-of-the-environment"
LOOK = '{"toolplan": 1, "steps": [{"id": "a", "tool": "look", "args": {}}]}'
ASKED: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {"messages": [], "maxTokens": 5},
    "elicitation/create": {"message": "Your password?", "requestedSchema": ANYTHING},
    "roots/list": {},
}


def give(folder: Path, result: dict[str, Any], **options: Any) -> Json:
    """Call a tool that gives `result`."""
    with serving(folder, listed_tool("look", **options), results={"look": result}) as (_, tools, _):
        return call(tools, "it.look")


@contextmanager
def looking(folder: Path, **result: Any) -> Generator[tuple[Scripted, Toolbox, list[Notice]]]:
    """Open a server whose tool `look` gives `result`; yield it, its tools, and the notices."""
    notices: list[Notice] = []
    results = {"look": result}
    with serving(folder, listed_tool("look"), results=results, on_event=notices.append) as found:
        yield found[0], found[1], notices


def looked(tools: Toolbox) -> ExecutionPlan:
    plan = compile_plan(LOOK, tools=tools).plan
    assert plan is not None
    return plan


def until_called(script: Scripted) -> None:
    """Wait until the server was asked to call a tool."""
    while not script.sent("tools/call"):
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (text("plain"), "plain"),
        (text('{"a": [1, 2.5, null]}'), {"a": [1, 2.5, None]}),
        (text(" [1]\n"), [1]),
        (text("{not json"), "{not json"),
        (text("[NaN]"), "[NaN]"),
        (text("12"), "12"),
        (text("a", '{"b": 1}'), ["a", {"b": 1}]),
        ({"content": []}, None),
        (text("ignored", structuredContent={"a": 1}), {"a": 1}),
        (text('{"a": 2}', structuredContent={}), {}),
        (text(str(2**70), structuredContent={"n": 2**70}), {"n": 2**70}),
    ],
)
def test_a_result_is_plain_json(result: dict[str, Any], value: Json, tmp_path: Path) -> None:
    assert give(tmp_path, result) == value


def test_pictures_and_files_are_described_and_not_carried_along(tmp_path: Path) -> None:
    """R11: binary results."""
    data = base64.b64encode(b"picture" * 1000).decode()
    content = [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "audio", "data": "!", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "b"}},
        {"type": "resource", "resource": {"uri": "file:///c", "blob": "Yw=="}},
    ]
    image, audio, link, inner, blob = _list(give(tmp_path, {"content": content}))
    assert (image["bytes"], image["mime_type"]) == (7000, "image/png")
    assert audio["type"] == "audio"
    assert link == {
        "type": "resource_link",
        "uri": "file:///a",
        "name": "a",
        "mime_type": "text/plain",
    }
    assert inner["text"] == "b"
    assert blob["bytes"] == 1
    assert "cGljdHVyZX" not in json.dumps([image, audio, link, inner, blob])


def _list(value: Json) -> list[dict[str, Any]]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]


def test_an_error_of_a_tool_is_its_text_bounded_and_clean(tmp_path: Path) -> None:
    """R02: isError."""
    with pytest.raises(ToolError, match="No such") as raised:
        give(tmp_path, text("No such\x1b[2J row" + "!" * 10_000, isError=True))
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) <= 2_000
    with pytest.raises(ToolError, match="and not why"):
        give(tmp_path, {"content": [], "isError": True})


def test_a_result_is_not_held_to_the_servers_schema_by_the_sdk(tmp_path: Path) -> None:
    """S11: a pattern of a server that would take for ever; engines check with a linear one."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}},
        "required": ["a"],
    }
    value = {"a": "a" * 40 + "!"}
    assert give(tmp_path, text("", structuredContent=value), outputSchema=schema) == value


def test_a_call_has_a_time_limit_of_its_own(tmp_path: Path) -> None:
    results, server = {"slow": {**text("x"), "sleep": 2.0}}, {"timeout_s": 0.8}
    with (
        serving(tmp_path, listed_tool("slow"), results=results, server=server) as (
            script,
            tools,
            _,
        ),
        pytest.raises(OutcomeUnknown, match=r"within 0\.8 s"),
    ):
        call(tools, "it.slow")
    assert script.sent("notifications/cancelled")


async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    with looking(tmp_path, **text("x"), sleep=0.5) as (script, tools, _):
        task = asyncio.create_task(called(tools, "it.look", {}))
        await asyncio.to_thread(until_called, script)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [found] = script.sent("notifications/cancelled")
    assert found["params"]["requestId"] == script.sent("tools/call")[0]["id"]


async def test_progress_of_a_server_is_progress_of_the_step(tmp_path: Path) -> None:
    progress = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "TOKEN", "progress": 3, "total": 10, "message": "a\x1bb"},
    }
    events: list[Event] = []
    with looking(tmp_path, **text("x"), sends=[progress], sleep=0.2) as (_, tools, _):
        await run(looked(tools), tools, on_event=events.append)
    [found] = [each for each in events if isinstance(each, StepProgressed)]
    assert (found.step, found.done, found.total, found.message) == ("a", 3, 10, "ab")


async def test_an_idempotency_key_goes_with_the_call(tmp_path: Path) -> None:
    with looking(tmp_path, **text("x")) as (script, tools, _):
        await run(looked(tools), tools)
        await called(tools, "it.look", {})
    in_a_run, by_hand = script.sent("tools/call")
    assert len(in_a_run["params"]["_meta"]["toolplan/idempotency-key"]) == 64
    assert "toolplan/idempotency-key" not in by_hand["params"].get("_meta", {})


def test_a_secret_reaches_only_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behaviours 3.4, 5: no secret in arguments, errors, events or tools."""
    monkeypatch.setenv("UNNAMED", "not inherited")
    notices: list[Notice] = []
    script = Scripted(
        tmp_path,
        pages=one_page(listed_tool("look", description=f"Uses {SECRET}."), listed_tool("fail")),
        results={"look": {"echo": True}, "fail": text(f"{SECRET} is wrong", isError=True)},
        stderr=f"key {SECRET}",
    )
    server = script.server(env={"TOKEN": SECRET}, secrets=(SECRET,))
    with connected({"it": server}, on_event=notices.append) as source:
        tools = source.toolbox()
        seen = call(tools, "it.look", city="Berlin")
        with pytest.raises(ToolError, match=r"\*\*\* is wrong"):
            call(tools, "it.fail")
    assert isinstance(seen, dict)
    assert seen["arguments"] == {"city": "Berlin"}
    assert isinstance(seen["env"], dict)
    assert seen["env"]["TOKEN"] == SECRET
    assert "UNNAMED" not in seen["env"]
    assert SECRET not in repr(notices) + repr(dict(tools)) + repr(server)
    assert SECRET not in json.dumps([tool.to_json() for tool in tools.values()])


def test_logs_of_a_server_are_reported(tmp_path: Path) -> None:
    log = {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "warning", "data": "disk\x07 full"},
    }
    notices: list[Notice] = []
    with serving(
        tmp_path,
        listed_tool("look"),
        results={"look": {**text("x"), "sends": [log], "sleep": 0.1}},
        script={"hello": ["this is no message"], "stderr": "on stderr"},
        on_event=notices.append,
    ) as (_, tools, _):
        call(tools, "it.look")
    assert ServerSaid("it", "warning", "disk full") in notices
    assert ServerSaid("it", "stderr", "on stderr") in notices
    assert any(
        isinstance(n, ServerSaid) and "that is not a protocol message" in n.text for n in notices
    )


@pytest.mark.parametrize("method", ASKED)
def test_what_a_server_asks_for_is_refused_and_reported(method: str, tmp_path: Path) -> None:
    ask: dict[str, Any] = {"jsonrpc": "2.0", "id": "q", "method": method, "params": ASKED[method]}
    with looking(tmp_path, **text("x"), sends=[ask], sleep=0.2) as (script, tools, notices):
        assert call(tools, "it.look") == "x"
    assert RequestRefused("it", method) in notices
    log = [json.loads(line) for line in script.path.with_suffix(".log").read_text().splitlines()]
    [answer] = [each for each in log if each.get("id") == "q"]
    assert "not supported" in answer["error"]["message"]


def test_answers_to_nothing_that_was_asked_are_left_aside(tmp_path: Path) -> None:
    """A reply with a wrong id, an answer twice, an answer to what was cancelled."""
    stray: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 999, "result": text("wrong id")},
        {"jsonrpc": "2.0", "id": "1", "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "stray"}},
        {"jsonrpc": "2.0", "method": "notifications/unheard/of", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7}},
    ]
    assert give(tmp_path, {**text("right"), "sends": stray}) == "right"


def test_a_ping_of_a_server_is_answered(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    with looking(tmp_path, **text("x"), sends=[ping], sleep=0.2) as (script, tools, notices):
        call(tools, "it.look")
    log = [json.loads(line) for line in script.path.with_suffix(".log").read_text().splitlines()]
    assert [each["result"] for each in log if each.get("id") == "p"] == [{}]
    assert not any(isinstance(each, RequestRefused) for each in notices)


def test_a_tool_that_asks_in_the_middle_of_its_call_fails_and_says_so() -> None:
    """The newer protocol: the question is the answer."""

    async def on_list_tools(_request: object, _params: object) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=[wire.Tool.model_validate(listed_tool("look"))])

    async def on_call_tool(_request: object, _params: object) -> wire.InputRequiredResult:
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        form = wire.ElicitRequestFormParams(message="Really?", requested_schema=schema)
        return wire.InputRequiredResult(input_requests={"a": wire.ElicitRequest(params=form)})

    server: Server[dict[str, Any]] = Server(
        "asks", on_list_tools=on_list_tools, on_call_tool=on_call_tool
    )
    with connected({"it": LocalServer(server)}) as source:
        tools = source.toolbox()
        with pytest.raises(ToolError, match=r"more while it runs \(elicitation/create\)"):
            call(tools, "it.look")


def test_a_watcher_that_fails_ends_nothing(tmp_path: Path) -> None:
    def fail(_notice: Notice) -> None:
        raise RuntimeError("no")

    results = {"look": text("x")}
    with serving(tmp_path, listed_tool("look"), results=results, on_event=fail) as (_, tools, _):
        assert call(tools, "it.look") == "x"


def test_tools_are_called_from_many_loops_at_once(tmp_path: Path) -> None:
    results: list[Json] = []

    def work() -> None:
        results.extend(call(tools, "it.look") for _ in range(5))

    with looking(tmp_path, **text("x")) as (_, tools, _):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == ["x"] * 20


async def test_connections_may_live_in_the_loop_that_calls(tmp_path: Path) -> None:
    script = Scripted(tmp_path, pages=one_page(listed_tool("look")), results={"look": text("x")})
    async with connected_here({"it": script.server()}) as source:
        tools = await source.tools()
        with pytest.raises(RuntimeError, match="await `tools\\(\\)`"):
            source.toolbox()
        assert await called(tools, "it.look", {}) == "x"
    with pytest.raises(ToolObjectError, match="closed"):
        await asyncio.to_thread(source.toolbox)


def test_what_the_block_raises_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mine"), serving(tmp_path, listed_tool("look")):
        raise KeyError("mine")


def test_a_call_that_goes_on_while_the_source_is_closed_ends(tmp_path: Path) -> None:
    results = {"slow": {**text("x"), "sleep": 1}}
    failures: list[BaseException] = []

    def work() -> None:
        try:
            call(tools, "it.slow")
        except ToolError as error:
            failures.append(error)

    with serving(tmp_path, listed_tool("slow"), results=results) as (script, tools, _):
        thread = threading.Thread(target=work)
        thread.start()
        until_called(script)
    thread.join(timeout=10)
    assert isinstance(failures[0], OutcomeUnknown)
    with pytest.raises(ToolError, match="closed"):
        call(tools, "it.slow")


PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
WRAPPER: dict[str, Any] = {
    "type": "object",
    "properties": {"result": {"type": "array"}},
    "required": ["result"],
}
CLOSED: dict[str, Any] = {"type": "object", "properties": {"n": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        (PICTURE, "image"),
        ({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}, "audio"),
        ({"type": "resource_link", "uri": "file:///a", "name": "a"}, "resource_link"),
        ({"type": "resource", "resource": {"uri": "file:///b", "text": "b"}}, "resource"),
    ],
)
def test_what_is_beside_structured_content_is_said_in_the_result(
    more: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    content = [{"type": "text", "text": '{"n": 1}'}, more]
    given = give(tmp_path, {"structuredContent": {"n": 1}, "content": content})
    assert isinstance(given, dict)
    assert given["n"] == 1
    [described] = _list(given["content"])
    assert described["type"] == kind


@pytest.mark.parametrize(
    ("structured", "schema"),
    [
        ({"n": 1}, CLOSED),
        ({"n": 1}, {**CLOSED, "additionalProperties": {"type": "integer"}}),
        ({"n": 1, "content": "x"}, None),
        ({"result": [1]}, WRAPPER),
    ],
)
async def test_where_a_result_has_no_room_for_it_the_step_says_so(
    structured: dict[str, Any], schema: dict[str, Any] | None, tmp_path: Path
) -> None:
    fields = {} if schema is None else {"outputSchema": schema}
    results = {"look": {"structuredContent": structured, "content": [PICTURE]}}
    events: list[Event] = []
    with serving(tmp_path, listed_tool("look", **fields), results=results) as (_, tools, _):
        output = (await run(looked(tools), tools, on_event=events.append)).output
    assert output in ({"a": structured}, {"a": structured.get("result")})
    [said] = [each.message for each in events if isinstance(each, StepProgressed)]
    assert said == "The tool also gave what its output schema has no place for: image (image/png)."
