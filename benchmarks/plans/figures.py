"""All figures over a data folder, in one go."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.plans import faults, repair, speed
from benchmarks.plans.faults import Fault
from benchmarks.plans.readings import Reading, SetFigures, gold_plan, read
from benchmarks.plans.repair import RepairFigures
from benchmarks.plans.rows import APART, MODEL_SETS, DataFolder, Row
from toolplan.compiler import examine, parse, to_text
from toolplan.plan.canonical import Parsed
from toolplan.plan.diagnostics import CannotExpress, Severity
from toolplan.plan.model import Plan, positional
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

CHAIN: Final = ("toolplan", "kirha", "clear", "llmcompiler", "toolplan")
"""The dialects that a plan is taken through, one after another."""

CHAIN_SET: Final = "nestful_v2"

_MOST_NOTES: Final = 40
_MOST_TIMED: Final = 500


@dataclass
class FaultFigures:
    """Of one class: how many were made, found, and reported with the right code and step."""

    made: int = 0
    found: int = 0
    right: int = 0


@dataclass
class Figures:
    """What was measured, by set and by class. `notes` explain what is not perfect."""

    sets: dict[str, SetFigures] = field(default_factory=dict[str, SetFigures])
    faults: dict[str, FaultFigures] = field(default_factory=dict[str, FaultFigures])
    repair: dict[str, RepairFigures] = field(default_factory=dict[str, RepairFigures])
    converted: int = 0
    to_convert: int = 0
    mean_gold_us: float = 0.0
    speed: speed.Speed | None = None
    notes: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Options:
    """What to measure: which sets (None: all), how many rows of each, and with which seed."""

    sets: tuple[str, ...] | None = None
    limit: int | None = None
    seed: str = "1"


def measure(root: Path, options: Options) -> Figures:
    """Return the figures of the data folder `root`."""
    figures = Figures(speed=speed.measure())  # before there is much in memory
    folder = DataFolder(root)
    wanted = options.sets or tuple(folder.sets())
    timed: list[tuple[str, str, Toolbox]] = []
    gold: dict[str, Plan] = {}
    for name in (name for name in folder.sets() if name in wanted):
        rows = folder.rows(name, options.limit)
        readings = [reading for row in rows if (reading := read(row)) is not None]
        counted = figures.sets.setdefault(name, SetFigures())
        for reading in readings:
            counted.add(reading)
        if name in MODEL_SETS:
            counted.notes = [note for note in counted.notes if note.startswith("not reported")]
            readers = DataFolder(root, read_only=True).rows(name, options.limit)
            tools = {row.id: row.toolbox for row in readers}
            gold = gold or repair.gold_plans(folder)
            figures.repair[name] = repair.measure(readings, tools, gold)
            figures.notes += figures.repair[name].notes
        elif name not in APART:
            _measure_gold(name, readings, figures, options, timed)
        figures.notes += counted.notes[:_MOST_NOTES]
    every = max(1, len(timed) // _MOST_TIMED)
    figures.mean_gold_us = speed.mean_time(timed[::every])
    return figures


def _measure_gold(
    name: str,
    readings: Sequence[Reading],
    figures: Figures,
    options: Options,
    timed: list[tuple[str, str, Toolbox]],
) -> None:
    for reading in readings:
        plan = gold_plan(reading)
        if name == CHAIN_SET and reading.parsed.plan is not None:
            _measure_conversion(reading, reading.parsed.plan, figures)
        if plan is None or reading.row.has_placeholders:
            continue
        timed.append((reading.text, reading.dialect, reading.row.toolbox))
        for kind in faults.CLASSES:
            fault = faults.inject(
                kind, plan, reading.row.toolbox, f"{options.seed}:{reading.row.id}"
            )
            if fault is not None:
                _measure_fault(kind, fault, reading.row, figures)


def _measure_fault(kind: str, fault: Fault, row: Row, figures: Figures) -> None:
    counted = figures.faults.setdefault(kind, FaultFigures())
    counted.made += 1
    found = examine(json.dumps(fault.document), "toolplan", row.toolbox).diagnostics
    errors = [each for each in found if each.severity is Severity.ERROR]
    if kind == faults.LEGAL:
        is_found = is_right = not errors
    else:
        is_found = bool(errors)
        is_right = any(each.code in fault.codes and each.step in fault.steps for each in errors)
    counted.found += is_found
    counted.right += is_right
    if not is_right:
        said = "; ".join(f"{each.code} at {each.step}" for each in errors[:3]) or "nothing"
        figures.notes.append(f"{kind}: {row.id}: {said} was said")


def _measure_conversion(reading: Reading, plan: Plan, figures: Figures) -> None:
    figures.to_convert += 1
    current = plan
    signatures = reading.row.toolbox
    for dialect in CHAIN:
        try:
            read_back = parse(to_text(current, dialect), dialect, signatures)
        except CannotExpress as error:
            read_back = Parsed(None, error.diagnostics)
        if read_back.plan is None:
            said = "; ".join(each.message for each in read_back.diagnostics[:2])
            figures.notes.append(f"conversion to {dialect}: {reading.row.id}: {said}")
            return
        current = read_back.plan
    if positional(current) == positional(plan):
        figures.converted += 1
    else:
        figures.notes.append(f"conversion: {reading.row.id}: the plan is another")


def total(counts: Sequence[SetFigures]) -> tuple[int, int, int, int]:
    """Return parseable, parsed, clean and alarms over `counts`."""
    return (
        sum(each.parseable for each in counts),
        sum(each.parsed for each in counts),
        sum(each.clean for each in counts),
        sum(each.alarms for each in counts),
    )


def flaws_by_kind(figures: Figures) -> dict[str, tuple[int, int]]:
    """Return for each kind of listed flaw how many were reported, and how many there are."""
    listed: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    for each in figures.sets.values():
        listed += each.flaws
        reported += each.reported
    return {kind: (reported[kind], number) for kind, number in sorted(listed.items())}


def to_json(figures: Figures) -> dict[str, Json]:
    """Return the wire form of `figures`."""
    sets: dict[str, Json] = {
        name: {
            "rows": each.rows,
            "parseable": each.parseable,
            "parsed": each.parsed,
            "references": each.references,
            "clean": each.clean,
            "alarms": each.alarms,
        }
        for name, each in figures.sets.items()
    }
    measured = figures.speed
    return {
        "sets": sets,
        "flaws": {kind: list(pair) for kind, pair in flaws_by_kind(figures).items()},
        "faults": {
            name: {"made": each.made, "found": each.found, "right": each.right}
            for name, each in figures.faults.items()
        },
        "repair": {
            name: {key: value for key, value in vars(each).items() if key != "notes"}
            for name, each in figures.repair.items()
        },
        "converted": [figures.converted, figures.to_convert],
        "speed": {
            "plan_median_us": None if measured is None else measured.plan_median_us,
            "json_median_us": None if measured is None else measured.json_median_us,
            "mean_gold_us": figures.mean_gold_us,
            "step_us": {str(n): us for n, us in measured.step_us.items()} if measured else {},
        },
        "notes": [*figures.notes],
    }
