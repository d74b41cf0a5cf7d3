"""The fields of a plan and of its steps: what the canonical form and others have in common."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from toolplan.path import Json, copied
from toolplan.plan import RESERVED_IDS, Limits, Literal, Value
from toolplan.plan_json._references import OPENING, STEP_ID
from toolplan.plan_json._report import Report, shown
from toolplan.plan_json._values import ValueReader

_NUMBERS: Final = (int, float)


def read_steps(document: Mapping[str, Json], limits: Limits, report: Report) -> list[Json] | None:
    """Return the list of steps, or None (and report why) where there is none that can be read."""
    if "steps" not in document:
        report.error("missing-field", "The plan has no 'steps'.", "/steps")
        return None
    items = document["steps"]
    if not isinstance(items, list):
        report.wrong_type("steps", items, "a list", "/steps")
        return None
    if not items:
        report.error("empty-plan", "The plan has no step.", "/steps")
    if len(items) > limits.steps:
        report.error(
            "too-many-steps",
            f"The plan has {len(items)} steps; {limits.steps} are allowed.",
            "/steps",
        )
        return None
    return items


def read_metadata(document: Mapping[str, Json], report: Report) -> dict[str, Json]:
    """Return the plan's metadata, none where there is none that can be read."""
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        report.wrong_type("metadata", metadata, "an object", "/metadata")
        return {}
    copy = copied(metadata)
    return copy if isinstance(copy, dict) else {}


def read_tool(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> str:
    """Return the name of the step's tool, "" where there is none."""
    tool = item.get("tool")
    if isinstance(tool, str) and tool:
        return tool
    if "tool" not in item:
        report.error("missing-field", "The step has no 'tool'.", f"{pointer}/tool", step)
    elif tool == "":
        report.error("field-type", "'tool' is empty.", f"{pointer}/tool", step)
    else:
        report.wrong_type("tool", tool, "the name of a tool", f"{pointer}/tool", step)
    return ""


def read_args(
    args: Json, name: str, pointer: str, step: str, reader: ValueReader
) -> dict[str, Value]:
    """Return the arguments, which the dialect calls `name`; they are at `pointer` canonically."""
    if not isinstance(args, dict):
        reader.report.wrong_type(name, args, "an object", pointer, step)
        return {}
    return {
        # most values are plain text or numbers: that they need no call to read is worth a line here
        key: Literal(value)
        if (OPENING not in value if isinstance(value, str) else isinstance(value, _NUMBERS))
        else reader.member(value, pointer, key, step)
        for key, value in args.items()
    }


def check_ids(ids: list[str], report: Report) -> None:
    """Report every id that is bad, taken, or easily confused with another."""
    are_good = all(map(STEP_ID.fullmatch, ids)) and RESERVED_IDS.isdisjoint(ids)
    if are_good and len({name.lower() for name in ids}) == len(ids):
        return  # nearly always
    first: dict[str, int] = {}
    alike: dict[str, str] = {}
    for at, name in enumerate(ids):
        pointer = f"/steps/{at}/id"
        if name in first:
            report.error(
                "duplicate-id",
                f"The id {shown(name)} is taken by step {first[name]}.",
                pointer,
                name,
                "Every step needs an id of its own.",
            )
            continue
        first[name] = at
        _check_id(name, pointer, report)
        folded = name.lower() if name.isascii() else _folded(name)
        other = alike.setdefault(folded, name)
        if other != name:
            report.warning(
                "confusable-id",
                f"The id {shown(name)} looks like {shown(other)}.",
                pointer,
                name,
                "Give one of them another name.",
            )


def _check_id(name: str, pointer: str, report: Report) -> None:
    if name in RESERVED_IDS:
        report.error(
            "bad-id",
            f"The id {name!r} is reserved.",
            pointer,
            name,
            "Inside a step with 'for_each' it names the item or its index.",
        )
    elif not STEP_ID.fullmatch(name):
        report.error(
            "bad-id",
            f"{shown(name)} is not an id of a step.",
            pointer,
            name,
            "An id has 1 to 64 of A-Z, a-z, 0-9, '_' and '-', and does not begin with '-'.",
        )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name[:200]).casefold())
