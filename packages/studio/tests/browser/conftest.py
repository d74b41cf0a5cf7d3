"""A studio that is served as users serve it, and a real Chromium that looks at it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright import sync_api

from toolplan_studio import is_built

ROOT = Path(__file__).parents[4]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")


@pytest.fixture(autouse=True)
def needs_browser_and_page() -> None:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    if not is_built():
        pytest.skip("the page of the studio is not built: make page")


class Served:
    """A `toolplan studio` in a process of its own, which can be killed and started again."""

    def __init__(self, folder: Path, tools: str | None) -> None:
        self.folder = folder
        self.tools = tools
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the command, and wait for its address."""
        command = [sys.executable, "-m", "toolplan", "studio", "--no-open"]
        command += ["--port", str(self.port), "--journal", str(self.folder / "journal.db")]
        command += ["--tools", self.tools] if self.tools else []
        environment = {
            **os.environ, "HOME": str(self.folder), "TOOLPLAN_HOME": str(self.folder),
            "PYTHONPATH": str(ROOT), "NO_COLOR": "1",
        }  # fmt: skip
        self._process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        said: list[str] = []
        for line in self._process.stderr:
            said.append(line)
            if found := _ADDRESS.search(line):
                self.address = found[0]
                return
        pytest.fail("The studio did not start: " + "".join(said))

    def kill(self) -> None:
        """End it as a machine without power does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
            assert self._process.stderr is not None
            self._process.stderr.close()
            self._process = None


Looks = Callable[..., "Visit"]


class Visit:
    """One browser on a studio: its page, and all that the page asked for or complained about."""

    def __init__(self, served: Served, page: sync_api.Page) -> None:
        self.served = served
        self.page = page
        self.foreign: list[str] = []
        self.faults: list[str] = []
        page.on("request", self._look)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._hear)
        page.on("dialog", lambda dialog: self.faults.append(dialog.message))

    def _look(self, request: sync_api.Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "blob" and parts.netloc != f"127.0.0.1:{self.served.port}":
            self.foreign.append(request.url)

    def _hear(self, message: sync_api.ConsoleMessage) -> None:
        if message.type == "error" and "net::ERR" not in message.text:
            self.faults.append(message.text)

    def enter(self) -> sync_api.Page:
        """Open the printed address, and wait for the first page."""
        self.page.goto(self.served.address)
        self.page.get_by_role("textbox", name="Question").wait_for()
        return self.page

    def call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """Ask the API from within the page, with its cookie."""
        script = """async ([method, path, body]) => {
            const sent = body === null ? {} : { body: JSON.stringify(body) };
            const headers = { 'content-type': 'application/json' };
            const answer = await fetch('/api/v1/' + path, { method, headers, ...sent });
            return answer.json();
        }"""
        return self.page.evaluate(script, [method, path, body])

    def run(self, plan: object, *, values: bool = False) -> str:
        """Start a run of a plan, with `values` up to the calls that wait; return its name."""
        text = json.dumps(plan)
        checked = self.call("POST", "plans/check", {"text": text})
        assert checked["valid"], checked["diagnostics"]
        given = {"text": checked["text"], "digest": checked["digest"], "values": values}
        return str(self.call("POST", "runs", given)["run"])

    def go(self, place: str) -> None:
        """Go to a place of the page, as a link does."""
        self.page.evaluate("place => { window.location.hash = place }", place)


@contextmanager
def browser(*, dark: bool, width: int) -> Generator[sync_api.Page]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
            )
            context.set_default_timeout(90_000)
            yield context.new_page()
        finally:
            browser.close()


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Looks]:
    """Return a function that serves a studio and opens a browser on it; one browser a test.

    Playwright keeps an event loop in its thread: it ends with the test, so that tests with loops of
    their own can run in the same process.
    """
    ends: list[Callable[[], object]] = []

    def look(tools: str | None = None, *, dark: bool = False, width: int = 1280) -> Visit:
        served = Served(tmp_path, tools)
        ends.append(served.kill)
        served.start()
        opened = browser(dark=dark, width=width)
        page = opened.__enter__()
        ends.append(lambda: opened.__exit__(None, None, None))
        return Visit(served, page)

    yield look
    for end in reversed(ends):
        end()
