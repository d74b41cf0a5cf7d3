"""Tools that come late, while calls of a server ask for them side by side."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toolplan
from toolplan import App, Toolbox
from toolplan.app.setup import User
from toolplan.planners import Refusal
from toolplan.tools import OpenedTools, SourceContext, named


class Nothing:
    """A planner that plans nothing."""

    async def propose(self, *_: object, **__: object) -> Refusal:
        return Refusal("no")


def tools(*names: str) -> Toolbox:
    listed: list[Any] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return Toolbox.from_json(listed)


def test_an_older_answer_never_takes_away_the_tools_of_a_later_one() -> None:
    slow, entered = threading.Event(), threading.Event()
    answers = [(tools("a", "b"), ()), (tools("a", "b", "c"), ())]

    def late() -> tuple[Toolbox, tuple[str, ...]] | None:
        if not answers:
            return None
        found = answers.pop(0)
        if len(answers) == 1:
            entered.set()
            slow.wait(5)
        return found

    app = App(tools("a"), Nothing(), user=User(late=late))
    workers = app.workers
    first = threading.Thread(target=app.refresh)
    first.start()
    assert entered.wait(5)
    second = threading.Thread(target=app.refresh)
    second.start()
    slow.set()
    first.join()
    second.join()
    assert sorted(app.tools) == ["a", "b", "c"]
    assert app.workers is not workers


class Slow:
    """A source with tools that come late, which does not say beforehand that they have come."""

    takes_base_url = False
    help = ""

    def recognises(self, spec: str, folder: Path) -> bool:
        return spec == "slow"

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        yield OpenedTools(tools("a"), late=lambda: OpenedTools(tools("a", "b")))


def test_a_source_that_does_not_say_whether_it_has_news_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "SOURCES", {"slow": Slow()})
    with toolplan.open("slow", grace=0.0) as app:
        assert "b" not in app.tools
        assert app.has_news
        app.refresh()
        assert "b" in app.tools


def test_tools_that_cannot_come_late_are_never_news() -> None:
    with toolplan.open(tools("a")) as app:
        assert not app.has_news
