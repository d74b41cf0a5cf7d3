"""Steps of a dialect, read field by field, whatever the dialect calls them."""

from __future__ import annotations

from toolplan.plan.canonical import (
    IdCheck,
    Report,
    StepFields,
    check_depth,
    free_id,
    is_id,
    read_steps,
)
from toolplan.plan.model import Limits
from toolplan.plan.path import Json, json_type


def read_list(document: Json, title: str, limits: Limits, report: Report) -> list[Json] | None:
    """Return the steps of a plan that is a list, None (and report why) where there are none."""
    if not isinstance(document, list):
        report.error("field-type", f"A plan of {title} is a list, not {json_type(document)}.")
        return None
    return bounded(document, document, limits, report)


def bounded(items: list[Json], document: Json, limits: Limits, report: Report) -> list[Json] | None:
    """Return `items`, the steps of `document`; None where they are too many, or too deep."""
    if read_steps({"steps": items}, limits, report) is None:
        return None
    return items if check_depth(document, limits.depth, report) else None


__all__ = ["IdCheck", "StepFields", "bounded", "free_id", "is_id", "read_list"]
