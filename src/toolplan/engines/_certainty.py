"""Whether a failure with made-up values says anything of the plan."""

from __future__ import annotations

from toolplan.engines._made_up import MadeUp, Place, Recorded, list_behind, step_places
from toolplan.events import Failure
from toolplan.plan import Limits, Ref, Step
from toolplan.schema import Absent, Schema, Verdict, assignable, types_of


class Certainty:
    """Tells faults of a plan from those of made-up values."""

    def __init__(self, made_up: MadeUp, limits: Limits, least: int) -> None:
        """Judge by what is known of `made_up`; `least` are the fewest calls of a whole run."""
        self._made_up = made_up
        self._limits = limits
        self._least = least

    def is_sure(self, step: Step, failure: Failure) -> bool:
        """Say whether `step` fails with any real values, or failed with recorded ones."""
        match failure.code:
            case "reference-missing":
                there = _at_or_above(step, failure.pointer)
                nowhere = any(self._leads_nowhere(step, each) for each in there)
                return nowhere or self._all_recorded(step, there)
            case "not-a-list" | "too-many-items":
                return self._has_no_such_list(step)
            case "argument-type" | "argument-value" | "missing-argument" | "unknown-argument":
                return self._never_fits(step, failure)
            case "too-many-calls":
                return self._least > self._limits.calls
            case "result-schema" | "result-type" | "result-too-large":
                return self._made_up.is_recorded(step)
            case _:
                return True

    def _leads_nowhere(self, step: Step, place: Place) -> bool:
        return isinstance(self._made_up.reading(place.ref, step), Absent)

    def _all_recorded(self, step: Step, there: list[Place]) -> bool:
        return all(isinstance(self._made_up.reading(p.ref, step), Recorded) for p in there)

    def _has_no_such_list(self, step: Step) -> bool:
        match step.for_each:
            case Ref() as ref:
                reading = self._made_up.reading(list_behind(ref), None)
                if not isinstance(reading, Schema):
                    return True
                most = min(step.max_items, self._limits.items)
                wanted = Schema.load({"type": "array", "maxItems": most})
                return assignable(reading, wanted) is Verdict.NO
            case _:
                return True

    def _never_fits(self, step: Step, failure: Failure) -> bool:
        given = _at_or_above(step, failure.pointer)
        if given:
            impossible = any(self._cannot_fit(step, place) for place in given)
            return impossible or self._all_recorded(step, given)
        _, args, *names = failure.pointer.split("/")
        if not names and self._takes_each_alone(step, failure):
            return True
        # where there are alternatives, a complaint about what is fixed may be due to what is not
        beside = _below(step, "/".join(("", args, *names[:1])))
        return self._all_recorded(step, beside)

    def _takes_each_alone(self, step: Step, failure: Failure) -> bool:
        """Say whether the names of arguments, which stand in the plan, are what is wrong."""
        named = failure.code in ("missing-argument", "unknown-argument")
        return named and self._made_up.takes_each_alone(step)

    def _cannot_fit(self, step: Step, place: Place) -> bool:
        taken = self._made_up.takes(step, place)
        reading = self._made_up.reading(place.ref, step)
        if taken is None or not isinstance(reading, Schema):
            return False
        if place.whole:
            return assignable(reading, taken) is Verdict.NO
        return "string" not in types_of(taken)


def _at_or_above(step: Step, pointer: str) -> list[Place]:
    """Give the references of `step` that give the value at `pointer`, or what that stands in."""
    return [p for p in step_places(step) if f"{pointer}/".startswith(f"{p.pointer}/")]


def _below(step: Step, pointer: str) -> list[Place]:
    """Give the references of `step` that give a part of the value at `pointer`."""
    return [p for p in step_places(step) if p.pointer.startswith(f"{pointer}/")]
