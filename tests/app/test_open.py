"""`toolplan.open`: what the command line does, from Python."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import types
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from dataclasses import is_dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import toolplan
from toolplan import App, ApprovalRequired, Journal, RunResult, Step, Tool, Toolbox, ToolplanError
from toolplan.cli.ask import ask_command, resume_command, run_command
from toolplan.events import Event, StepStarted
from toolplan.plan.path import Json
from toolplan.planners import LLMPlanner
from toolplan.providers import Ended, ModelRequest, Piece, Text, Usage
from toolplan.schema.tool import Arguments, Effects
from toolplan_demo import demo_tools

TODAY = "2025-10-12"
QUESTION = "Which carriers have the highest contamination rates?"
BERLIN = json.dumps(
    {
        "toolplan": 1,
        "steps": [{"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}}],
    }
)
# in Python a run says itself what is partial, and `dispatch_for(app)` continues runs after a
# failover
ON_THE_TERMINAL = {"as_json", "strict", "after_failover"}
# --approve-values is approve="values", --times an approval of approve_digest(plan, times)
SAID_BY_A_VALUE = {"approve_values": "approve", "times": "approve"}


def opened(tools: object = None, **options: object) -> App:
    return toolplan.open(tools, on_note=lambda _: None, **options)  # type: ignore[arg-type]


def declared_by(command: Callable[..., int]) -> dict[str, Any]:
    """Return the options and arguments of a command, those of groups too, with their types."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        is_group = is_dataclass(parameter.annotation)
        alone = {name: parameter.annotation}
        found |= get_type_hints(parameter.annotation, include_extras=True) if is_group else alone
    return found


@pytest.mark.parametrize(
    ("command", "method"),
    [(ask_command, App.ask), (run_command, App.run), (resume_command, App.resume)],
)
def test_each_option_of_a_command_is_an_argument(
    command: Callable[..., int], method: Callable[..., object]
) -> None:
    declared_here = declared_by(command)
    given = {*declared_here} - ON_THE_TERMINAL - {"file"}
    options = {SAID_BY_A_VALUE.get(name, name) for name in given}
    arguments = set(inspect.signature(method).parameters)
    assert options <= arguments | set(inspect.signature(toolplan.open).parameters)
    # the name of an option is the name of its argument
    for option, annotation in declared_here.items():
        for declared in getattr(annotation, "__metadata__", ()):
            for name in (each for each in declared.name if each.startswith("-")):
                assert name.removeprefix("--").replace("-", "_") in (option, "json"), name


def test_the_answer_prints_as_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        toolplan_main(["ask", QUESTION, "--today", TODAY])
    printed = capsys.readouterr().out
    with opened() as app:
        result = app.wait(app.ask(QUESTION, today=TODAY))
    assert result.succeeded
    assert str(result) in printed
    assert "BulkMovers" in str(result)
    shown: str = methodcaller("_repr_html_")(result)  # as a notebook calls it
    assert shown.startswith("<pre>")
    assert len(repr(result)) < 150


def toolplan_main(words: list[str]) -> None:
    importlib.import_module("toolplan.cli").main(words)


async def test_a_notebook_cell_awaits_and_blocking_there_says_what_to_do() -> None:
    """The cell's code runs in a loop that runs already."""
    app = opened(demo_tools())
    assert str(await app.plan("Get facilities in Berlin", today=TODAY)).startswith("1 step")
    with pytest.raises(ToolplanError, match="running already") as caught:
        app.wait(app.ask("Get facilities in Berlin"))
    assert caught.value.code == "running-loop"
    assert caught.value.help == "Write `await app.ask(…)` instead of `app.wait(app.ask(…))`."
    app.close()


def test_an_app_answers_in_one_loop_after_another() -> None:
    with opened(demo_tools()) as app:
        first = app.wait(app.ask("Get facilities in Berlin", today=TODAY))
        again = asyncio.run(app.ask("Get facilities in Munich", today=TODAY))
    assert first.succeeded
    assert again.succeeded


def test_what_is_no_plan_says_what_to_give() -> None:
    with opened(demo_tools()) as app:
        for wrong in (None, 3):
            with pytest.raises(ToolplanError) as caught:
                asyncio.run(app.run(wrong))  # type: ignore[arg-type]
            assert caught.value.code == "no-plan"
            assert caught.value.help
        refused = asyncio.run(app.plan("frobnicate the frobs", today=TODAY))
        with pytest.raises(ToolplanError, match="There is no plan to run") as caught:
            asyncio.run(app.run(refused))
        assert "frobnicate" in str(refused)
        with pytest.raises(ToolplanError, match="does not pass the check"):
            asyncio.run(app.run({"toolplan": 1, "steps": [{"id": "a", "tool": "zebra"}]}))


def test_tools_may_be_objects_a_module_or_named(tmp_path: Path) -> None:
    def add(one: int, other: int) -> int:
        """Add two numbers."""
        return one + other

    described = {"name": "send", "description": "Send.", "input_schema": {"type": "object"}}
    with opened([add, described]) as app:
        assert {"add", "send"} <= set(app.tools)
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([described]))
    with opened(file) as app:
        assert "send" in app.tools
    with opened(importlib.import_module("tests.app.shop")) as app:
        assert "price" in app.tools
    for wrong in (3, types.SimpleNamespace(), b"x", "nowhere.json", "no.such:THING"):
        with pytest.raises(ToolplanError) as caught:
            opened(wrong)
        assert caught.value.code == "bad-tools"
        assert caught.value.help


def writing() -> Tool:
    async def call(_: Arguments) -> Json:
        return {"sent": True}

    return Tool("send", "Send.", {"type": "object"}, None, Effects.WRITE, call=call)


SENDS = {"toolplan": 1, "steps": [{"id": "s", "tool": "send"}]}


def test_effects_need_an_approval_however_it_is_given(tmp_path: Path) -> None:
    with opened([writing()], journal=tmp_path / "runs.sqlite") as app:
        plan = app.check(SENDS).needed()
        with pytest.raises(ApprovalRequired):
            asyncio.run(app.run(plan))
        with pytest.raises(ApprovalRequired):
            asyncio.run(app.run(plan, approve="0" * 64))

        async def agree(shown: toolplan.ExecutionPlan) -> toolplan.Approval:
            return toolplan.approve(shown)

        for options in (
            {"yes": True},
            {"approve": plan.digest},
            {"approve": toolplan.approve(plan)},
            {"approve": toolplan.approve},
            {"approve": agree},
        ):
            ended = asyncio.run(app.run(plan, **options))  # type: ignore[arg-type]
            assert isinstance(ended, RunResult)
            assert ended.succeeded
            assert "send" in str(ended)
        assert len(app.runs()) == 5
        assert asyncio.run(app.resume(ended.run)).succeeded


def test_a_dry_run_calls_nothing_and_a_limit_holds(tmp_path: Path) -> None:
    with opened([writing()], journal=tmp_path / "runs.sqlite") as app:
        assert asyncio.run(app.run(SENDS, dry_run=True)).succeeded
        assert app.journal is None
        with pytest.raises(ToolplanError, match="not a valid limit"):
            asyncio.run(app.run(SENDS, yes=True, concurrency=0))
        assert asyncio.run(app.run(SENDS, yes=True, concurrency={"send": 1}, timeout=5)).succeeded


class SlowModel:
    """Writes its plan in pieces, and waits for the tool to be called before the last one."""

    name = "slow"

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.waiting = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield all but the end of the plan; end it when each question has started its step."""
        del request
        text = json.dumps({"toolplan": 1, "steps": [{"id": "a", "tool": "look"}]})
        yield Text(text[:-2])
        yield Text(', {"id": "b", "tool": "look"')
        await asyncio.wait_for(self.called.wait(), 20)
        yield Text("}" + text[-2:])
        yield Ended("slow", Usage(1, 1, 1))


async def test_two_concurrent_eager_questions_both_stream_and_both_start_calls() -> None:
    model = SlowModel()
    calls = 0

    async def look(_: Arguments) -> Json:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first step of each: neither plan is written yet
            model.called.set()
        return {"found": calls}

    tools = Toolbox([Tool("look", "Look.", {"type": "object"}, None, Effects.READ, call=look)])
    app = App(tools, LLMPlanner(model))
    steps: dict[str, list[Step]] = {"one": [], "two": []}
    events: dict[str, list[Event]] = {"one": [], "two": []}
    asked = await asyncio.gather(
        *(
            app.ask(
                name,
                today=TODAY,
                eager=True,
                on_step=steps[name].append,
                on_event=events[name].append,
            )
            for name in steps
        )
    )
    assert all(each.succeeded for each in asked)
    for name in steps:
        assert [step.id for step in steps[name]] == ["a", "b"]
        started = [each.step for each in events[name] if isinstance(each, StepStarted)]
        assert started == ["a", "b"]


def test_settings_are_read_once_and_need_no_library(home: Path) -> None:
    (home / "toolplan.toml").write_text('[effects]\nfacilities_list = "write"\n', "utf-8")
    with opened() as app:
        assert app.tools["facilities_list"].effects is Effects.WRITE
    with opened(settings={"effects": {"facilities_list": "read"}}) as app:
        assert app.tools["facilities_list"].effects is Effects.READ
    with pytest.raises(ToolplanError, match="there is no setting 'effekts'"):
        opened(settings={"effekts": {}})


_NAMED_AND_NOT_ASKED = f"""
import asyncio, sys, toolplan
with toolplan.open(model="ollama:mistral", on_note=lambda _: None) as app:
    assert asyncio.run(app.ask("Get facilities in Berlin", today="{TODAY}")).succeeded
sys.exit(bool({{"httpx2", "genai_prices"}} & set(sys.modules)))
"""


@pytest.mark.usefixtures("home")
def test_a_named_model_that_is_not_asked_is_not_opened() -> None:
    with opened(model="ollama:mistral") as app:
        assert asyncio.run(app.ask("Get facilities in Berlin", today=TODAY)).succeeded
        assert app.tracker.usage.calls == 0
    subprocess.run([sys.executable, "-c", _NAMED_AND_NOT_ASKED], check=True)
    with pytest.raises(ToolplanError) as caught:
        opened(planner="offline", model="ollama:mistral")
    assert caught.value.code == "usage"
    with pytest.raises(ToolplanError, match="There is no planner 'offlien'") as caught:
        opened(planner="offlien")
    assert "offline" in str(caught.value.help)


def test_a_conversation_is_remembered_in_the_users_folder(home: Path) -> None:
    with opened(demo_tools()) as app:
        words = {"today": TODAY, "conversation": "mine"}
        assert asyncio.run(app.plan("Get facilities in Berlin", **words)).plan  # type: ignore[arg-type]
    with opened(demo_tools()) as app:
        again = asyncio.run(app.plan("the same for Munich", **words))  # type: ignore[arg-type]
    assert again.plan is not None
    assert "Munich" in str(again)
    assert (home / "memory.sqlite").exists()


def test_a_plan_alone_makes_no_journal_and_a_given_one_stays_open(home: Path) -> None:
    with opened(demo_tools()) as app:
        asyncio.run(app.plan("Get facilities in Berlin", today=TODAY))
    assert not (home / "runs.sqlite").exists()
    with closing(Journal(home / "mine.sqlite")) as journal:
        with opened(demo_tools(), journal=journal) as app:
            asyncio.run(app.ask("Get facilities in Berlin", today=TODAY))
        assert len(journal.runs()) == 1


def modules() -> list[str]:
    skipped = ("toolplan.__main__", "toolplan_demo.__main__", "toolplan.mcp_server.__main__")
    found = pkgutil.walk_packages(toolplan.__path__, "toolplan.")
    return [each.name for each in found if each.name not in skipped]


def test_every_public_error_has_one_base_with_code_message_and_help() -> None:
    wrong: set[str] = set()
    for name in modules():
        module = importlib.import_module(name)
        exported = vars(module) if hasattr(module, "__path__") else ()  # a room's own names
        for each in getattr(module, "__all__", exported):
            found = getattr(module, each)
            if not (inspect.isclass(found) and issubclass(found, Exception)):
                continue
            if found.__module__.startswith("toolplan.") and not issubclass(found, ToolplanError):
                wrong.add(f"{found.__module__}.{found.__name__}")
    assert wrong == set()
    error = ToolplanError("a-code", "A fact.", "Do that.")
    assert (error.code, error.message, error.help, str(error)) == (
        "a-code",
        "A fact.",
        "Do that.",
        "A fact.",
    )


def test_what_stands_out_in_an_answer_can_be_set() -> None:
    """2.9: the thresholds of outliers and trends."""
    rows: list[Json] = [{"n": value} for value in (10, 11, 12, 13, 14, 15, 16, 17, 24)]

    async def call(_: Arguments) -> Json:
        return {"data": rows}

    tool = Tool("measure", "Measures.", {"type": "object"}, effects=Effects.READ, call=call)
    said: list[str] = []
    for settings in ({}, {"answer": {"z_score": 3}}):
        with opened([tool], settings=settings) as app:
            result = app.wait(app.run({"steps": [{"id": "m", "tool": "measure"}]}))
            assert result.answer is not None
            said.append(result.answer.text)
            assert str(app.result(result.run)) == str(result)
    assert ["stands out" in text for text in said] == [True, False]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"z_scroe": 3}, "has no setting 'z_scroe'"),
        ({"z_score": -1}, "z_score is -1"),
        ({"fewest": "8"}, "Expected .int., got .str. - at .*fewest"),
    ],
)
def test_a_threshold_that_means_nothing_is_named(table: Json, message: str) -> None:
    with pytest.raises(ToolplanError, match=message):
        opened([], settings={"answer": table})
