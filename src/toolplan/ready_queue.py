"""The queue of steps and items that could start, and the limits that may hold them back.

Runs start their calls in its order, and so do runs that a forecast plays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

_TURN: Final = 32
_PLACE: Final = (1 << _TURN) - 1


class Limited(Protocol):
    """What limits are told apart by: a tool's name, and its source's."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def source(self) -> str:
        """The name of its source."""
        ...


class _Gate:
    """A limit on calls at once of one tool or one source, and who waits before it."""

    __slots__ = ("free", "parked")

    def __init__(self, free: int) -> None:
        self.free = free
        self.parked: list[int] = []


class ReadyQueue:
    """What could start: steps in the order of the plan, while there is room for all of them.

    As soon as there is not, the step with the longest way of steps behind it goes first; so it
    does wherever single tools or sources have limits.

    Each entry is a turn and a place. Steps that have not started have turn 0; a step with
    `for_each` comes back with one turn more for each item, so that a step with thousands of items
    does not hold up the steps beside it.
    """

    def __init__(
        self,
        tools: Sequence[Limited],
        ranks: Callable[[], Sequence[int]] | None,
        by_tool: Mapping[str, int],
        by_source: Mapping[str, int],
    ) -> None:
        """Prepare a queue of nothing.

        Args:
            tools: the tool of each position; more may be added while the queue is in use.
            ranks: gives for each position how many steps its longest way has, or nothing while that
                is not known; asked as soon as it matters. None where positions are in that order.
            by_tool: the most calls at once of single tools, by name.
            by_source: the most calls at once of all tools of one source, by its name.
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
        """Say whether there is something that could start now."""
        if not self._heap and self._gates:
            # who was let in last may have made no call, and left the room to the next one
            for gate in self._gates:
                if gate.free > 0:
                    self._let_in(gate)
        return bool(self._heap)

    def push(self, position: int, turn: int = 0) -> None:
        """Let the step at `position` start, or its next item, when its turn comes."""
        place = self._places[position] if self._places else position
        heappush(self._heap, turn << _TURN | place)

    def pop(self, room: int) -> tuple[int, int] | None:
        """Return the position and turn of what starts next, None where nothing can start now.

        `room` is how many calls could start.
        """
        heap = self._heap
        if not heap and not self.more():
            return None
        if self._ranks and not self._places and (len(heap) > room or self._gates):
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
        """Take the call off the limits, and let in who waits for them."""
        if self._gates:
            for gate in self._gates_before(position):
                gate.free += 1
                self._let_in(gate)

    def _park(self, key: int, position: int) -> bool:
        """Set an entry aside where a limit holds it back, and say so."""
        gates = self._gates_before(position)
        for gate in gates:
            if gate.free <= 0:
                heappush(gate.parked, key)
                break
        else:
            return False
        for gate in gates:
            if gate.free > 0:  # its room is not used by this one, so another may have it
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
