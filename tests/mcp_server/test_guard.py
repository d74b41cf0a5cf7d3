"""What is let through to the server over HTTP, request by request."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.mcp_server.served import in_loop
from toolplan.mcp_server.http.guard import Guard, Rules, is_loopback
from toolplan.mcp_server.http.serving import CannotServe, checked_rules

TOKEN = "0123456789abcdef-secret"
JSON_TYPE = ("content-type", "application/json")
HOST = ("host", "127.0.0.1:8722")
PLAIN = Rules()
BEARER = ("authorization", f"Bearer {TOKEN}")


class Asked:
    """What one request came to: its answer, and what the server behind the guard got of it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.reached: bytes | None = None

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["error"]["code"])


def ask(
    *headers: tuple[str, str],
    rules: Rules = PLAIN,
    method: str = "POST",
    path: str = "/mcp",
    query: str = "",
    body: Sequence[bytes] = (b"{}",),
    stalls: bool = False,
    kind: str = "http",
) -> Asked:
    asked = Asked()

    async def behind(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        asked.reached = message["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def work() -> None:
        parts = list(body)

        async def receive() -> Message:
            if not parts and stalls and not asked.status:
                await asyncio.Event().wait()
            if not parts:
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts) or stalls}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                asked.status = message["status"]
                asked.headers = {key.decode(): value.decode() for key, value in message["headers"]}
            elif message["type"] == "http.response.body":
                asked.body += message.get("body", b"")
            else:
                asked.status = -int(message["code"])

        scope: dict[str, Any] = {
            "type": kind,
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers],
        }
        await Guard(behind, rules)(scope, receive, send)

    in_loop(work)
    return asked


def test_a_request_of_a_local_client_is_let_through_with_its_body() -> None:
    asked = ask(HOST, JSON_TYPE, body=(b'{"a"', b": 1}"))
    assert (asked.status, asked.reached) == (200, b'{"a": 1}')


WITH_TOKEN = Rules(token=TOKEN)


@pytest.mark.parametrize(
    "values",
    [
        [],  # H01
        ["Bearer "],
        ["Basic dXNlcjpwYXNz"],
        [f"Bearer {TOKEN}x"],  # H02
        [f"Bearer {TOKEN[:-1]}"],
        [f"Basic {TOKEN}"],
        [TOKEN],
        [f"Bearer {TOKEN.upper()}"],
        ["Bearer ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ"],
        [f"Bearer {TOKEN}", "Bearer x"],
    ],
)
def test_without_the_token_nothing_is_done(values: list[str]) -> None:
    asked = ask(HOST, JSON_TYPE, *(("authorization", each) for each in values), rules=WITH_TOKEN)
    assert (asked.status, asked.code, asked.reached) == (401, "unauthorised", None)
    assert asked.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/mcp", f"token={TOKEN}"),
        ("/mcp", "access_token=anything"),
        ("/mcp", f"x={TOKEN}"),
        ("/mcp", f"x={TOKEN.replace('-', '%2D')}"),
        (f"/mcp/{TOKEN}", ""),
    ],
)
def test_a_token_in_the_url_is_refused_even_beside_a_right_one(path: str, query: str) -> None:
    """H03."""
    asked = ask(HOST, JSON_TYPE, BEARER, path=path, query=query, rules=WITH_TOKEN)
    assert (asked.status, asked.code, asked.reached) == (400, "token-in-url", None)
    assert TOKEN.encode() not in asked.body


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["evil.example:8722"],
        ["localhost.evil.example"],
        ["127.0.0.1.evil.example"],
        ["127.0.0.1@evil.example"],
        ["localhost:8722/"],
        [""],
        [],
        ["127.0.0.1:8722", "127.0.0.1:8722"],
    ],
)
@pytest.mark.parametrize("rules", [Rules(), Rules(["tools.example"], token=TOKEN)])
def test_a_foreign_host_is_misdirected_on_every_bind(hosts: list[str], rules: Rules) -> None:
    """H04."""
    asked = ask(*(("host", each) for each in hosts), JSON_TYPE, BEARER, rules=rules)
    assert (asked.status, asked.code, asked.reached) == (421, "foreign-host", None)


@pytest.mark.parametrize(
    ("headers", "rules"),
    [
        ([HOST, BEARER], WITH_TOKEN),
        ([("host", "localhost")], PLAIN),
        ([("host", "LOCALHOST:1")], PLAIN),
        ([("host", "[::1]:9")], PLAIN),
        ([("host", "tools.example")], Rules(["Tools.example"])),
        ([HOST, ("origin", "http://127.0.0.1:8722")], PLAIN),
        ([HOST, ("origin", "https://app.example")], Rules(origins=["https://app.example/"])),
    ],
)
def test_tokens_hosts_and_origins_of_the_server_are_let_through(
    headers: list[tuple[str, str]], rules: Rules
) -> None:
    assert ask(*headers, JSON_TYPE, rules=rules).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:8723", ""]
)
def test_pages_of_another_origin_may_not_use_it(origin: str) -> None:
    """H05, H06."""
    asked = ask(HOST, JSON_TYPE, ("origin", origin))
    assert (asked.status, asked.code, asked.reached) == (403, "foreign-origin", None)


def lengths(*values: str) -> list[tuple[str, str]]:
    return [("content-length", each.encode().decode("latin-1")) for each in values]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("content-type", "text/plain")], 415),  # H07: what a form of a page can send
        ([("content-type", "application/x-www-form-urlencoded")], 415),
        ([("content-type", "multipart/form-data")], 415),
        ([], 415),
        ([JSON_TYPE, ("content-encoding", "gzip")], 415),  # H11
        ([JSON_TYPE, ("content-length", "99999999")], 413),  # H08
        ([JSON_TYPE, *lengths("1", "2")], 400),  # H24
        ([JSON_TYPE, *lengths("-1")], 400),
        ([JSON_TYPE, *lengths("1x")], 400),
        ([JSON_TYPE, *lengths("٣")], 400),
        ([JSON_TYPE, *lengths("2"), ("transfer-encoding", "chunked")], 400),
        ([JSON_TYPE, ("x", "y" * 40_000)], 431),  # H23
        ([JSON_TYPE, *[(f"x{n}", "y" * 100) for n in range(400)]], 431),
    ],
)
def test_what_the_headers_show_is_refused_before_the_body_is_read(
    headers: list[tuple[str, str]], status: int
) -> None:
    asked = ask(HOST, *headers, body=())
    assert (asked.status, asked.reached) == (status, None)
    if status == 400:  # for each method
        assert ask(HOST, *headers, method="GET").status == 400


def test_a_large_request_without_a_length_is_refused_on_the_way() -> None:
    """H09."""
    asked = ask(HOST, JSON_TYPE, rules=Rules(most_body=100), body=[b"x" * 60] * 5, stalls=True)
    assert (asked.status, asked.reached) == (413, None)


def test_a_slow_request_is_given_up() -> None:
    """H10."""
    asked = ask(HOST, JSON_TYPE, rules=Rules(body_s=0.05), stalls=True)
    assert (asked.status, asked.code, asked.reached) == (408, "too-slow", None)


def test_other_origins_do_not_even_learn_what_they_might_ask() -> None:
    """H25: there is no CORS."""
    asked = ask(HOST, ("access-control-request-method", "POST"), method="OPTIONS")
    assert asked.status == 405
    assert not [name for name in asked.headers if name.startswith("access-control")]
    assert ask(HOST, ("origin", "https://evil.example"), method="OPTIONS").status == 403


def test_a_web_socket_and_a_client_that_leaves_get_no_answer() -> None:
    """H26."""
    assert ask(HOST, kind="websocket").status == -1008
    assert ask(HOST, JSON_TYPE, body=()).status == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert checked_rules(host, None).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.2", "tools.example", "127.1"])
def test_any_other_address_needs_one(host: str) -> None:
    """C09."""
    with pytest.raises(CannotServe) as caught:
        checked_rules(host, None)
    assert caught.value.code == "not-loopback"
    assert caught.value.help
    assert checked_rules(host, TOKEN).token == TOKEN


@pytest.mark.parametrize("token", ["", "short", "with spaces in it, long", "ümlaut" * 4])
def test_a_token_that_is_weak_is_refused(token: str) -> None:
    with pytest.raises(CannotServe) as caught:
        checked_rules("127.0.0.1", token)
    assert caught.value.code == "weak-token"
    assert not token or token not in str(caught.value)
