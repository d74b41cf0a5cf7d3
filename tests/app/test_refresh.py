"""Tools that come late, while calls of a server ask for them side by side."""

import threading
from typing import Any

from toolplan import App, Toolbox
from toolplan.app._setup import User
from toolplan.planners import Refusal


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
