"""Media types: what comes is read as the document declares it, or the call fails."""

from __future__ import annotations

import gzip
from typing import Final

import pytest

from packages.openapi.tests.documents import Node, function, with_paths
from packages.openapi.tests.wire import Wire, reply
from toolplan.plan.path import Json
from toolplan.schema.tool import OutcomeUnknown, ToolError
from toolplan_openapi import HttpLimits

JSON: Final = "application/json"
PAGE: Final = b"<!DOCTYPE html>\n<html><head><title>Sign in &amp; go</title></head></html>"
PROBLEM: Final = "application/problem+json"
OBJECT: Final = b'{"a": 1}'
LIMITS: Final = HttpLimits(response_bytes=10_000)


async def outcome(said: bytes, *declared: str, method: str = "get") -> Json | ToolError:
    """Call an operation whose success is one of `declared`, and give what came of it."""
    content: Node = {kind: {"schema": {}} for kind in declared}
    responses: Node = {"200": {"description": "It.", "content": content}}
    document = with_paths({"/x": {method: {"operationId": "it", "responses": responses}}})

    async with Wire([said]) as wire:
        try:
            return await function(wire.tools(document, LIMITS), "it")({})
        except ToolError as error:
            return error


def sent(content: bytes, kind: str | None, *headers: str) -> bytes:
    stated = () if kind is None else (f"Content-Type: {kind}",)
    return reply(200, content, *stated, *headers)


@pytest.mark.parametrize(
    ("declared", "kind", "content", "value"),
    [
        ([JSON], JSON, OBJECT, {"a": 1}),
        ([JSON], "application/json; charset=utf-8", OBJECT, {"a": 1}),
        ([JSON], "Application/JSON;charset=UTF8", OBJECT, {"a": 1}),
        ([JSON], "application/json; charset=utf-16", '{"a": "ü"}'.encode("utf-16"), {"a": "ü"}),
        ([JSON], "application/json; charset=latin-1", b'{"a": "\xfc"}', {"a": "ü"}),
        ([JSON], "text/json", OBJECT, {"a": 1}),
        ([JSON], "text/plain", OBJECT, {"a": 1}),
        ([JSON], "text/plain; charset=us-ascii", b"[1]", [1]),
        ([JSON], "text/html", OBJECT, {"a": 1}),
        ([JSON], "application/octet-stream", OBJECT, {"a": 1}),
        ([JSON], "text/javascript", b"12", 12),
        ([JSON], None, OBJECT, {"a": 1}),
        ([JSON], "", b"null", None),
        ([JSON], "application/vnd.api+json", OBJECT, {"a": 1}),
        (["application/vnd.x.v2+json"], JSON, OBJECT, {"a": 1}),
        ([JSON], JSON, b"\xef\xbb\xbf" + OBJECT, {"a": 1}),
        ([JSON], "text/plain", b"\xef\xbb\xbf" + OBJECT, {"a": 1}),
        ([JSON], JSON, b"", None),
        ([JSON], JSON, b" \r\n", None),
        ([JSON], None, b"", None),
        ([JSON, "text/plain"], "text/plain", OBJECT, '{"a": 1}'),
        ([JSON, "text/html"], "text/html", PAGE, PAGE.decode()),
        (["text/*"], "text/csv", b"a,b", "a,b"),
        (["*/*"], "text/plain", b"12", "12"),
        (["text/csv"], None, b"12", "12"),
        (["text/csv"], "text/plain", b"a,b", "a,b"),
        (["text/plain"], "text/plain", b"\xef\xbb\xbfa", "a"),
        (["application/xml"], "text/xml", b"<a/>", "<a/>"),
        (["application/xml"], JSON, OBJECT, {"a": 1}),
        ([PROBLEM], PROBLEM, b'{"title": "t"}', {"title": "t"}),
        ([], "text/html", PAGE, PAGE.decode()),
        ([], JSON, b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ([], "application/problem+json; charset=utf-8", b"[1]", [1]),
        ([], None, b"[1]", [1]),
        ([], None, b"hello", "hello"),
        ([], "text/plain; charset=latin-1", b"hi \xfc", "hi ü"),
        ([], "text/plain", "hi ü".encode(), "hi ü"),
    ],
)
async def test_what_is_declared_is_read(
    declared: list[str], kind: str | None, content: bytes, value: Json
) -> None:
    assert await outcome(sent(content, kind), *declared) == value


@pytest.mark.parametrize(
    ("declared", "kind", "content", "words"),
    [
        ([JSON], "text/html", PAGE, "page, 'Sign in & go' where application/json is declared"),
        ([JSON], "text/html; charset=utf-8", b"<html></html>", "a web page where"),
        ([JSON], JSON, PAGE, "a web page, 'Sign in & go' and not JSON"),
        ([JSON], "text/plain", PAGE, "'Sign in & go'"),
        ([JSON], None, PAGE, "'Sign in & go'"),
        ([JSON], "application/xhtml+xml", b"<!-- x --><html><title>T</title>", "'T'"),
        ([JSON], "text/plain", b"OK", "text/plain where application/json is declared: OK"),
        ([JSON], None, b"OK", "text of no type"),
        ([JSON], "application/xml", b"<error>no</error>", "application/xml"),
        ([JSON], "application/x-ndjson", b'{"a": 1}\n{"a": 2}', "application/x-ndjson"),
        ([JSON], JSON, b'{"a": 1', "not JSON that can be read"),
        ([JSON], JSON, b"{'a': 1}", "not JSON that can be read"),
        ([JSON], JSON, b'{"a": NaN}', "JSON with NaN in it"),
        ([JSON], JSON, b'{"a": 1, "a": 2}', "JSON with the key 'a' twice in an object"),
        ([JSON], JSON, b'[{"b": [{"a": 1, "a": 1}]}]', "JSON with the key 'a' twice"),
        ([JSON], "application/hal+json", b'{"": 1, "": 2}', "JSON with the key '' twice"),
        ([JSON], "text/plain", b'{"a": 1, "a": 2}', "JSON with the key 'a' twice"),
        ([JSON], JSON, b'{"a": "\xfc"}', "not JSON that can be read"),
        ([JSON], "application/json; charset=none-such", b'{"a": "\xfc"}', "not JSON"),
        ([JSON], "application/problem+json", b'{"title": "No", "detail": "no funds"}', "no funds"),
        ([JSON, "text/csv"], "text/html", PAGE, "application/json or text/csv is declared"),
        (["text/csv"], "text/html", PAGE, "a web page, 'Sign in & go' where text/csv"),
        (["application/xml"], "text/html", PAGE, "a web page"),
    ],
)
async def test_what_is_not_declared_is_a_failure_and_says_what_came(
    declared: list[str], kind: str | None, content: bytes, words: str
) -> None:
    found = await outcome(sent(content, kind), *declared)
    assert isinstance(found, ToolError)
    assert not isinstance(found, OutcomeUnknown)
    assert words in str(found)
    # the service did something, and what it says of that is not known
    assert isinstance(await outcome(sent(content, kind), *declared, method="post"), OutcomeUnknown)


@pytest.mark.parametrize("kind", [JSON, "text/plain", "text/json; charset=utf-8"])
async def test_a_body_is_unpacked_whatever_its_headers_say(kind: str) -> None:
    packed, coded = gzip.compress(OBJECT), "Content-Encoding: gzip"
    for said in (
        sent(packed, kind), sent(packed, kind, coded), sent(OBJECT, kind, coded),
        sent(OBJECT, kind, "Content-Encoding: x-gzip"),
    ):  # fmt: skip
        assert await outcome(said, JSON) == {"a": 1}


async def test_a_bomb_without_a_header_is_bounded() -> None:
    found = await outcome(sent(gzip.compress(b"0" * 1_000_000), JSON), JSON)
    assert isinstance(found, ToolError)
    assert "larger than 10000 bytes" in str(found)
