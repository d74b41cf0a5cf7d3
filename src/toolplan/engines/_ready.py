"""The queue of steps and items that could start, and the limits that may hold them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from toolplan.tools import Tool

_TURN: Final = 32
_PLACE: Final = (1 << _TURN) - 1


class _Gate:
    """A limit on calls at once of one tool or one source, and who waits before it."""

    __slots__ = ("free", "parked")

    def __init__(self, free: int) -> None:
        self.free = free
        self.parked: list[int] = []


class Ready:
    """What could start: steps in the order of the plan, while there is room for all of them.

    As soon as there is not, the step with the longest way of steps behind it goes first; so it
    does wherever single tools or sources have limits. `ranks` gives for each position how many
    steps its longest way has; it is asked when that happens.

    Each entry is a turn and a place. Steps that have not started have turn 0; a step with
    `for_each` comes back with one turn more for each item, so that a step with thousands of items
    does not hold up the steps beside it.
    """

    __slots__ = ("_gates", "_gates_of", "_heap", "_order", "_places", "_ranks", "_tools")

    def __init__(
        self,
        tools: Sequence[Tool],
        ranks: Callable[[], Sequence[int]],
        by_tool: Mapping[str, int],
        by_source: Mapping[str, int],
    ) -> None:
        self._heap: list[int] = []
        self._ranks = ranks
        self._places: list[int] = []  # by position, once ranks are known
        self._order: list[int] = []  # positions by place
        self._tools = tools
        self._gates: dict[tuple[str, str], _Gate] = {
            **{("tool", name): _Gate(most) for name, most in by_tool.items()},
            **{("source", name): _Gate(most) for name, most in by_source.items()},
        }
        self._gates_of: dict[int, tuple[_Gate, ...]] = {}

    def more(self) -> bool:
        """Say whether there is something that could start now."""
        if not self._heap and self._gates:
            # who was let in last may have made no call, and left the room to the next one
            for gate in self._gates.values():
                if gate.free > 0:
                    self._let_in(gate)
        return bool(self._heap)

    def push(self, position: int, turn: int = 0) -> None:
        """Let the step at `position` start, or its next item, when its turn comes."""
        place = self._places[position] if self._places else position
        heappush(self._heap, turn << _TURN | place)

    def pop(self, room: int) -> tuple[int, int] | None:
        """Give the position and turn of what starts next, None where nothing can start now.

        `room` is how many calls could start.
        """
        heap = self._heap
        if not heap and not self.more():
            return None
        if (len(heap) > room or self._gates) and not self._places:
            self._rank()
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
        closed = next((gate for gate in gates if gate.free <= 0), None)
        if closed is None:
            return False
        heappush(closed.parked, key)
        for gate in gates:
            if gate.free > 0:  # its room is not used by this one, so another may have it
                self._let_in(gate)
        return True

    def _let_in(self, gate: _Gate) -> None:
        if gate.parked:
            heappush(self._heap, heappop(gate.parked))

    def _gates_before(self, position: int) -> tuple[_Gate, ...]:
        gates = self._gates_of.get(position)
        if gates is None:
            tool = self._tools[position]
            names = (("tool", tool.name), ("source", tool.source))
            gates = tuple(self._gates[name] for name in names if name in self._gates)
            self._gates_of[position] = gates
        return gates

    def _rank(self) -> None:
        ranks = self._ranks()
        if not ranks:
            return
        self._order = sorted(range(len(ranks)), key=lambda position: (-ranks[position], position))
        self._places = [0] * len(ranks)
        for place, position in enumerate(self._order):
            self._places[position] = place
        for entries in (self._heap, *(gate.parked for gate in self._gates.values())):
            entries[:] = [key & ~_PLACE | self._places[key & _PLACE] for key in entries]
            heapify(entries)
