"""Which step waits for which, while a plan runs and may still grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolplan.plan.model import Step, step_refs


class Graph:
    """The steps by position, and for each the number of steps it still waits for.

    A step may need one that has not arrived yet. A step that is held back waits until `release`.
    """

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._needs: list[tuple[str, ...]] = []
        self._positions: dict[str, int] = {}
        self._waiting: list[int] = []
        self._dependents: list[list[int]] = []
        self._expected: dict[str, list[int]] = {}  # by the id of a step that has not arrived
        self._over: set[int] = set()
        self._held: list[int] = []
        self._free: list[int] = []

    def add(
        self,
        steps: Iterable[Step],
        needs: Callable[[Step], tuple[str, ...]],
        holds: Callable[[Step], bool] | None = None,
    ) -> None:
        """Add `steps` with their `needs`, and hold back those for which `holds` is true."""
        first = len(self._steps)
        self._steps.extend(steps)
        added = self._steps[first:]
        positions, dependents, over = self._positions, self._dependents, self._over
        for position, step in enumerate(added, first):
            positions[step.id] = position
            dependents.append(self._expected.pop(step.id, []) if self._expected else [])
        for position, step in enumerate(added, first):
            needed = needs(step)
            self._needs.append(needed)
            waiting = len(needed)
            for each in needed:
                at = positions.get(each)
                if at is None:
                    self._expected.setdefault(each, []).append(position)
                    continue
                dependents[at].append(position)  # even if it is over: it is not a sink any more
                if at in over:
                    waiting -= 1
            if holds is not None and holds(step):
                waiting += 1
                self._held.append(position)
            self._waiting.append(waiting)
            if not waiting:
                self._free.append(position)

    def newly_free(self) -> list[int]:
        """Return the added or released steps that wait for nothing; each once."""
        free, self._free = self._free, []
        return free

    def release(self) -> None:
        """Release the steps that were held back."""
        held, self._held = self._held, []
        for position in held:
            self._waiting[position] -= 1
            if not self._waiting[position]:
                self._free.append(position)

    def freed_by(self, position: int) -> list[int]:
        """Mark a step as over, and return the steps that waited only for it."""
        self._over.add(position)
        waiting = self._waiting
        freed: list[int] = []
        for dependent in self._dependents[position]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                freed.append(dependent)
        return freed

    def needed(self, position: int) -> tuple[str, ...]:
        """Return the ids of the steps that the one at `position` needs."""
        return self._needs[position]

    def referenced(self, position: int) -> set[str]:
        """Return the ids of the steps that the one at `position` refers to."""
        return {ref.step for _, ref in step_refs(self._steps[position])}

    def sinks(self) -> list[str]:
        """Return the ids of the steps that no other refers to, as `plan.model.sinks` does."""
        return [
            step.id
            for step, dependents in zip(self._steps, self._dependents, strict=True)
            # what needs it and does not have it in `after` can only have a reference to it
            if all(
                step.id in self._steps[each].after and step.id not in self.referenced(each)
                for each in dependents
            )
        ]

    def in_order(self) -> list[int]:
        """Return all positions in topological order (Kahn 1962)."""
        waiting = [sum(each in self._positions for each in needed) for needed in self._needs]
        order = [position for position, count in enumerate(waiting) if not count]
        for position in order:
            for dependent in self._dependents[position]:
                waiting[dependent] -= 1
                if not waiting[dependent]:
                    order.append(dependent)
        return order

    def ranks(self) -> list[int]:
        """Return for each position the number of steps on the longest path from there."""
        ranks = [1] * len(self._steps)
        for position in reversed(self.in_order()):
            behind = self._dependents[position]
            if behind:
                ranks[position] = 1 + max(ranks[each] for each in behind)
        return ranks
