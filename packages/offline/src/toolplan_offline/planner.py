"""The planner: a question becomes a plan, or a question back that names the ambiguity."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extras import missing
from toolplan.dates import Weeks
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Clarification, Draft, OnText, Proposal, Question, Refusal
from toolplan.planners.context import PlannerContext
from toolplan.planners.conversation import (
    FOLLOW_UP_OF,
    Conversation,
    Pending,
    Turn,
    read_conversation,
)
from toolplan.schema.tool import Tool, Toolbox
from toolplan_offline import explain, written
from toolplan_offline.builder import NOT_COMPUTED, SQL, Builder, Step
from toolplan_offline.deeds import DeedLexicon, Do
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import Meaning, Show
from toolplan_offline.provenance import provenance, said_values
from toolplan_offline.reading import Reader, Reading
from toolplan_offline.schemas import ENGLISH, Schemas
from toolplan_offline.sql import Cannot
from toolplan_offline.words import split
from toolplan_offline.world import World

_RULES: Final = "deeds.txt"


class Caller:
    """Parser for questions that call a single tool with literal values."""

    def __init__(self, tools: Iterable[Tool], reading: Lexicon, weeks: Weeks) -> None:
        """Index the tools that `reading` does not cover."""
        self._lex = DeedLexicon(list(tools), reading)
        self._reader = Reader(self._lex, weeks, _RULES)
        self._words = reading.entries

    def begins(self, question: str) -> bool:
        """Return whether a question begins with the verb of a tool, or with one of destroying."""
        words = [token.low for token in split(question)]
        said = self._words.get(words[0], ()) if words else ()
        names = any(category != "VR" for category, _ in said)  # of a thing, or of things
        destroys = bool(words) and words[0] in ENGLISH.classes["delete"]
        return not names if self._lex.begins(words) else destroys and words[0] not in self._words

    def plan(self, question: Question) -> Proposal:
        """Return the plan of a question that begins with a verb, or a question back."""
        words = [token.low for token in split(question.text)]
        if not self._lex.begins(words):
            return Refusal(f'No tool deletes, as "{words[0]}" demands.')
        return self.read(question)

    def read(self, question: Question) -> Proposal:
        """Return the plan of one call, or a question back."""
        world = World(self._lex)
        reading = self._reader.read(question.text, date.fromisoformat(question.today), world)
        if isinstance(reading, Clarification):
            return reading
        if reading.unknown:
            return explain.unknown_words(reading)
        calls = sorted(reading.meanings("S").items(), key=lambda each: each[1])
        whole = [(call, cost) for call, cost in calls if not self._missing(call)]
        if whole:
            best = [call for call, cost in whole if cost == whole[0][1]]
            plans = tuple(self._plan(question, reading, call) for call in best)
            if len(plans) == 1:
                return written.draft(plans[0])
            options = tuple(explain.called(call.tool, dict(call.args)) for call in best)
            return explain.one_of(options, plans)
        if calls:
            missing = " and ".join(name.replace("_", " ") for name in self._missing(calls[0][0]))
            partial = self._plan(question, reading, calls[0][0])
            return Clarification(f"Please also give the {missing}.", partial_plan=partial)
        return explain.not_together(reading, world, None)

    def _missing(self, call: Do) -> list[str]:
        given, required = dict(call.args), self._lex.entities[call.tool].required
        missing = [name for name in required if name not in given]
        nothing = call.tool in self._lex.updates and len(given) <= len(required)
        return missing or (["value that changes"] if nothing else [])

    def _plan(self, question: Question, reading: Reading, call: Do) -> dict[str, Any]:
        order = list(self._lex.entities[call.tool].fields)
        args = dict(sorted(call.args, key=lambda given: order.index(given[0])))
        step: dict[str, Any] = {"id": "call", "tool": call.tool, **({"args": args} if args else {})}
        said = provenance(question.text, [step], said_values(reading, "S", call))
        return written.plan(question, [step], notes=[*reading.notes], provenance=said)


MAX_CHARACTERS: Final = 2_000
"""Maximum number of characters of a question."""
_PLACES: Final = {"first": 0, "second": 1, "third": 2, "1": 0, "2": 1, "3": 2}
_COUNTED: Final = re.compile(r"(?:the |option |number |no\.? ?|#)*(\d+|[a-z]+)(?: (?:one|option))?")
_UNREADABLE: Final = (TypeError, ValueError, KeyError, AttributeError, StopIteration)


class Way(NamedTuple):
    """A way to read a question as a category of the grammar, and its steps."""

    meaning: Meaning
    steps: list[Step]
    category: str


class OfflinePlanner:
    """Plan without a model: every word of a question is read, or a question is asked back.

    In a conversation, a message may answer the question that was asked back, or change the meaning
    of the question before.
    """

    def __init__(self, *, weeks: Weeks = "rolling") -> None:
        """Create a planner; it remembers only the lexicon of the last toolbox."""
        self._weeks: Weeks = weeks
        self._compiled: tuple[Toolbox, Reader, Caller] | None = None
        self._examples: tuple[Toolbox, tuple[str, ...]] | None = None

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return a draft, a question back, or a refusal; a draft in `attempts` is not repeated."""
        proposal = self.plan(question, tools)
        if not isinstance(proposal, Draft):
            return proposal
        tried = next((each for each in attempts if each.draft.text == proposal.text), None)
        return proposal if tried is None else explain.tried(tried)

    def plan(self, question: Question, tools: Toolbox) -> Proposal:
        """Return the result of `propose` where nothing was tried, without awaiting."""
        if len(question.text) > MAX_CHARACTERS:
            return Clarification(f"Please ask in at most {MAX_CHARACTERS:,} characters.")
        before = read_conversation(question.context)
        chosen = _chosen_plan(before.pending, question.text)
        if chosen is not None:
            metadata = {**chosen.get("metadata", {}), "query": question.text}
            metadata.pop("provenance", None)  # its places are those in another text
            return written.draft({**chosen, "metadata": metadata})
        caller = self._known(tools)[2]
        if caller.begins(question.text):
            return caller.plan(question)
        if (asked := before.pending) and not asked.options and caller.begins(asked.question):
            whole = replace(question, text=f"{asked.question} {question.text}")
            if isinstance(call := caller.plan(whole), Draft):  # the value that was missing
                return call
        proposal = self._planned(question, tools, before)
        if not isinstance(proposal, Draft) and isinstance(call := caller.read(question), Draft):
            return call
        if isinstance(proposal, Clarification) and not proposal.options:
            return replace(proposal, examples=self.examples(tools, question.today))
        return proposal

    def examples(self, tools: Toolbox, today: str) -> tuple[str, ...]:
        """Return up to three questions that there are plans for."""
        if self._examples is None or self._examples[0] is not tools:
            found = explain.example_questions(
                self._known(tools)[1].lex,
                lambda text: isinstance(
                    self._planned(Question(text, today), tools, Conversation()), Draft
                ),
            )
            self._examples = (tools, found)
        return self._examples[1]

    def _known(self, tools: Toolbox) -> tuple[Toolbox, Reader, Caller]:
        if self._compiled is None or self._compiled[0] is not tools:
            lex = Lexicon(Schemas(tools.values()))
            caller = Caller(tools.values(), lex, self._weeks)
            self._compiled = (tools, Reader(lex, self._weeks), caller)
        return self._compiled

    def _planned(self, question: Question, tools: Toolbox, before: Conversation) -> Proposal:
        text = question.text
        if not text.strip():
            return Clarification("What would you like to know?")
        reader, today = self._known(tools)[1], date.fromisoformat(question.today)
        world = World(reader.lex, self._meaning(before.last, tools))
        reading = reader.read(text, today, world)
        if isinstance(reading, Clarification):
            return reading
        if reading.unknown:
            return self._not_understood(question, tools, before, reading)
        ways, reason = self._ways(reading, world, SQL in tools)
        plans = [self._plan(question, reading, way, before.last, reader.lex) for way in ways]
        if len(plans) == 1:
            return written.draft(plans[0])
        if plans:
            said = tuple(explain.described(reader.lex, way.meaning) for way in ways)
            return explain.one_of(said, tuple(plans))
        if reason == NOT_COMPUTED and (help_ := missing(SQL)) is not None:
            raise ToolplanError("missing-extra", f"{NOT_COMPUTED}.", help_)
        return explain.not_together(reading, world, reason)

    def _meaning(self, last: Turn | None, tools: Toolbox) -> Meaning | None:
        """Return the meaning of the question before; None if its plan is not made from it alone."""
        if last is None:
            return None
        known = written.from_json(last.plan.metadata.get(written.FIELD))
        if known is None:
            return None
        try:
            steps = Builder(self._known(tools)[1].lex, computes=SQL in tools).build(known)
        except (Cannot, *_UNREADABLE):
            return None
        steps_then = dump(replace(last.plan, metadata={})) or {}
        return known if steps_then == {"toolplan": 1, "steps": steps} else None

    def _ways(self, reading: Reading, world: World, computes: bool) -> tuple[list[Way], str | None]:
        """Return the cheapest ways to read all words that have different plans; or why none has."""
        edits = {} if world.before is None else reading.meanings("E")
        category, said = ("E", edits) if edits else ("S", reading.meanings("S"))
        found, reason, best = dict[str, Way](), None, None
        for meaning, cost in sorted(said.items(), key=lambda each: each[1]):
            if best is not None and cost > best:
                break
            if isinstance(meaning, Show) and any(s.has_hole for s in meaning.sets):
                reason = reason or "A word refers to something that was not named"
                continue
            try:
                steps = Builder(world.lex, computes=computes).build(meaning)
            except Cannot as error:  # a reading that costs as much or more is not meant instead
                return [], str(error)
            found.setdefault(json.dumps(steps, sort_keys=True), Way(meaning, steps, category))
            best = cost
        return list(found.values()), reason

    def _not_understood(
        self, question: Question, tools: Toolbox, before: Conversation, reading: Reading
    ) -> Proposal:
        """Ask about unknown words; offer the question without slips, if that has a plan."""
        asked = explain.unknown_words(reading)
        better = self._known(tools)[1].corrected(question.text)
        if better is None:
            return asked
        proposal = self._planned(replace(question, text=better), tools, before)
        if not isinstance(proposal, Draft):
            return asked
        return explain.did_you_mean(better, reading, json.loads(proposal.text))

    def _plan(
        self, question: Question, reading: Reading, way: Way, last: Turn | None, lex: Lexicon
    ) -> dict[str, Any]:
        said = said_values(reading, way.category, way.meaning)
        earlier = last.query if way.category == "E" and last is not None else None
        left = ["up to today"] if reading.running and question.today in str(way.steps) else []
        metadata: dict[str, Json] = {
            "notes": [*reading.notes, *left],
            "provenance": provenance(question.text, way.steps, said, earlier),
            written.FIELD: written.to_json(way.meaning),
        }
        if earlier is not None:
            whole = explain.described(lex, way.meaning)
            metadata[FOLLOW_UP_OF] = {"query": earlier, "read_as": whole}
        return written.plan(question, way.steps, **metadata)


def _chosen_plan(pending: Pending | None, reply: str) -> dict[str, Any] | None:
    """Return the plan of the option that `reply` chooses; None where it chooses none."""
    if pending is None or len(pending.plans) != len(pending.options):
        return None
    at = _chosen_option(pending.options, reply)
    plan = None if at is None else pending.plans[at]
    return cast("dict[str, Any]", plan) if isinstance(plan, dict) else None


def _chosen_option(options: tuple[str, ...], reply: str) -> int | None:
    """Return the index of the option that is named: by its text, number, or words of its own."""
    same = [at for at, option in enumerate(options) if _plain(option) == _plain(reply)]
    if same:
        return same[0] if len(same) == 1 else None
    counted = _COUNTED.fullmatch(_plain(reply))
    which = counted[1] if counted else ""
    if which in _PLACES:
        return _PLACES[which] if _PLACES[which] < len(options) else None
    said = set(re.findall(r"\w+", reply.lower())) - ENGLISH.classes["idle"]
    if not said and len(options) == 1 and re.fullmatch(r"\W*(yes|ok|okay)\b.*", reply.lower()):
        return 0
    having = [
        at for at, option in enumerate(options) if said <= {*re.findall(r"\w+", option.lower())}
    ]
    return having[0] if said and len(having) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .!?\"'")


def offline(context: PlannerContext) -> OfflinePlanner:
    """Return the planner for the entry point `offline` of the group `toolplan.planners`."""
    return OfflinePlanner(weeks=context.weeks)
