"""Whether a failure with sample or recorded values proves a fault of the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from toolplan.app.dry_run.sample_values import WRITTEN, SampleValues, list_behind, pointer_of
from toolplan.compiler.rules import Use
from toolplan.events import Failure
from toolplan.plan.model import Limits, Ref, Step
from toolplan.schema import Absent, Schema, Verdict, assignable, types_of


class Certainty(NamedTuple):
    """Decides which failures are faults of the plan, not of sample or recorded values."""

    samples: SampleValues
    limits: Limits
    least: int
    """the fewest calls of a run"""

    def is_sure(self, step: Step, failure: Failure) -> bool:
        """Return whether `step` fails whatever the tools return."""
        match failure.code:
            case "reference-missing":
                there = self._read_by(step, failure)
                readings = [self.samples.reading(use.ref, step) for use in there]
                nowhere = any(isinstance(each, Absent) for each in readings)
                return nowhere or self._all_written(step, there)
            case "not-a-list" | "too-many-items":
                return self._has_no_such_list(step)
            case "argument-type" | "argument-value" | "missing-argument" | "unknown-argument":
                return self._never_fits(step, failure)
            case "too-many-calls":
                return self.least > self.limits.calls
            case "result-schema" | "result-type" | "result-too-large" | "value-too-large":
                return False
            case _:
                return True

    def given_by(
        self, step: Step, failure: Failure, recorded: Callable[[str], bool]
    ) -> tuple[tuple[str, ...], bool]:
        """Return the tools whose recordings `step` failed with, and whether it read only these.

        `recorded` says which steps returned one.
        """
        if failure.code.startswith("result-"):
            return ((step.tool,), True) if recorded(step.id) else ((), False)
        read = [
            name
            for use in self._read_by(step, failure)
            if self.samples.reading(use.ref, step) is not WRITTEN
            for name in self.samples.sources(use.ref, step)
        ]
        given = [name for name in read if recorded(name)]
        tools = dict.fromkeys(self.samples.steps[name].tool for name in given)
        return tuple(tools), len(given) == len(read)

    def _all_written(self, step: Step, there: list[Use]) -> bool:
        return all(self.samples.reading(use.ref, step) is WRITTEN for use in there)

    def _has_no_such_list(self, step: Step) -> bool:
        if not isinstance(step.for_each, Ref):
            return True
        reading = self.samples.reading(list_behind(step.for_each), None)
        if not isinstance(reading, Schema):
            return isinstance(reading, Absent)
        most = min(step.max_items, self.limits.items)
        return assignable(reading, Schema.load({"type": "array", "maxItems": most})) is Verdict.NO

    def _never_fits(self, step: Step, failure: Failure) -> bool:
        if given := self._at_or_above(step, failure.pointer):
            impossible = any(self._cannot_fit(step, use) for use in given)
            return impossible or self._all_written(step, given)
        # the names of all arguments stand in the plan
        names_are_wrong = failure.code in ("missing-argument", "unknown-argument")
        takes_each_alone = self.samples.tools[step.tool].input.of_parts is not None
        if failure.pointer == "/args" and names_are_wrong and takes_each_alone:
            return True
        return self._all_written(step, self._read_by(step, failure))

    def _cannot_fit(self, step: Step, use: Use) -> bool:
        reading = self.samples.reading(use.ref, step)
        if not isinstance(use.taken, Schema) or not isinstance(reading, Schema):
            return False
        if use.whole:
            return assignable(reading, use.taken) is Verdict.NO
        return "string" not in types_of(use.taken)

    def _read_by(self, step: Step, failure: Failure) -> list[Use]:
        """Return the references of `step` that may have led to `failure`."""
        given = self._at_or_above(step, failure.pointer)
        if given and failure.code != "reference-missing":
            return given
        # with alternatives in the schema, an error at a fixed value may be due to another value
        inside = "/".join(failure.pointer.split("/")[:3])
        uses = self.samples.uses[step.id]
        return [*given, *(use for use in uses if pointer_of(use).startswith(f"{inside}/"))]

    def _at_or_above(self, step: Step, pointer: str) -> list[Use]:
        """Return the references of `step` that give the value at `pointer` or one around it."""
        uses = self.samples.uses[step.id]
        return [use for use in uses if f"{pointer}/".startswith(f"{pointer_of(use)}/")]
