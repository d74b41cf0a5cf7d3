"""What this domain finds worth saying about rows: sentences, each computed from those rows alone.

A share is reported only where the rows differ in it: where a filter made all rows contaminated,
the rate of contamination says nothing (C-12).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from toolplan.path import Json
from toolplan.render.printable import cell, number_text, printable

Rows: TypeAlias = list[dict[str, Json]]
InsightFunction: TypeAlias = Callable[[str, Rows], Iterable[str]]
"""Given the entity of rows (or an empty text) and the rows: sentences that hold for them."""

_MANY_CONTAMINATED: Final = 0.3
_MANY_REJECTED: Final = 0.2
_MOSTLY: Final = 0.5
_FEWEST: Final = 2
_HEAVY: Final = 1.5
_TOO_HEAVY_KG: Final = 10_000
_STRONG: Final = 3.0
_Z_SCORE: Final = 2.0
_FEWEST_FOR_Z_SCORE: Final = 3
_NEARLY_FULL: Final = 0.9
_NAMED: Final = 3
_TOO_LARGE: Final = 1e15
_TOO_SMALL: Final = 1e-6
_DANGEROUS: Final = ("high", "critical")


def shipment_insights(entity: str, rows: Rows) -> Iterator[str]:
    """Say what stands out among shipments: contamination, rejection, weights, contradictions."""
    if entity != "shipment":
        return
    dirty = [row for row in rows if row.get("has_contaminants") is True]
    yield from _notable_share(
        len(dirty), len(rows), _MANY_CONTAMINATED, "shipments", "contaminated"
    )
    refused = [row for row in rows if row.get("status") == "rejected"]
    yield from _notable_share(len(refused), len(rows), _MANY_REJECTED, "shipments", "rejected")
    if len(dirty) < len(rows):
        yield from _dirtiest_waste(rows)
    yield from _heavy(rows)
    unfounded = [row for row in refused if row.get("has_contaminants") is False]
    if unfounded:
        yield (
            f"{_count(len(unfounded), 'shipment was', 'shipments were')} rejected without any"
            f" contaminant: {_listed(_ids(unfounded))}."
        )


def contaminant_insights(entity: str, rows: Rows, z_score: float = _Z_SCORE) -> Iterator[str]:
    """Say what stands out among contaminants: risk, concentration, substances.

    A concentration stands out `z_score` standard deviations from the mean.
    """
    if entity != "contaminant":
        return
    dangerous = [row for row in rows if row.get("risk_level") in _DANGEROUS]
    yield from _notable_share(
        len(dangerous), len(rows), 0, "contaminants", "of high or critical risk"
    )
    critical = [row for row in rows if row.get("risk_level") == "critical"]
    if critical and len(critical) < len(rows):
        are = "contaminant is" if len(critical) == 1 else "contaminants are"
        yield f"{len(critical)} {are} critical: {_listed(_ids(critical))}."
    yield from _concentrations(rows, z_score)
    yield from _commonest(rows)
    if len(dangerous) < len(rows):
        yield from _most_dangerous(rows)


def inspection_insights(entity: str, rows: Rows) -> Iterator[str]:
    """Say how the decided inspections ended."""
    if entity != "inspection":
        return
    statuses = Counter(status for row in rows if isinstance(status := row.get("status"), str))
    decided = statuses["accepted"] + statuses["rejected"]
    if decided and len(statuses) > 1:
        yield (
            f"{number_text(statuses['accepted'])} of {_count(decided, 'decided inspection')}"
            f" accepted the shipment ({_percent(statuses['accepted'], decided)})."
        )
    if statuses["pending"] and len(statuses) > 1:
        yield f"{_count(statuses['pending'], 'inspection is', 'inspections are')} not decided yet."


def facility_insights(entity: str, rows: Rows) -> Iterator[str]:
    """Say what stands out among facilities: how full they are, and contradictions."""
    if entity != "facility":
        return
    full = [(row, use) for row in rows if (use := _utilisation(row)) is not None]
    for row, use in full:
        if use > _NEARLY_FULL:
            how = "over its capacity" if use > 1 else "nearly full"
            yield (
                f"{_name(row)} is {how}: it holds {_figure(row['current_load_tons'])} of"
                f" {_figure(row['capacity_tons'])} t ({_percent(use, 1)})."
            )
    yield from _fullest_type(full)
    for row in rows:
        both = sorted(
            _words(row.get("accepted_waste_types")) & _words(row.get("rejected_waste_types"))
        )
        if both:
            yield f"{_name(row)} both accepts and refuses {_listed(both)}."
    silent = [
        row
        for row in rows
        if "contact_email" in row and not _has_any(row, "contact_email", "contact_phone")
    ]
    if silent:
        have = _count(len(silent), "facility has", "facilities have")
        yield f"{have} no contact: {_listed(map(_name, silent))}."


def missing_identities(entity: str, rows: Rows) -> Iterator[str]:
    """Name the records of this domain that do not say where they belong."""
    belongs = {
        "shipment": ("facility_id",),
        "contaminant": ("shipment_id",),
        "inspection": ("shipment_id", "facility_id"),
    }
    for column in belongs.get(entity, ()):
        lost = [row for row in rows if column in row and not row[column]]
        if lost:
            have = _count(len(lost), f"{entity} has", f"{entity}s have")
            yield f"{have} no {column}: {_listed(_ids(lost))}."


def insights(z_score: float = _Z_SCORE) -> tuple[InsightFunction, ...]:
    """Return what this domain says about rows, for `App(insights=)`."""
    return (
        shipment_insights,
        partial(contaminant_insights, z_score=z_score),
        inspection_insights,
        facility_insights,
        missing_identities,
    )


INSIGHTS: Final = insights()


def _notable_share(part: int, whole: int, above: float, things: str, what: str) -> Iterator[str]:
    if whole >= _FEWEST and above < part / whole < 1:
        are = "is" if part == 1 else "are"
        share = _percent(part, whole)
        yield f"{number_text(part)} of {number_text(whole)} {things} {are} {what} ({share})."


def _dirtiest_waste(rows: Rows) -> Iterator[str]:
    worst = _worst_group(rows, "waste_type", lambda row: row.get("has_contaminants") is True)
    if worst is not None:
        name, part, whole = worst
        yield (
            f"Of the waste types, {name} is contaminated most often: {number_text(part)} of"
            f" {_count(whole, 'shipment')} ({_percent(part, whole)})."
        )


def _most_dangerous(rows: Rows) -> Iterator[str]:
    worst = _worst_group(rows, "type", lambda row: row.get("risk_level") in _DANGEROUS)
    if worst is not None:
        name, part, whole = worst
        yield (
            f"Of the substances, {name} is of high or critical risk most often: {number_text(part)}"
            f" of {_count(whole, 'time')} ({_percent(part, whole)})."
        )


def _worst_group(
    rows: Rows, column: str, is_bad: Callable[[dict[str, Json]], bool]
) -> tuple[str, int, int] | None:
    """Return the value of `column` with the highest share of bad rows above one half.

    And its counts.

    Values that stand in one row only say nothing. None where there is no such value.
    """
    whole = Counter(name for row in rows if isinstance(name := row.get(column), str))
    bad = Counter(name for row in rows if isinstance(name := row.get(column), str) and is_bad(row))
    shares = {name: bad[name] / n for name, n in whole.items() if n >= _FEWEST}
    worst = max(shares, key=lambda name: (shares[name], whole[name], name), default=None)
    if worst is None or shares[worst] <= _MOSTLY:
        return None
    return printable(worst), bad[worst], whole[worst]


def _heavy(rows: Rows) -> Iterator[str]:
    weighed = [(row, weight) for row in rows if (weight := _number(row, "weight_kg")) is not None]
    if len(weighed) >= _FEWEST:
        mean = statistics.fmean(weight for _, weight in weighed)
        heavy = [row for row, weight in weighed if weight > _HEAVY * mean]
        if heavy:
            weigh = _count(len(heavy), "shipment weighs", "shipments weigh")
            yield f"{weigh} more than {_HEAVY} times the mean of {_rounded(mean)} kg."
    excessive = [row for row, weight in weighed if weight > _TOO_HEAVY_KG]
    if excessive:
        yield (
            f"{_count(len(excessive), 'shipment weighs', 'shipments weigh')} more than"
            f" {number_text(_TOO_HEAVY_KG, grouped=True)} kg: {_listed(_ids(excessive))}."
        )


def _concentrations(rows: Rows, z_score: float) -> Iterator[str]:
    measured = [
        (row, ppm) for row in rows if (ppm := _number(row, "concentration_ppm")) is not None
    ]
    if len(measured) < _FEWEST:
        return
    values = [ppm for _, ppm in measured]
    mean, spread = statistics.fmean(values), statistics.pstdev(values)
    strongest, highest = max(measured, key=lambda each: each[1])
    if mean > 0 and highest > _STRONG * mean:
        yield (
            f"The highest concentration, {_figure(highest)} ppm ({_listed(_ids([strongest]))}), is"
            f" {_rounded(highest / mean)} times the mean of {_rounded(mean)} ppm."
        )
    if len(values) < _FEWEST_FOR_Z_SCORE or spread == 0:
        return
    far = [row for row, ppm in measured if abs(ppm - mean) / spread > z_score]
    if far:
        yield (
            f"{_count(len(far), 'concentration lies', 'concentrations lie')} more than"
            f" {number_text(z_score)} standard deviations from the mean: {_listed(_ids(far))}."
        )


def _commonest(rows: Rows) -> Iterator[str]:
    counts = Counter(kind for row in rows if isinstance(kind := row.get("type"), str))
    if len(counts) < _FEWEST:
        return
    most = max(counts.values())
    first = sorted(name for name, n in counts.items() if n == most)
    if len(first) == len(counts):
        return
    if len(first) == 1:
        yield f"The most common substance is {printable(first[0])}: {most} of {len(rows)}."
    else:
        yield f"The most common substances are {_listed(first)}: {most} of {len(rows)} each."


def _fullest_type(full: Sequence[tuple[dict[str, Json], float]]) -> Iterator[str]:
    by_type: dict[str, list[float]] = {}
    for row, use in full:
        if isinstance(kind := row.get("type"), str):
            by_type.setdefault(kind, []).append(use)
    if len(by_type) >= _FEWEST:
        kind = max(by_type, key=lambda name: (statistics.fmean(by_type[name]), name))
        use = _percent(statistics.fmean(by_type[kind]), 1)
        yield f"Of the facility types, {printable(kind)} is the fullest: {use} on average."


def _utilisation(row: dict[str, Json]) -> float | None:
    load, capacity = _number(row, "current_load_tons"), _number(row, "capacity_tons")
    return None if load is None or capacity is None or capacity < _TOO_SMALL else load / capacity


def _number(row: dict[str, Json], column: str) -> float | None:
    value = row.get(column)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _TOO_LARGE else None  # nor is it the one that is not a number


def _words(value: Json) -> set[str]:
    return {each for each in value if isinstance(each, str)} if isinstance(value, list) else set()


def _has_any(row: dict[str, Json], *columns: str) -> bool:
    return any(row.get(column) for column in columns)


def _ids(rows: Iterable[dict[str, Json]]) -> Iterator[str]:
    return (cell(row.get("id")) for row in rows)


def _name(row: dict[str, Json]) -> str:
    return cell(row.get("name") or row.get("id"))


def _listed(names: Iterable[str]) -> str:
    every = [printable(name) for name in names]
    shown = ", ".join(every[:_NAMED])
    return shown if len(every) <= _NAMED else f"{shown} and {len(every) - _NAMED} more"


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number_text(number, grouped=True)} {one if number == 1 else several or one + 's'}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %"


def _rounded(number: float) -> str:
    return number_text(round(number, 1), grouped=True)


def _figure(value: Json) -> str:
    return number_text(value, grouped=True) if isinstance(value, int | float) else "?"
