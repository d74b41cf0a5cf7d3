"""Whether a failure with sample or recorded values proves a fault of the plan."""

from __future__ import annotations

from collections.abc import Callable

from toolplan.app.dry_run.sample_values import SampleValues, Written, list_behind, pointer_of
from toolplan.compiler.rules import Use
from toolplan.events import Failure
from toolplan.plan.model import Limits, Ref, Step
from toolplan.schema import Absent, Schema, Verdict, assignable, types_of


class Certainty:
    """Decides which failures are faults of the plan, not of sample or recorded values."""

    def __init__(self, samples: SampleValues, limits: Limits, least: int) -> None:
        """Begin with `least`, the fewest calls of a run."""
        self._samples = samples
        self._limits = limits
        self._least = least

    def is_sure(self, step: Step, failure: Failure) -> bool:
        """Return whether `step` fails whatever the tools return."""
        match failure.code:
            case "reference-missing":
                there = self._read_by(step, failure)
                readings = [self._samples.reading(use.ref, step) for use in there]
                nowhere = any(isinstance(each, Absent) for each in readings)
                return nowhere or self._all_written(step, there)
            case "not-a-list" | "too-many-items":
                return self._has_no_such_list(step)
            case "argument-type" | "argument-value" | "missing-argument" | "unknown-argument":
                return self._never_fits(step, failure)
            case "too-many-calls":
                return self._least > self._limits.calls
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
            if not isinstance(self._samples.reading(use.ref, step), Written)
            for name in self._samples.sources(use.ref, step)
        ]
        given = [name for name in read if recorded(name)]
        tools = tuple(dict.fromkeys(map(self._samples.tool_of, given)))
        return tools, len(given) == len(read)

    def _all_written(self, step: Step, there: list[Use]) -> bool:
        return all(isinstance(self._samples.reading(u.ref, step), Written) for u in there)

    def _has_no_such_list(self, step: Step) -> bool:
        match step.for_each:
            case Ref() as ref:
                reading = self._samples.reading(list_behind(ref), None)
                if not isinstance(reading, Schema):
                    return isinstance(reading, Absent)
                most = min(step.max_items, self._limits.items)
                wanted = Schema.load({"type": "array", "maxItems": most})
                return assignable(reading, wanted) is Verdict.NO
            case _:
                return True

    def _never_fits(self, step: Step, failure: Failure) -> bool:
        given = self._at_or_above(step, failure.pointer)
        if given:
            impossible = any(self._cannot_fit(step, use) for use in given)
            return impossible or self._all_written(step, given)
        # the names of all arguments stand in the plan
        names_are_wrong = failure.code in ("missing-argument", "unknown-argument")
        if failure.pointer == "/args" and names_are_wrong and self._samples.takes_each_alone(step):
            return True
        return self._all_written(step, self._read_by(step, failure))

    def _cannot_fit(self, step: Step, use: Use) -> bool:
        reading = self._samples.reading(use.ref, step)
        if not isinstance(use.taken, Schema) or not isinstance(reading, Schema):
            return False
        if use.whole:
            return assignable(reading, use.taken) is Verdict.NO
        return "string" not in types_of(use.taken)

    def _read_by(self, step: Step, failure: Failure) -> list[Use]:
        """Return the references of `step` that may have led to `failure`."""
        given = self._at_or_above(step, failure.pointer)
        if failure.code == "reference-missing" or not given:
            # with alternatives in the schema, an error at a fixed value may be due to another value
            inside = "/".join(failure.pointer.split("/")[:3])
            below = (u for u in self._samples.uses(step) if pointer_of(u).startswith(f"{inside}/"))
            return [*given, *below]
        return given

    def _at_or_above(self, step: Step, pointer: str) -> list[Use]:
        """Return the references of `step` that give the value at `pointer` or one around it."""
        uses = self._samples.uses(step)
        return [use for use in uses if f"{pointer}/".startswith(f"{pointer_of(use)}/")]
