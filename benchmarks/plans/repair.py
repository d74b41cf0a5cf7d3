"""How many plans of models are made clean without a model, and whether they still mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.plans import baseline
from benchmarks.plans.meaning import changes_of_meaning
from benchmarks.plans.readings import Reading, read
from benchmarks.plans.rows import DataFolder
from toolplan.compiler import check, fix, parse
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Plan
from toolplan.schema.tool import Toolbox

GOLD_SETS = ("nestful_v2", "taskbench")
"""Sets with the gold plans of what the models were asked."""


@dataclass
class RepairFigures:
    """Of one set: plans with errors, and how many became clean.

    `clean` and `baseline` are with the tools as they are, whose effects are unknown;
    `clean_readers` and `baseline_readers` with the same tools declared to be read only. `changed`
    counts plans made clean whose meaning changed, `with_gold` those that a gold plan is known for.
    """

    with_errors: int = 0
    clean: int = 0
    baseline: int = 0
    clean_readers: int = 0
    baseline_readers: int = 0
    changed: int = 0
    with_gold: int = 0
    notes: list[str] = field(default_factory=list[str])


def measure(
    readings: Sequence[Reading], readers: Mapping[str, Toolbox], gold: Mapping[str, Plan]
) -> RepairFigures:
    """Return the figures over `readings`.

    Args:
        readings: rows that models wrote.
        readers: for each row's id its tools, declared to be read only.
        gold: what `gold_plans` gave.
    """
    figures = RepairFigures()
    for reading in readings:
        if not reading.row.steps or not reading.errors:
            continue
        target = gold.get(_gold_key(reading))
        figures.with_errors += 1
        figures.with_gold += target is not None
        figures.baseline += _baseline_is_clean(reading, reading.row.toolbox)
        figures.baseline_readers += _baseline_is_clean(reading, readers[reading.row.id])
        figures.clean += _repaired(reading, reading.row.toolbox) is not None
        repaired = _repaired(reading, readers[reading.row.id])
        if repaired is None or reading.parsed.plan is None:
            continue
        figures.clean_readers += 1
        changes = changes_of_meaning(reading.parsed.plan, repaired, target)
        figures.changed += bool(changes)
        figures.notes += [
            f"repair: {reading.row.id} step {each.step}: {each.before} became {each.after}"
            for each in changes
        ]
    return figures


def gold_plans(folder: DataFolder) -> dict[str, Plan]:
    """Return the gold plans by the key that rows of models name them with."""
    found: dict[str, Plan] = {}
    for name in GOLD_SETS:
        if name in folder.sets():
            for row in folder.rows(name):
                reading = read(row)
                if reading is not None and reading.parsed.plan is not None:
                    found[row.id if name == "nestful_v2" else _number(row.id)] = reading.parsed.plan
    return found


def _gold_key(reading: Reading) -> str:
    return reading.row.fields.get("gold_id") or _number(reading.row.id)


def _number(row_id: str) -> str:
    return row_id.rpartition("-")[2]


def _repaired(reading: Reading, tools: Toolbox) -> Plan | None:
    """Return the plan after all safe fixes, None where it is not clean then."""
    plan = parse(reading.text, reading.dialect, tools).plan
    if plan is None or _was_read_badly(reading):
        return None
    repaired = fix(plan, tools).plan
    return repaired if _is_clean(repaired, tools) else None


def _baseline_is_clean(reading: Reading, tools: Toolbox) -> bool:
    plan = baseline.repaired(reading.text, reading.dialect, tools)
    return plan is not None and not _was_read_badly(reading) and _is_clean(plan, tools)


def _was_read_badly(reading: Reading) -> bool:
    return any(each.blocks for each in reading.parsed.diagnostics)


def _is_clean(plan: Plan, tools: Toolbox) -> bool:
    return not any(each.severity is Severity.ERROR for each in check(plan, tools))
