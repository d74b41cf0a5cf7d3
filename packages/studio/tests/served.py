"""A studio over scripted tools, and a browser of the tests that talks to it in this process."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.mcp_server.served import scripted
from toolplan import App, Journal, Toolbox
from toolplan.mcp_server.http.guard import Rules
from toolplan.planners import Planner
from toolplan.testing import ScriptedPlanner, ScriptedTools
from toolplan_studio._active import ActiveRuns
from toolplan_studio._server import http_app
from toolplan_studio._session import Sessions

TOKEN = "0123456789abcdef-secret"
HOST = "127.0.0.1:8321"
ORIGIN = f"http://{HOST}"
API = f"{ORIGIN}/api/v1"


@dataclass
class Browser:
    """A client with a session, and what it talks to."""

    client: httpx2.AsyncClient
    app: App
    sessions: Sessions
    tools: ScriptedTools
    active: ActiveRuns

    async def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON of a response that is fine."""
        response = await self.client.get(f"{API}/{path}", params=parameters)
        assert response.status_code < 300, response.text
        return response.json()

    async def post(self, path: str, body: Any) -> Any:
        """Return the JSON of a response that is fine."""
        response = await self.client.post(f"{API}/{path}", json=body)
        assert response.status_code < 300, response.text
        return response.json()

    async def refused(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the problem of a request that is refused."""
        if body is None:
            response = await self.client.get(f"{API}/{path}")
        else:
            response = await self.client.post(f"{API}/{path}", json=body)
        problem = response.json()
        assert response.headers["content-type"] == "application/problem+json"
        assert set(problem) == {"code", "title", "status", "detail", "help"}
        assert problem["status"] == response.status_code >= 400
        assert "Traceback" not in response.text
        return response.status_code, problem

    async def decide(self, run: str, **given: Any) -> Any:
        """Decide about a run, and return what that did."""
        return await self.post(f"runs/{run}/decisions", given)

    async def refusal(self, path: str, body: Any = None) -> tuple[int, str]:
        """Return the status and the code of a request that is refused."""
        status, problem = await self.refused(path, body)
        return status, problem["code"]

    async def undecided(self, run: str, **given: Any) -> tuple[int, str]:
        """Return the status and the code of a decision that is refused."""
        return await self.refusal(f"runs/{run}/decisions", given)

    async def checked(self, plan: Any) -> Any:
        """Return a plan as the page shows it."""
        return await self.post("plans/check", {"text": json.dumps(plan)})

    async def start(self, plan: Any, *, approve: bool = False) -> Any:
        """Run a plan as the page does."""
        shown = await self.checked(plan)
        assert shown["valid"], shown["diagnostics"]
        body = {"text": shown["text"], "digest": shown["digest"], "approve": approve}
        return await self.post("runs", body)

    async def until(self, run: str, *statuses: str) -> Any:
        """Return a run when it has one of `statuses` and is not active."""
        async with asyncio.timeout(20):
            while True:
                found = await self.get(f"runs/{run}")
                if found["line"]["status"] in statuses and not found["line"]["active"]:
                    return found
                await asyncio.sleep(0.01)


@asynccontextmanager
async def browsing(
    folder: Path,
    *,
    tools: ScriptedTools | None = None,
    toolbox: Toolbox | None = None,
    planner: Planner | None = None,
    token: str | None = None,
    user_header: str | None = None,
    key: bytes = b"k" * 32,
    enter: bool = True,
    page: Path | None = None,
    app: App | None = None,
) -> AsyncGenerator[Browser]:
    """Yield a browser that has entered a studio whose journal is in `folder`."""
    known = scripted() if tools is None else tools
    sessions = Sessions(key, token=token, user_header=user_header)
    with closing(Journal(folder / "runs.sqlite")) as journal:
        if app is None:
            app = App(toolbox or known.toolbox, planner or ScriptedPlanner("{}"), journal=journal)
        rules = Rules(token=token)
        active = ActiveRuns()
        served = http_app(app, sessions, rules, folder if page is None else page, active)
        transport = httpx2.ASGITransport(served, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            if enter:
                given = {"token": sessions.one_time_token()}
                response = await client.post(f"{API}/session", json=given)
                assert response.status_code == 204
            try:
                yield Browser(client, app, sessions, known, active)
            finally:
                await active.stop()
