"""The whole story with a client of the SDK, over stdio and HTTP, and a person in the studio."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from playwright.async_api import async_playwright

from tests.mcp_server.served import content, error, text

TOOLS = '''
from pathlib import Path

from toolplan import Toolbox, tool

SENT = Path(__file__).with_name("sent")


@tool(effects="read")
async def people_list(team: str) -> list[dict[str, str]]:
    """Lists the people of a team."""
    return [{"name": "Ann", "mail": "ann@example.org"}, {"name": "Bob", "mail": "bob@example.org"}]


@tool(effects="write")
async def mail_send(to: str, subject: str) -> dict[str, str]:
    """Sends a mail."""
    with SENT.open("a") as file:
        file.write(f"{to}: {subject}\\n")
    return {"sent": to}


TOOLS = Toolbox([people_list, mail_send])
'''
TOKEN = "0123456789abcdef-story"
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/#token=\S+")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PEOPLE: dict[str, Any] = {"id": "people", "tool": "people_list", "args": {"team": "sales"}}
MAILS: dict[str, Any] = {
    "id": "mails",
    "tool": "mail_send",
    "for_each": "${people[*].mail}",
    "args": {"to": "${item}", "subject": "Offices"},
}


def plan(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"toolplan": 1, "steps": [*steps], **more}


@contextmanager
def process(folder: Path, *words: str) -> Generator[str]:
    """Start `toolplan` with these words; yield the address that it prints."""
    started = subprocess.Popen(
        [sys.executable, "-m", "toolplan", *words],
        cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert started.stderr is not None
        said: list[str] = []
        for line in started.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+\S*", line):
                yield found[0]
                return
        pytest.fail("".join(said))
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(20)
        if started.stderr is not None:
            started.stderr.close()


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ, "HOME": str(folder), "TOOLPLAN_HOME": str(folder / "home"),
        "TOOLPLAN_MCP_TOKEN": TOKEN, "NO_COLOR": "1",
    }  # fmt: skip


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found: int = free.getsockname()[1]
        return found


class Person:
    """Opens each link that the client is asked to open, and approves what the page shows."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.opened: list[str] = []
        self.shown = ""
        self.looking: asyncio.Task[None] | None = None

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        self.opened.append(params.url)
        # the client hands the link to a browser, and says so at once
        self.looking = asyncio.create_task(self._look(params.url))
        return ElicitResult(action="accept")

    async def _look(self, url: str) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            page = await browser.new_page()
            page.set_default_timeout(60_000)
            await page.goto(self.address)
            await page.get_by_role("textbox", name="Question").wait_for()
            await page.goto(url)
            await page.get_by_text("bob@example.org").first.wait_for()
            self.shown = await page.inner_text("main")
            boxes = page.get_by_role("checkbox")
            for box in await boxes.all():
                await box.check()
            await page.get_by_role("button", name=re.compile("Approve|Make|Allow")).first.click()
            await page.get_by_text("Succeeded").first.wait_for()
            await browser.close()


@asynccontextmanager
async def connected(
    how: Literal["stdio", "http"], folder: Path, studio: str, person: Person
) -> AsyncGenerator[Client]:
    words = ["mcp", "--tools", "people_tools:TOOLS", "--approve-values", "--studio", studio]
    if how == "stdio":
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "toolplan", *words], cwd=str(folder),
            env=environment(folder),
        )  # fmt: skip
        async with Client(server, elicitation_callback=person) as client:
            yield client
        return
    with process(folder, *words, "--http", "--port", str(port())) as url:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            Client(
                streamable_http_client(url, http_client=http), elicitation_callback=person
            ) as client,
        ):
            yield client


@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", ["stdio", "http"])
def test_search_repair_approval_in_the_studio_and_a_second_plan(
    tmp_path: Path, how: Literal["stdio", "http"]
) -> None:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    (tmp_path / "people_tools.py").write_text(TOOLS)

    async def story(address: str) -> Person:
        person = Person(address)
        base = address.partition("/#")[0]
        async with connected(how, tmp_path, base, person) as client:
            found = text(await client.call_tool("search", {"query": "mail to people of a team"}))
            assert "mail_send(to: str, subject: str)" in found
            assert "people_list(team: str)" in found

            faulty = plan({**PEOPLE, "args": {"teem": "sales"}}, MAILS)
            refused = error(await client.call_tool("run", {"plan": faulty}))
            assert refused["error"]["code"] == "bad-plan"
            assert "Did you mean 'team'?" in json.dumps(refused["problems"])

            ran = content(await client.call_tool("run", {"plan": plan(PEOPLE, MAILS)}))
            assert (ran["status"], len(person.opened)) == ("succeeded", 1)

            later = plan(
                {"id": "count", "tool": "sql", "args": {
                    "sql": "SELECT count(*) AS n FROM t",
                    "tables": {"t": f"${{run:{ran['run'][:8]}.people}}"}}},
                output="${count.data[0].n}",
            )  # fmt: skip
            assert content(await client.call_tool("run", {"plan": later}))["output"] == 2

            again = content(
                await client.call_tool("run", {"plan": plan(PEOPLE, MAILS), "use": ran["run"]})
            )
            assert again["taken_over"] == ["mails", "people"]
        # the browser may still wait for the page to show the end; its driver ends with it
        assert person.looking is not None
        await person.looking
        return person

    words = ("studio", "--no-open", "--tools", "people_tools:TOOLS", "--port", str(port()))
    with process(tmp_path, *words) as address:
        if httpx2.get(address.partition("#")[0]).status_code != 200:
            pytest.skip("the page of the studio is not built: make page")
        person = asyncio.run(story(address))
    assert (tmp_path / "sent").read_text() == "ann@example.org: Offices\nbob@example.org: Offices\n"
    assert "ann@example.org" in person.shown
