"""Forecast: how long a plan will take and how many calls it can make, before it runs.

The times of past calls are all that is known. A run is played through many times, each call taking
as long as one of the past calls of its tool did, with the engine's own order of starting and its
limits on calls at once; what that gives is a distribution, not a figure out of the air.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from heapq import heappop, heappush
from itertools import accumulate
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from toolplan.approval import known_calls, most_calls
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Step, step_refs
from toolplan.ready_queue import ReadyQueue

_WITHIN: Final = 0.9
_CALLS_PLAYED: Final = 200_000
_LONGEST_S: Final = 1e9  # what is no number of seconds, such as NaN, is not below it either
_NOTHING_KNOWN: Final = (0.0,)
_NO_LIMITS: Final[Mapping[str, int]] = MappingProxyType({})
_NO_SOURCES: Final[Mapping[str, str]] = MappingProxyType({})

_CHANCE_BITS: Final = 32

# steps of one tool and one timeout take equally long
_Kind: TypeAlias = tuple[str, float | None]
_Pools: TypeAlias = Mapping[_Kind, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run of a plan is expected to take; times are in seconds.

    Conditions are taken to hold, calls to succeed at the first try. Where tools are unknown, the
    times are lower bounds; where counts are unknown, they are those of one item each.

    Attributes:
        expected_s: the mean time of a run.
        p90_s: the time within which nine of ten runs end.
        critical_path: ids of the steps of the longest chain, by mean times, first to last.
        calls_least: calls that a run makes at least, unless one fails.
        calls_most: calls that a run can make at most, tries of one call counted once.
        effect_calls_most: how many of those may change something.
        unknown_tools: names of the tools of which no past call is known; they count 0 s.
        unknown_counts: ids of the steps with `for_each` over a list that is not there yet.
        past_calls: how many past calls are known of the tool that has the fewest.
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
        return {
            "expected_s": self.expected_s,
            "p90_s": self.p90_s,
            "critical_path": [*self.critical_path],
            "calls_least": self.calls_least,
            "calls_most": self.calls_most,
            "effect_calls_most": self.effect_calls_most,
            "unknown_tools": [*self.unknown_tools],
            "unknown_counts": [*self.unknown_counts],
            "past_calls": self.past_calls,
        }


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
    """Return what a run of `plan` is expected to take.

    The same arguments always give the same forecast. It knows no more than the past calls do: a
    time that none of them took is never forecast, so that few past calls make `p90_s` too short,
    most of all for plans with many calls at once.

    Args:
        plan: what would be run.
        durations: by name of tool, the seconds that past calls of it took. What is no duration
            (negative, not finite, longer than thirty years) is left out.
        concurrency: how many calls the run makes at once.
        tool_concurrency: how many it makes at once of single tools, by name.
        source_concurrency: how many of all tools of one source, by its name.
        sources: the names of tools' sources, by name of tool.
        timeout_s: what no try of a call takes longer than, where its step says nothing.
        draws: how many runs are played through; fewer are for plans of more than 1,000 calls.
        seed: where chance begins.

    Raises:
        ValueError: `concurrency`, another limit or `draws` is less than 1.
    """
    for limit in (concurrency, *tool_concurrency.values(), *source_concurrency.values()):
        if limit < 1:
            raise ValueError(f"concurrency is {limit}; the least is 1")
    if draws < 1:
        raise ValueError(f"draws is {draws}; the least is 1")
    steps, effects = plan.plan.steps, frozenset(plan.effects)
    past = {tool: _usable(durations.get(tool, ())) for tool in dict.fromkeys(s.tool for s in steps)}
    pools = {
        (tool, stated): _pool(past[tool], timeout_s if stated is None else stated)
        for tool, stated in dict.fromkeys(map(_kind, steps))
    }
    limits = _Limits(concurrency, tool_concurrency, source_concurrency, sources)
    spans = _spans(_Shape.of(plan, pools, limits), limits, draws, seed)
    return Forecast(
        expected_s=sum(spans) / len(spans),
        p90_s=_quantile(spans, _WITHIN),
        critical_path=_critical_path(plan, pools, limits),
        calls_least=_calls_least(plan),
        calls_most=sum(map(most_calls, steps)),
        effect_calls_most=sum(most_calls(step) for step in steps if step.id in effects),
        unknown_tools=tuple(tool for tool, known in past.items() if not known),
        unknown_counts=tuple(step.id for step in steps if known_calls(step) is None),
        past_calls=min(map(len, past.values()), default=0),
    )


class _Called(NamedTuple):
    """What limits are told apart by, of the tool of one step."""

    name: str
    source: str


class _Limits(NamedTuple):
    """How many calls are made at once: in all, of single tools, and of single sources."""

    concurrency: int
    by_tool: Mapping[str, int]
    by_source: Mapping[str, int]
    sources: Mapping[str, str]

    def called(self, tool: str) -> _Called:
        """Return `tool` with its source."""
        return _Called(tool, self.sources.get(tool, ""))

    def at_once(self, tool: str) -> int:
        """Return the most calls of `tool` at once."""
        most = self.concurrency
        of_tool, of_source = self.by_tool.get(tool), self.by_source.get(self.called(tool).source)
        return min(each for each in (most, of_tool, of_source) if each is not None)

    def queue(self, tools: Sequence[_Called]) -> ReadyQueue:
        """Return a queue for steps with these tools, which stand in the order of their ranks."""
        return ReadyQueue(tools, None, self.by_tool, self.by_source)


class _Shape(NamedTuple):
    """A plan as it is played: what it needs to know of each step, by the step's place.

    Places are those in which an engine starts steps when not all can start: the longest way of
    steps behind it first, then the order of the plan. While all can start, order says nothing.
    All calls stand in one row, in this order; `ends` gives where those of each step end.
    """

    tools: tuple[_Called, ...]
    counts: tuple[int, ...]
    ends: tuple[int, ...]
    fans: tuple[bool, ...]
    waiting: tuple[int, ...]
    behind: tuple[tuple[int, ...], ...]
    pools: tuple[Sequence[float], ...]

    @classmethod
    def of(cls, plan: ExecutionPlan, pools: _Pools, limits: _Limits) -> _Shape:
        """Return the shape of `plan`."""
        ranks = _ranks(plan)
        # sorting is stable: steps of one rank stay in the order of the plan
        steps = sorted(plan.plan.steps, key=lambda step: -ranks[step.id])
        places = {step.id: place for place, step in enumerate(steps)}
        behind: list[list[int]] = [[] for _ in steps]
        for place, step in enumerate(steps):
            for each in plan.needs[step.id]:
                behind[places[each]].append(place)
        counts = tuple(map(_calls, steps))
        return cls(
            tools=tuple(limits.called(step.tool) for step in steps),
            counts=counts,
            ends=tuple(accumulate(counts)),
            fans=tuple(step.for_each is not None for step in steps),
            waiting=tuple(len(plan.needs[step.id]) for step in steps),
            behind=tuple(map(tuple, behind)),
            pools=tuple(pools[_kind(step)] for step in steps),
        )


def _spans(shape: _Shape, limits: _Limits, draws: int, seed: int) -> list[float]:
    """Play runs, and give how long each took."""
    calls = sum(shape.counts)
    if all(min(pool) == max(pool) for pool in shape.pools):  # one run is as all the others
        played = 1
    else:
        played = max(1, min(draws, _CALLS_PLAYED // max(calls, 1)))
    pools = [pool for pool, n in zip(shape.pools, shape.counts, strict=True) for _ in range(n)]
    sizes = [len(pool) for pool in pools]
    layout = struct.Struct(f"<{calls}I")
    spans: list[float] = []
    for draw in range(played):
        digits = shake_256(f"{seed} {draw}".encode()).digest(layout.size)
        chances: tuple[int, ...] = layout.unpack(digits)
        seconds = [
            pool[chance * size >> _CHANCE_BITS]
            for pool, size, chance in zip(pools, sizes, chances, strict=True)
        ]
        spans.append(_span(shape, seconds, limits))
    return spans


def _span(shape: _Shape, seconds: Sequence[float], limits: _Limits) -> float:
    """Play one run whose calls take `seconds`, and give when its last one ends.

    The calls stand in the order of places, those of one step in the order of its items.
    """
    fans, behind, ends = shape.fans, shape.behind, shape.ends
    waiting, left = list(shape.waiting), list(shape.counts)
    nexts = [0, *ends]
    # as in an engine, a step with `for_each` first comes to have its items counted, and then comes
    # back with a turn more for each of them
    ready = limits.queue(shape.tools)
    for place, count in enumerate(waiting):
        if not count:
            ready.push(place)
    running: list[tuple[float, int]] = []
    now = 0.0
    free = limits.concurrency
    while True:
        while free and (entry := ready.pop(free)) is not None:
            place, turn = entry
            if not turn and fans[place]:
                if left[place]:
                    ready.push(place, 1)
                else:
                    _let_go(behind[place], waiting, ready)
                continue
            call = nexts[place]
            nexts[place] = call + 1
            heappush(running, (now + seconds[call], place))
            ready.take(place)
            free -= 1
            if call + 1 < ends[place]:
                ready.push(place, turn + 1)
        if not running:
            return now
        now, place = heappop(running)
        ready.release(place)
        free += 1
        left[place] -= 1
        if not left[place]:
            _let_go(behind[place], waiting, ready)


def _let_go(dependents: Sequence[int], waiting: list[int], ready: ReadyQueue) -> None:
    """Count off a step that is over from what its dependents wait for."""
    for each in dependents:
        waiting[each] -= 1
        if not waiting[each]:
            ready.push(each)


def _quantile(spans: list[float], share: float) -> float:
    """Return the time within which `share` of further runs end.

    A further run is as likely to fall into any of the gaps between those that were played, so that
    there is one place more than there are runs.
    """
    rank = math.ceil(share * (len(spans) + 1))
    return sorted(spans)[min(rank, len(spans)) - 1]


def _critical_path(plan: ExecutionPlan, pools: _Pools, limits: _Limits) -> tuple[str, ...]:
    """Return the chain that takes longest by mean times; where none takes any, the most steps."""
    means = {kind: sum(pool) / len(pool) for kind, pool in pools.items()}
    steps = {step.id: step for step in plan.plan.steps}
    ways: dict[str, tuple[float, int]] = {}
    before: dict[str, str | None] = {}
    for name in plan.order:
        step = steps[name]
        before[name] = last = max(plan.needs[name], key=ways.__getitem__, default=None)
        seconds, length = (0.0, 0) if last is None else ways[last]
        rounds = math.ceil(_calls(step) / limits.at_once(step.tool))
        ways[name] = (seconds + rounds * means[_kind(step)], length + 1)
    path: list[str] = []
    at = max(ways, key=ways.__getitem__, default=None)
    while at is not None:
        path.append(at)
        at = before[at]
    return tuple(reversed(path))


def _ranks(plan: ExecutionPlan) -> dict[str, int]:
    """Return for each step how many steps are on the longest way that begins with it."""
    ranks = dict.fromkeys(plan.order, 1)
    for name in reversed(plan.order):
        for each in plan.needs[name]:
            ranks[each] = max(ranks[each], ranks[name] + 1)
    return ranks


def _calls_least(plan: ExecutionPlan) -> int:
    """Count the calls of the steps that nothing can skip, items that are not known as none."""
    steps = {step.id: step for step in plan.plan.steps}
    skippable: set[str] = set()
    least = 0
    for name in plan.order:
        step = steps[name]
        if step.when is not None or any(ref.step in skippable for _, ref in step_refs(step)):
            skippable.add(name)
        else:
            least += known_calls(step) or 0
    return least


def _calls(step: Step) -> int:
    count = known_calls(step)
    return 1 if count is None else count


def _kind(step: Step) -> _Kind:
    return step.tool, step.timeout_s


def _usable(seconds: Sequence[float]) -> Sequence[float]:
    return [each for each in seconds if 0 <= each <= _LONGEST_S]


def _pool(past: Sequence[float], timeout_s: float) -> Sequence[float]:
    """Return the times that a call may take whose tool took `past`; a timeout cuts them short."""
    return [min(each, timeout_s) for each in past or _NOTHING_KNOWN]
