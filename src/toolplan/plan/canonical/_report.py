"""What was read of a text, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from toolplan.plan.diagnostics import Diagnostic, Severity, did_you_mean, near
from toolplan.plan.model import Plan, escape_pointer
from toolplan.plan.path import Json, json_type

_MOST_DIAGNOSTICS: Final = 1_000
_LONGEST_POINTERS: Final = 4_000_000

_OTHER_NAMES: Final = {
    other: name
    for name, others in {
        "args": "params parameters arguments input inputs",
        "tool": "name tool_name toolName function action",
        "after": "depends_on dependsOn dependencies",
        "for_each": "foreach map",
        "when": "condition if",
        "timeout_s": "timeout",
        "retries": "max_retries",
        "thought": "reason description",
        "toolplan": "version",
    }.items()
    for other in others.split()
}
"""What other plan languages call our fields: an offer, never read as the field."""


class Parsed(NamedTuple):
    """What was read of a text: as much of the plan as could be, and all that is wrong with it."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...] = ()


class Report:
    """Collects diagnostics while a plan is read.

    What is kept is bounded, for errors and warnings apart, so that a hostile text cannot fill the
    memory with complaints and no number of warnings hides an error.
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._room = dict.fromkeys(Severity, _MOST_DIAGNOSTICS)
        self._characters = _LONGEST_POINTERS

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that was kept, in the order in which it was found."""
        return tuple(self._found)

    def is_full(self, severity: Severity = Severity.ERROR) -> bool:
        """Return whether nothing more of `severity` is kept."""
        if severity is Severity.ERROR and self._room[severity] == _MOST_DIAGNOSTICS:
            return False  # one error at least, whatever it costs
        return self._room[severity] < 1 or self._characters < 0

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep `diagnostic`, where there is room."""
        if not self.is_full(diagnostic.severity):
            self._room[diagnostic.severity] -= 1
            self._characters -= len(diagnostic.pointer)
            self._found.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        pointer: str = "",
        step: str | None = None,
        help: str | None = None,
    ) -> None:
        """Keep an error."""
        self.add(Diagnostic(code, Severity.ERROR, message, step, pointer, help))

    def warning(
        self,
        code: str,
        message: str,
        pointer: str = "",
        step: str | None = None,
        help: str | None = None,
    ) -> None:
        """Keep a warning."""
        self.add(Diagnostic(code, Severity.WARNING, message, step, pointer, help))

    def unknown_fields(
        self,
        item: Mapping[str, Json],
        known: Sequence[str],
        pointer: str,
        step: str | None = None,
        other_names: Mapping[str, str] | None = None,
    ) -> None:
        """Report every field of `item` that is not `known`, each with what may have been meant.

        `other_names` are what other plan languages call the fields.
        """
        for name in item:
            if name in known:
                continue
            if self.is_full():
                return
            other = (_OTHER_NAMES if other_names is None else other_names).get(name, "")
            offers = [other] if other in known else near(name, known) if len(name) < 100 else []
            self.error(
                "unknown-field",
                f"There is no field {shown(name)}.",
                f"{pointer}/{escape_pointer(name)}",
                step,
                did_you_mean(offers) or f"The fields are {', '.join(known)}.",
            )

    def wrong_type(
        self, name: str, value: Json, wanted: str, pointer: str, step: str | None = None
    ) -> None:
        """Report that the field `name` at `pointer` holds no `wanted`."""
        self.error("field-type", f"{name!r} is {json_type(value)}, not {wanted}.", pointer, step)


def shown(text: str) -> str:
    """Return `text` in quotes, shortened where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "…")
