"""Results of tools in earlier runs, read from their records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from msgspec import Struct

from toolplan.events import ItemEnded, StepSucceeded
from toolplan.path import Json
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._records import from_record

_KINDS: Final = ('["step-succeeded",', '["item-ended",')


class _Calls(Struct, frozen=True):
    """The tool of a step, and whether the step has `for_each`."""

    tool: str
    is_fan: bool


def results_of(
    plan: Json, records: Iterable[str], wanted: Collection[str]
) -> Iterator[tuple[str, Json]]:
    """Yield the name and result of each call of `wanted` tools, in the order of `records`.

    `plan` is the run's plan in JSON. Results in blobs are left out.
    """
    steps = _calls_of(plan, wanted)
    for record in records if steps else ():
        event = from_record(record) if record.startswith(_KINDS) else None
        if isinstance(event, StepSucceeded | ItemEnded) and event.step in steps:
            calls = steps[event.step]
            if isinstance(event, ItemEnded) == calls.is_fan and event.failure is None:
                yield calls.tool, event.output


def recordings_of(
    runs: Iterable[str],
    read: Callable[[str], tuple[Json, Iterable[str]]],
    wanted: Collection[str],
    most: int,
) -> dict[str, list[Json]]:
    """Return at most `most` different results of each of `wanted`, in the order of `runs`.

    `read` returns the plan and the records of a run. A run that is damaged is left out.
    """
    found: dict[str, list[Json]] = {}
    for run in runs:
        try:
            results = [*results_of(*read(run), wanted)]
        except JournalError as error:
            if error.code != "journal-damaged":
                raise
            continue  # other runs have results too
        for tool, output in results:
            kept = found.setdefault(tool, [])
            if len(kept) < most and output not in kept:
                kept.append(output)
    return found


def _calls_of(plan: Json, wanted: Collection[str]) -> dict[str, _Calls]:
    found: dict[str, _Calls] = {}
    steps = plan.get("steps") if isinstance(plan, dict) else None
    for step in steps if isinstance(steps, list) else []:
        match step:
            case {"id": str(name), "tool": str(tool), **more} if tool in wanted:
                found[name] = _Calls(tool, "for_each" in more)
            case _:
                pass
    return found
