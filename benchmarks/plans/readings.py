"""Rows read by their dialects: what parses, what the checker says, and where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from benchmarks.plans.rows import Flaw, Row
from benchmarks.plans.texts import calls_of, literal_plan, text_of
from toolplan.compiler import examine, parse
from toolplan.plan.canonical import Parsed
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Plan, step_refs

UNREADABLE: Final = frozenset(
    (
        "syntax",
        "field-type",
        "missing-field",
        "unknown-field",
        "duplicate-key",
        "bad-id",
        "bad-number",
        "bad-encoding",
        "too-large",
        "too-deep",
        "too-many-steps",
        "needs-tools",
        "reference-syntax",
    )
)
"""Codes that say of a text that it could not be read; others say that what was read is wrong."""

UNPARSEABLE_KINDS: Final = frozenset(("unparsable_call", "arguments_not_json"))
"""Kinds of listed flaws that keep a row's text from being read."""

LEGAL_KINDS: Final = frozenset(("forward_ref",))
"""Kinds that are listed but are no mistake here: steps may be written in any order."""


@dataclass(slots=True)
class Reading:
    """A row, read and checked. `parsed` is before any fix; `errors` are of the plan as written."""

    row: Row
    dialect: str
    text: str
    parsed: Parsed
    errors: tuple[Diagnostic, ...]

    @property
    def is_read(self) -> bool:
        """Whether the dialect gave the whole plan, and nothing but it."""
        plan = self.parsed.plan
        if plan is None or any(each.code in UNREADABLE for each in self.parsed.diagnostics):
            return False
        if [step.tool for step in plan.steps] != [step["tool"] for step in calls_of(self.row)]:
            return False
        return self.dialect != "toolplan" or plan.steps == literal_plan(self.row).steps

    @property
    def references(self) -> int:
        """How many references to steps were read."""
        plan = self.parsed.plan
        return 0 if plan is None else sum(1 for step in plan.steps for _ in step_refs(step))


def read(row: Row) -> Reading | None:
    """Return the reading of `row`, None where it is no plan of calls."""
    text = text_of(row)
    if text is None:
        return None
    parsed = parse(text.text, text.dialect, row.toolbox)
    found = examine(text.text, text.dialect, row.toolbox).diagnostics
    errors = tuple(each for each in found if each.severity is Severity.ERROR)
    return Reading(row, text.dialect, text.text, parsed, errors)


def is_reported(flaw: Flaw, reading: Reading) -> bool:
    """Whether an error of `reading` stands at the step of `flaw`.

    A flaw of the whole plan may be reported anywhere; so may one that keeps the text from being
    read, because then there are no steps.
    """
    if flaw.step == "plan":
        return bool(reading.errors)
    if flaw.kind in UNPARSEABLE_KINDS and reading.parsed.plan is None:
        return bool(reading.errors)
    if flaw.step == "result":
        return any(each.pointer.startswith("/output") for each in reading.errors)
    at = {n for n, step in enumerate(reading.row.steps) if str(step["id"]) == flaw.step}
    return any(_position(each) in at for each in reading.errors)


@dataclass
class SetFigures:
    """What is counted over the rows of one set."""

    rows: int = 0
    parseable: int = 0
    parsed: int = 0
    references: int = 0
    clean: int = 0
    alarms: int = 0
    flaws: Counter[str] = field(default_factory=Counter[str])
    reported: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])

    def add(self, reading: Reading) -> None:
        """Count one row, and note what went wrong with it."""
        row = reading.row
        if not row.steps:
            return
        self.rows += 1
        self.references += reading.references
        if not (row.has_placeholders or UNPARSEABLE_KINDS & {flaw.kind for flaw in row.flaws}):
            self.parseable += 1
            self.parsed += reading.is_read
            if not reading.is_read:
                self._note("not read", reading, reading.parsed.diagnostics)
        if row.counts and not row.has_placeholders:
            self.clean += 1
            self.alarms += bool(reading.errors)
            if reading.errors:
                self._note("alarm", reading, reading.errors)
        for flaw in row.flaws:
            self.flaws[flaw.kind] += 1
            reported = is_reported(flaw, reading)
            self.reported[flaw.kind] += reported
            if not reported and flaw.kind not in LEGAL_KINDS:
                self.notes.append(f"not reported: {row.id} {flaw.kind}@{flaw.step} {flaw.detail}")

    def _note(self, what: str, reading: Reading, diagnostics: tuple[Diagnostic, ...]) -> None:
        said = "; ".join(
            f"{each.code} at {each.pointer}: {each.message}" for each in diagnostics[:3]
        )
        self.notes.append(f"{what}: {reading.row.id} {said}")


def gold_plan(reading: Reading) -> Plan | None:
    """Return the plan of a clean gold row about which nothing was said, else None."""
    row = reading.row
    is_clean = row.counts and not row.has_placeholders and not reading.errors
    return reading.parsed.plan if is_clean else None


def _position(diagnostic: Diagnostic) -> int | None:
    head, _, rest = diagnostic.pointer.removeprefix("/").partition("/")
    number = rest.partition("/")[0]
    return int(number) if head == "steps" and number.isdigit() else None
