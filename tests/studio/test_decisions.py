"""Decisions about runs: who may decide what, and what is refused because it has changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

from tests.mcp_server.served import READS, WRITES, scripted
from tests.studio.served import API, browsing, in_loop
from toolplan.testing import Gives, Hangs, Raises, ScriptedPlanner, ScriptedTools
from toolplan.tools import Effects, ToolError

ASKED = {**cast("dict[str, Any]", WRITES), "metadata": {"query": "Mail the team"}}


def test_a_plan_with_effects_waits_until_it_is_approved(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path) as browser:
            line = await browser.start(WRITES)
            waiting = await browser.until(line["run"], "waiting")
            assert waiting["allowed"] == ["approve", "refuse", "cancel"]
            assert [each["step"] for each in waiting["effects"]] == ["mail"]
            assert browser.tools.calls == []
            await browser.post(
                f"runs/{line['run']}/decisions", {"kind": "approve", "digest": line["digest"]}
            )
            ended = await browser.until(line["run"], "succeeded")
            assert [each["kind"] for each in ended["decisions"]] == ["approve"]
            assert browser.tools.args_of("send") == [{"to": "ann"}, {"to": "bob"}]

    in_loop(work)


def test_another_digest_than_the_one_that_was_shown_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path) as browser:
            other = (await browser.checked(READS))["digest"]
            body: Any = {"text": json.dumps(WRITES), "digest": other, "approve": True}
            status, problem = await browser.refused("runs", body)
            assert (status, problem["code"]) == (409, "digest-changed")
            assert (await browser.get("runs"))["runs"] == []
            line = await browser.start(WRITES)
            await browser.until(line["run"], "waiting")
            for kind in ("approve", "refuse"):
                status, problem = await browser.refused(
                    f"runs/{line['run']}/decisions", {"kind": kind, "digest": other}
                )
                assert (status, problem["code"]) == (409, "digest-changed")
            assert browser.tools.calls == []

    in_loop(work)


def test_a_plan_whose_tool_changed_meanwhile_is_not_approved(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path) as browser:
            line = await browser.start(WRITES)
            await browser.until(line["run"], "waiting")
        changed = scripted()
        changed.add("send", effects=Effects.DESTRUCTIVE)
        async with browsing(tmp_path, tools=changed) as browser:
            status, problem = await browser.refused(
                f"runs/{line['run']}/decisions", {"kind": "approve", "digest": line["digest"]}
            )
            assert status == 409
            assert problem["code"] in ("digest-changed", "cannot-run")
            assert changed.calls == []

    in_loop(work)


def test_of_two_tabs_that_approve_at_once_one_does(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path) as browser:
            line = await browser.start(WRITES)
            await browser.until(line["run"], "waiting")
            address = f"{API}/runs/{line['run']}/decisions"
            body = {"kind": "approve", "digest": line["digest"]}
            both = await asyncio.gather(
                *(browser.client.post(address, json=body) for _ in range(5))
            )
            assert sorted(each.status_code for each in both) == [200, 409, 409, 409, 409]
            await browser.until(line["run"], "succeeded")
            assert browser.tools.args_of("send") == [{"to": "ann"}, {"to": "bob"}]

    in_loop(work)


def test_a_reason_for_a_refusal_goes_back_to_the_planner(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))

    async def work() -> None:
        async with browsing(tmp_path, planner=planner, user_header="X-User") as browser:
            browser.client.headers["x-user"] = "ann"
            line = await browser.start(ASKED)
            await browser.until(line["run"], "waiting")
            decided = await browser.post(
                f"runs/{line['run']}/decisions",
                {"kind": "refuse", "digest": line["digest"], "reason": "Not to bob."},
            )
            assert decided["run"]["status"] == "cancelled"
            assert decided["replanned"]["checked"]["plan"]["steps"][0]["id"] == "people"
            assert [each["kind"] for each in decided["difference"]["steps"]] == ["removed"]
            (attempt,) = planner.asked[0].attempts
            assert "Not to bob." in attempt.diagnostics[0].message
            refused = await browser.get(f"runs/{line['run']}")
            assert refused["decisions"][0]["kind"] == "refuse"
            assert refused["decisions"][0]["reason"] == "Refused by ann: Not to bob."
            assert browser.tools.calls == []
            status, problem = await browser.refused(
                f"runs/{line['run']}/decisions", {"kind": "approve", "digest": line["digest"]}
            )
            assert (status, problem["code"]) == (409, "not-allowed-now")

    in_loop(work)


def test_a_call_in_doubt_is_decided(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("send", Hangs(), effects=Effects.WRITE)
    plan = {"steps": [{"id": "mail", "tool": "send", "args": {"to": "ann"}, "timeout_s": 0.05}]}

    async def work() -> None:
        async with browsing(tmp_path, tools=tools) as browser:
            for decision, status in (("done", "succeeded"), ("failed", "failed")):
                line = await browser.start(plan, approve=True)
                doubtful = await browser.until(line["run"], "in_doubt")
                (doubt,) = doubtful["steps"]["mail"]["doubts"]
                assert (doubt["tool"], doubt["args"]) == ("send", {"to": "ann"})
                assert doubtful["allowed"] == ["decide"]
                call = {"step": "mail", "decision": decision, "output": {"by": "hand"}}
                address = f"runs/{line['run']}/decisions"
                await browser.post(address, {"kind": "decide", "calls": [call]})
                ended = await browser.until(line["run"], status)
                assert ended["decisions"][-1]["step"] == "mail"
                code, problem = await browser.refused(address, {"kind": "decide", "calls": [call]})
                assert (code, problem["code"]) == (409, "not-allowed-now")

    in_loop(work)


def test_an_active_run_is_cancelled_and_resumed(tmp_path: Path) -> None:
    async def work() -> None:
        tools = scripted(Hangs(), Gives({"data": ["ann"]}))
        async with browsing(tmp_path, tools=tools) as browser:
            line = await browser.start(READS)
            await tools.started("people")
            running = await browser.get(f"runs/{line['run']}")
            assert running["allowed"] == ["cancel"]
            status, _ = await browser.refused(f"runs/{line['run']}/decisions", {"kind": "resume"})
            assert status == 409
            await browser.post(f"runs/{line['run']}/decisions", {"kind": "cancel"})
            cancelled = await browser.until(line["run"], "cancelled")
            assert cancelled["allowed"] == ["resume", "replan"]
            await browser.post(f"runs/{line['run']}/decisions", {"kind": "resume"})
            ended = await browser.until(line["run"], "succeeded")
            assert ended["output"] is not None

    in_loop(work)


def test_a_waiting_run_is_cancelled(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path) as browser:
            line = await browser.start(WRITES)
            await browser.until(line["run"], "waiting")
            decided = await browser.post(f"runs/{line['run']}/decisions", {"kind": "cancel"})
            assert decided["run"]["status"] == "cancelled"
            status, problem = await browser.refused(
                f"runs/{line['run']}/decisions", {"kind": "cancel"}
            )
            assert (status, problem["code"]) == (409, "run-over")

    in_loop(work)


def test_another_plan_is_asked_for_after_a_failure(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))

    async def work() -> None:
        tools = scripted(Raises(ToolError("no such team")))
        async with browsing(tmp_path, tools=tools, planner=planner) as browser:
            line = await browser.start(
                {**cast("dict[str, Any]", READS), "metadata": {"query": "q"}}
            )
            failed = await browser.until(line["run"], "failed")
            assert failed["allowed"] == ["replan"]
            decided = await browser.post(f"runs/{line['run']}/decisions", {"kind": "replan"})
            assert decided["difference"]["same"]
            (attempt,) = planner.asked[0].attempts
            assert attempt.events

    in_loop(work)


def test_a_request_without_the_header_of_the_user_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with browsing(tmp_path, user_header="X-User") as browser:
            status, problem = await browser.refused(
                "runs", {"text": json.dumps(READS), "digest": "0" * 64}
            )
            assert (status, problem["code"]) == (401, "no-user")
            browser.client.headers["x-user"] = "ann"
            assert (await browser.get("about"))["user"] == "ann"

    in_loop(work)
