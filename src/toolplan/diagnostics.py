"""What is wrong with a plan, as values.

A diagnostic describes the plan as it was written. Where a fix mended it, it keeps its code and its
severity and says `fixed`. How diagnostics look is a matter of `toolplan.render`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolplan.path import Json


class Severity(StrEnum):
    """An error keeps a plan from running; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Removed(StrEnum):
    """The new value of an `Edit` that takes something away."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED


@dataclass(frozen=True, slots=True)
class Edit:
    """A JSON pointer into the canonical plan, with the value that shall stand there."""

    pointer: str
    value: Json | Removed


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend one problem.

    `safe` means that the plan that is left says what its writer surely meant; only safe fixes are
    applied without asking.
    """

    safe: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: `code` names its kind, `pointer` its place in the canonical plan.

    `step` is the id of the step, where the problem is in one. `help` is the way out.
    """

    code: str
    severity: Severity
    message: str
    step: str | None = None
    pointer: str = ""
    help: str | None = None
    fix: Fix | None = None
    fixed: bool = False

    @property
    def blocks(self) -> bool:
        """Whether this keeps the plan from running."""
        return self.severity is Severity.ERROR and not self.fixed


class PlanError(Exception):
    """A plan that was taken to be good is not; `diagnostics` say why."""

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class CannotExpress(PlanError):
    """A dialect has no way to say a plan; each diagnostic names one thing that it cannot say."""


def to_json(diagnostic: Diagnostic) -> dict[str, Json]:
    """Return the wire form of `diagnostic`."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "step": diagnostic.step,
        "pointer": diagnostic.pointer,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "fix": None if diagnostic.fix is None else _fix_to_json(diagnostic.fix),
        "fixed": diagnostic.fixed,
    }


def near(name: str, names: Iterable[str], *, most: int = 3) -> list[str]:
    """Return those of `names` that a person may have meant by `name`, the nearest first.

    Letter case, hyphens, underscores and spaces do not count as differences.
    """
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(_folded(candidate), []).append(candidate)
    close = difflib.get_close_matches(_folded(name), folded, n=most, cutoff=0.75)
    return [candidate for key in close for candidate in folded[key]][:most]


def did_you_mean(names: Iterable[str]) -> str | None:
    """Return the question that offers `names`, or None where there is nothing to offer.

    >>> did_you_mean(["shipments_list", "facilities_list"])
    "Did you mean 'shipments_list' or 'facilities_list'?"
    """
    quoted = [repr(name) for name in names]
    if not quoted:
        return None
    if len(quoted) == 1:
        return f"Did you mean {quoted[0]}?"
    return f"Did you mean {', '.join(quoted[:-1])} or {quoted[-1]}?"


def _folded(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _fix_to_json(fix: Fix) -> Json:
    return {"safe": fix.safe, "edits": [_edit_to_json(edit) for edit in fix.edits]}


def _edit_to_json(edit: Edit) -> Json:
    if isinstance(edit.value, Removed):
        return {"pointer": edit.pointer, "remove": True}
    return {"pointer": edit.pointer, "value": edit.value}
