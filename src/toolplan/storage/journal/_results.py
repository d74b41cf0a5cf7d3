"""What tools gave in earlier runs, read from the records of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from toolplan.events import ItemEnded, StepSucceeded
from toolplan.path import Json
from toolplan.storage.journal._records import from_record

_KINDS: Final = ('["step-succeeded",', '["item-ended",')


class _Calls(NamedTuple):
    """What a step calls, and whether it does so for each item of a list."""

    tool: str
    is_fan: bool


def results_of(
    plan: Json, wanted: Collection[str], records: Iterable[str]
) -> Iterator[tuple[str, Json]]:
    """Yield the results of `wanted` tools with their names, in the order of `records`.

    `plan` is the wire form of the run's plan. Results that are kept as blobs are left out.
    """
    steps = _calls_of(plan, wanted)
    for record in records if steps else ():
        event = from_record(record) if record.startswith(_KINDS) else None
        if isinstance(event, StepSucceeded | ItemEnded) and event.step in steps:
            calls = steps[event.step]
            if isinstance(event, ItemEnded) == calls.is_fan and event.failure is None:
                yield calls.tool, event.output


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
