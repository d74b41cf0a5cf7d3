"""A step of Arazzo: which tool its operation is, and what follows its call.

Retries are those of a plan; jumps are what a plan does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from toolplan.dialects import form
from toolplan.path import Json
from toolplan.plan_json import MOST_RETRIES, Report, shown
from toolplan_openapi.arazzo._document import fields_of, listed

_OPERATION = re.compile(r"(?:\$sourceDescriptions\.[\w-]+\.)?(?P<name>[^\s${}]+)")
_PATH = re.compile(r"\{\$sourceDescriptions\.[\w-]+\.url\}#/paths/(?P<path>[^/]*)/(?P<method>\w+)")
_FORM: Final = (
    "'operationPath' names a source, a path and a method:"
    " '{$sourceDescriptions.NAME.url}#/paths/~1books~1{id}/get'."
)
UNSAYABLE: Final[Mapping[str, str]] = {
    "channelPath": "A plan has no channels of messages.",
    "action": "A plan has no channels of messages.",
    "correlationId": "A plan has no channels of messages.",
}
"""Fields of a step that no plan has, and why."""


class Document(Protocol):
    """What is read: the document, the tools that are known, and where problems go."""

    root: Mapping[str, Json]
    signatures: form.Signatures | None
    report: Report


def named(operation: Json, document: Document) -> str | None:
    """Return the name of the tool with the `operationId` that a step states; None for no text.

    Behind the name of a source, also without `$sourceDescriptions`, it is the id in that source.
    """
    found = _OPERATION.fullmatch(operation) if isinstance(operation, str) else None
    if found is None:
        return None
    name, known = found["name"], document.signatures
    source, _, rest = name.partition(".")
    sources = [
        fields_of(each).get("name") for each in listed(document.root.get("sourceDescriptions"))
    ]
    if rest and source in sources and (known is None or name not in known):
        return rest
    return name


def tool_of(item: Mapping[str, Json], place: str, step: str, document: Document) -> str:
    """Return the name of a step's tool, empty where it has none, and report what is wrong."""
    report = document.report
    by_id, by_path = item.get("operationId"), item.get("operationPath")
    tool = named(by_id, document)
    if tool is not None:
        return tool
    if isinstance(by_path, str):
        found = _PATH.fullmatch(by_path)
        if found is None:
            said = f"The operation {shown(by_path)} cannot be read."
            report.error("field-type", said, place, step, _FORM)
            return ""
        path = found["path"].replace("~1", "/").replace("~0", "~")
        tool = re.sub(r"[^A-Za-z0-9_.-]+", "_", found["method"] + path).strip("_")
        if not tool or (document.signatures is not None and tool not in document.signatures):
            said = f"There is no tool for the operation {shown(by_path)}."
            report.error("unknown-tool", said, place, step, "Name it by its 'operationId'.")
        return tool
    if by_id is None and by_path is None:
        if not any(item.get(each) for each in UNSAYABLE):
            report.error("missing-field", "No 'operationId' is given.", place, step)
    else:
        report.error("field-type", "The operation cannot be read.", place, step)
    return ""


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
