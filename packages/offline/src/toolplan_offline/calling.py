"""Plans of single calls: of a tool that changes something, or of one that is no list."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, Final

from toolplan.dates import Weeks
from toolplan.planners import Clarification, Proposal, Question, Refusal
from toolplan.schema.tool import Tool
from toolplan_offline import explain, written
from toolplan_offline.deeds import DeedLexicon, Do
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.provenance import provenance, said_values
from toolplan_offline.reading import Reader, Reading
from toolplan_offline.schemas import ENGLISH
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
