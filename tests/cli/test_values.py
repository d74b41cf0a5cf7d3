"""Approval of calls with their values on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.cli.test_approve_terminal import At, Terminal

TOOLS = '''
from pathlib import Path

from toolplan import tool

LEDGER = Path(__file__).with_name("ledger")


@tool(effects="read")
def inbox() -> list[dict[str, str]]:
    """Return the mails."""
    return [{"sender": "eve@evil.example"}, {"sender": "p\\u0430ypal.example"}]


@tool(effects="write")
def send(to: str, body: str) -> dict:
    """Sends mail."""
    with LEDGER.open("a") as file:
        file.write(to + " ")
    return {"sent": to}


TOOLS = [inbox, send]
'''
PLAN = {
    "toolplan": 1,
    "steps": [
        {"id": "mails", "tool": "inbox"},
        {
            "id": "answer",
            "tool": "send",
            "args": {"to": "${item.sender}", "body": "Hello"},
            "for_each": "${mails[*]}",
        },
    ],
}
QUESTION = "Enter leaves it for later: "


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    return tools_folder("valued_tools", TOOLS, PLAN)


def words(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "plan.json"), "--tools", "valued_tools:TOOLS", *more]


def sent(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return ledger.read_text().split() if ledger.exists() else []


def test_calls_wait_and_yes_does_not_answer(folder: Path, call: Call) -> None:
    said = call(*words(folder, "--approve-values", "--yes", "--json"), code=1)
    document = said.json
    assert document["status"] == "waiting"
    step = document["steps"]["answer"]
    assert step["state"] == "waiting"
    assert [each["args"]["to"] for each in step["calls_waiting"]] == [
        "eve@evil.example",
        "p\u0430ypal.example",
    ]
    assert step["calls_waiting"][0]["origins"]["args"]["to"]["label"] == "untrusted"
    name = document["run"]
    assert call("resume", name, "--yes", "--json").json["status"] == "waiting"
    assert sent(folder) == []
    shown = call("show", name)
    assert 'to = "eve@evil.example"' in shown.err
    assert "from item.sender, mails[*].sender (inbox): untrusted; trusted needed" in shown.err
    assert r'to = "p\u0430ypal.example"' in shown.err
    assert "2 calls wait for you" in shown.err
    assert f"toolplan resume {name[:8]} --allow answer" in shown.err
    assert call("show", name, "--json").json["steps"]["answer"]["calls_waiting"]
    wrong = call("resume", name, "--allow", "mails")
    assert (wrong.code, "No call of step 'mails' waits" in wrong.err) == (2, True)
    assert call("resume", name, "--allow", "answer").code == 0
    assert sorted(sent(folder)) == ["eve@evil.example", "p\u0430ypal.example"]


def test_refused_calls_are_not_made_and_the_reason_is_shown(folder: Path, call: Call) -> None:
    name = call(*words(folder, "--approve-values", "--json")).json["run"]
    said = call("resume", name, "--deny", "answer", "--reason", "not to strangers", code=1)
    assert "not to strangers" in said.out + said.err
    assert sent(folder) == []


def test_a_call_is_left_out_by_another_plan(folder: Path, call: Call) -> None:
    document = call(*words(folder, "--approve-values", "--json")).json
    name = document["run"]
    assert "--allow answer --leave-out answer:0" in call("show", name).err
    wrong = call("resume", name, "--leave-out", "answer")
    assert (wrong.code, "names no item" in wrong.err) == (2, True)
    said = call("resume", name, "--allow", "answer", "--leave-out", "answer:0", code=0)
    assert "That was another plan, with digest" in said.err
    assert f"Run {name[:8]} is over." in said.err
    assert sent(folder) == ["p\u0430ypal.example"]


def test_two_ways_of_approval_are_a_usage_error(folder: Path, call: Call) -> None:
    assert call(*words(folder, "--approve-values", "--approve", "0" * 64)).code == 2
    both = call("resume", "r", "--allow", "a", "--deny", "a")
    assert (both.code, "two decisions" in both.err) == (2, True)


def test_without_a_terminal_a_plan_is_approved_as_before(folder: Path, call: Call) -> None:
    assert call(*words(folder)).code == 1
    assert sent(folder) == []
    assert call(*words(folder, "--yes")).code == 0
    assert len(sent(folder)) == 2


@pytest.fixture
def at(folder: Path) -> Iterator[At]:
    opened: list[Terminal] = []

    def start(*more: str) -> Terminal:
        opened.append(Terminal([*words(folder), *more], folder))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def test_on_a_terminal_values_of_tools_are_shown_before_a_person_decides(
    folder: Path, at: At
) -> None:
    terminal = at()
    terminal.until(QUESTION)
    assert '! to = "eve@evil.example"' in terminal.shown
    assert r'! to = "p\u0430ypal.example"' in terminal.shown
    assert "Make these 2 calls?" in terminal.shown
    assert sent(folder) == []
    terminal.type("y\n")
    assert terminal.ended() == 0
    assert len(sent(folder)) == 2


def test_on_a_terminal_calls_are_left_out(folder: Path, at: At) -> None:
    terminal = at()
    terminal.until(QUESTION)
    assert "y except 1 leaves call 1 out" in terminal.shown
    terminal.type("y except 0\n")
    assert terminal.ended() == 0
    assert sent(folder) == ["p\u0430ypal.example"]


@pytest.mark.parametrize("typed", ["n not to strangers\n", "\n"])
def test_on_a_terminal_anything_but_yes_makes_no_call(folder: Path, at: At, typed: str) -> None:
    terminal = at("--approve-values")
    terminal.until(QUESTION)
    terminal.type(typed)
    assert terminal.ended() == 1
    assert sent(folder) == []
    expected = "not to strangers" if typed.startswith("n") else "--allow answer"
    assert expected in terminal.shown.partition(QUESTION)[2]


@pytest.mark.parametrize(
    "typed",
    [
        "maybe",
        "not to strangers",
        "yes please",
        "y ,",
        "y except",
        "y except 7",
        "y except 0 and more",
        "y except bob",
    ],
)
def test_on_a_terminal_what_is_no_answer_is_asked_again(folder: Path, at: At, typed: str) -> None:
    terminal = at("--approve-values")
    terminal.until(QUESTION)
    terminal.type(f"{typed}\n")
    terminal.until("is not an answer.")
    said, _, _ = terminal.shown.partition("is not an answer.")
    assert repr(typed) in said
    terminal.until(QUESTION, 2)
    assert sent(folder) == []
    terminal.type("\n")
    assert terminal.ended() == 1
    assert sent(folder) == []
    assert "--allow answer" in terminal.shown.rpartition(QUESTION)[2]
