"""What a step of Arazzo does after its call: retries, and jumps that a plan does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolplan.dialects._arazzo_places import fields_of, listed
from toolplan.path import Json
from toolplan.plan_json import MOST_RETRIES, Report


def retries(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> int:
    """Return how often the call of a step is repeated; report what else `onFailure` says."""
    tries = 0
    for number, each in enumerate(listed(item.get("onFailure"))):
        action, place = fields_of(each), f"{pointer}/onFailure/{number}"
        extra = action.keys() & {"criteria", "stepId", "workflowId", "reference"}
        limit = None if "workflowId" in item else action.get("retryLimit", 1)
        if isinstance(limit, bool) or not isinstance(limit, int):
            limit = 0
        if action.get("type") == "retry" and not extra and 0 < limit <= MOST_RETRIES:
            tries = max(tries, limit)
            if "retryAfter" in action:
                said = "The pauses between the tries of a call are not said by a plan."
                report.warning("noise", said, f"{place}/retryAfter", step)
        elif extra or action.get("type") != "end":
            said = "A plan has no jumps; it repeats a call by 'retry' without criteria alone."
            report.error("cannot-express", said, place, step)
    return tries


def refuse_jumps(
    item: Mapping[str, Json], after: Sequence[Json], pointer: str, step: str, report: Report
) -> None:
    """Report what `onSuccess` says, unless a plan does it anyway: go to the step in `after`."""
    following = fields_of(after[0]).get("stepId") if after else None
    for number, each in enumerate(listed(item.get("onSuccess"))):
        action = fields_of(each)
        goes_on = action.get("type") == "goto" and isinstance(following, str)
        goes_on = goes_on and action.get("stepId") == following
        ends = action.get("type") == "end" and not after
        if action.keys() & {"criteria", "workflowId"} or not (goes_on or ends):
            said = "A plan has no jumps: each step runs after the one before it."
            report.error("cannot-express", said, f"{pointer}/onSuccess/{number}", step)
