"""What is shown while a model writes, and what was refused of its plans."""

import io
import json
import re

import pytest

from tests.cli.calls import Call
from tests.doubles.model_server import ScriptedModelServer
from toolplan.cli.terminal import Thinking, note, thinking_shown, thinking_text
from toolplan.providers import ModelCall, UsageTracker

QUESTION = "Get frobnicated facilities"
GOOD = json.dumps({"toolplan": 1, "steps": [{"id": "f", "tool": "facilities_list", "args": {}}]})
BAD = GOOD.replace("facilities_list", "zebra").replace('"args": {}', '"args": {}, "after": ["x"]')


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("characters", "now", "text"),
    [
        (0, 10.0, "m thinks: 0 s"),
        (2, 13.4, "m thinks: 3 s, about 1 tokens"),
        (8_000, 72.0, "m thinks: 62 s, about 2,000 tokens"),
    ],
)
def test_the_line_has_seconds_and_tokens(characters: int, now: float, text: str) -> None:
    assert thinking_text(ModelCall("m", 10.0, characters), now) == text


def test_the_line_is_drawn_and_cleared() -> None:
    """A13: no blank terminal while a model writes."""
    tracker, terminal, times, hidden = UsageTracker(), Terminal(), [0.0], [False]
    line = Thinking(tracker, terminal, lambda: hidden[0], lambda: times[0])
    line.draw()
    assert terminal.getvalue() == ""
    tracker.call = ModelCall("model\x1b[2J", 0.0)
    line.draw()
    assert terminal.getvalue() == ""  # a quick reply draws nothing
    times[0] = 2.0
    assert tracker.call is not None
    tracker.call.characters += len("x" * 400)
    line.draw()
    assert "thinks: 2 s, about 100 tokens" in terminal.getvalue()
    assert "\x1b[2J" not in terminal.getvalue()
    line.make_way()
    assert terminal.getvalue().endswith("\r\x1b[K")
    at = len(terminal.getvalue())
    line.draw()
    assert len(terminal.getvalue()) == at  # what is printed comes first
    times[0] = 3.0
    line.draw()
    assert "3 s" in terminal.getvalue()[at:]
    hidden[0] = True
    line.draw()
    tracker.ended()
    line.draw()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_note_clears_the_line_first(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    tracker = UsageTracker()
    with thinking_shown(tracker, silent=False):
        tracker.call = ModelCall("m", -100.0)
        while "thinks" not in terminal.getvalue():
            pass
        note("A sentence.")
    text = terminal.getvalue()
    assert re.search(r"\r\x1b\[K\x1b\[2mA sentence\.|\r\x1b\[KA sentence\.", text)
    assert not tracker.usage.calls


def test_nothing_is_drawn_where_there_is_no_terminal(call: Call) -> None:
    with ScriptedModelServer(GOOD) as server:
        said = call("plan", QUESTION, "--model", server.spec)
    assert "thinks" not in said.err


def test_what_was_refused_of_a_plan_is_shown(call: Call) -> None:
    """A13: the reasons, short, and that the model is asked again."""
    with ScriptedModelServer([BAD, GOOD]) as server:
        said = call("ask", QUESTION, "--model", server.spec)
        other = call("plan", "Get frobnicated sites", "--model", server.spec, "--json")
    assert said.code == other.code == 0, said.err
    assert "is refused, and it is asked again. unknown-tool: There is no tool 'zebra'" in said.err
    assert said.err.count("is refused") == 1
    assert "is refused" not in other.err


def test_the_last_refusal_is_the_result(call: Call) -> None:
    with ScriptedModelServer([BAD, BAD, BAD]) as server:
        said = call("ask", QUESTION, "--model", server.spec)
    assert said.code == 1
    assert said.err.count("is refused, and it is asked again") == 1
    assert f"error[llm-no-progress] {server.spec} repeated a plan that was refused" in said.err
    assert said.err.count("There is no tool 'zebra'") == 2
