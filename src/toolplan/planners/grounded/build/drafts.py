"""A plan while it is being made: steps with readable names, and the reason for each argument."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from toolplan.path import EVERY, Json, Path
from toolplan.plan import ITEM, RESERVED_IDS, Plan, Ref, Step, Value, escape_pointer
from toolplan.planners.grounded.catalogue.kinds import ToolCard
from toolplan.planners.grounded.catalogue.schemas import Rows, Shape
from toolplan.planners.grounded.parse.mentions import Mention

_LONGEST_ID: Final = 48


class Source(Struct, frozen=True):
    """Rows in the output of a step: `list_path` leads to the list of them, or to the one record."""

    step: str
    entity: str
    list_path: Path
    many: bool
    columns: Mapping[str, Shape]

    def rows(self) -> Ref:
        """Refer to all rows, or to the one record."""
        return Ref(self.step, self.list_path)

    def column(self, name: str) -> Ref:
        """Refer to `name` of each row, or of the one record."""
        within = () if not self.many or self.list_path[-1:] == (EVERY,) else (EVERY,)
        return Ref(self.step, (*self.list_path, *within, name))


class Argument(Struct):
    """The value of an argument, and why it is that: JSON as it will stand in the provenance."""

    value: Value
    reason: Json


class DraftPlan(Struct):
    """Steps so far, in an order in which they can be read."""

    question: str
    steps: list[Step] = field(default_factory=list[Step])
    reasons: dict[str, dict[str, Json]] = field(default_factory=dict[str, "dict[str, Json]"])
    notes: list[str] = field(default_factory=list[str])
    accounted: set[Mention] = field(default_factory=set[Mention])
    """what the steps were made of"""

    def account(self, mentions: Iterable[Mention | None]) -> None:
        """Note that a step was made of `mentions`."""
        self.accounted.update(mention for mention in mentions if mention is not None)

    def add(
        self,
        name: str,
        tool: str,
        arguments: Mapping[str, Argument],
        *,
        for_each: Value | None = None,
    ) -> str:
        """Add a call and return its step's id; a repeated call gets the id of the first."""
        args = {key: argument.value for key, argument in arguments.items()}
        for step in self.steps:
            if step.tool == tool and dict(step.args) == args and step.for_each == for_each:
                return step.id
        identity = self._free(name)
        self.steps.append(Step(identity, tool, args, for_each=for_each))
        self.reasons[identity] = {key: each.reason for key, each in arguments.items()}
        return identity

    def note(self, text: str | None) -> None:
        """Keep `text` for the reader, once."""
        if text and text not in self.notes:
            self.notes.append(text)

    def words(self, mentions: Iterable[Mention]) -> Json:
        """Return the provenance of what `mentions` said."""
        found = list(mentions)
        self.account(found)
        if not found:
            return {"default": "schema"}
        first = min(mention.words[0] for mention in found)
        last = max(mention.words[1] for mention in found)
        said = self.question.split()[first : last + 1]
        return {"words": [first, last], "text": " ".join(said)}

    def plan(self, metadata: Mapping[str, Json]) -> Plan:
        """Return the plan, with the provenance of every argument in its metadata."""
        provenance: dict[str, Json] = {}
        for at, step in enumerate(self.steps):
            for name, reason in self.reasons[step.id].items():
                provenance[f"/steps/{at}/args/{escape_pointer(name)}"] = reason
            if step.for_each is not None and isinstance(step.for_each, Ref):
                provenance[f"/steps/{at}/for_each"] = {"ref": step.for_each.step}
        notes: list[Json] = [*self.notes]
        return Plan(
            tuple(self.steps), metadata={**metadata, "notes": notes, "provenance": provenance}
        )

    def _free(self, name: str) -> str:
        wanted = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").lower()[:_LONGEST_ID] or "step"
        taken = {step.id for step in self.steps} | RESERVED_IDS
        if wanted not in taken:
            return wanted
        return next(
            f"{wanted}_{n}" for n in range(2, len(taken) + 3) if f"{wanted}_{n}" not in taken
        )


class Outcome(Struct):
    """Steps, and what stands in the way of calling them a plan.

    `unexplained` are mentions that were not understood; `reasons` say in words what could not be
    done; `missing` are arguments that a tool requires and no word gives; `options` are questions
    that could be meant.
    """

    draft: DraftPlan
    unexplained: list[Mention] = field(default_factory=list[Mention])
    reasons: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    options: list[str] = field(default_factory=list[str])
    refusal: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every word was understood, and there is a step."""
        return bool(self.draft.steps) and not (self.unexplained or self.reasons or self.missing)

    @property
    def cost(self) -> tuple[int, int]:
        """How much stands in the way: letters that were not understood, then other reasons."""
        letters = sum(len(m.text) for m in dict.fromkeys(self.unexplained))
        return (letters, len(self.reasons) + len(self.missing) + (not self.draft.steps))

    def reject(self, mentions: Iterable[Mention], reason: str | None = None) -> None:
        """Mark `mentions` as unexplained, for `reason`."""
        self.unexplained.extend(mentions)
        if reason is not None and reason not in self.reasons:
            self.reasons.append(reason)


def source_of(step: str, entity: str, rows: Rows, repeated: bool) -> Source:
    """Return where the rows of `step` are; `repeated` says that it runs once for each item."""
    if not repeated:
        return Source(step, entity, rows.list_path, rows.many, rows.columns)
    inner: Path = (EVERY, *rows.list_path, EVERY) if rows.many else (EVERY, *rows.list_path)
    # a path through every output is one flat list; without a list inside it ends in a record
    return Source(step, entity, inner, True, rows.columns)


def item() -> Value:
    """Refer to the item of the list that a step runs for."""
    return Ref(ITEM)


def ordered(card: ToolCard, arguments: Mapping[str, Argument]) -> dict[str, Argument]:
    """Return `arguments` in the order in which the tool declares them."""
    return {name: arguments[name] for name in card.arguments if name in arguments}
