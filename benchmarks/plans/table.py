"""The figures as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.plans.faults import CLASSES
from benchmarks.plans.figures import CHAIN, Figures, flaws_by_kind, total
from benchmarks.plans.rows import LITERAL_SETS, MODEL_SETS, TEXT_SETS

GOLD = (*TEXT_SETS, *LITERAL_SETS)
"""The sets that the figures of parsing and of false alarms are summed over."""


def lines(figures: Figures) -> Iterator[str]:
    """Yield the lines of all tables, notes last."""
    yield from _sets(figures)
    yield from _flaws(figures)
    yield from _faults(figures)
    yield from _repair(figures)
    yield from _rest(figures)
    if figures.notes:
        yield ""
        yield "What is not perfect, row by row:"
        yield from (f"  {note}" for note in figures.notes)


def _sets(figures: Figures) -> Iterator[str]:
    yield f"{'set':24}{'rows':>7}{'parsed':>16}{'refs':>7}{'clean':>7}{'alarms':>8}"
    for name, each in figures.sets.items():
        parsed = f"{each.parsed} of {each.parseable}"
        yield (
            f"{name:24}{each.rows:>7}{parsed:>16}{each.references:>7}"
            f"{each.clean:>7}{each.alarms:>8}"
        )
    gold = [each for name, each in figures.sets.items() if name in GOLD]
    parseable, parsed, clean, alarms = total(gold)
    yield f"gold sets: {_share(parsed, parseable)} parse; false alarms {_share(alarms, clean)}"
    yield f"written by models, so not gold: {', '.join(MODEL_SETS)}"


def _flaws(figures: Figures) -> Iterator[str]:
    yield ""
    yield f"{'listed flaw':30}{'reported at its step':>18}"
    for kind, (reported, listed) in flaws_by_kind(figures).items():
        yield f"{kind:30}{f'{reported} of {listed}':>18}  {_percent(reported, listed)}"


def _faults(figures: Figures) -> Iterator[str]:
    yield ""
    yield f"{'injected fault':30}{'made':>7}{'found':>9}{'code and step':>15}"
    for name in CLASSES:
        if (each := figures.faults.get(name)) is not None:
            yield (
                f"{name:30}{each.made:>7}{_percent(each.found, each.made):>9}"
                f"{_percent(each.right, each.made):>15}"
            )


def _repair(figures: Figures) -> Iterator[str]:
    yield ""
    yield (
        f"{'made clean by safe fixes':26}{'with errors':>12}{'clean':>7}{'baseline':>10}"
        f"{'as readers':>12}{'baseline':>10}{'changed':>9}{'gold known':>12}"
    )
    for name, each in figures.repair.items():
        yield (
            f"{name:26}{each.with_errors:>12}{each.clean:>7}{each.baseline:>10}"
            f"{each.clean_readers:>12}{each.baseline_readers:>10}{each.changed:>9}"
            f"{each.with_gold:>12}"
        )


def _rest(figures: Figures) -> Iterator[str]:
    yield ""
    converted = _share(figures.converted, figures.to_convert)
    yield f"converted through {', '.join(CHAIN)}, and equal: {converted}"
    measured = figures.speed
    if measured is not None:
        yield (
            f"parse and check, 20 steps, 50 tools: {measured.plan_median_us:.0f} µs median "
            f"(json.loads alone, same text: {measured.json_median_us:.0f} µs)"
        )
        yield f"parse and check, a clean gold plan: {figures.mean_gold_us:.0f} µs mean"
        for size, us in measured.step_us.items():
            yield f"parse and check, {size} steps: {us:.1f} µs a step"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({_percent(part, whole)})"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"
