"""From an entry of the cache to the draft that is proposed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from toolplan.dialects import DIALECTS
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import dump, load
from toolplan.planners._base import Draft, Question
from toolplan.planners.cache._form import Forms
from toolplan.planners.cache._leaves import Document, without_thoughts
from toolplan.planners.cache._slots import Days, Slot, Value
from toolplan.planners.cache._template import Edit, InDoubt, fitted, lies_ahead
from toolplan.storage.plan_cache import Entry
from toolplan.tools import Toolbox

NAME: Final = "cache"
"""Who is said to have written a draft of which nobody knows who did."""

_Metadata: TypeAlias = dict[str, Json]


def same_again(entry: Entry) -> Draft:
    """Return the draft of `entry` for its own question, noting in its metadata where it is from."""
    document = _document(entry.text) if entry.dialect == "toolplan" else None
    if document is None:
        return Draft(entry.text, entry.dialect, entry.planner or NAME)
    document["metadata"] = {**_metadata(document), "cached_from": _origin(entry, "exact")}
    return Draft(_text(document), entry.dialect, entry.planner or NAME)


def recalled(entry: Entry, question: Question, tools: Toolbox, forms: Forms) -> Draft | None:
    """Return the plan of `entry`, made for other words, as the plan for `question`.

    None in doubt.
    """
    asked = forms.of(question.text, question.today)
    made_for = forms.of(entry.question, entry.today)
    plan = template_source(Draft(entry.text, entry.dialect), tools)
    if plan is None or asked is None or made_for is None:
        return None
    if made_for.skeleton != asked.skeleton:
        return None
    if lies_ahead(asked.slots, question.today):
        return None
    document = dump(plan)
    try:
        edits = fitted(
            document,
            made_for.slots,
            asked.slots,
            days=(entry.today, question.today),
            catalogue=forms.catalogue,
        )
    except InDoubt:
        return None
    if edits:
        without_thoughts(document)
    changed = [
        a for a, b in zip(made_for.slots, asked.slots, strict=True) if a.content != b.content
    ]
    metadata = _retold(_metadata(document), edits, changed, asked.slots)
    document["metadata"] = {
        **metadata,
        "query": question.text,
        "reference_date": question.today,
        "cached_from": _origin(entry, "template"),
    }
    if load(document).plan is None:
        return None
    return Draft(_text(document), planner=entry.planner or NAME)


def template_source(draft: Draft, tools: Toolbox) -> Plan | None:
    """Return the plan of `draft` if it may serve other questions; one with effects may not."""
    dialect = DIALECTS.get(draft.dialect)
    if dialect is None:
        return None
    plan = dialect.parse(draft.text, tools.signatures).plan
    if plan is None or not plan.steps:
        return None
    for step in plan.steps:
        tool = tools.get(tools.alias(step.tool) or step.tool)
        if tool is None or tool.has_effects:
            return None
    return plan


def _retold(
    metadata: _Metadata, edits: Sequence[Edit], changed: Sequence[Slot], asked: Sequence[Slot]
) -> _Metadata:
    """Return the metadata of the other question as far as it also holds for this one."""
    notes = metadata.get("notes")
    kept: list[Json] = [
        note
        for note in (notes if isinstance(notes, list) else [])
        if isinstance(note, str) and not any(_speaks_of(note, slot) for slot in changed)
    ]
    kept.extend(slot.reading for slot in asked if isinstance(slot, Days))
    reasons = metadata.get("provenance")
    lasting: _Metadata = {
        pointer: reason
        for pointer, reason in (reasons.items() if isinstance(reasons, dict) else ())
        if isinstance(reason, Mapping) and "words" not in reason
    }
    for edit in edits:
        place = edit.slot.place
        lasting[edit.leaf.pointer] = {"words": [*place.words], "text": place.text}
    return {**metadata, "notes": [*dict.fromkeys(map(str, kept))], "provenance": lasting}


def _speaks_of(note: str, slot: Slot) -> bool:
    told = note.casefold()
    said = slot.place.text.casefold() in told
    return said or (isinstance(slot, Value) and slot.value.casefold() in told)


def _origin(entry: Entry, by: str) -> Json:
    return {"question": entry.question, "today": entry.today, "by": by}


def _document(text: str) -> Document | None:
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _metadata(document: Document) -> _Metadata:
    found = document.get("metadata")
    return dict(found) if isinstance(found, dict) else {}


def _text(document: Document) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)
