"""Calls over real connections: what is tried again, what is in doubt, and what is bounded."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re

import pytest

from packages.openapi.tests.documents import (
    TEXT,
    Node,
    function,
    json_body,
    json_response,
    one_get,
    one_post,
    parameter,
    with_paths,
)
from packages.openapi.tests.wire import Drop, Reply, Stall, Wire, json_reply, reply
from toolplan import OutcomeUnknown, Run, Toolbox, ToolError, approve, compile_plan, run
from toolplan.plan.path import Json
from toolplan_openapi import HttpLimits, openapi_toolbox

DOCUMENT: Node = with_paths(
    {
        "/x": {
            "get": {"operationId": "read", "responses": {}},
            "post": {
                "operationId": "write",
                "requestBody": json_body({"type": "object", "properties": {"a": TEXT}}),
                "responses": {},
            },
            "put": {"operationId": "put", "responses": {}},
            "delete": {"operationId": "delete", "responses": {}},
            "head": {"operationId": "head", "responses": {}},
        }
    }
)
SHORT = HttpLimits(timeout_s=1.0, response_bytes=1_000)
PATIENT = HttpLimits(response_bytes=1_000)


async def called(
    name: str, *replies: Reply, limits: HttpLimits | None = None, **arguments: Json
) -> tuple[Wire, Json | ToolError]:
    """Call a tool once, and give what came of it."""
    if limits is None:  # a service that says nothing is not waited for
        limits = SHORT if any(isinstance(said, Stall) for said in replies) else PATIENT
    async with Wire(list(replies)) as wire:
        try:
            return wire, await function(wire.tools(DOCUMENT, limits), name)(arguments)
        except ToolError as error:
            return wire, error


async def failed(
    name: str, *replies: Reply, limits: HttpLimits | None = None
) -> tuple[Wire, ToolError]:
    wire, outcome = await called(name, *replies, limits=limits)
    assert isinstance(outcome, ToolError), outcome
    return wire, outcome


async def ran(wire: Wire, document: Json, tool: str, **step: Json) -> Run:
    """Run a plan of one step, `a`, and approve what it does."""
    plan: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": tool, **step}]}
    tools = wire.tools(document)
    compiled = compile_plan(json.dumps(plan), tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    return await run(compiled.plan, tools, approval=approve(compiled.plan))


async def test_a_head_has_no_content() -> None:
    wire, value = await called("head", b"HTTP/1.1 200 Said\r\nContent-Length: 50\r\n\r\n")
    assert value is None
    assert wire.lines == ["HEAD /x HTTP/1.1"]


async def test_what_is_sent_is_what_the_document_says() -> None:
    wire, _ = await called("write", reply(201), a="ü")
    head, _, body = wire.requests[0].partition(b"\r\n\r\n")
    headers = head.decode().split("\r\n")
    assert headers[0] == "POST /x HTTP/1.1"
    assert f"Host: 127.0.0.1:{wire.port}" in headers
    assert "Content-Type: application/json" in headers
    assert json.loads(body) == {"a": "ü"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500, 501])
@pytest.mark.parametrize("name", ["read", "write", "delete"])
async def test_a_refusal_fails_the_call_and_is_not_tried_again(name: str, status: int) -> None:
    wire, error = await failed(name, json_reply('{"error": {"message": "no\\nway"}}', status))
    assert type(error) is ToolError
    assert str(error) == f"The service answered {status}: no way"
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"detail": "d"}', ": d"),
        (b'{"detail": [{"loc": 1}], "title": "t"}', ": t"),
        (b'{"success": false, "error": {"message": "m"}}', ": m"),
        (b'{"a": 1}', ': {"a": 1}'),
        (b"<html>\n <b>Down</b>", ": a web page, 'Down'"),
        (b"", "."),
        (b"\xff\xfe", ": \ufffd\ufffd"),
        (b"x" * 900, ": " + "x" * 497 + "..."),
    ],
)
async def test_what_a_refusal_says_is_bounded(content: bytes, expected: str) -> None:
    _, error = await failed("read", reply(418, content))
    assert str(error) == f"The service answered 418{expected}"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_read_that_is_put_off_is_tried_again_after_a_pause(status: int) -> None:
    wire, value = await called("read", reply(status), reply(status), json_reply("1"))
    assert value == 1
    assert wire.pauses == [0.5, 1.0]
    wire, error = await failed("read", reply(status))
    assert str(error) == f"The service answered {status}."
    assert len(wire.requests) == 3


async def test_the_pause_that_the_service_asks_for_is_kept_unless_it_is_too_long() -> None:
    wire, value = await called("read", reply(429, b"", "Retry-After: 7"), json_reply("1"))
    assert (value, wire.pauses) == (1, [7.0])
    date = "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"
    wire, value = await called("read", reply(503, b"", date), json_reply("1"))
    assert (value, wire.pauses) == (1, [0.0])
    date = "Retry-After: Tue, 14 Nov 2023 22:13:32 GMT"
    wire, value = await called("read", reply(503, b"", date), json_reply("1"))
    assert (value, wire.pauses) == (1, [12.0])
    wire, value = await called("read", reply(503, b"", "Retry-After: soon"), json_reply("1"))
    assert (value, wire.pauses) == (1, [0.5])
    wire, error = await failed("read", reply(429, b"slowly", "Retry-After: 3600"))
    assert str(error) == "The service answered 429: slowly"
    assert wire.pauses == []


@pytest.mark.parametrize("name", ["write", "put", "delete"])
async def test_what_has_effects_is_never_sent_twice(name: str) -> None:
    for said in (reply(429), reply(503), reply(502), Drop(), Drop(reset=True), reply(307)):
        wire, _ = await failed(name, said)
        assert len(wire.requests) == 1
        assert wire.pauses == []


@pytest.mark.parametrize(
    "said",
    [
        Drop(),
        Drop(reset=True),
        Drop(b"HTTP/1.1 20"),
        Drop(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
        Drop(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
        Drop(b"nonsense\r\n\r\n"),
        Stall(),
        Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    ],
)
async def test_a_connection_that_breaks_after_the_request_was_sent_leaves_effects_in_doubt(
    said: Reply,
) -> None:
    # the library is loaded by the first call, for which a stall leaves no time
    await called("read", reply(204))
    for name in ("write",) if isinstance(said, Stall) else ("write", "put", "delete"):
        wire, error = await failed(name, said)
        assert isinstance(error, OutcomeUnknown), error
        assert "It is not known whether it took effect." in str(error)
        assert len(wire.requests) == 1


async def test_a_read_whose_connection_breaks_is_tried_again() -> None:
    wire, value = await called("read", Drop(), Drop(b"HTTP/1.1 200", reset=True), json_reply("1"))
    assert value == 1
    assert wire.pauses == [0.5, 1.0]
    wire, error = await failed("read", Drop())
    assert not isinstance(error, OutcomeUnknown)
    assert (
        str(error) == f"The connection to http://127.0.0.1:{wire.port} broke: RemoteProtocolError."
    )
    assert len(wire.requests) == 3


@pytest.mark.parametrize(
    "said",
    [
        json_reply("{"),
        json_reply("NaN"),
        json_reply("[" * 1_000_0),
        reply(200, b"\xff\xff", "Content-Type: application/pdf"),
        reply(200, b"x", "Content-Type: text/plain; charset=klingon"),
        reply(200, b"x" * 1_001),
        reply(200, gzip.compress(b"0" * 10_000_000, mtime=0), "Content-Encoding: gzip"),
        reply(200, b"no gzip", "Content-Encoding: gzip"),
        reply(200, gzip.compress(b"1,2\n3,4\n", mtime=0)[:-9], "Content-Encoding: gzip"),
        reply(200, b"x", "Content-Encoding: br"),
    ],
)
async def test_an_unusable_answer_fails_a_read_and_leaves_effects_in_doubt(said: bytes) -> None:
    _, error = await failed("read", said)
    assert type(error) is ToolError
    assert str(error).startswith("The service answered 200, but ")
    _, error = await failed("write", said)
    assert isinstance(error, OutcomeUnknown)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(301, OutcomeUnknown), (303, OutcomeUnknown), (307, ToolError), (308, ToolError)],
)
async def test_a_redirect_of_an_effect_is_not_followed(status: int, kind: type[ToolError]) -> None:
    wire, error = await failed("write", reply(status, b"", "Location: /y"))
    assert type(error) is kind
    assert str(error) == f"The service answered {status}, a redirect that is not followed."
    assert wire.lines == ["POST /x HTTP/1.1"]


async def test_a_gateway_that_gives_up_leaves_effects_in_doubt() -> None:
    for status in (408, 502, 504):
        assert isinstance((await failed("write", reply(status)))[1], OutcomeUnknown)
    assert type((await failed("write", reply(503)))[1]) is ToolError


async def test_a_bomb_is_not_unpacked_beyond_the_limit() -> None:
    """The content is 20 MB of zeros in 20 kB; no more than the limit is ever held."""
    bomb = gzip.compress(b"\0" * 20_000_000)
    said = reply(200, bomb, "Content-Encoding: gzip")
    _, error = await failed("read", said, limits=HttpLimits(response_bytes=30_000))
    assert str(error) == "The service answered 200, but what it sent is larger than 30000 bytes."


async def test_an_endless_answer_is_cut_off() -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000
    _, error = await failed("read", Stall(endless))
    assert str(error) == "The service answered 200, but what it sent is larger than 1000 bytes."
    _, error = await failed("read", Stall(b"HTTP/1.1 500 Oh\r\n\r\n" + b"y" * 100_000))
    assert str(error).startswith("The service answered 500: yyy")


async def test_no_answer_in_time_fails_a_read() -> None:
    wire, error = await failed("read", Stall())
    assert str(error) == f"No answer came from http://127.0.0.1:{wire.port} within 1 s."
    assert not isinstance(error, OutcomeUnknown)


@pytest.mark.parametrize("name", ["read", "write"])
async def test_a_service_that_is_not_there_was_sent_nothing(name: str) -> None:
    async with Wire([reply(200)]) as wire:
        pass
    with pytest.raises(ToolError, match="cannot be reached: ") as raised:
        await function(wire.tools(DOCUMENT), name)({})
    assert not isinstance(raised.value, OutcomeUnknown)
    assert wire.pauses == ([0.5, 1.0] if name == "read" else [])


async def test_connections_are_shared_while_calls_go_on_and_closed_after() -> None:
    async with Wire([json_reply("1")]) as wire:
        tools = wire.tools(DOCUMENT)
        read = function(tools, "read")
        async with tools:
            for _ in range(5):
                assert await read({}) == 1
        assert wire.connections == 1
        await read({})
        await read({})
        assert wire.connections == 3
    assert len(wire.requests) == 7


def test_one_toolbox_serves_one_event_loop_after_the_other() -> None:
    wire = Wire([json_reply("1")])
    tools: Toolbox | None = None

    async def read() -> list[Json]:
        nonlocal tools
        async with wire:
            tools = tools or wire.tools(DOCUMENT)
            return await asyncio.gather(*(function(tools, "read")({}) for _ in range(4)))

    for _ in range(3):
        assert asyncio.run(read()) == [1, 1, 1, 1]


async def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    async with Wire([Stall()]) as wire:
        task = asyncio.ensure_future(function(wire.tools(DOCUMENT), "read")({}))
        await wire.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_no_log_shows_a_credential(caplog: pytest.LogCaptureFixture) -> None:
    document: Node = {
        **DOCUMENT,
        "security": [{"q": [], "h": []}],
        "components": {
            "securitySchemes": {
                "q": {"type": "apiKey", "in": "query", "name": "k"},
                "h": {"type": "http", "scheme": "bearer"},
            }
        },
    }
    caplog.set_level(logging.DEBUG)

    async with Wire([json_reply("1")]) as wire:
        tools = openapi_toolbox(
            document,
            base_url=f"http://127.0.0.1:{wire.port}",
            auth={"q": "Q", "h": "H"},
            environment={"Q": "query-secret", "H": "header-secret"},
        )
        assert await function(tools, "read")({}) == 1
    assert wire.lines == ["GET /x?k=query-secret HTTP/1.1"]
    assert b"Authorization: Bearer header-secret" in wire.requests[0]
    assert "secret" not in caplog.text


async def test_the_key_of_the_call_is_the_same_on_every_try_of_the_engine() -> None:
    """Promise (d): a side effect with an idempotency key has the same key on every attempt."""
    key = parameter("Idempotency-Key", "header")
    document = one_post({}, requestBody=None, parameters=[key])
    async with Wire([Drop(), reply(500), json_reply("1")]) as wire:
        assert (await ran(wire, document, "post", retries=2)).succeeded
    keys = re.findall(rb"(?i)\r\n(idempotency-key:[^\r]*)", b"".join(wire.requests))
    assert len(keys) == 3
    assert len(set(keys)) == 1


async def test_a_doubtful_call_of_a_run_waits_for_a_person() -> None:
    """Promise (e)."""
    async with Wire([Drop()]) as wire:
        assert (await ran(wire, DOCUMENT, "write")).status.value == "in_doubt"
    assert len(wire.requests) == 1


async def test_an_answer_that_does_not_fit_the_document_fails_its_step() -> None:
    document = one_get([], responses=json_response({"type": "array", "items": TEXT}))
    async with Wire([json_reply("[1]")]) as wire:
        error = (await ran(wire, document, "get")).steps["a"].error
    assert error is not None
    assert error.code == "result-schema"
