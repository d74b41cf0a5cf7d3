"""How the tests talk: each message with the context that memory recalls of the ones before."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict

from tests.planners.planned import TODAY, demo
from toolplan.compiler import compile_plan
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, GroundedPlanner, Planner, Proposal, Question
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dialogue import DialoguePlanner, episode_of
from toolplan.storage.memory import Memory, SqliteMemory
from toolplan.tools import Toolbox


class Asked(TypedDict):
    """What is asked back: the options, in order."""

    options: list[str]


class Exchanged(TypedDict):
    """A message, with the steps of the plan that is expected, or what is asked back."""

    ask: str
    steps: NotRequired[list[Json]]
    clarification: NotRequired[Asked]


class Dialogue(TypedDict):
    """A conversation."""

    name: str
    turns: list[Exchanged]


DIALOGUES: list[Dialogue] = json.loads(
    (Path(__file__).parent / "dialogues.json").read_text(encoding="utf-8")
)


_PLANNER = DialoguePlanner(GroundedPlanner())


@cache
def _words() -> Catalogue:
    return compile_catalogue(demo())


class Talk:
    """One conversation with the demo's tools."""

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        session: str = "s",
        planner: Planner | None = None,
        tools: Toolbox | None = None,
        today: str = TODAY,
    ) -> None:
        self.memory = SqliteMemory() if memory is None else memory
        self.session = session
        self.planner = _PLANNER if planner is None else planner
        self.tools = demo() if tools is None else tools
        self.words = _words() if tools is None else compile_catalogue(tools)
        self.today = today

    def say(self, text: str) -> Proposal:
        """Ask `text`, and remember what came of it."""
        recalled = self.memory.recall(self.session, text)
        question = Question(text, self.today, recalled)
        proposal = asyncio.run(self.planner.propose(question, self.tools, ()))
        episode = episode_of(question, proposal, self.words, timestamp=f"{self.today}T06:00:00Z")
        self.memory.remember(self.session, episode)
        return proposal

    def document(self, text: str) -> dict[str, Json]:
        """Return the draft for `text` as JSON; it must pass the check."""
        proposal = self.say(text)
        assert isinstance(proposal, Draft), (text, proposal)
        compiled = compile_plan(proposal.text, tools=self.tools)
        assert compiled.plan is not None, [each.message for each in compiled.diagnostics]
        return json.loads(proposal.text)

    def steps(self, text: str) -> Json:
        """Return the steps of the draft for `text`."""
        return self.document(text)["steps"]

    def asked_back(self, text: str) -> Clarification:
        """Return what is asked back on `text`."""
        proposal = self.say(text)
        assert isinstance(proposal, Clarification), (text, proposal)
        return proposal


def calls(steps: Json) -> list[tuple[Json, Json]]:
    """Return tool and arguments of each step."""
    assert isinstance(steps, list)
    return [(step["tool"], step.get("args", {})) for step in steps if isinstance(step, dict)]
