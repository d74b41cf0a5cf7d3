"""Forecasts of the time and calls of a plan, from the times of past calls.

A run takes as long as its critical path, the chain of steps with the longest total time. Where a
limit on concurrent calls binds, it takes at least the total time of the limited calls divided by
the slots. Both are computed many times, each call taking as long as a random past call of its tool;
for a plan of one call, once for each past call.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.policy.approval import known_calls, most_calls
from toolplan.policy.execution_plan import ExecutionPlan

_QUANTILE: Final = 0.9
_MAX_DRAWN_CALLS: Final = 200_000
_LONGEST_S: Final = 1e9
_NO_LIMITS: Final[Mapping[str, int]] = MappingProxyType({})
_NO_SOURCES: Final[Mapping[str, str]] = MappingProxyType({})


class Forecast(Struct, frozen=True):
    """The expected time and calls of a run; times are in seconds.

    Conditions are assumed to hold, and calls to succeed at the first attempt. Where tools are
    unknown or a limit binds, times are lower bounds; unknown counts are taken as one item each.

    Attributes:
        expected_s: the mean time of a run.
        p90_s: the time within which nine of ten runs end.
        critical_path: ids of the steps of the longest chain, by mean times, first to last.
        calls_least: the fewest calls of a run in which none fails.
        calls_most: the most calls of a run, without retries.
        effect_calls_most: how many of those may change something.
        unknown_tools: names of the tools without past calls; they count 0 s.
        unknown_counts: ids of the steps with `for_each` over a list that is not known yet.
        past_calls: the number of past calls of the tool with the fewest.
    """

    expected_s: float
    p90_s: float
    critical_path: tuple[str, ...]
    calls_least: int
    calls_most: int
    effect_calls_most: int
    unknown_tools: tuple[str, ...] = ()
    unknown_counts: tuple[str, ...] = ()
    past_calls: int = 0

    @property
    def is_known(self) -> bool:
        """Whether there are past calls of every tool of the plan."""
        return not self.unknown_tools

    def to_json(self) -> dict[str, Json]:
        """Return the forecast as JSON, its fields by their names."""
        return {k: [*v] if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def forecast(
    plan: ExecutionPlan,
    durations: Mapping[str, Sequence[float]],
    *,
    concurrency: int = 32,
    tool_concurrency: Mapping[str, int] = _NO_LIMITS,
    source_concurrency: Mapping[str, int] = _NO_LIMITS,
    sources: Mapping[str, str] = _NO_SOURCES,
    timeout_s: float = math.inf,
    draws: int = 200,
    seed: int = 0,
) -> Forecast:
    """Return the expected time and calls of a run of `plan`.

    The same arguments give the same forecast. With few past calls `p90_s` is too short.

    Args:
        plan: what would be run.
        durations: by name of tool, the seconds that its past calls took. Invalid ones (negative,
            not finite, longer than thirty years) are ignored.
        concurrency: maximum number of concurrent calls.
        tool_concurrency: maximum number of concurrent calls of single tools, by name.
        source_concurrency: maximum number of concurrent calls of all tools of one source, by name.
        sources: the sources of tools, by name of tool.
        timeout_s: the longest time of a call whose step sets no timeout.
        draws: how often times are drawn; less often for plans of more than 1,000 calls. Of a
            single call each past time counts once, if they are not more.
        seed: of the random numbers.

    Raises:
        ValueError: `concurrency`, another limit or `draws` is less than 1.
    """
    least = min(concurrency, *tool_concurrency.values(), *source_concurrency.values(), draws)
    if least < 1:
        raise ValueError(f"A limit or the number of draws is {least}; the least is 1")
    past = {
        step.tool: [each for each in durations.get(step.tool, ()) if 0 <= each <= _LONGEST_S]
        for step in plan.plan.steps
    }
    slots = {
        tool: min(
            concurrency,
            tool_concurrency.get(tool, concurrency),
            source_concurrency.get(sources.get(tool, ""), concurrency),
        )
        for tool in past
    }
    steps = {step.id: step for step in plan.plan.steps}
    timed = tuple(_timed(plan, steps[name], past, slots, timeout_s) for name in plan.order)
    limited = (
        (concurrency, timed),
        *((n, tuple(t for t in timed if t.tool == k)) for k, n in tool_concurrency.items()),
        *(
            (n, tuple(t for t in timed if sources.get(t.tool) == k))
            for k, n in source_concurrency.items()
        ),
    )
    return _summed(plan, past, timed, sorted(_times(timed, limited, draws, seed)))


def _summed(
    plan: ExecutionPlan,
    past: Mapping[str, Sequence[float]],
    timed: Sequence[_Timed],
    times: Sequence[float],
) -> Forecast:
    steps, effects, skippable = plan.plan.steps, frozenset(plan.effects), plan.skippable
    rank = math.ceil(_QUANTILE * (len(times) + 1))
    return Forecast(
        expected_s=sum(times) / len(times),
        p90_s=times[min(rank, len(times)) - 1],
        critical_path=_critical_path(timed),
        calls_least=sum(known_calls(step) or 0 for step in steps if step.id not in skippable),
        calls_most=sum(map(most_calls, steps)),
        effect_calls_most=sum(most_calls(step) for step in steps if step.id in effects),
        unknown_tools=tuple(tool for tool, known in past.items() if not known),
        unknown_counts=tuple(step.id for step in steps if known_calls(step) is None),
        past_calls=min(map(len, past.values()), default=0),
    )


class _Timed(Struct, frozen=True):
    """A step with what its time depends on; `pool` holds the times that a call may take."""

    name: str
    tool: str
    needs: tuple[str, ...]
    calls: int
    slots: int
    pool: tuple[float, ...]


def _timed(
    plan: ExecutionPlan,
    step: Step,
    past: Mapping[str, Sequence[float]],
    slots: Mapping[str, int],
    timeout_s: float,
) -> _Timed:
    longest = timeout_s if step.timeout_s is None else step.timeout_s
    pool = tuple(min(each, longest) for each in past[step.tool]) or (0.0,)
    calls = 1 if (count := known_calls(step)) is None else count
    return _Timed(step.id, step.tool, plan.needs[step.id], calls, slots[step.tool], pool)


@lru_cache(maxsize=8)  # a plan is forecast as it is planned, and as it is shown
def _times(
    timed: tuple[_Timed, ...],
    limited: tuple[tuple[int, tuple[_Timed, ...]], ...],
    draws: int,
    seed: int,
) -> tuple[float, ...]:
    """Return how long a run takes at least, for each time that the calls are drawn."""
    binding = [(n, steps) for n, steps in limited if sum(step.calls for step in steps) > n]
    found: list[float] = []
    for drawn in _drawn(timed, draws, seed):
        ends: dict[str, float] = {}
        for step in timed:
            start = max((ends[name] for name in step.needs), default=0.0)
            ends[step.name] = start + _least_time(drawn[step.name], step.slots)
        bounds = [
            _least_time([each for step in steps for each in drawn[step.name]], slots)
            for slots, steps in binding
        ]
        found.append(max([*ends.values(), *bounds], default=0.0))
    return tuple(found)


def _drawn(timed: Sequence[_Timed], draws: int, seed: int) -> Iterator[dict[str, Sequence[float]]]:
    """Yield times of all calls, by step: drawn again and again, or each one of a single call."""
    calls = sum(step.calls for step in timed)
    pool = next((step.pool for step in timed if step.calls), ())
    if calls == 1 and len(pool) <= draws:
        for seconds in pool:
            yield {step.name: (seconds,) * step.calls for step in timed}
        return
    draws = max(1, min(draws, _MAX_DRAWN_CALLS // max(calls, 1)))
    if all(min(step.pool) == max(step.pool) for step in timed):
        draws = 1
    layout, shake = struct.Struct(f"<{calls}I"), hashlib.shake_256
    for draw in range(draws):
        digits = shake(f"{seed} {draw}".encode()).digest(layout.size)
        chances: Iterator[int] = iter(layout.unpack(digits))
        yield {
            step.name: [step.pool[next(chances) * len(step.pool) >> 32] for _ in range(step.calls)]
            for step in timed
        }


def _least_time(seconds: Sequence[float], slots: int) -> float:
    """Return the shortest time in which calls that take `seconds` can be made in `slots`."""
    if not seconds:
        return 0.0
    if len(seconds) <= slots:
        return max(seconds)
    rounds = math.ceil(len(seconds) / slots)
    return max(max(seconds), sum(seconds) / slots, rounds * min(seconds))


def _critical_path(timed: Sequence[_Timed]) -> tuple[str, ...]:
    """Return the longest chain by mean times; of equally long ones, the one with most steps."""
    ends: dict[str, tuple[float, int]] = {}
    before: dict[str, str | None] = {}
    for step in timed:
        before[step.name] = last = max(step.needs, key=ends.__getitem__, default=None)
        seconds, length = (0.0, 0) if last is None else ends[last]
        mean = sum(step.pool) / len(step.pool)
        ends[step.name] = (seconds + math.ceil(step.calls / step.slots) * mean, length + 1)
    path: list[str] = []
    at = max(ends, key=ends.__getitem__, default=None)
    while at is not None:
        path.append(at)
        at = before[at]
    return tuple(reversed(path))
