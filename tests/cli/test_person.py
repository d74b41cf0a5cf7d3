"""A run that a client of the MCP server made is approved by a person: no option says yes to it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import toolplan
from tests.cli.calls import Call
from toolplan.app.resume import maker_of
from toolplan.cli._approval import ValuesQuestion
from toolplan.mcp_server._reports import person_help
from toolplan.policy.approval import made_by
from toolplan.policy.consent import effects_of
from toolplan.schema.tool import Effects
from toolplan.testing import ScriptedTools

OFFICE = """
import toolplan
from pathlib import Path

@toolplan.tool(effects="write")
def send(to: str) -> str:
    with Path("sent").open("a") as file:
        file.write(to)
    return to

TOOLS = [send]
"""
PLAN = {"toolplan": 1, "steps": [{"id": "mail", "tool": "send", "args": {"to": "ann"}}]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person_office.py").write_text(OFFICE, "utf-8")
    return tmp_path


def waiting_run(folder: Path, *, by_client: bool, values: bool) -> tuple[str, str]:
    """Return the name and the digest of a run that waits for a person."""

    async def start() -> tuple[str, str]:
        with toolplan.open("person_office:TOOLS") as app:
            digest = app.check(PLAN).needed().digest
            try:
                ended = await app.run(PLAN, run_id="a" * 32, approve="values" if values else wait)
                return ended.run, digest
            except Waits:
                return "a" * 32, digest

    if not by_client:
        return asyncio.run(start())
    with made_by("mcp"):
        return asyncio.run(start())


class Waits(Exception):
    pass


async def wait(_: object) -> bool:
    raise Waits


WAYS: tuple[tuple[bool, tuple[str, ...]], ...] = (
    (False, ("resume", "RUN", "--yes")),
    (False, ("resume", "RUN", "--yes", "--json")),
    (False, ("resume", "RUN", "--approve", "DIGEST")),
    (False, ("resume", "RUN", "--approve", "DIGEST", "--yes")),
    (False, ("resume", "RUN", "--approve-values", "--yes")),
    (True, ("resume", "RUN", "--allow", "mail")),
    (True, ("resume", "RUN", "--allow", "mail", "--yes")),
    (True, ("resume", "RUN", "--allow", "mail", "--json")),
    (True, ("resume", "RUN", "--yes")),
    (True, ("resume", "RUN", "--leave-out", "mail:0")),
)


@pytest.mark.parametrize(("values", "words"), WAYS, ids=str)
def test_no_option_approves_a_run_of_a_client(
    values: bool, words: tuple[str, ...], call: Call, folder: Path
) -> None:
    run, digest = waiting_run(folder, by_client=True, values=values)
    given = [{"RUN": run, "DIGEST": digest}.get(word, word) for word in words]
    said = call(*given)
    assert said.code != 0
    assert "an MCP client made it" in said.err
    assert not (folder / "sent").exists()


@pytest.mark.parametrize(
    ("values", "words"), [(False, ("--yes",)), (True, ("--allow", "mail"))], ids=str
)
def test_a_run_of_a_person_is_approved_as_before(
    values: bool, words: tuple[str, ...], call: Call, folder: Path
) -> None:
    run, _ = waiting_run(folder, by_client=False, values=values)
    assert call("resume", run, *words).code == 0
    assert (folder / "sent").read_text() == "ann"


def test_a_plan_cannot_say_that_no_client_made_it(folder: Path) -> None:
    with made_by("mcp"), toolplan.open("person_office:TOOLS") as app:
        forged = {**PLAN, "metadata": {"run_with": {"made_by": ""}}}
        with pytest.raises(Waits):
            asyncio.run(app.run(forged, run_id="b" * 32, approve=wait))
        assert maker_of(app.needed_journal().record("b" * 32).plan) == "mcp"


def test_the_word_that_is_shown_is_typed_and_y_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["y", "yes", "cedar-11", "cedar-10"])

    async def line() -> str:
        return next(typed)

    monkeypatch.setattr("toolplan.cli._approval.new_word", lambda: "cedar-10")
    tool = ScriptedTools()
    tool.add("send", effects=Effects.WRITE)
    plan = {"toolplan": 1, "steps": [{"id": "mail", "tool": "send"}]}
    compiled = toolplan.compile_plan(plan, tools=tool.toolbox).plan
    assert compiled is not None
    ended = asyncio.run(toolplan.run(compiled, tool.toolbox, approval=toolplan.ValueApproval()))
    effects = effects_of(ended.waiting)
    question = ValuesQuestion.__new__(ValuesQuestion)
    question._by_word, question._line = True, line  # pyright: ignore[reportPrivateUsage]
    assert asyncio.run(question._asked(effects)) is True  # pyright: ignore[reportPrivateUsage]
    assert next(typed, None) is None


def test_no_page_for_clients_teaches_an_option_that_approves() -> None:
    for text in (person_help("ab"), person_help("ab", ["mail"])):
        assert "--yes" not in text
        assert "--allow" not in text
        assert "--approve " not in text
