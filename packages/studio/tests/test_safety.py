"""Who gets in, and what a browser is allowed to do with a response."""

import asyncio
import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from packages.studio.tests.served import API, HOST, ORIGIN, TOKEN, browsing
from tests.mcp_server.served import READS
from toolplan import App, ToolplanError
from toolplan.testing import ScriptedPlanner, ScriptedTools
from toolplan_studio import CannotServe, serve
from toolplan_studio._server import session_key
from toolplan_studio._session import COOKIE, LASTS_S, Sessions

KEY = b"k" * 32

OPEN = {("post", "/session")}
CALLS = [
    ("delete", "/session", None),
    ("get", "/about", None),
    ("get", "/schema", None),
    ("get", "/tools", None),
    ("get", "/runs", None),
    ("get", "/runs/r", None),
    ("get", "/runs/r/events", None),
    ("get", "/runs/r/steps/s", None),
    ("get", "/runs/r/diff/o", None),
    ("post", "/plans", {"question": "q"}),
    ("post", "/plans/stream", {"question": "q"}),
    ("post", "/plans/check", {"text": "{}"}),
    ("post", "/plans/diff", {"before": "", "after": ""}),
    ("post", "/runs", {"text": json.dumps(READS), "digest": "0" * 64, "approve": True}),
    ("post", "/runs/r/decisions", {"kind": "cancel"}),
    ("post", "/tools/people/try", {"args": {"team": "red"}}),
]


def test_the_calls_below_are_all_that_there_are() -> None:
    document = json.loads((Path(__file__).parents[3] / "web" / "openapi.json").read_text("utf-8"))
    known = {
        (method, path.removeprefix("/api/v1").count("/"))
        for path, methods in document["paths"].items()
        for method in methods
    }
    assert len(CALLS) + len(OPEN) == sum(len(each) for each in document["paths"].values())
    assert {(method, path.count("/")) for method, path, _ in CALLS} <= known


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
async def test_without_a_session_nothing_is_answered(
    tmp_path: Path, method: str, path: str, body: Any
) -> None:
    async with browsing(tmp_path, enter=False, token=TOKEN) as browser:
        end = int(time.time()) + 1_000
        for cookie in ("", "x", f"{end}.", f"{end}.{'0' * 64}", f"-1.{'0' * 64}", "²." + "0"):
            headers = {b"cookie": f"{COOKIE}={cookie}".encode()} if cookie else {}
            response = await browser.client.request(
                method, f"{API}{path}", json=body, headers=headers
            )
            assert response.status_code == 401, response.text
            assert response.json()["code"] == "unauthorised"
        for bearer in ("Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}"):
            response = await browser.client.request(
                method, f"{API}{path}", json=body, headers={"authorization": bearer}
            )
            assert response.status_code == 401
        assert browser.tools.calls == []


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"host": "evil.example"}, 421, "foreign-host"),
        ({"host": "127.0.0.1.evil.example:8321"}, 421, "foreign-host"),
        ({"origin": "https://evil.example"}, 403, "foreign-origin"),
        ({"origin": "null"}, 403, "foreign-origin"),
        ({"origin": "http://127.0.0.1:9999"}, 403, "foreign-origin"),
        ({"origin": f"https://{HOST}.evil.example"}, 403, "foreign-origin"),
        ({"sec-fetch-site": "cross-site"}, 403, "foreign-site"),
        ({"sec-fetch-site": "same-site"}, 403, "foreign-site"),
    ],
)
async def test_with_a_session_other_sites_are_refused_everywhere(
    tmp_path: Path, headers: dict[str, str], status: int, code: str
) -> None:
    async with browsing(tmp_path) as browser:
        for method, path, body in CALLS:
            response = await browser.client.request(
                method, f"{API}{path}", json=body, headers=headers
            )
            assert (response.status_code, response.json()["code"]) == (status, code)
            assert response.headers["content-security-policy"]
        assert browser.tools.calls == []
        assert (await browser.get("about", **{}))["tools"] == 2


async def test_forms_and_tokens_in_addresses_are_refused(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        address = f"{API}/plans"
        form = await browser.client.post(address, data={"question": "q"})
        assert form.status_code == 415
        plain = await browser.client.post(
            address, content=b'{"question": "q"}', headers={"content-type": "text/plain"}
        )
        assert plain.status_code == 415
        named = await browser.client.get(f"{API}/about?token=x")
        assert (named.status_code, named.json()["code"]) == (400, "token-in-url")
        large = await browser.client.post(address, content=b"x" * 5_000_000)
        assert large.status_code in (413, 415)


async def test_a_link_of_another_process_lets_one_browser_in_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Sessions(KEY).one_time_token()
    await asyncio.sleep(0.002)
    async with browsing(tmp_path, enter=False, key=KEY) as browser:

        async def enter(token: str) -> int:
            response = await browser.client.post(f"{API}/session", json={"token": token})
            return response.status_code

        link = Sessions(KEY).one_time_token()
        made, _, signature = link.rpartition(".")
        at, _, random = made.partition(".")
        later = f"{int(at) + 5_000}.{random}.{signature}"
        foreign = Sessions(b"x" * 32).one_time_token()
        for token in (older, foreign, made, f"{link}0", later, "..", "a.b.c"):
            assert await enter(token) == 401
        assert await enter(link) == 204
        assert await enter(link) == 401
        expired = Sessions(KEY).one_time_token()
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 901)
        assert await enter(expired) == 401


async def test_the_token_lets_one_browser_in_once(tmp_path: Path) -> None:
    async with browsing(tmp_path, enter=False) as browser:
        given = {"token": browser.sessions.one_time_token()}
        wrong = await browser.client.post(f"{API}/session", json={"token": "x" * 43})
        assert wrong.status_code == 401
        foreign = await browser.client.post(
            f"{API}/session", json=given, headers={"origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
        entered = await browser.client.post(f"{API}/session", json=given)
        cookie = entered.headers["set-cookie"]
        assert entered.status_code == 204
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        again = await browser.client.post(f"{API}/session", json=given)
        assert again.status_code == 401


async def test_a_session_outlives_a_restart_but_not_another_key_nor_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browsing(tmp_path) as browser:
        cookie = browser.client.cookies[COOKIE]
    async with browsing(tmp_path, enter=False) as browser:
        browser.client.cookies.set(COOKIE, cookie)
        assert (await browser.get("about"))["tools"] == 2
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + LASTS_S + 1)
        assert (await browser.refused("about"))[0] == 401
        monkeypatch.undo()
    async with browsing(tmp_path, enter=False, key=b"o" * 32) as browser:
        browser.client.cookies.set(COOKIE, cookie)
        assert (await browser.refused("about"))[0] == 401


async def test_the_token_of_the_environment_lets_programs_in(tmp_path: Path) -> None:
    async with browsing(tmp_path, enter=False, token=TOKEN) as browser:
        browser.client.headers["authorization"] = f"Bearer {TOKEN}"
        assert (await browser.get("about"))["tools"] == 2
        del browser.client.headers["authorization"]
        for _ in range(2):
            entered = await browser.client.post(f"{API}/session", json={"token": TOKEN})
            assert entered.status_code == 204


def test_the_key_is_a_file_of_its_owner_and_stays_the_same(tmp_path: Path) -> None:
    first = session_key(None, tmp_path / "new")
    path = tmp_path / "new" / "studio.key"
    assert session_key(None, tmp_path / "new") == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["studio.key"]
    assert session_key(TOKEN) == session_key(TOKEN) != session_key(f"{TOKEN}x")
    path.write_bytes(b"short")
    with pytest.raises(ToolplanError, match="damaged"):
        session_key(None, tmp_path / "new")


async def test_the_page_has_a_policy_without_inline_scripts_or_origins(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<html><head></head><body></body></html>", "utf-8")
    (folder / "assets" / "a.js").write_text("1", "utf-8")
    async with browsing(tmp_path, enter=False, page=folder) as browser:
        page = await browser.client.get(f"{ORIGIN}/")
        policy = page.headers["content-security-policy"]
        assert page.status_code == 200
        assert "default-src 'none'" in policy
        for word in ("unsafe", "http", "*", "blob:"):
            assert word not in policy
        nonce = policy.partition("'nonce-")[2].partition("'")[0]
        assert f'<meta name="csp-nonce" content="{nonce}" />' in page.text
        other = await browser.client.get(f"{ORIGIN}/")
        assert nonce not in other.text
        script = await browser.client.get(f"{ORIGIN}/assets/a.js")
        assert (script.status_code, script.text) == (200, "1")
        assert script.headers["x-content-type-options"] == "nosniff"
        for path in ("/../runs.sqlite", "/%2e%2e/runs.sqlite", "/assets/none.js", "/assets"):
            missing = await browser.client.get(f"{ORIGIN}{path}")
            assert missing.status_code == 404 or missing.text == page.text


async def test_without_a_page_it_says_so_and_how_to_build_it(tmp_path: Path) -> None:
    async with browsing(tmp_path, enter=False, page=tmp_path / "none") as browser:
        for path in ("/", "/index.html", "/favicon.ico", "/assets/a.js", "/runs/1", "/x/../y"):
            page = await browser.client.get(f"{ORIGIN}{path}")
            assert page.status_code == 503
            assert "is not built" in page.text
            assert "make studio" in page.text


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"host": "0.0.0.0"}, "not-loopback"),
        ({"host": "0.0.0.0", "token": "short"}, "weak-token"),
        ({"token": "with space and more than 16"}, "weak-token"),
        ({"origins": ["plans.example"]}, "usage"),
        ({"origins": ["https://plans.example/path"]}, "usage"),
        ({"user_header": "X User"}, "usage"),
    ],
)
async def test_unsafe_addresses_are_not_served(options: dict[str, Any], code: str) -> None:
    app = App(ScriptedTools().toolbox, ScriptedPlanner("{}"))
    with pytest.raises((CannotServe, ToolplanError)) as raised:
        async with asyncio.timeout(5):
            await serve(app, port=0, **options)
    assert raised.value.code == code


async def test_who_signs_out_has_no_session(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        await browser.get("about")
        left = await browser.client.delete(f"{API}/session")
        assert left.status_code == 204
        assert await browser.refusal("about") == (401, "unauthorised")


async def test_files_of_the_page_are_sent_compressed(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text("<head></head>")
    (page / "index.js").write_text("let same;" * 1_000)
    async with browsing(tmp_path, page=page) as browser:
        found = await browser.client.get(f"{ORIGIN}/index.js")
        assert found.headers["content-encoding"] == "gzip"
        assert int(found.headers["content-length"]) < 200
        assert found.text == "let same;" * 1_000
