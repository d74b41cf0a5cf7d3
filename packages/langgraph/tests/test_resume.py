"""Conversations that end in one process and resume in another."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from packages.langgraph.tests.conversation import (
    Conversation,
    answers,
    calls,
    clarify,
    done,
    last,
    plan,
    says,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.storage.journal import Journal

ROOT: Final = Path(__file__).parents[3]
PLANNED: Final = (plan(("notes", "Add it.")),)


def notes(folder: Path, dies: bool = False) -> Toolbox:
    """Return a tool that adds a line to a file, and may take its process with it."""

    async def add(arguments: Arguments) -> Json:
        with (folder / "notes.txt").open("a") as file:
            file.write(f"{arguments['text']}\n")
        if dies:
            await asyncio.sleep(0.5)  # LangGraph writes the decision down in the background
            os._exit(9)
        return {"added": True}

    schema: Json = {"type": "object", "properties": {"text": {"type": "string"}}}
    return Toolbox([Tool("add", "Adds.", schema, effects=Effects.WRITE, call=add)])


async def talk(folder: Path, word: str, planner: Sequence[str], dies: bool = False) -> None:
    """Say or resume with `word`, and print how far that came."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "talk.sqlite")) as checkpointer:
        talked = Conversation(
            {"notes": notes(folder, dies)},
            planner=planner,
            expert=[calls(("add", {"text": "one"}))] if word != "none" else [says("Well.")],
            assessor=[done()],
            checkpointer=checkpointer,
            journal=Journal(folder / "runs.sqlite"),
        )
        match word.partition(":"):
            case "approve", _, digest:
                state = await talked.resumes({"approve": digest})
            case "resume", _, text:
                state = await talked.resumes(text)
            case "none", _, _:
                state = await talked.go_on(None)
            case _:
                state = await talked.says(word)
        for shown in talked.interrupts:
            print(shown["kind"], shown.get("digest", ""))
        print("result:", *answers(state))
        print("last:", last(state).text)


def in_a_new_process(folder: Path, word: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "packages.langgraph.tests.test_resume", str(folder), word, *flags],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def test_a_conversation_resumes_in_a_new_process_from_a_sqlite_checkpointer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F004-5, F004-9, C-34: clarified here, approved there, called once."""
    asyncio.run(talk(tmp_path, "Note it", [clarify("What?")]))
    assert "last: What?" in capsys.readouterr().out
    asyncio.run(talk(tmp_path, "resume:one", PLANNED))
    kind, digest = capsys.readouterr().out.splitlines()[0].split()
    assert kind == "approval"
    assert not (tmp_path / "notes.txt").exists()
    there = in_a_new_process(tmp_path, f"approve:{digest}")
    assert there.returncode == 0, there.stderr
    assert 'result: {"added": true}' in there.stdout
    assert "last: That is all." in there.stdout
    assert (tmp_path / "notes.txt").read_text() == "one\n"
    assert "unregistered" not in there.stderr  # nothing of ours stands in a checkpoint


def test_an_effect_is_not_repeated_where_the_process_dies_in_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F004-9: LangGraph begins the node again; the journal knows that the call was begun."""
    asyncio.run(talk(tmp_path, "Note it", PLANNED))
    digest = capsys.readouterr().out.split()[1]
    died = in_a_new_process(tmp_path, f"approve:{digest}", "dies")
    assert died.returncode == 9, died.stderr
    asyncio.run(talk(tmp_path, "none", PLANNED))
    assert "Error: It is unknown whether the call had its effect." in capsys.readouterr().out
    assert (tmp_path / "notes.txt").read_text() == "one\n"


if __name__ == "__main__":
    asyncio.run(talk(Path(sys.argv[1]), sys.argv[2], PLANNED, "dies" in sys.argv))
