"""The queue of steps and items that are ready to start, and the limits on concurrent calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

_TURN: Final = 32
_PLACE: Final = (1 << _TURN) - 1


class Limited(Protocol):
    """A tool, by the names that limits are set for: its own and that of its source."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...


class _Gate:
    """A limit on concurrent calls of one tool or one source, and the entries that wait for it."""

    __slots__ = ("free", "parked")

    def __init__(self, free: int) -> None:
        self.free = free
        self.parked: list[int] = []


class ReadyQueue:
    """Steps that are ready to start, in the order of the plan while there is room for all.

    When a limit is reached, or tools or sources have limits, steps on the critical path start
    first.

    Each entry is a turn and a position. Steps that have not started have turn 0. A step with
    `for_each` comes back with the next turn for each item, so that thousands of items do not
    block other steps.
    """

    def __init__(
        self,
        tools: Sequence[Limited],
        ranks: Callable[[], Sequence[int]],
        by_tool: Mapping[str, int],
        by_source: Mapping[str, int],
    ) -> None:
        """Create an empty queue.

        Args:
            tools: the tool of each position; more may be added while the queue is in use.
            ranks: returns for each position the length of its longest chain of dependents, or
                nothing while that is not known; called only when it matters.
            by_tool: the most concurrent calls of single tools, by name.
            by_source: the most concurrent calls of all tools of one source, by its name.
        """
        self._heap: list[int] = []
        self._ranks = ranks
        self._places: list[int] = []  # by position, once ranks are known
        self._order: list[int] = []  # positions by place
        self._tools = tools
        self._of_tools = {name: _Gate(most) for name, most in by_tool.items()}
        self._of_sources = {name: _Gate(most) for name, most in by_source.items()}
        self._gates = [*self._of_tools.values(), *self._of_sources.values()]
        self._gates_of: dict[int, Sequence[_Gate]] = {}

    def more(self) -> bool:
        """Return whether an entry could start now."""
        if not self._heap and self._gates:
            # the last entry may have made no call, which leaves its room to the next one
            for gate in self._gates:
                if gate.free > 0:
                    self._let_in(gate)
        return bool(self._heap)

    def push(self, position: int, turn: int = 0) -> None:
        """Add the step at `position`, or its next item."""
        place = self._places[position] if self._places else position
        heappush(self._heap, turn << _TURN | place)

    def pop(self, room: int) -> tuple[int, int] | None:
        """Return the position and turn of the next entry, None where nothing can start now.

        `room` is how many calls could start.
        """
        heap = self._heap
        if not heap and not self.more():
            return None
        if not self._places and (len(heap) > room or self._gates):
            self._rank(self._ranks())
        if not self._places and not self._gates:  # nearly every run
            key = heappop(heap)
            return key & _PLACE, key >> _TURN
        while heap:
            key = heappop(heap)
            place = key & _PLACE
            position = self._order[place] if self._places else place
            if not self._gates or not self._park(key, position):
                return position, key >> _TURN
        return None

    def take(self, position: int) -> None:
        """Count a call of the step at `position` against the limits of its tool and source."""
        if self._gates:
            for gate in self._gates_before(position):
                gate.free -= 1

    def release(self, position: int) -> None:
        """Release the limits of a call that ended, and let in what waits for them."""
        if self._gates:
            for gate in self._gates_before(position):
                gate.free += 1
                self._let_in(gate)

    def _park(self, key: int, position: int) -> bool:
        """Set an entry aside if a limit blocks it; say whether it did."""
        gates = self._gates_before(position)
        for gate in gates:
            if gate.free <= 0:
                heappush(gate.parked, key)
                break
        else:
            return False
        for gate in gates:
            if gate.free > 0:  # this entry does not use the room, so another may
                self._let_in(gate)
        return True

    def _let_in(self, gate: _Gate) -> None:
        if gate.parked:
            heappush(self._heap, heappop(gate.parked))

    def _gates_before(self, position: int) -> Sequence[_Gate]:
        gates = self._gates_of.get(position)
        if gates is None:
            tool = self._tools[position]
            both = (self._of_tools.get(tool.name), self._of_sources.get(tool.source))
            gates = self._gates_of[position] = [gate for gate in both if gate is not None]
        return gates

    def _rank(self, ranks: Sequence[int]) -> None:
        if not ranks:
            return
        self._order = sorted(range(len(ranks)), key=lambda position: (-ranks[position], position))
        self._places = [0] * len(ranks)
        for place, position in enumerate(self._order):
            self._places[position] = place
        for entries in (self._heap, *(gate.parked for gate in self._gates)):
            entries[:] = [key & ~_PLACE | self._places[key & _PLACE] for key in entries]
            heapify(entries)
