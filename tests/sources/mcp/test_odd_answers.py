"""Odd answers: what a server writes for a request of ours ends it, in the server's words."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import httpx2
import pytest
from pydantic_core import from_json

from tests.sources.mcp.http_scripts import EVENTS, JSON_TYPE, WRITES, Answer, Answers, Give, served
from tests.sources.mcp.scripts import Scripted, call, listed_tool, one_page
from toolplan.plan.path import Json
from toolplan.schema.tool import OutcomeUnknown, Toolbox, ToolError
from toolplan.tools.mcp import HttpServer, _http, connected

ID: Final = "ID"  # stands for the id of the request
FINE: Final = '{"content":[{"type":"text","text":"fine"}]}'
LONG: Final = "x" * 5_000_000
TIMEOUT_S: Final = 20.0


class Odd(NamedTuple):
    """What is written, and the value that it gives, or the words of the failure."""

    written: str | bytes
    value: Json = None
    words: str = ""


def envelope(rest: str) -> str:
    return f'{{"jsonrpc":"2.0","id":ID,{rest}}}'


def error(rest: str) -> str:
    return envelope(f'"error":{rest}')


def result(rest: str) -> str:
    return envelope(f'"result":{rest}')


ODD: Final = {
    "result null": Odd(result("null"), words="not an object: null"),
    "result a text": Odd(result('"paid 3"'), words="paid 3"),
    "result a list": Odd(result('[{"type":"text"}]'), words="not an object"),
    "result true": Odd(result("true"), words="not an object: true"),
    "result a number": Odd(result("7"), words="not an object: 7"),
    "error a text": Odd(error('"no such row"'), words="no such row"),
    "error a list": Odd(error('["no such row"]'), words="no such row"),
    "error a number": Odd(error("17"), words="17"),
    "error true": Odd(error("true"), words="true"),
    "error without a code": Odd(error('{"message":"no such row"}'), words="no such row"),
    "error without a message": Odd(error('{"code":-1,"reason":"locked"}'), words="locked"),
    "error with a code as text": Odd(error('{"code":"E1","message":"no such row"}'), words="row"),
    "error with a code as a truth": Odd(error('{"code":true,"message":"nope"}'), words="nope"),
    "error with a code as a fraction": Odd(error('{"code":1.5,"message":"nope"}'), words="nope"),
    "error with a message as an object": Odd(
        error('{"code":1,"message":{"en":"locked"}}'), words="locked"
    ),
    "error with the code of a lost connection": Odd(
        error('{"code":-32000,"message":"no such row"}'), words="no such row"
    ),
    "error with the code of a time limit": Odd(
        error('{"code":-32001,"message":"no such row"}'), words="no such row"
    ),
    "error with the code of wrong arguments": Odd(
        error('{"code":-32602,"message":"no such row"}'), words="no such row"
    ),
    "error null beside a result": Odd(envelope(f'"error":null,"result":{FINE}'), "fine"),
    "result and error": Odd(
        envelope(f'"result":{FINE},"error":{{"code":1,"message":"half done"}}'), words="half done"
    ),
    "result null beside an error": Odd(
        envelope('"result":null,"error":{"code":1,"message":"nope"}'), words="nope"
    ),
    "neither result nor error": Odd('{"jsonrpc":"2.0","id":ID,"value":9}', words="neither"),
    "no jsonrpc": Odd(f'{{"id":ID,"result":{FINE}}}', "fine"),
    "no jsonrpc in an error": Odd('{"id":ID,"error":{"code":1,"message":"nope"}}', words="nope"),
    "jsonrpc 1.0": Odd(f'{{"jsonrpc":"1.0","id":ID,"result":{FINE},"error":null}}', "fine"),
    "jsonrpc a number": Odd(f'{{"jsonrpc":2.0,"id":ID,"result":{FINE}}}', "fine"),
    "id as text": Odd(f'{{"jsonrpc":"2.0","id":"ID","result":{FINE}}}', "fine"),
    "id as a fraction": Odd(f'{{"jsonrpc":"2.0","id":ID.0,"result":{FINE}}}', "fine"),
    "id null in an error": Odd(
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad line"}}', words="bad line"
    ),
    "no id in an error": Odd('{"jsonrpc":"2.0","error":"bad line"}', words="bad line"),
    "id null in a result": Odd(
        f'{{"jsonrpc":"2.0","id":null,"result":{FINE}}}', words="does not say to which request"
    ),
    "a batch": Odd(f"[{result(FINE)}]", "fine"),
    "a batch with a notification": Odd(
        '[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},'
        f"{result(FINE)}]",
        "fine",
    ),
    "a batch with an error as text": Odd(f"[{error(json.dumps('locked'))}]", words="locked"),
    "byte order mark": Odd("\ufeff" + result(FINE), "fine"),
    "byte order mark before a text that is no result": Odd("\ufeff" + result('"x"'), words="x"),
    "carriage return": Odd(result(FINE) + "\r", "fine"),
    "spaces around": Odd("  \t" + result(FINE) + "  ", "fine"),
    "half a character": Odd(
        result('{"content":[{"type":"text","text":"a\\ud83d"}]}'), words="not Unicode"
    ),
    "half a character in an error": Odd(error('{"code":1,"message":"a\\udc00b"}'), words="a?b"),
    "a character in two escapes": Odd(
        result('{"content":[{"type":"text","text":"\\ud83d\\ude00"}]}'), "\U0001f600"
    ),
    "bytes that are not UTF-8": Odd(
        result('{"content":[{"type":"text","text":"caf').encode() + b'\xe9"}]}}',
        words="not Unicode",
    ),
    "NaN": Odd(result('{"content":[],"structuredContent":{"a":NaN}}'), words="NaN"),
    "Infinity": Odd(result('{"content":[],"structuredContent":{"a":-Infinity}}'), words="NaN"),
    "a key twice in a text": Odd(
        result('{"content":[{"type":"text","text":"{\\"a\\":1,\\"a\\":2}"}]}'),
        value='{"a":1,"a":2}',
    ),
    "cut off": Odd('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"ty', words="not JSON"),
    "single quotes": Odd("{\"id\":ID,'result':{}}", words="not JSON"),
    "a comma too many": Odd('{"jsonrpc":"2.0","id":ID,"result":{},}', words="not JSON"),
    "nested too deep": Odd(
        result('{"content":[],"structuredContent":' + '{"a":' * 300 + "1" + "}" * 301),
        words="levels deep",
    ),
    "content missing": Odd(result("{}"), words="content: Field required"),
    "content missing beside a structure": Odd(result('{"structuredContent":{"a":1}}'), {"a": 1}),
    "content a text": Odd(result('{"content":"paid 3"}'), words="paid 3"),
    "content an object": Odd(result('{"content":{"type":"text","text":"paid"}}'), words="paid"),
    "content null": Odd(result('{"content":null}'), words="content"),
    "content of texts": Odd(result('{"content":["paid 3"]}'), words="paid 3"),
    "content of an unknown type": Odd(
        result('{"content":[{"type":"video","data":"x"}]}'), words="video"
    ),
    "text without a text": Odd(result('{"content":[{"type":"text"}]}'), words="content"),
    "text a number": Odd(result('{"content":[{"type":"text","text":7}]}'), words="content"),
    "isError a text": Odd(result('{"content":[],"isError":"perhaps"}'), words="perhaps"),
    "a structure that is a list": Odd(
        result('{"content":[],"structuredContent":[1,2]}'), words="[1, 2]"
    ),
    "a structure that is null beside a text": Odd(
        result('{"content":[{"type":"text","text":"fine"}],"structuredContent":null}'), "fine"
    ),
    "fields that are not known": Odd(envelope(f'"result":{FINE},"took_ms":3,"server":"x"'), "fine"),
    "5 MB": Odd(
        result('{"content":[{"type":"text","text":"' + "x" * 5_000_000 + '"}]}'), "x" * 5_000_000
    ),
}
"""All but a request that never gets an answer: each way ends the call, over both transports."""

LINES: Final = {
    "text before": Odd("Listening on port 3\n" + result(FINE), "fine"),
    "JSON of a log before": Odd('{"level":"info","msg":"id"}\n' + result(FINE), "fine"),
    "empty lines": Odd("\n\r\n" + result(FINE), "fine"),
    "bytes of a log that are not UTF-8": Odd(b"caf\xe9\n" + result(FINE).encode(), "fine"),
    "a list before": Odd("[1, 2]\n[]\n" + result(FINE), "fine"),
    "another answer before": Odd(
        '{"jsonrpc":"2.0","id":99999,"result":{}}\n' + result(FINE), "fine"
    ),
    "answered twice": Odd(result(FINE) + "\n" + result('"again"'), "fine"),
}
"""More lines over stdio, and more events over HTTP."""

TWICE: Final = {
    "a key twice": Odd(
        result('{"content":[],"structuredContent":{"a":1,"a":2}}'), words="the key 'a' twice"
    ),
    "a key twice inside": Odd(
        result('{"content":[],"structuredContent":{"a":[{"b":1,"b":1}]}}'),
        words="the key 'b' twice",
    ),
    "two results": Odd(
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{}}',
        words="the key 'result' twice",
    ),
}
"""More bodies and events over HTTP: over stdio the SDK has read the line before us."""


def given(written: str | bytes, request: dict[str, Any]) -> bytes:
    content = written if isinstance(written, bytes) else written.encode("utf-8", "surrogateescape")
    return content.replace(ID.encode(), json.dumps(request["id"]).encode())


def outcome(tools: Any, odd: Odd) -> None:
    """See that a call with effects ends as it should, and is not in doubt."""
    if not odd.words:
        assert call(tools, "it.pay") == odd.value
        return
    with pytest.raises(ToolError) as raised:
        call(tools, "it.pay")
    assert odd.words in str(raised.value)
    assert not isinstance(raised.value, OutcomeUnknown)
    assert len(str(raised.value)) < 2_000


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scripted, Toolbox]]:
    folder = tmp_path_factory.mktemp("odd")
    script = Scripted(folder, pages=one_page(listed_tool("pay", annotations=WRITES)), results={})
    with connected({"it": script.server(timeout_s=TIMEOUT_S)}) as source:
        yield script, source.toolbox()


@pytest.mark.parametrize("name", [*ODD, *LINES])
def test_a_line_with_our_id_ends_its_call(name: str, process: tuple[Scripted, Toolbox]) -> None:
    script, tools = process
    odd = {**ODD, **LINES}[name]
    written = odd.written if isinstance(odd.written, bytes) else odd.written.encode()
    script.write(results={"pay": {"raw": written.decode("latin-1")}})
    outcome(tools, odd)
    script.write(results={"pay": {"content": [{"type": "text", "text": "well again"}]}})
    assert call(tools, "it.pay") == "well again"


def always(answer: Answer) -> Give:
    def give(_: Any) -> Answer:
        return answer

    return give


class Remote(NamedTuple):
    """A server over HTTP, and its tools."""

    answers: Answers
    tools: Toolbox

    def gives(self, odd: Odd, give: Give) -> None:
        """See that a call ends as it should where the server answers what `give` says."""
        self.answers.give = give
        outcome(self.tools, odd)


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    answers = Answers(lambda _: (200, {}, b""))
    with (
        served(answers) as address,
        connected({"it": HttpServer(address, timeout_s=TIMEOUT_S)}) as source,
    ):
        yield Remote(answers, source.toolbox())


@pytest.mark.parametrize("name", [*ODD, *TWICE])
def test_a_body_ends_its_call(name: str, remote: Remote) -> None:
    odd = {**ODD, **TWICE}[name]
    remote.gives(odd, lambda asked: (200, JSON_TYPE, given(odd.written, asked)))


@pytest.mark.parametrize("name", [*ODD, *LINES, *TWICE])
def test_an_event_ends_its_call(name: str, remote: Remote) -> None:
    odd = {**ODD, **LINES, **TWICE}[name]

    def give(asked: Any) -> Answer:
        lines = given(odd.written, asked).split(b"\n")
        body = b"".join(b"event: message\ndata: " + line + b"\n\n" for line in lines)
        return 200, EVENTS, body

    remote.gives(odd, give)


PLAIN: Final = result(FINE)


@pytest.mark.parametrize(
    ("headers", "written", "odd"),
    [
        ({"content-type": "text/plain"}, PLAIN, Odd("", "fine")),
        ({}, PLAIN, Odd("", "fine")),
        ({"content-type": "text/html"}, PLAIN, Odd("", "fine")),
        ({"content-type": "application/json; charset=UTF-8"}, PLAIN, Odd("", "fine")),
        ({"content-type": "application/vnd.api+json"}, PLAIN, Odd("", "fine")),
        (JSON_TYPE, "<html><title>Sign in</title>", Odd("", words="a web page, 'Sign in'")),
        ({"content-type": "text/html"}, "<!doctype html>", Odd("", words="a web page")),
        (JSON_TYPE, "", Odd("", words="empty")),
        (JSON_TYPE, "OK", Odd("", words="OK")),
        (JSON_TYPE, result(FINE).replace(ID, "777"), Odd("", words="777")),
        (EVENTS, "\ufeffdata: " + PLAIN + "\n\n", Odd("", "fine")),
        (EVENTS, "data: " + PLAIN, Odd("", "fine")),
        (EVENTS, "data:" + PLAIN + "\r\n\r\n", Odd("", "fine")),
        (EVENTS, "data: " + PLAIN + "\r\r", Odd("", "fine")),
        (EVENTS, "event: response\ndata: " + PLAIN + "\n\n", Odd("", "fine")),
        (EVENTS, ": hello\n\ndata: ping\n\ndata: " + PLAIN + "\n\n", Odd("", "fine")),
        (EVENTS, f"data: {PLAIN[:16]}\n: still here\ndata:{PLAIN[16:]}\n\n", Odd("", "fine")),
        (EVENTS, PLAIN, Odd("", "fine")),
    ],
)
def test_a_body_is_read_for_what_it_is(
    headers: dict[str, str], written: str, odd: Odd, remote: Remote
) -> None:
    remote.gives(odd, lambda asked: (200, headers, given(written, asked)))


GZIP: Final = {**JSON_TYPE, "content-encoding": "gzip"}


def test_a_body_is_unpacked_as_its_headers_say(remote: Remote) -> None:
    remote.gives(Odd("", "fine"), lambda asked: (200, GZIP, gzip.compress(given(PLAIN, asked))))
    remote.answers.give = always((200, GZIP, PLAIN.encode()))
    with pytest.raises(OutcomeUnknown, match="DecodingError"):
        call(remote.tools, "it.pay")


@pytest.mark.parametrize(
    ("headers", "body"),
    [(GZIP, gzip.compress(b" " * 20_000)), (EVENTS, b"data: 2345\n" * 2_000)],
    ids=["a body that grows when it is unpacked", "an event of many short lines"],
)
def test_an_answer_is_bounded_however_it_is_sent(
    headers: dict[str, str], body: bytes, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "MAX_BODY_BYTES", 10_000)
    monkeypatch.setattr(_http, "MAX_EVENT_BYTES", 10_000)
    remote.answers.give = always((200, headers, body))
    with pytest.raises(OutcomeUnknown):
        call(remote.tools, "it.pay")


async def test_bytes_that_are_not_utf_8_are_refused_in_a_stream_for_all_answers() -> None:
    """The older transport: answers come on the stream of a GET, which the SDK reads by itself."""
    sent = httpx2.Response(200, content=b'data: {"text": "caf\xe9"}\r\n\r\n')
    [event] = [each async for each in _http.Events(sent, None)][:1]
    assert event == b'data: {"text": "caf\\udce9"}\n\n'
    with pytest.raises(ValueError, match="surrogate"):
        from_json(event.removeprefix(b"data: "))


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, "Bad Request: no header", "HTTP 400 (Bad Request): Bad Request: no header"),
        (401, "<html>", "HTTP 401 (Unauthorized): a web page; see its 'headers'"),
        (401, '{"jsonrpc":"2.0","id":ID,"error":{"code":5,"message":"mine"}}', "mine"),
        (402, '{"detail":"out of credit"}', "out of credit"),
        (403, "", "HTTP 403 (Forbidden); see its 'headers'"),
        (405, "", "HTTP 405 (Method Not Allowed)"),
        (409, "locked", "locked"),
        (413, "<title>Too large</title>", "'Too large'"),
        (422, '{"jsonrpc":"2.0","id":ID,"error":"bad row"}', "bad row"),
        (429, "slow down.", "HTTP 429 (Too Many Requests): slow down."),
        (404, '{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no tool"}}', "no tool"),
        (500, '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no row"}}', "no row"),
        (204, "", "empty"),
        (202, "", "202"),
        (302, "", "Redirect to https://elsewhere.example/ not followed"),
    ],
)
def test_a_status_is_said_and_leaves_nothing_in_doubt(
    status: int, body: str, words: str, remote: Remote
) -> None:
    headers = {**JSON_TYPE, "location": "https://elsewhere.example/"}
    remote.gives(Odd("", words=words), lambda asked: (status, headers, given(body, asked)))


@pytest.mark.parametrize(
    ("headers", "body", "words"),
    [
        (EVENTS, b"", "outcome is unknown"),
        (EVENTS, b": only a comment\n\n", "without a response; the call was sent"),
        (EVENTS, b"data: Internal Server Error\n\n", "Internal Server Error"),
    ],
)
def test_a_stream_without_an_answer_is_in_doubt(
    headers: dict[str, str], body: bytes, words: str, remote: Remote
) -> None:
    remote.answers.give = always((200, headers, body))
    with pytest.raises(OutcomeUnknown, match=words):
        call(remote.tools, "it.pay")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_gateway_is_in_doubt_and_says_so_briefly(status: int, remote: Remote) -> None:
    remote.answers.give = always((status, {"content-type": "text/plain"}, b"no luck."))
    with pytest.raises(OutcomeUnknown) as raised:
        call(remote.tools, "it.pay")
    assert f"HTTP {status} (" in str(raised.value)
    assert "no luck; the call was sent" in str(raised.value)


HTML: Final = {"content-type": "text/html"}


@pytest.mark.parametrize("sessions", [True, False])
@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (404, HTML, b"Cannot GET /mcp"),
        (404, JSON_TYPE, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone"}}'),
        (405, JSON_TYPE, b"{}"),
        (501, {}, b""),
        (400, JSON_TYPE, b'{"error":"bad"}'),
        (401, {"www-authenticate": 'Bearer realm="x"'}, b""),
        (403, {"www-authenticate": "Bearer"}, b"no"),
        (406, {}, b""),
        (410, {}, b""),
        (429, {}, b""),
        (500, HTML, b"<title>Oops</title>"),
        (502, HTML, b""),
        (200, HTML, b"<title>n8n</title>"),
        (200, JSON_TYPE, b'{"status":"ok"}'),
        (200, {}, b""),
        (204, {}, b""),
        (302, {"location": "/login"}, b""),
        (200, EVENTS, b""),
        (200, EVENTS, b"data: not JSON\n\n"),
    ],
)
def test_a_get_that_fails_is_no_stream_and_nothing_more(
    sessions: bool, status: int, headers: dict[str, str], body: bytes
) -> None:
    answers = Answers(lambda asked: (200, JSON_TYPE, given(PLAIN, asked)))
    answers.get, answers.session = (status, headers, body), "one" * sessions
    with (
        served(answers) as address,
        connected({"it": HttpServer(address, timeout_s=TIMEOUT_S)}) as source,
    ):
        tools = source.toolbox()
        for _ in range(3):
            assert call(tools, "it.pay") == "fine"
        assert not source.sign_ins_wanted
    assert (answers.gets > 0) == sessions
