"""Whatever fails, no token and no secret is in what is printed, logged, traced or kept of a run."""

import asyncio
import base64
import json
import logging
import sqlite3
import time
import webbrowser
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import httpx2
import pytest
from flask import Response

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from packages.studio.tests.served import browsing
from tests.authority import (
    MACHINE_ID,
    MACHINE_SECRET,
    Authority,
    authority,
    browse,
    echoing,
    guarded,
    saying,
)
from toolplan.cli import main
from toolplan.schema.tool import Toolbox
from toolplan.tools.mcp import HttpServer, connected
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.mcp.signing_in import sign_in

# of the servers that are in this process too: what they log is theirs
THEIRS = ("mcp.server", "authlib", "werkzeug", "uvicorn", "flask", "sse_starlette", "asyncio")


class World(NamedTuple):
    """An authorization server, the address of an MCP server, and the folder of this user."""

    state: Authority
    address: str
    home: Path

    @property
    def file(self) -> Path:
        (found,) = (self.home / "sign-ins").iterdir()
        return found


Arranged: TypeAlias = Callable[[World], AbstractContextManager[object] | None]


def fault(path: str, answer: Callable[[dict[str, object]], Response]) -> Arranged:
    def arrange(world: World) -> None:
        world.state.faults[path] = answer

    return arrange


def changed(**fields: object) -> Arranged:
    def arrange(world: World) -> None:
        for name, value in fields.items():
            setattr(world.state, name, value)

    return arrange


def both(*arranged: Arranged) -> Arranged:
    def arrange(world: World) -> None:
        for each in arranged:
            each(world)

    return arrange


def revoked(world: World) -> None:
    for each in world.state.tokens:
        each.revoked = True


def ended(world: World) -> None:
    for each in world.state.tokens:
        each.ends = time.time() - 9


def no_refresh(world: World) -> None:
    kept = json.loads(world.file.read_text())
    del kept["tokens"]["refresh_token"]
    world.file.write_text(json.dumps(kept))


def ends_soon(world: World) -> None:
    kept = json.loads(world.file.read_text())
    world.file.write_text(json.dumps({**kept, "expires_at": 1.0}))


def broken_file(world: World) -> None:
    world.file.write_text(world.file.read_text()[:-30])


def open_file(world: World) -> None:
    world.file.chmod(0o644)


def taken_back(sent: dict[str, object]) -> Response:
    """Say back what was sent as if it were a token of another kind."""
    return Response(json.dumps({"access_token": {"was": str(sent)}, "token_type": "x"}), 200)


def redirected(sent: dict[str, object]) -> Response:
    return Response("", 302, {"Location": f"http://127.0.0.1:1/{sent.get('code', '')}"})


ECHO_400, ECHO_401, ECHO_500 = echoing(400), echoing(401), echoing(500)
ECHO_200 = echoing(200)
METADATA = "/.well-known/oauth-authorization-server"
WRONG = (("/token", "token"), ("/register", "registration"))

LOGINS: dict[str, Arranged] = {
    **{f"{name} answers 400": fault(path, ECHO_400) for path, name in WRONG},
    **{f"{name} answers 401": fault(path, ECHO_401) for path, name in WRONG},
    **{f"{name} answers 500": fault(path, ECHO_500) for path, name in WRONG},
    **{f"{name} answers something else": fault(path, ECHO_200) for path, name in WRONG},
    **{f"{name} answers no JSON": fault(path, saying(200, "<html>")) for path, name in WRONG},
    "token of another kind": fault("/token", taken_back),
    "token leads elsewhere": fault("/token", redirected),
    "metadata answer 500": fault(METADATA, ECHO_500),
    "metadata are no JSON": fault(METADATA, saying(200, "<html>")),
    "metadata name another issuer": changed(names="http://127.0.0.1:1"),
    "nobody may sign in": changed(denies=True),
    "nobody may register": changed(registers=False),
    "token for another server": changed(audience="http://127.0.0.1:1/mcp"),
}
USES: dict[str, Arranged] = {
    "the tool says everything back": lambda _: None,
    "revoked": revoked,
    "ended": both(ended, no_refresh),
    "renewal answers 400": both(ends_soon, fault("/token", ECHO_400)),
    "renewal answers 401": both(ended, fault("/token", ECHO_401)),
    "renewal answers 500": both(ended, fault("/token", ECHO_500)),
    "renewal answers something else": both(ends_soon, fault("/token", ECHO_200)),
    "renewal answers no JSON": both(ends_soon, fault("/token", saying(200, "<html>"))),
    "renewal of another kind": both(ends_soon, fault("/token", taken_back)),
    "renewed for another server": both(ended, changed(audience="http://127.0.0.1:1/mcp")),
    "the file is broken": broken_file,
    "the file is open to others": open_file,
}
MACHINES: dict[str, Arranged] = {
    "the tool says everything back": lambda _: None,
    "token answers 400": fault("/token", ECHO_400),
    "token answers 401": fault("/token", ECHO_401),
    "token answers 500": fault("/token", ECHO_500),
    "token answers something else": fault("/token", ECHO_200),
    "token of another kind": fault("/token", taken_back),
    "token for another server": changed(audience="http://127.0.0.1:1/mcp"),
    "metadata name another issuer": changed(names="http://127.0.0.1:1"),
    "metadata are no JSON": fault(METADATA, saying(200, "<html>")),
}
PLAN: dict[str, Any] = {
    "toolplan": 1,
    "steps": [
        {"id": "back", "tool": "s.echo", "args": {}, "on_error": "continue"},
        {"id": "fails", "tool": "s.fail", "args": {}, "on_error": "continue"},
    ],
}


@pytest.fixture
def world(home: Path) -> Generator[World]:
    with authority() as state, guarded(state) as address:
        yield World(state, address, home)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Trace this process, with all content that traces may hold."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # the public way can be taken once
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    return exporter


@pytest.fixture
def watched(
    world: World,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    spans: InMemorySpanExporter,
) -> Generator[None]:
    """Look for secrets afterwards: in all that was printed, logged, traced, and kept."""
    caplog.set_level(logging.DEBUG)
    yield
    printed = capfd.readouterr()
    formatter = logging.Formatter()
    logged = [formatter.format(each) for each in caplog.records if not each.name.startswith(THEIRS)]
    kept = [
        path.read_bytes().decode("utf-8", "replace")
        for path in world.home.rglob("*")
        if path.is_file() and path.parent.name != "sign-ins"
    ]
    # a long text has numbers of pages in between in the file
    if (journal := world.home / "runs.sqlite").exists():
        with closing(sqlite3.connect(journal)) as connection:
            kept += connection.iterdump()
    texts = {"output": printed.out, "errors": printed.err, "log": "\n".join(logged)}
    texts["files"] = "\n".join(kept)
    texts["spans"] = "\n".join(each.to_json() for each in spans.get_finished_spans())
    basic = base64.b64encode(f"{MACHINE_ID}:{MACHINE_SECRET}".encode()).decode()
    secrets = [*world.state.secrets, MACHINE_SECRET, basic]
    assert printed.err
    found = {place for place, text in texts.items() for secret in secrets if secret in text}
    assert not found, {place: texts[place] for place in found}


def commands(*listed: list[str]) -> None:
    for words in listed:
        with pytest.raises(SystemExit):
            main(words)


def configured(folder: Path, entry: dict[str, object]) -> str:
    (folder / "plan.json").write_text(json.dumps(PLAN))
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"s": entry}}))
    return str(path)


def use(tools: str, world: World, folder: Path) -> None:
    """Have everything that shows something show it."""
    plan = str(folder / "plan.json")
    commands(["tools", "--tools", tools], ["run", plan, "--tools", tools, "--yes", "--json"])
    if (journal := world.home / "runs.sqlite").exists():
        with closing(sqlite3.connect(journal)) as connection:
            ((run,),) = connection.execute("SELECT run FROM runs").fetchall()
        commands(["show", run, "--json"], ["show", run], ["runs", "--json"])
    commands(["logout", "s", "--tools", tools])


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", LOGINS)
def test_a_sign_in_that_fails(
    name: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = configured(tmp_path, {"url": world.address})
    monkeypatch.setattr(webbrowser, "open", browse)
    LOGINS[name](world)
    commands(["login", "s", "--tools", tools, *(["--json"] if len(name) % 2 else [])])


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", USES)
def test_a_sign_in_that_is_used(
    name: str, world: World, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    tools = configured(tmp_path, {"url": world.address})
    sign_in("s", HttpServer(world.address), SignIns(world.home), browse, 10)
    USES[name](world)
    use(tools, world, tmp_path)
    called = {each.name for each in spans.get_finished_spans()}
    assert ("execute_tool s.fail" in called) == (name == "the tool says everything back")


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(
    name: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACHINE_SECRET", MACHINE_SECRET)
    oauth = {
        "grant": "client_credentials",
        "issuer": world.state.url,
        "client_id": MACHINE_ID,
        "client_secret": "${MACHINE_SECRET}",
    }
    tools = configured(tmp_path, {"url": world.address, "oauth": oauth})
    MACHINES[name](world)
    use(tools, world, tmp_path)


@pytest.mark.parametrize("name", USES)
def test_the_studio(name: str, world: World, tmp_path: Path) -> None:
    """What the page gets of a plan, of its run and of errors, on every way in which a use fails."""
    sign_ins = SignIns(world.home)
    sign_in("s", HttpServer(world.address), sign_ins, browse, 10)
    servers = {"s": HttpServer(world.address)}
    got: list[str] = []

    async def keep(response: httpx2.Response) -> None:
        got.append((await response.aread()).decode())

    async def look(tools: Toolbox) -> None:
        async with browsing(tmp_path, toolbox=tools) as browser:
            browser.client.event_hooks["response"].append(keep)
            run = (await browser.start(PLAN, approve=True))["run"]
            await browser.until(run, "succeeded", "failed", "in_doubt")
            for path in ("runs", f"runs/{run}/steps/back", f"runs/{run}/steps/fails"):
                await browser.get(path)
            await browser.get("tools")

    with connected(servers, sign_ins=sign_ins) as source:
        tools = source.toolbox()  # as the studio has them: opened before anything fails
        USES[name](world)
        asyncio.run(look(tools))
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as journal:
        got += journal.iterdump()
    text = "\n".join(got)
    assert "s.echo" in text
    assert [secret for secret in world.state.secrets if secret in text] == []
