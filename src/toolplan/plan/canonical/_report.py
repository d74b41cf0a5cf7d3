"""What was read of a text and what is wrong with it: reports, and steps read field by field."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from toolplan.plan.canonical._values import STEP_ID, Syntax
from toolplan.plan.diagnostics import Diagnostic, Severity, did_you_mean, near
from toolplan.plan.model import RESERVED_IDS, Limits, Plan, Value, escape_pointer
from toolplan.plan.path import Json, copied, json_type

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
        many = f"The plan has {len(items)} steps; {limits.steps} are allowed."
        report.error("too-many-steps", many, "/steps")
        return None
    return items


def read_metadata(document: Mapping[str, Json], report: Report) -> dict[str, Json]:
    """Return the plan's metadata, none where there is none that can be read."""
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        report.wrong_type("metadata", metadata, "an object", "/metadata")
        return {}
    return {key: copied(value) for key, value in metadata.items()}


class StepFields:
    """One step as it is written; what is wrong with it is reported as it is read.

    `pointer` and `step` are the canonical ones. Two spellings of one field are an error; with
    `first_counts` the first one that has a value counts, and the others are reported as noise.
    """

    def __init__(
        self, item: Json, pointer: str, step: str, report: Report, *, first_counts: bool = False
    ) -> None:
        self._first_counts = first_counts
        self.pointer = pointer
        self.step = step
        self.report = report
        self.item: Mapping[str, Json] = item if isinstance(item, dict) else {}
        self.is_object = isinstance(item, dict)
        if not self.is_object:
            what = f"A step is an object, not {json_type(item)}."
            report.error("field-type", what, pointer, step)

    def only(self, known: Sequence[str], other_names: Mapping[str, str] | None = None) -> None:
        """Report every field that is not `known`."""
        self.report.unknown_fields(self.item, known, self.pointer, self.step, other_names)

    def spelling(self, names: Sequence[str], field: str) -> str | None:
        """Return which of `names`, all of one meaning, is written; report where two of them are."""
        found = [name for name in names if name in self.item]
        if len(found) < 2:
            return found[0] if found else None
        place = f"{self.pointer}/{field}"
        if not self._first_counts:
            both = " and ".join(map(repr, found[:2]))
            self.report.error("duplicate-key", f"Both {both} are given.", place, self.step)
            return found[0]
        counts = next((name for name in found if self.item[name] is not None), found[0])
        others = ", ".join(repr(name) for name in found if name != counts)
        said = f"{others} is not read, because {counts!r} is given."
        self.report.warning("noise", said, place, self.step, "Write one of them.")
        return counts

    def tool(self, names: Sequence[str]) -> str:
        """Return the name of the tool, "" where there is none."""
        if not self.is_object:
            return ""
        name = self.spelling(names, "tool")
        tool = self.item.get(name or "")
        place = f"{self.pointer}/tool"
        if name is None:
            self.report.error("missing-field", f"The step has no {names[0]!r}.", place, self.step)
        elif not isinstance(tool, str):
            self.report.wrong_type(name, tool, "the name of a tool", place, self.step)
        elif not tool:
            self.report.error("field-type", f"{name!r} is empty.", place, self.step)
        else:
            return tool
        return ""

    def args(self, names: Sequence[str], syntax: Syntax) -> dict[str, Value]:
        """Return the arguments, none where none are written."""
        name = self.spelling(names, "args")
        if name is None:
            return {}
        args = self.item[name]
        if not isinstance(args, dict):
            self.report.wrong_type(name, args, "an object", f"{self.pointer}/args", self.step)
            return {}
        return syntax.read_members(args, f"{self.pointer}/args", self.step, self.report)

    def value(self, value: Json, pointer: str, syntax: Syntax) -> Value:
        """Return `value`, which is canonically at `pointer` of the step."""
        return syntax.read(value, self.pointer + pointer, self.step, self.report)

    def text(self, name: str, field: str) -> str | None:
        """Return the text of the field `name`, None where there is none; null is none as well."""
        text = self.item.get(name)
        if text is None or isinstance(text, str):
            return text
        self.report.wrong_type(name, text, "text", f"{self.pointer}/{field}", self.step)
        return None


class IdCheck:
    """Reports every id that is bad, taken by an earlier step, or easily confused with another."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._first: dict[str, int] = {}
        self._alike: dict[str, str] = {}
        self._count = 0

    def take(self, name: str) -> None:
        """Check the id of the next step."""
        pointer = f"/steps/{self._count}/id"
        other = self._alike.setdefault(_folded(name), name)
        if name in self._first:
            said = f"The id {shown(name)} is taken by step {self._first[name]}."
            help_ = "Every step needs an id of its own."
            self._report.error("duplicate-id", said, pointer, name, help_)
        elif not is_id(name):
            self._report.error(
                "bad-id",
                f"{shown(name)} is not an id of a step.",
                pointer,
                name,
                "An id has 1 to 64 of A-Z, a-z, 0-9, '_' and '-', does not begin with '-', and is "
                "neither 'item' nor 'index', which are reserved for steps with 'for_each'.",
            )
        elif other != name:
            said = f"The id {shown(name)} looks like {shown(other)}."
            help_ = "Give one of them another name."
            self._report.warning("confusable-id", said, pointer, name, help_)
        self._first.setdefault(name, self._count)
        self._count += 1


def is_id(name: str) -> bool:
    """Return whether a step may have the id `name`."""
    return STEP_ID.fullmatch(name) is not None and name not in RESERVED_IDS


def free_id(at: int, taken: Collection[str]) -> str:
    """Return an id for the step at position `at` that is not `taken`."""
    name = f"s{at}"
    while name in taken:
        name += "_"
    return name


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name[:200]).casefold())
