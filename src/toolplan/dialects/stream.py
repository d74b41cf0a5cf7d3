"""The steps of a plan whose text is still being written. Each character is read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from toolplan.dialects import json_text
from toolplan.plan.canonical import Report, check_depth
from toolplan.plan.model import Limits, Step
from toolplan.plan.path import Json
from toolplan.plan.text.elements import Elements


class StepReader(Protocol):
    """Reads the steps of one plan, in order; what is wrong is reported."""

    def declare(self, item: Json) -> None:
        """Declare the next step, so that later steps may refer to it."""
        ...

    def step(self, item: Json, at: int) -> Step:
        """Return the step at position `at`, which is declared."""
        ...


def all_steps(items: Sequence[Json], reader: StepReader) -> tuple[Step, ...]:
    """Return the steps that `items` are; each may refer to every other."""
    for item in items:
        reader.declare(item)
    return tuple(reader.step(item, at) for at, item in enumerate(items))


class JsonSteps:
    """Reads the steps of a list under `key` of an object; without `key`, of a list."""

    def __init__(
        self, key: str | None, reader: Callable[[Report], StepReader], limits: Limits
    ) -> None:
        self._elements = Elements(key)
        self._report = Report()
        self._reader = reader(self._report)
        self._limits = limits
        self._count = 0
        self._is_over = False

    def feed(self, text: str) -> Sequence[Step]:
        """Return the steps that `text`, the next piece, completes; none behind an error."""
        steps: list[Step] = []
        for element in () if self._is_over else self._elements.feed(text):
            step = self._step(element)
            if step is None:
                self._is_over = True
                break
            steps.append(step)
        return steps

    def _step(self, element: str) -> Step | None:
        read = json_text.read(element, lambda document: isinstance(document, dict), self._limits)
        if read.block is None or any(each.blocks for each in read.diagnostics):
            return None
        item = read.block.document
        if not check_depth([[item]], self._limits.depth, self._report):
            return None
        self._reader.declare(item)
        step = self._reader.step(item, self._count)
        self._count += 1
        found = self._report.diagnostics
        if any(each.blocks or (each.fix is not None and each.fix.safe) for each in found):
            return None  # the step will be another one, or none, when the plan is whole
        return step
