"""Decisions about runs: who may decide what, and what is refused because it has changed."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

from packages.studio.tests.served import API, Browser, browsing
from tests.mcp_server.served import READS, SAID, WRITES, scripted
from toolplan.schema.tool import Effects, ToolError
from toolplan.testing import Gives, Hangs, Raises, ScriptedPlanner, ScriptedTools

ASKED = {**cast("dict[str, Any]", WRITES), "metadata": {"query": "Mail the team"}}


async def test_a_plan_with_effects_waits_until_it_is_approved(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(SAID)
        waiting = await browser.until(line["run"], "waiting")
        assert waiting["allowed"] == ["approve", "refuse", "cancel"]
        assert [each["step"] for each in waiting["effects"]] == ["mail"]
        assert browser.tools.calls == []
        await browser.decide(line["run"], kind="approve", digest=line["digest"])
        ended = await browser.until(line["run"], "succeeded")
        assert [each["kind"] for each in ended["decisions"]] == ["approve"]
        assert browser.tools.args_of("send") == [{"to": "ann"}]


def _given(calls: list[Any]) -> list[Any]:
    return [{name: each[name] for name in ("step", "item", "digest")} for each in calls]


async def _waits_with_values(browser: Browser) -> Any:
    """Start `WRITES`; return it when its calls wait with their values."""
    shown = await browser.checked(ASKED)
    assert shown["by_values"]
    body = {"text": shown["text"], "digest": shown["digest"], "values": True}
    line = await browser.post("runs", body)
    return await browser.until(line["run"], "waiting")


async def test_calls_are_shown_with_their_values_and_allowed(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann", "b\u202eob"]}))
    async with browsing(tmp_path, tools=tools) as browser:
        waiting = await _waits_with_values(browser)
        run = waiting["line"]["run"]
        assert waiting["by_values"]
        assert waiting["allowed"] == ["allow", "refuse", "cancel"]
        calls = waiting["calls"]
        assert [each["shown"] for each in calls] == [{"to": '"ann"'}, {"to": '"b\\u202eob"'}]
        assert {each["effects"] for each in calls} == {"write"}
        origin = calls[0]["origins"]["to"]
        assert origin["sources"][0]["tool"] == "people"
        assert origin["label"] != "said"
        assert browser.tools.args_of("send") == []
        address = f"runs/{run}/decisions"
        digest = {"digest": waiting["line"]["digest"]}
        # the plan's approval says nothing about values
        refusal = await browser.undecided(run, kind="approve", **digest)
        assert refusal == (409, "not-allowed-now")
        await browser.post(address, {"kind": "allow", "calls": _given(calls)})
        ended = await browser.until(run, "succeeded")
        assert [each["kind"] for each in ended["decisions"]] == ["allow"]
        assert browser.tools.args_of("send") == [{"to": "ann"}, {"to": "b\u202eob"}]


async def test_calls_that_are_not_those_that_were_shown_are_not_made(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        waiting = await _waits_with_values(browser)
        address = f"runs/{waiting['line']['run']}/decisions"
        calls = _given(waiting["calls"])
        others = [
            calls[:1],
            [*calls, calls[0]],
            [{**calls[0], "digest": "0" * 64}, calls[1]],
            [{**calls[0], "item": 7}, calls[1]],
            [{**calls[0], "step": "people"}, calls[1]],
        ]
        for each in others:
            refusal = await browser.refusal(address, {"kind": "allow", "calls": each})
            assert refusal == (409, "digest-changed")
        assert await browser.refusal(address, {"kind": "allow"}) == (422, "bad-request")
        both = {"kind": "allow", "calls": calls[:1], "refused": calls[1:]}
        assert await browser.refusal(address, both) == (422, "bad-request")
        assert browser.tools.args_of("send") == []
        assert (await browser.get(address[: -len("/decisions")]))["calls"] == waiting["calls"]


async def test_calls_are_refused_with_a_reason_that_is_kept(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))
    async with browsing(tmp_path, planner=planner) as browser:
        waiting = await _waits_with_values(browser)
        run = waiting["line"]["run"]
        given = {"kind": "allow", "refused": _given(waiting["calls"]), "reason": "Not to bob."}
        await browser.decide(run, **given)
        failed = await browser.until(run, "failed")
        assert failed["decisions"][0]["kind"] == "deny"
        assert failed["decisions"][0]["reason"] == "Not to bob."
        assert "Not to bob." in failed["steps"]["mail"]["error"]["message"]
        assert browser.tools.args_of("send") == []
        await browser.decide(run, kind="replan")
        (attempt,) = planner.asked[0].attempts
        assert any("Not to bob." in str(each) for each in attempt.events)


async def test_a_run_whose_calls_wait_is_refused_or_goes_on_after_a_restart(tmp_path: Path) -> None:
    runs: list[Any] = []
    async with browsing(tmp_path) as browser:
        runs = [await _waits_with_values(browser) for _ in range(2)]
    async with browsing(tmp_path) as browser:
        first, second = (each["line"]["run"] for each in runs)
        digest = runs[0]["line"]["digest"]
        refusal = {"kind": "refuse", "digest": digest, "reason": ""}
        await browser.decide(first, **refusal)
        await browser.until(first, "cancelled")
        calls = _given((await browser.get(f"runs/{second}"))["calls"])
        await browser.decide(second, kind="allow", calls=calls)
        await browser.until(second, "succeeded")
        assert browser.tools.args_of("people") == []
        assert len(browser.tools.args_of("send")) == 2


async def test_who_decided_is_kept_in_the_journal(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}))
    tools.add("hang", Hangs(), effects=Effects.WRITE)
    hangs = {"steps": [{"id": "hang", "tool": "hang", "timeout_s": 0.05}]}
    async with browsing(tmp_path, tools=tools, user_header="X-User") as browser:

        async def decide(run: str, by: str, **given: Any) -> None:
            browser.client.headers["x-user"] = by
            await browser.decide(run, **given)

        async def names(run: str, status: str) -> list[tuple[str, str]]:
            decisions = (await browser.until(run, status))["decisions"]
            return [(each["kind"], each["by"]) for each in decisions]

        browser.client.headers["x-user"] = "ann"
        waiting = await _waits_with_values(browser)
        run = waiting["line"]["run"]
        await decide(run, "bob", kind="allow", calls=_given(waiting["calls"]))
        assert await names(run, "succeeded") == [("allow", "bob")]
        line = await browser.start(hangs)
        await browser.until(line["run"], "waiting")
        await decide(line["run"], "cleo", kind="approve", digest=line["digest"])
        assert await names(line["run"], "in_doubt") == [("approve", "cleo")]
        call = {"step": "hang", "decision": "failed"}
        await decide(line["run"], "dan", kind="decide", calls=[call])
        assert (await names(line["run"], "failed"))[-1] == ("abort", "dan")
        browser.client.headers["x-user"] = "eve"
        line = await browser.start(hangs, approve=True)
        assert await names(line["run"], "in_doubt") == [("approve", "eve")]


async def test_another_digest_than_the_one_that_was_shown_is_refused(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        other = (await browser.checked(READS))["digest"]
        body: Any = {"text": json.dumps(WRITES), "digest": other, "approve": True}
        assert await browser.refusal("runs", body) == (409, "digest-changed")
        assert (await browser.get("runs"))["runs"] == []
        line = await browser.start(WRITES)
        await browser.until(line["run"], "waiting")
        for kind in ("approve", "refuse"):
            refusal = await browser.undecided(line["run"], kind=kind, digest=other)
            assert refusal == (409, "digest-changed")
        assert browser.tools.calls == []


async def test_a_plan_whose_tool_changed_meanwhile_is_not_approved(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(WRITES)
        await browser.until(line["run"], "waiting")
    changed = scripted()
    changed.add("send", effects=Effects.DESTRUCTIVE)
    async with browsing(tmp_path, tools=changed) as browser:
        refusal = await browser.undecided(line["run"], kind="approve", digest=line["digest"])
        assert refusal in [(409, "digest-changed"), (409, "cannot-run")]
        assert changed.calls == []


async def test_of_two_tabs_that_approve_at_once_one_does(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(SAID)
        await browser.until(line["run"], "waiting")
        address = f"{API}/runs/{line['run']}/decisions"
        body = {"kind": "approve", "digest": line["digest"]}
        both = await asyncio.gather(*(browser.client.post(address, json=body) for _ in range(5)))
        assert sorted(each.status_code for each in both) == [200, 409, 409, 409, 409]
        await browser.until(line["run"], "succeeded")
        assert browser.tools.args_of("send") == [{"to": "ann"}]


async def test_a_reason_for_a_refusal_goes_back_to_the_planner(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))
    async with browsing(tmp_path, planner=planner, user_header="X-User") as browser:
        browser.client.headers["x-user"] = "ann"
        line = await browser.start(ASKED)
        await browser.until(line["run"], "waiting")
        decided = await browser.decide(
            line["run"], kind="refuse", digest=line["digest"], reason="Not to bob."
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
        again = await browser.undecided(line["run"], kind="approve", digest=line["digest"])
        assert again == (409, "not-allowed-now")


async def test_a_call_in_doubt_is_decided(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("send", Hangs(), effects=Effects.WRITE)
    plan = {"steps": [{"id": "mail", "tool": "send", "args": {"to": "ann"}, "timeout_s": 0.05}]}
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
            refusal = await browser.refusal(address, {"kind": "decide", "calls": [call]})
            assert refusal == (409, "not-allowed-now")


async def test_an_active_run_is_cancelled_and_resumed(tmp_path: Path) -> None:
    tools = scripted(Hangs(), Gives({"data": ["ann"]}))
    async with browsing(tmp_path, tools=tools) as browser:
        line = await browser.start(READS)
        await tools.started("people")
        running = await browser.get(f"runs/{line['run']}")
        assert running["allowed"] == ["cancel"]
        assert (await browser.undecided(line["run"], kind="resume"))[0] == 409
        await browser.decide(line["run"], kind="cancel")
        cancelled = await browser.until(line["run"], "cancelled")
        assert cancelled["allowed"] == ["resume", "replan"]
        await browser.decide(line["run"], kind="resume")
        ended = await browser.until(line["run"], "succeeded")
        assert ended["output"] is not None


async def test_a_waiting_run_is_cancelled(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(WRITES)
        await browser.until(line["run"], "waiting")
        decided = await browser.decide(line["run"], kind="cancel")
        assert decided["run"]["status"] == "cancelled"
        assert await browser.undecided(line["run"], kind="cancel") == (409, "run-over")


async def test_a_resume_that_would_do_nothing_is_refused(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(READS)
        found = await browser.until(line["run"], "succeeded", "failed")
        assert "resume" not in found["allowed"]
        assert await browser.undecided(line["run"], kind="resume") == (409, "not-allowed-now")


async def test_a_run_that_is_started_again_with_its_name_runs_once(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        shown, name = await browser.checked(READS), "0" * 32
        body = {"text": shown["text"], "digest": shown["digest"], "run": name}
        lines = [await browser.post("runs", body) for _ in range(2)]
        assert [each["run"] for each in lines] == [name, name]
        assert len((await browser.get("runs"))["runs"]) == 1
        await browser.until(name, "succeeded", "failed")
        other = await browser.checked(WRITES)
        body = {"text": other["text"], "digest": other["digest"], "run": name}
        assert await browser.refusal("runs", body) == (409, "digest-changed")


async def test_another_plan_is_asked_for_after_a_failure(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))
    tools = scripted(Raises(ToolError("no such team")))
    async with browsing(tmp_path, tools=tools, planner=planner) as browser:
        line = await browser.start({**cast("dict[str, Any]", READS), "metadata": {"query": "q"}})
        failed = await browser.until(line["run"], "failed")
        assert failed["allowed"] == ["replan"]
        decided = await browser.decide(line["run"], kind="replan")
        assert decided["difference"]["same"]
        (attempt,) = planner.asked[0].attempts
        assert attempt.events


async def test_a_request_without_the_header_of_the_user_is_refused(tmp_path: Path) -> None:
    async with browsing(tmp_path, user_header="X-User") as browser:
        body = {"text": json.dumps(READS), "digest": "0" * 64}
        assert await browser.refusal("runs", body) == (401, "no-user")
        browser.client.headers["x-user"] = "ann"
        assert (await browser.get("about"))["user"] == "ann"
