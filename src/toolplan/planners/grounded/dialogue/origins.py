"""The metadata of plans of conversations: what they and their arguments come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.path import Json
from toolplan.plan import Plan, Ref, escape_pointer
from toolplan.plan_json import dump
from toolplan.planners._base import Draft, Question
from toolplan.planners.grounded.catalogue.schemas import Node, as_node, text
from toolplan.planners.grounded.dialogue.exchange import Revised
from toolplan.planners.grounded.dialogue.turns import FOLLOW_UP_OF, Turn

NAME: Final = "dialogue"
_OF_ITS_TURN: Final = frozenset(["created_at", "estimated_duration_ms", "run_with"])
"""Fields of the metadata that belong to one turn."""
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def reasons(plan: Plan) -> dict[tuple[str, str], Json]:
    """Return the provenance of each argument, by its step's id and its name."""
    provenance = plan.metadata.get("provenance")
    if not isinstance(provenance, dict):
        return {}
    return {
        (step.id, name): provenance[pointer]
        for at, step in enumerate(plan.steps)
        for name in step.args
        if (pointer := f"/steps/{at}/args/{escape_pointer(name)}") in provenance
    }


def words_of(plan: Plan, step: str, argument: str) -> str | None:
    """Return the words that an argument of `plan` came from, or None."""
    reason = reasons(plan).get((step, argument))
    text = reason.get("text") if isinstance(reason, dict) else None
    return text.strip(" .?!,") if isinstance(text, str) else None


def metadata(question: Question, turn: Turn, revised: Revised) -> dict[str, Json]:
    """Return the metadata of the plan that `question` made of the plan of `turn`."""
    plan = revised.plan
    old = {k: v for k, v in turn.plan.metadata.items() if k not in _OF_ITS_TURN}
    made = {} if revised.source is None else dict(plan.metadata)
    notes: list[Json] = [*_notes(question, turn, revised)]
    provenance: dict[str, Json] = {}
    before = reasons(plan) if revised.source is not None else reasons(turn.plan)
    for at, step in enumerate(plan.steps):
        for name, value in step.args.items():
            reason: Json = _reason(revised.said.get((step.id, name)), before.get((step.id, name)))
            if isinstance(value, Ref):
                reason = {"ref": value.step}
            if reason is not None:
                provenance[f"/steps/{at}/args/{escape_pointer(name)}"] = reason
    return {
        **(made or old),
        "query": question.text,
        "reference_date": question.today,
        "planner": NAME if revised.source is None else _maker(made, revised.source),
        FOLLOW_UP_OF: {"query": turn.query, "read_as": revised.whole},
        "notes": notes,
        "provenance": provenance,
    }


def relabelled(written: str, said: str, follows: str, whole: str) -> str | None:
    """Return the text of a draft for `whole` as that for `said`, which follows `follows`.

    None where it is not in canonical JSON.
    """
    try:
        document: Json = json.loads(written)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    old = document.get("metadata")
    own: Mapping[str, Json] = old if isinstance(old, dict) else {}
    if FOLLOW_UP_OF not in own:
        own = {**own, FOLLOW_UP_OF: {"query": follows, "read_as": whole}}
    changed = {**document, "metadata": {**own, "query": said}}
    return json.dumps(changed, ensure_ascii=False, indent=2)


def is_of_dialogue(draft: Draft) -> bool:
    """Return whether `draft` is that of a follow-up, which no other planner made."""
    return FOLLOW_UP_OF in _metadata_of(draft)


def read_as(draft: Draft) -> str | None:
    """Return the whole question that the draft of a follow-up answers, or None."""
    return text(as_node(_metadata_of(draft).get(FOLLOW_UP_OF)).get("read_as"))


def _metadata_of(draft: Draft) -> Node:
    try:
        document: Json = json.loads(draft.text) if draft.dialect == "toolplan" else None
    except ValueError:
        document = None
    return as_node(as_node(document).get("metadata"))


def _maker(made: Mapping[str, Json], draft: Draft) -> Json:
    return draft.planner or made.get("planner", "")


def _reason(said: str | None, before: Json) -> Json:
    if said is not None:
        return {"text": said}
    if isinstance(before, dict) and isinstance(text := before.get("text"), str):
        return {"text": text}
    return before


def _notes(question: Question, turn: Turn, revised: Revised) -> Iterator[str]:
    """Yield the old notes that still apply, and the new ones."""
    plan = revised.plan if revised.source is not None else turn.plan
    kept = plan.metadata.get("notes")
    there = set(_DAY.findall(json.dumps(dump(Plan(revised.plan.steps)))))
    gone = _gone(turn.plan, revised.plan) if revised.source is None else frozenset[str]()
    for note in kept if isinstance(kept, list) else []:
        # "last week = ..." applies as long as its days are there; other notes were of one turn
        days = set(_DAY.findall(str(note)))
        applies = not days or not days.isdisjoint(there)
        if (
            isinstance(note, str)
            and " = " in note
            and note.partition(" = ")[0] not in gone
            and applies
        ):
            yield note
    yield from revised.notes
    day = turn.plan.metadata.get("reference_date")
    earlier = isinstance(day, str) and day != question.today and revised.source is None
    if earlier and there:
        yield f"earlier dates were resolved on {day}"


def _gone(before: Plan, after: Plan) -> frozenset[str]:
    """Return the words of the arguments that are changed or missing in `after`."""
    now = {(step.id, name): value for step in after.steps for name, value in step.args.items()}
    return frozenset(
        text
        for step in before.steps
        for name, value in step.args.items()
        if now.get((step.id, name)) != value
        and (text := words_of(before, step.id, name)) is not None
    )
