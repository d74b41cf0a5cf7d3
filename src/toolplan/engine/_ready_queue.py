"""The queue of steps and items that are ready to start, and the limits on concurrent calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from toolplan.engine._calls import RunOptions, SharedLimit
from toolplan.schema.tool import Tool

_TURN: Final = 32
_PLACE: Final = (1 << _TURN) - 1


class _Gate:
    """A limit on concurrent calls of one tool or one source, and the entries that wait for it."""

    __slots__ = ("free", "parked")

    def __init__(self, free: int) -> None:
        self.free = free
        self.parked: list[int] = []

    def park(self, key: int) -> None:
        """Set an entry aside until there is room."""
        heappush(self.parked, key)

    def take(self) -> None:
        """Count a call that starts."""
        self.free -= 1

    def release(self) -> None:
        """Count a call that is over."""
        self.free += 1


class _SharedGate(_Gate):
    """A shared limit: `free` is what was granted to this run and is not used."""

    __slots__ = ("_limit", "_on_grant", "_taken", "asked")

    def __init__(self, limit: SharedLimit, on_grant: Callable[[_Gate], None]) -> None:
        super().__init__(0)
        self.asked = 0
        self._taken = 0
        self._limit = limit
        self._on_grant = on_grant

    def park(self, key: int) -> None:
        super().park(key)
        if self.asked < len(self.parked):
            self.asked += 1
            self._limit.ask(self._grant)

    def take(self) -> None:
        super().take()
        self._taken += 1

    def release(self) -> None:
        # not kept for the next call here: another run may have waited longer for it
        self._taken -= 1
        self._limit.release()

    def release_unused(self) -> None:
        """Release the grant, which is not needed."""
        while self.free > 0:
            self.free -= 1
            self._limit.release()

    def close(self) -> None:
        """Release everything, and ask for no more."""
        while self.asked:
            self.asked -= 1
            self._limit.withdraw(self._grant)
        while self._taken:
            self.release()
        self.release_unused()

    def _grant(self) -> None:
        self.asked -= 1
        self.free += 1
        self._on_grant(self)


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
        tools: Sequence[Tool],
        ranks: Callable[[], Sequence[int]],
        options: RunOptions,
        on_room: Callable[[], None],
    ) -> None:
        """Create an empty queue.

        Args:
            tools: the tool of each position; more may be added while the queue is in use.
            ranks: returns for each position the length of its longest chain of dependents, or
                nothing while that is not known; called only when it matters.
            options: the limits on concurrent calls.
            on_room: called when other runs have left room for entries that wait.
        """
        self.entries: list[int] = []
        """The entries that could start now; other code only tests whether there are any."""
        self._ranks = ranks
        self._places: list[int] = []  # by position, once ranks are known
        self._order: list[int] = []  # positions by place
        self._tools = tools
        self._on_room = on_room
        self._of_tools = {name: _Gate(most) for name, most in options.tool_concurrency.items()}
        self._of_sources = {name: _Gate(most) for name, most in options.source_concurrency.items()}
        self._shared = {
            name: _SharedGate(limit, self._granted) for name, limit in options.shared_limits.items()
        }
        self._gates: list[_Gate] = [
            *self._of_tools.values(),
            *self._of_sources.values(),
            *self._shared.values(),
        ]
        self.is_limited = bool(self._gates)
        """Whether tools or sources have limits, so that entries wait and calls are counted."""
        self._gates_of: dict[int, Sequence[_Gate]] = {}

    def more(self) -> bool:
        """Return whether an entry could start now."""
        heap = self.entries
        if heap or not self._gates:  # nearly every run
            return bool(heap)
        # the last entry may have made no call, which leaves its room to the next one
        for gate in self._gates:
            if gate.free > 0:
                self._let_in(gate)
        if not heap:
            for gate in self._shared.values():
                gate.release_unused()
        return bool(heap)

    @property
    def waits(self) -> bool:
        """Whether entries wait for other runs."""
        return any(gate.asked for gate in self._shared.values())

    def close(self) -> None:
        """Release what shared limits have granted."""
        for gate in self._shared.values():
            gate.close()

    def push(self, position: int, turn: int = 0) -> None:
        """Add the step at `position`, or its next item."""
        place = self._places[position] if self._places else position
        heappush(self.entries, turn << _TURN | place)

    def pop(self, room: int) -> tuple[int, int] | None:
        """Return the position and turn of the next entry, None where nothing can start now.

        `room` is how many calls could start.
        """
        heap = self.entries
        if not heap and not (self._gates and self.more()):
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
        for gate in self._gates_before(position):
            gate.take()

    def release(self, position: int) -> None:
        """Release the limits of a call that ended, and let in what waits for them."""
        for gate in self._gates_before(position):
            gate.release()
            if gate.free > 0:
                self._let_in(gate)

    def _park(self, key: int, position: int) -> bool:
        """Set an entry aside if a limit blocks it; say whether it did."""
        gates = self._gates_before(position)
        for gate in gates:
            if gate.free <= 0:
                gate.park(key)
                break
        else:
            return False
        for gate in gates:
            if gate.free > 0:  # this entry does not use the room, so another may
                self._let_in(gate)
        return True

    def _let_in(self, gate: _Gate) -> None:
        if gate.parked:
            heappush(self.entries, heappop(gate.parked))

    def _gates_before(self, position: int) -> Sequence[_Gate]:
        gates = self._gates_of.get(position)
        if gates is None:
            tool = self._tools[position]
            found = (
                self._of_tools.get(tool.name),
                self._of_sources.get(tool.source),
                self._shared.get(tool.name),  # last: nothing else may keep what others wait for
                self._shared.get(tool.source),
            )
            gates = self._gates_of[position] = [gate for gate in found if gate is not None]
        return gates

    def _granted(self, gate: _Gate) -> None:
        self._let_in(gate)
        self._on_room()

    def _rank(self, ranks: Sequence[int]) -> None:
        if not ranks:
            return
        self._order = sorted(range(len(ranks)), key=lambda position: (-ranks[position], position))
        self._places = [0] * len(ranks)
        for place, position in enumerate(self._order):
            self._places[position] = place
        for entries in (self.entries, *(gate.parked for gate in self._gates)):
            entries[:] = [key & ~_PLACE | self._places[key & _PLACE] for key in entries]
            heapify(entries)
