"""What an app is given: tools in every form, wrong values, and who hears of it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import subprocess
import sys
import threading
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toolplan
from toolplan import App, Journal, Toolbox, ToolplanError
from toolplan.app import app as app_module
from toolplan.app._arguments import KINDS, check_arguments
from toolplan.app.resume import decisions_of
from toolplan.base.errors import sentence
from toolplan_demo import demo_tools

TODAY = "2025-10-12"
QUESTION = "Get facilities in Berlin"
SENT = {"name": "send", "description": "Send.", "input_schema": {"type": "object"}}
LISTED = {"toolplan": 1, "steps": [{"id": "a", "tool": "facilities_list"}]}


def opened(tools: object, **options: object) -> App:
    return toolplan.open(tools, **{"on_note": lambda _: None, **options})  # type: ignore[arg-type]


def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        (SENT, "send"),
        ({"tools": [SENT]}, "send"),
        ({"send": {"description": "Send.", "input_schema": {"type": "object"}}}, "send"),
        ({"send": SENT}, "send"),
        ({"plus": add}, "add"),
        (add, "add"),
        (toolplan.tool(add), "add"),
    ],
)
def test_tools_may_be_one_or_a_dict(tools: object, name: str) -> None:
    with opened(tools) as app:
        assert name in app.tools


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tools": {}}, "This dict is empty"),
        ({"tools": {"name": 3}}, "its 'name' is 3"),
        ({"tools": {"a": 1}}, "values that are no tools"),
        ({"tools": {"mcpServers": {}}}, "read from a file"),
        ({"tools": {"tools": ["json:*"]}}, "not a tool"),  # a text in a document names no module
        ({"grace": -1}, "grace is a value of type int"),
        ({"tools": ""}, "empty"),
        ({"tools": int}, "type type"),
        ({"model": 3}, "model= is a value of type int"),
        ({"model": object()}, "model= is a value of type object"),
        ({"planner": None}, "planner= is a value of type NoneType"),
        ({"planner": 3}, "planner= is a value of type int"),
        ({"journal": 3}, "journal is a value of type int"),
        ({"policy": 3}, "policy= is a value of type int"),
        ({"limits": 3}, "limits is a value of type int"),
        ({"settings": 3}, "settings=3 is no folder"),
        ({"effects": 3}, "not a label"),
        ({"weeks": "x"}, "weeks is a value of type str: 'x'"),
        ({"contracts": "nope"}, "^nope: "),
    ],
)
def test_a_wrong_argument_of_open_is_named(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"tools": [SENT], **options}
    with pytest.raises(ToolplanError, match=words) as caught:
        opened(**given)
    assert caught.value.help


def test_one_label_may_be_a_text() -> None:
    with opened([SENT], effects="send=read") as app:
        assert app.tools["send"].effects is toolplan.Effects.READ


@pytest.mark.parametrize("labels", [["write", "read"], ["read", "write"], ["unknown", "read"]])
def test_two_labels_of_one_tool_are_refused(labels: list[str]) -> None:
    texts = [f"send={label}" for label in labels]
    with pytest.raises(ToolplanError, match="'send' is given"), opened([SENT], effects=texts):
        raise AssertionError
    with opened([SENT], effects=[texts[0], texts[0]]):
        pass


def test_one_decision_may_be_a_text() -> None:
    given = decisions_of("mail", "pay=null", "send:2")
    assert [(slot, each.decision) for slot, each in given.items()] == [
        (("mail", None), "retry"),
        (("send", 2), "abort"),
        (("pay", None), "resolve"),
    ]


@pytest.mark.parametrize(
    "text", ["NaN", "-Infinity", "1e999", '{"x": [1e999]}', '{"x": 1, "x": 2}']
)
def test_a_result_that_json_cannot_keep_resolves_no_call(text: str) -> None:
    with pytest.raises(ToolplanError, match="cannot be read") as caught:
        decisions_of((), f"pay={text}", ())
    assert caught.value.help


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        (None, {}, "question is a value of type NoneType"),
        (3, {}, "question is a value of type int"),
        (QUESTION, {"today": 3}, "today 3 is not a date"),
        (QUESTION, {"concurrency": 3.5}, "concurrency '3.5' is not a valid limit"),
        (QUESTION, {"concurrency": object()}, "is not a valid limit"),
        (QUESTION, {"timeout": "x"}, "timeout 'x' is not a valid time"),
        (QUESTION, {"conversation": 3}, "conversation is a value of type int"),
    ],
)
def test_a_wrong_argument_of_ask_is_named(
    question: object, options: dict[str, Any], words: str
) -> None:
    with opened(demo_tools()) as app, pytest.raises(ToolplanError, match=words) as caught:
        asyncio.run(app.ask(question, **options))  # type: ignore[arg-type]
    assert caught.value.help


def test_a_time_of_day_counts_as_its_date() -> None:
    with opened(demo_tools()) as app:
        asked = asyncio.run(app.plan(QUESTION, today=datetime(2025, 10, 12, 8, 30)))
    assert asked.question.today == TODAY


def test_a_dict_that_is_no_json_is_no_plan() -> None:
    with opened(demo_tools()) as app, pytest.raises(ToolplanError) as caught:
        app.check({"toolplan": 1, "steps": [{"id": "a", "tool": "sql", "args": {"x": {1, 2}}}]})
    assert caught.value.code == "no-plan"


@pytest.mark.parametrize("name", ["plan.json", "my plans/plan 1.yaml", Path("plan.json")])
def test_the_name_of_a_file_is_no_plan(name: Any) -> None:
    with opened([SENT]) as app, pytest.raises(ToolplanError, match="the name of a file") as caught:
        app.check(name)
    assert "read_text" in str(caught.value.help)


def test_what_a_compiler_returns_is_no_plan() -> None:
    compiled: Any = toolplan.compile_plan("{}", tools=[])
    with opened([SENT]) as app, pytest.raises(ToolplanError, match="this is Compiled") as caught:
        app.check(compiled)
    assert "`plan`" in str(caught.value.help)


@pytest.mark.parametrize("work", [3, None, "x"])
def test_only_what_is_awaited_is_waited_for(work: Any) -> None:
    with opened([SENT]) as app, pytest.raises(ToolplanError, match="what is awaited") as caught:
        app.wait(work)
    assert "app.wait(app.ask(" in str(caught.value.help)


def test_only_an_execution_plan_is_approved() -> None:
    for wrong in (None, "x", toolplan.parse("{}").plan):
        with pytest.raises(ToolplanError, match="An ExecutionPlan is approved") as caught:
            toolplan.approve(wrong)  # type: ignore[arg-type]
        assert caught.value.code == "no-plan"


def test_a_text_is_no_toolbox() -> None:
    with pytest.raises(ToolplanError, match="made of tools, not of a text"):
        Toolbox("toolplan_demo:TOOLS")  # type: ignore[arg-type]


def test_every_method_of_a_closed_app_says_so() -> None:
    app = opened(demo_tools())
    plan = app.check(LISTED).needed()
    asyncio.run(app.run(plan))
    app.close()
    for work in (
        lambda: app.ask(QUESTION),
        lambda: app.plan(QUESTION),
        lambda: app.plan(QUESTION, conversation="mine"),
        lambda: app.run(plan),
        lambda: app.run(plan, dry_run=True),
        lambda: app.resume("x"),
    ):
        with pytest.raises(ToolplanError) as caught:
            asyncio.run(work())
        assert caught.value.code == "app-closed"


def test_nothing_is_printed_by_the_library(home: Path) -> None:
    del home
    code = (
        "import toolplan\n"
        "with toolplan.open() as app:\n"
        f"    app.wait(app.ask({QUESTION!r}, today={TODAY!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_without_on_note_sentences_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolplan"), toolplan.open():
        assert "Tools: the demo" in caplog.text


def test_the_help_of_a_missing_approval_names_both_arguments() -> None:
    help_ = toolplan.ApprovalRequired("0" * 64).help
    assert help_ is not None
    assert "approve= of an App" in help_
    assert "approval= of toolplan.run" in help_


def test_an_error_with_its_help_reads_well() -> None:
    assert ToolplanError("c", "A fact.", "Do that.").with_help == "A fact. Do that."
    assert ToolplanError("c", "A fact.").with_help == "A fact."


async def test_files_are_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    for name in ("find", "recordings"):
        original = getattr(Journal, name)

        def reading(
            *args: Any, _name: str = name, _original: Any = original, **options: Any
        ) -> object:
            if threading.current_thread() is threading.main_thread():
                read.append(_name)
            return _original(*args, **options)

        monkeypatch.setattr(Journal, name, reading)
    learned: list[bool] = []

    def learn(*_: object) -> None:
        learned.append(threading.current_thread() is threading.main_thread())

    monkeypatch.setattr(app_module.Kept, "learn", learn)
    async with opened(demo_tools()) as app:
        ended = await app.run(LISTED)
        again = await app.run(LISTED, dry_run=True)
        assert again.succeeded
        assert (await app.resume(ended.run)).succeeded
        assert (await app.ask(QUESTION, today=TODAY)).succeeded
        await app.plan(QUESTION, today=TODAY)
    assert read == []
    assert learned == [False, False, False]


async def test_two_first_runs_at_once_open_one_journal(tmp_path: Path) -> None:
    async with opened(demo_tools(), journal=tmp_path / "runs.sqlite") as app:
        await asyncio.gather(app.run(LISTED), app.run(LISTED))
        assert len(app.runs()) == 2


APP: dict[str, Any] = {
    "plan": App.plan, "ask": App.ask, "check": App.check, "run": App.run, "resume": App.resume,
    "runs": App.runs, "result": App.result, "App": App.__init__,
}  # fmt: skip
BY_THEMSELVES = {  # tests above have wrong values of these
    "self", "plan", "today", "concurrency", "timeout", "tools",
}  # fmt: skip
WRONG: tuple[object, ...] = (-1, 2.5, "", "no such", object(), b"x", [3], [""], {1: {2}}, int)


def test_each_argument_of_an_app_says_what_it_takes() -> None:
    for name, method in APP.items():
        for parameter in inspect.signature(method).parameters:
            assert parameter in KINDS or parameter in BY_THEMSELVES, (name, parameter)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_wrong_value_is_never_taken(name: str) -> None:
    errors: list[ToolplanError] = []
    for value in WRONG:
        try:
            check_arguments(**{name: value})
        except ToolplanError as error:
            errors.append(error)
    assert len(errors) >= 3
    for error in errors:
        assert error.code == "usage"
        assert str(error).startswith(name)
        assert error.help


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ask", {"summary": "nonsense"}),
        ("ask", {"yes": "no"}),
        ("ask", {"approve": "nonsense"}),
        ("run", {"approve": False}),
        ("run", {"approve": True}),
        ("run", {"approve": 3}),
        ("run", {"yes": "false"}),
        ("run", {"dry_run": 0}),
        ("plan", {"on_step": "print"}),
        ("plan", {"tried": "x"}),
        ("resume", {"yes": 1}),
    ],
)
def test_what_would_approve_or_be_skipped_is_refused(
    method: str, options: dict[str, object], home: Path
) -> None:
    del home
    sent: list[object] = []

    @toolplan.tool(effects="write")
    def mail() -> int:
        """Send a mail."""
        sent.append(1)
        return 1

    given: dict[str, object] = {"run": {"toolplan": 1, "steps": [{"id": "a", "tool": "mail"}]}}
    with opened([mail]) as app, pytest.raises(ToolplanError, match=next(iter(options))) as caught:
        asyncio.run(getattr(app, method)(given.get(method, "mail"), **options))
    assert caught.value.code == "usage"
    assert caught.value.help
    assert sent == []


@pytest.mark.parametrize(
    "options",
    [
        {"settings": "no such folder"},
        {"settings": ""},
        {"toolbox": 3},
        {"contracts": 3},
        {"rules": "x"},
        {"on_note": 3},
        {"clock": 3},
        {"new_id": "x"},
    ],
)
def test_a_wrong_option_of_open_is_never_taken(options: dict[str, Any]) -> None:
    with pytest.raises(ToolplanError, match=next(iter(options))) as caught:
        opened([SENT], **options)
    assert caught.value.help


def test_an_error_ends_with_one_full_stop() -> None:
    assert str(ToolplanError("c", "It failed: No more..")) == "It failed: No more."
    assert str(ToolplanError("c", "It failed: and so on...")) == "It failed: and so on..."
    for text in ("One", "One.", "One.."):
        assert sentence(text) == "One."
    assert sentence("One?") == "One?"


async def _hears(_: object) -> None:
    pass


class _Hearing:
    async def __call__(self, _: object) -> None:
        pass


@pytest.mark.parametrize("name", ["on_step", "on_plan", "on_delta", "on_event", "on_note"])
@pytest.mark.parametrize(
    "listener",
    [_hears, partial(_hears), _Hearing(), _Hearing().__call__],
    ids=["function", "partial", "object", "method"],
)
def test_a_listener_that_nothing_would_await_is_refused(name: str, listener: object) -> None:
    with pytest.raises(ToolplanError, match=f"{name} is an async function") as raised:
        check_arguments(**{name: listener})
    assert raised.value.code == "usage"
    assert raised.value.help


def test_an_async_listener_is_refused_before_anything_runs() -> None:
    called: list[str] = []

    @toolplan.tool(effects="read")
    def listed() -> str:
        """List."""
        called.append("listed")
        return "it"

    plan = {"toolplan": 1, "steps": [{"id": "a", "tool": "listed"}]}
    with opened(listed) as app, pytest.raises(ToolplanError, match="on_event is an async function"):
        asyncio.run(app.run(plan, on_event=_hears))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ToolplanError, match="on_note is an async function"):
        opened(listed, on_note=_hears)
    assert called == []
