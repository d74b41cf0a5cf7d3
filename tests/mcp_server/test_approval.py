"""Plans with effects: a client that did not get an approval cannot run them."""

import asyncio
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp_server.served import READS, SAID, WRITES, Action, Era, Person, scripted, serving
from toolplan import Approval, Decided, ExecutionPlan, Policy, approve, resume
from toolplan.events import RunState
from toolplan.mcp_server._reports import terminal_command
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, OutcomeUnknown
from toolplan.storage.journal import Journal, JournalError
from toolplan.testing import Gives, Raises


async def test_an_unapproved_effect_is_refused_with_all_a_person_must_know(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        checked = await served.call("run", plan=WRITES, only_check=True)
        result = await served.refused("run", plan=WRITES)
        assert result["error"]["code"] == "approval-required"
        assert result["effects"] == checked["effects"]
        assert terminal_command("resume", result["run"][:8]) in result["error"]["help"]
        (effect,) = result["effects"]
        assert (effect["step"], effect["tool"], effect["effects"]) == ("mail", "send", "write")
        assert effect["args"] == {"to": "${item}"}
        assert effect["for_each"] == "${people.data}"
    assert tools.calls == []


async def test_ten_requests_at_once_make_one_waiting_run_even_after_restart(tmp_path: Path) -> None:
    tools = scripted()
    names: set[str] = set()
    for _ in range(2):
        async with serving(tmp_path, tools.toolbox) as served:
            asked = (served.refused("run", plan=WRITES) for _ in range(10))
            names |= {result["run"] for result in await asyncio.gather(*asked)}
            assert [entry.run for entry in served.journal.runs()] == [*names]
    assert len(names) == 1
    assert tools.calls == []


async def test_two_servers_that_are_asked_at_once_make_one_waiting_run(tmp_path: Path) -> None:
    tools = scripted()
    for turn in range(10):
        folder = tmp_path / str(turn)
        folder.mkdir()
        async with serving(folder, tools.toolbox) as one, serving(folder, tools.toolbox) as two:
            asked = (each.refused("run", plan=WRITES) for each in (one, two, one, two))
            names = {result["run"] for result in await asyncio.gather(*asked)}
            assert [entry.run for entry in one.journal.runs()] == [*names]
        assert len(names) == 1
    assert tools.calls == []


async def test_the_run_waits_in_the_journal_until_it_is_approved_there(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        result = await served.refused("run", plan=WRITES)
        waiting = await served.call("runs", run=result["run"])
        assert waiting["status"] == "waiting"
        assert terminal_command("resume", result["run"][:8]) in waiting["help"]
        ended = await resume(result["run"], tools.toolbox, journal=served.journal, approval=approve)
        assert ended.succeeded
        over = await served.call("runs", run=result["run"], detail=True)
        assert over["status"] == "succeeded"
        assert over["steps"]["mail"]["output"] == [{"to": "ann"}, {"to": "bob"}]
    assert [call.args for call in tools.calls if call.tool == "send"] == [
        {"to": "ann"},
        {"to": "bob"},
    ]


@pytest.mark.parametrize("again", ["run", "runs", "resume"])
async def test_wait_s_waits_for_a_person_and_returns_the_result(tmp_path: Path, again: str) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        waiting = await served.refused("run", plan=WRITES, wait_s=0.1)
        which = {"plan": WRITES} if again == "run" else {"run": waiting["run"]}
        if again == "resume":
            which |= {"action": "resume"}
        tool = "run" if again == "run" else "runs"
        asked = asyncio.create_task(served.call(tool, **which, wait_s=20))
        await asyncio.sleep(0.2)
        assert not asked.done()
        await resume(waiting["run"], tools.toolbox, journal=served.journal, approval=approve)
        result = await asked
        assert (result["run"], result["status"]) == (waiting["run"][:8], "succeeded")
    assert len(tools.args_of("send")) == 2


def test_the_command_for_a_person_works_from_another_folder_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of ann's").mkdir()
    monkeypatch.chdir(tmp_path / "of ann's")
    monkeypatch.setenv("TOOLPLAN_HOME", "my home")
    command = terminal_command("runs", "--json")
    with closing(Journal(tmp_path / "of ann's" / "my home" / "runs.sqlite")):
        pass
    printed = subprocess.run(
        command, shell=True, cwd=tmp_path, env={}, capture_output=True, text=True, check=False
    )
    assert (printed.returncode, printed.stdout.strip()) != (127, "")
    assert '"runs": []' in printed.stdout, printed.stderr


async def test_a_client_that_did_not_wait_for_the_error_has_one_run_too(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        async with Client(served.server) as client:
            asking = asyncio.create_task(client.call_tool("run", {"plan": WRITES}))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait({asking})
        async with served.runs:
            pass
        await served.refused("run", plan=WRITES)
        await served.refused("run", plan=WRITES)
        assert len(served.journal.runs()) == 1


async def test_after_the_approved_run_the_same_plan_waits_anew(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        first = await served.refused("run", plan=WRITES)
        await resume(first["run"], tools.toolbox, journal=served.journal, approval=approve)
        second = await served.refused("run", plan=WRITES)
        assert second["run"] != first["run"]
    assert len(tools.args_of("send")) == 2


async def test_a_client_cannot_resume_a_run_that_waits(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        waiting = await served.refused("run", plan=WRITES)
        result = await served.refused("runs", run=waiting["run"], action="resume")
        assert result["error"]["code"] == "approval-required"
        assert result["digest"] == waiting["digest"]
        assert served.journal.load(waiting["run"]).status is RunState.WAITING
    assert tools.calls == []


async def test_a_tool_that_does_not_say_what_it_changes_needs_an_approval(tmp_path: Path) -> None:
    tools = scripted()
    tools.add("erase", effects=Effects.UNKNOWN)
    plan: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": "erase"}]}
    async with serving(tmp_path, tools.toolbox) as served:
        result = await served.refused("run", plan=plan)
        assert result["effects"][0]["effects"] == "unknown"
    assert tools.calls == []


async def test_whoever_starts_the_server_may_approve_plans_by_their_digest(tmp_path: Path) -> None:
    tools = scripted()
    allowed: list[str] = []

    def allow(plan: ExecutionPlan) -> Approval | None:
        return approve(plan) if plan.digest in allowed else None

    async with serving(tmp_path, tools.toolbox, approve=allow) as served:
        result = await served.refused("run", plan=WRITES)
        assert result["error"]["code"] == "approval-required"
        assert tools.calls == []
        allowed.append(result["digest"])
        ran = await served.call("run", plan=WRITES)
        assert ran["status"] == "succeeded"


async def test_a_call_in_doubt_is_decided_by_a_person(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}))
    tools.add("send", Raises(OutcomeUnknown("the line broke")), Gives({}), effects=Effects.WRITE)
    async with serving(tmp_path, tools.toolbox, approve=approve) as served:
        result = await served.call("run", plan=WRITES)
        assert result["status"] == "in_doubt"
        command = terminal_command("resume", result["run"][:8])
        assert f"{command} --retry mail:0" in result["help"]
        again = await served.call("runs", run=result["run"], action="resume")
        assert again["status"] == "in_doubt"
        refused = await served.refused("runs", run=result["run"], action="cancel")
        assert refused["error"]["code"] == "run-over"  # its doubt would be forgotten
        assert len(tools.args_of("send")) == 1
        ended = await resume(
            result["run"],
            tools.toolbox,
            journal=served.journal,
            decisions={("mail", 0): Decided("retry")},
        )
        assert ended.succeeded


@pytest.mark.parametrize("code", ["tool-not-allowed", "cannot-run"])
async def test_a_run_whose_tools_are_not_allowed_or_are_others_here_is_not_gone_on_with(
    tmp_path: Path, code: str
) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        waiting = await served.refused("run", plan=WRITES)
    tools, policy = scripted(), Policy()
    if code == "cannot-run":
        tools.add("send", input_schema={"type": "object"}, effects=Effects.READ)
    else:
        policy = Policy(("people",))
    async with serving(tmp_path, tools.toolbox, approve=approve, policy=policy) as served:
        result = await served.refused("runs", run=waiting["run"], action="resume")
        assert result["error"]["code"] == code
    assert tools.calls == []


async def through_a_client(
    folder: Path, person: Person, era: Era, *, elicit: bool = True, plan: Json = SAID
) -> tuple[Any, list[str], bool]:
    tools = scripted()

    async with (
        serving(folder, tools.toolbox, elicit=elicit) as served,
        Client(served.server, mode=era, elicitation_callback=person) as client,
    ):
        result = await client.call_tool("run", {"plan": plan, "detail": True})
    return result.structured_content, [call.tool for call in tools.calls], result.is_error


async def test_a_client_may_ask_its_user_where_the_server_lets_it(tmp_path: Path, era: Era) -> None:
    person = Person(("accept", {"run_it": True}))
    result, calls, is_error = await through_a_client(tmp_path, person, era)
    assert not is_error
    assert result["status"] == "succeeded"
    assert calls == ["send"]
    (shown,) = person.shown
    assert "mail: send, write" in shown
    assert 'to = "ann"' in shown
    assert result["digest"] in shown


async def test_users_see_the_values_of_tools_before_they_are_sent(tmp_path: Path, era: Era) -> None:
    person = Person(("accept", {"make_calls": True}))
    result, calls, is_error = await through_a_client(tmp_path, person, era, plan=WRITES)
    assert not is_error
    assert result["status"] == "succeeded"
    assert calls == ["people", "send", "send"]
    (shown,) = person.shown
    assert 'to = "ann"' in shown
    assert 'to = "bob"' in shown
    (tmp_path / "other").mkdir()
    refuses = Person(("accept", {"run_it": True}))  # the answer to another question
    result, calls, _ = await through_a_client(tmp_path / "other", refuses, era, plan=WRITES)
    assert calls == ["people"]
    assert result["status"] == "waiting"


@pytest.mark.parametrize(
    ("action", "said", "elicit"),
    [
        ("decline", None, True),
        ("cancel", None, True),
        ("accept", {"run_it": False}, True),
        ("accept", {"run_it": True}, False),  # clients ask only where the server lets them
    ],
)
async def test_without_a_yes_to_the_server_nothing_is_run(
    tmp_path: Path, era: Era, action: Action, said: Json, elicit: bool
) -> None:
    person = Person((action, said))
    result, calls, is_error = await through_a_client(tmp_path, person, era, elicit=elicit)
    assert is_error
    assert result["error"]["code"] == "approval-required"
    assert (calls, len(person.shown)) == ([], int(elicit))


async def test_a_plan_that_only_reads_is_never_asked_about(tmp_path: Path) -> None:
    person = Person(("decline", None))
    result, calls, _ = await through_a_client(tmp_path, person, "auto", plan=READS)
    assert (result["status"], calls, person.shown) == ("succeeded", ["people"], [])


async def test_effects_that_are_too_long_for_a_form_are_left_to_a_terminal(tmp_path: Path) -> None:
    person = Person(("accept", {"run_it": True}))
    mail: Json = {"id": "mail", "tool": "send", "args": {"to": "x" * 30_000}}
    plan: Json = {"toolplan": 1, "steps": [mail]}
    result, calls, is_error = await through_a_client(tmp_path, person, "auto", plan=plan)
    assert is_error
    assert terminal_command("resume", result["run"][:8]) in result["error"]["help"]
    assert (calls, person.shown) == ([], [])


@pytest.mark.parametrize("kind", ["effects", "reads", "values", "use", "reference"])
async def test_a_run_that_the_journal_does_not_have_is_an_error_however_short_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Results of earlier runs, and the approval with values, are known before it has the run."""
    tools = scripted()
    by = "values" if kind == "values" else approve
    async with serving(tmp_path, tools.toolbox, approve=by) as served:
        known = (await served.call("run", plan=READS))["run"]
        team = f"${{run:{known}.people.data[0]}}"
        step: Json = {"id": "a", "tool": "people", "args": {"team": team}}
        calls: dict[str, dict[str, Json]] = {
            "use": {"plan": READS, "use": known},
            "reference": {"plan": {"toolplan": 1, "steps": [step]}},
            "reads": {"plan": READS},
        }

        def full(*_: object, **__: object) -> None:
            time.sleep(0.2)
            raise JournalError("journal-full", "The disk is full.", "Make room.")

        monkeypatch.setattr(served.journal, "accept", full)
        given = calls.get(kind, {"plan": WRITES})
        result = await served.refused("run", **given, wait_s=0)
        assert result["error"] == {
            "code": "journal-full",
            "message": "The disk is full.",
            "help": "Make room.",
        }
    assert [call.tool for call in tools.calls] == ["people"]
