"""Runs that workers have: the studio sends what a person decides, and runs nothing of them."""

import asyncio
from pathlib import Path

from packages.studio.tests.served import browsing
from tests.postgres import Server
from tests.workers._office import ledger, office, over, plan_of, status, until, working
from toolplan.events import RunState
from toolplan.plan.path import Json

WRITE: dict[str, Json] = {"id": "w", "tool": "write", "args": {"x": "one"}}


async def test_an_approval_is_sent_and_a_worker_makes_the_calls(
    postgres: Server, home: Path, tmp_path: Path
) -> None:
    url = postgres.schema()
    with office(url) as app:
        plan = plan_of(app, WRITE)
        run = await app.workers.submit(plan)
        async with browsing(tmp_path, app=app) as browser:
            shown = await browser.get(f"runs/{run}")
            assert shown["allowed"] == ["approve", "refuse", "cancel"]
            assert "Start `toolplan worker office`" in shown["note"]
            given = {"kind": "approve", "digest": plan.digest}
            await browser.decide(run, **given)
            await asyncio.sleep(0.3)
            assert browser.active.get(run) is None
            listed = await browser.get("runs")
            (line,), (stranded,) = listed["runs"], listed["stranded"]
            assert line["state"] in ("waiting", "no_worker")
            assert (stranded["text"], stranded["help"]) == app.workers.stranded()[0]
            assert ledger(home) == []
            assert status(app, run) is RunState.WAITING
            async with working(url):
                await until(lambda: status(app, run) is RunState.SUCCEEDED)
    assert ledger(home) == ["begin:one", "end:one"]


async def test_calls_with_values_are_allowed_and_a_worker_makes_them(
    postgres: Server, home: Path, tmp_path: Path
) -> None:
    async with working(postgres.schema()) as app:
        run = await app.workers.submit(plan_of(app, WRITE), approve="values")
        assert (await over(app, run)).status is RunState.WAITING
        async with browsing(tmp_path, app=app) as browser:
            shown = await browser.get(f"runs/{run}")
            assert shown["allowed"] == ["allow", "refuse", "cancel"]
            assert "decisions made here are sent to them" in shown["note"]
            calls = [
                {key: each[key] for key in ("step", "item", "digest")} for each in shown["calls"]
            ]
            await browser.decide(run, kind="allow", calls=calls)
            assert browser.active.get(run) is None
            await until(lambda: status(app, run) is RunState.SUCCEEDED)
    assert ledger(home) == ["begin:one", "end:one"]


async def test_a_run_that_a_worker_works_on_is_cancelled_and_resumed(
    postgres: Server, tmp_path: Path
) -> None:
    async with working(postgres.schema()) as app:
        run = await app.workers.submit(
            plan_of(app, {"id": "r", "tool": "read", "args": {"seconds": 60}})
        )
        await until(lambda: "r" in app.needed_journal().load(run).steps)
        async with browsing(tmp_path, app=app) as browser:
            shown = await browser.get(f"runs/{run}")
            assert (shown["allowed"], shown["line"]["state"]) == (["cancel"], "running")
            await browser.decide(run, kind="cancel")
            await until(lambda: status(app, run) is RunState.CANCELLED)
            assert (await browser.get(f"runs/{run}"))["allowed"] == ["resume", "replan"]


async def test_a_refusal_keeps_its_reason_and_no_worker_runs_it(
    postgres: Server, home: Path, tmp_path: Path
) -> None:
    async with working(postgres.schema()) as app:
        plan = plan_of(app, WRITE)
        run = await app.workers.submit(plan)
        async with browsing(tmp_path, app=app) as browser:
            given = {"kind": "refuse", "digest": plan.digest, "reason": "Not today."}
            await browser.decide(run, **given)
            (refusal,) = (await browser.get(f"runs/{run}"))["decisions"]
            (line,) = (await browser.get("runs", state="refused"))["runs"]
            assert (line["run"], line["status"]) == (run, "cancelled")
            assert (await browser.get("runs", state="cancelled"))["runs"] == []
            assert (refusal["kind"], "Not today." in refusal["reason"]) == ("refuse", True)
    assert ledger(home) == []
