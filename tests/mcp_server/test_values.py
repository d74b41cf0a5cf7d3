"""Calls that wait with their values, over real sessions of clients that can ask, and cannot."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult

from tests.mcp_server.served import WRITES, Action, Era, Person, error, scripted, serving
from toolplan import Effects, resume
from toolplan.mcp_server._reports import terminal_command
from toolplan.plan.path import Json
from toolplan.policy.consent import Consent
from toolplan.testing import Gives

HOSTILE = "eve@evil.example\n  subject = \u202e\x1b[2Jfine"


YES: tuple[Action, Json] = "accept", {"make_calls": True}


async def run_with(
    folder: Path, person: Person | None, era: Era, plan: Json = WRITES, *, elicit: bool = True
) -> tuple[Any, list[Json]]:
    """Return what a client gets for `run`, and what was sent."""
    tools = scripted(Gives({"data": ["ann", HOSTILE]}))

    async with (
        serving(folder, tools.toolbox, approve="values", elicit=elicit) as served,
        Client(served.server, mode=era, elicitation_callback=person) as client,
    ):
        result = await client.call_tool("run", {"plan": plan})
    assert result.structured_content is not None
    assert result.is_error == (result.structured_content["status"] == "failed")
    return result.structured_content, [*tools.args_of("send")]


async def test_the_user_sees_the_values_of_calls_and_allows_them(tmp_path: Path, era: Era) -> None:
    person = Person(YES)
    result, sent = await run_with(tmp_path, person, era)
    assert result["status"] == "succeeded"
    assert sent == [{"to": "ann"}, {"to": HOSTILE}]
    (shown,) = person.shown
    assert "mail  send  2 calls wait for you" in shown
    assert '! to = "ann"' in shown
    assert r'"eve@evil.example\n"' in shown
    assert r'"  subject = \u202e\u001b[2Jfine"' in shown
    assert not {"\u202e", "\x1b"}.intersection(shown)
    assert "people.data" in shown
    assert "(people): untrusted; trusted needed" in shown


@pytest.mark.parametrize(
    "answer", [("decline", None), ("accept", {"make_calls": False, "reason": "Not to strangers."})]
)
async def test_a_user_who_refuses_ends_the_calls_with_the_reason(
    tmp_path: Path, era: Era, answer: tuple[Action, Json]
) -> None:
    result, sent = await run_with(tmp_path, Person(answer), era)
    assert (result["status"], sent) == ("failed", [])
    failure = result["steps"]["mail"]["error"]
    assert failure["code"] == "denied"
    assert answer[1] is None or "Not to strangers." in failure["message"]


async def test_a_user_who_decides_nothing_leaves_calls_waiting(tmp_path: Path, era: Era) -> None:
    person = Person(("cancel", None))
    result, sent = await run_with(tmp_path, person, era)
    assert (result["status"], sent, len(person.shown)) == ("waiting", [], 1)
    assert terminal_command("resume", result["run"][:8]) in result["help"]


@pytest.mark.parametrize("elicit", [True, False])
async def test_without_elicitation_nothing_is_approved_and_the_answer_names_run_and_command(
    tmp_path: Path, era: Era, elicit: bool
) -> None:
    person = None if elicit else Person(YES)
    result, sent = await run_with(tmp_path, person, era, elicit=elicit)
    assert (result["status"], sent) == ("waiting", [])
    assert terminal_command("resume", result["run"][:8]) in result["help"]
    waiting = result["steps"]["mail"]["calls_waiting"]
    assert [each["args"]["to"] for each in waiting] == ["ann", HOSTILE]
    assert person is None or person.shown == []


async def test_an_effect_behind_an_effect_is_asked_for_when_it_is_known(
    tmp_path: Path, era: Era
) -> None:
    plan: Json = {
        "toolplan": 1,
        "steps": [
            {"id": "one", "tool": "send", "args": {"to": "ann"}},
            {"id": "two", "tool": "send", "args": {"to": "${one.to}"}},
        ],
    }
    person = Person(YES, ("decline", None))
    result, sent = await run_with(tmp_path, person, era, plan)
    assert (result["status"], sent, len(person.shown)) == ("failed", [{"to": "ann"}], 2)


async def test_asking_again_makes_no_second_run_and_a_terminal_decides(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox, approve="values") as served:
        first = await served.call("run", plan=WRITES)
        again = await served.call("run", plan=WRITES)
        resumed = await served.call("runs", run=first["run"], action="resume")
        assert first["run"] == again["run"] == resumed["run"]
        assert resumed["status"] == "waiting"
        assert len(served.journal.runs()) == 1
        assert tools.args_of("send") == []
        ended = await resume(
            first["run"], tools.toolbox, journal=served.journal, consents={"mail": Consent(True)}
        )
        assert ended.succeeded


async def test_an_answer_counts_once_and_only_in_the_request_it_is_about(tmp_path: Path) -> None:
    tools = scripted()
    tools.add("other", effects=Effects.WRITE)
    yes = ElicitResult(action="accept", content={"make_calls": True})
    other: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": "other"}]}
    async with serving(tmp_path, tools.toolbox, approve="values", elicit=True) as served:
        client = Client(served.server, elicitation_callback=Person(YES))

        async def answers(plan: Json, key: str) -> Any:
            return await client.session.call_tool(
                "run", {"plan": plan}, input_responses={key: yes}, allow_input_required=True
            )

        async with client:
            asked: Any = await answers(WRITES, "values-invented")
            (key,) = asked.input_requests
            assert (await answers(other, key)).input_requests
            assert (await answers(WRITES, key)).input_requests  # it was used up
    assert [call.tool for call in tools.calls if call.tool != "people"] == []


async def test_calls_that_changed_after_they_were_shown_are_not_made(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox, approve="values", elicit=True) as served:

        async def person(
            context: ClientRequestContext, params: ElicitRequestParams
        ) -> ElicitResult:
            # meanwhile somebody decides in a terminal
            (entry,) = served.journal.runs()
            no = {"mail": Consent(False, "no")}
            await resume(entry.run, tools.toolbox, journal=served.journal, consents=no)
            return ElicitResult(action="accept", content={"make_calls": True})

        async with Client(served.server, mode="legacy", elicitation_callback=person) as client:
            result = error(await client.call_tool("run", {"plan": WRITES}))
    assert result["error"]["code"] == "cannot-run"
    assert tools.args_of("send") == []
