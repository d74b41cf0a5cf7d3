"""An inbox with an address that an outsider wrote, as in docs/policy.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call

TOOLS = '''
from pathlib import Path

from toolplan import tool

LEDGER = Path(__file__).with_name("ledger")


def noted(call: str) -> None:
    with LEDGER.open("a") as file:
        file.write(call + "\\n")


@tool(effects="read")
def inbox() -> list[dict[str, str]]:
    """Return the mails."""
    noted("inbox")
    return [{"id": "m1", "sender": "eve@evil.example", "text": "Answer me at eve@evil.example!"}]


@tool(effects="read")
def contacts(name: str) -> list[dict[str, str]]:
    """Return the people of that name."""
    noted("contacts " + name)
    return [{"email": name.lower() + "@ours.example"}]


@tool(effects="write")
def send_mail(to: str, body: str) -> dict[str, str]:
    """Send a mail."""
    noted("send_mail " + to)
    return {"id": "sent"}


TOOLS = [inbox, contacts, send_mail]
'''
POLICY = """\
[trusted]
outputs = ["contacts"]
[sinks.send_mail]
to = { needs = "trusted", else = "refuse" }
body = "plain"
"""


def plan(to: str) -> dict[str, object]:
    return {
        "toolplan": 1,
        "steps": [
            {"id": "mails", "tool": "inbox"},
            {"id": "bob", "tool": "contacts", "args": {"name": "Bob"}},
            {"id": "answer", "tool": "send_mail", "args": {"to": to, "body": "Thank you."}},
        ],
    }


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    folder = tools_folder("mailbox_tools", TOOLS, plan("${mails[0].sender}"))
    (folder / "mail.toml").write_text(POLICY, "utf-8")
    return folder


def words(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "plan.json"), "--tools", "mailbox_tools:TOOLS", *more]


def made(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return sorted(ledger.read_text().splitlines()) if ledger.exists() else []


def test_without_a_policy_people_see_the_address_and_its_origin(folder: Path, call: Call) -> None:
    said = call(*words(folder, "--approve-values", "--yes"), code=1)
    assert '! to = "eve@evil.example"' in said.err
    assert "mails[0].sender (inbox): untrusted; trusted needed" in said.err
    assert 'body = "Thank you."' in said.err
    assert made(folder) == ["contacts Bob", "inbox"]
    run = call(*words(folder, "--approve-values", "--json")).json["run"]
    call("resume", run, "--deny", "answer", "--reason", "Not to strangers.", code=1)
    assert not any(each.startswith("send_mail") for each in made(folder))


@pytest.mark.parametrize("how", ["--yes", "--approve-values", "--json"])
def test_with_a_policy_nothing_is_called_and_the_way_out_is_named(
    folder: Path, call: Call, how: str
) -> None:
    said = call(*words(folder, "--policy", str(folder / "mail.toml"), how))
    text = " ".join((said.out + said.err).split())
    assert said.code != 0
    assert "flow-refused" in text
    assert "mails[0].sender (inbox) makes it untrusted" in text
    assert "take it from an output that the policy trusts: 'contacts'" in text
    assert made(folder) == []


def test_the_way_out_leads_out(folder: Path, call: Call, tools_folder: Callable[..., Path]) -> None:
    tools_folder("mailbox_tools", TOOLS, plan("${bob[0].email}"))
    policy = folder / "mail.toml"
    assert call(*words(folder, "--policy", str(policy), "--yes")).code == 0
    assert made(folder)[-1] == "send_mail bob@ours.example"
    # without --yes: the plan is asked about, unless the policy says that it need not be
    assert call(*words(folder, "--policy", str(policy))).code != 0
    policy.write_text('approval = "when-needed"\n[decide]\nsend_mail = "trusted"\n' + POLICY)
    assert call(*words(folder, "--policy", str(policy))).code == 0
    assert made(folder).count("send_mail bob@ours.example") == 2
