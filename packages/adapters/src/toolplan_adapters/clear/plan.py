"""Plans in Clear AI's shape: steps by position, with `params`, `depends_on` and `parallel`.

A `Plan` shows a typed plan in that shape, and an `Executor` runs the typed plan. What the shape
cannot express (`for_each`, for instance) is in a step's `more`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, cast

from msgspec import Struct, field, to_builtins

from toolplan.compiler import parse, to_text
from toolplan.plan.canonical import dump
from toolplan.plan.model import Plan as TypedPlan
from toolplan.plan.model import positional
from toolplan.plan.path import Json, copied
from toolplan_adapters.clear.errors import PlanValidationError, plan_error
from toolplan_adapters.dialects import clear

DIALECT: Final = "clear"
_ESTIMATE: Final = "estimated_duration_ms"
_EXPRESSED: Final = frozenset({"id", "tool", "args", "after", "thought"})


class PlanStep(Struct, frozen=True):
    """One step, as Clear AI writes it.

    Attributes:
        tool: the tool that is called.
        params: its arguments; a reference is text such as `${step[0].data.*.id}`.
        depends_on: the positions of the steps that must be over first, in order, each once.
        parallel: advice for the reader: whether it can run beside other steps.
        more: the other fields of the step (`for_each` …), in the canonical form of plans; its
            references, and those of its params, are in that form too: `${s0.data[*]}`.
    """

    tool: str
    params: Mapping[str, Json]
    depends_on: tuple[int, ...] = ()
    parallel: bool = False
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without `more` if it is empty."""
        document: dict[str, Json] = {**to_builtins(self), "depends_on": [*self.depends_on]}
        return {name: copied(value) for name, value in document.items() if name != "more" or value}


class PlanMetadata(Struct, frozen=True):
    """The question, the time of planning (ISO 8601 in UTC) and an estimate, 0 or more."""

    query: str = ""
    timestamp: str = ""
    estimated_duration_ms: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without an estimate if there is none."""
        fields: dict[str, Json] = to_builtins(self)
        return {name: value for name, value in fields.items() if value is not None}


class Plan(Struct, frozen=True, dict=True):
    """Steps and metadata. `typed` is the plan that runs."""

    typed: TypedPlan

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """The steps, in order; a dependency is a position in this tuple."""
        plan = positional(self.typed)
        shown = cast("list[dict[str, Any]]", clear.dump(plan)["steps"])
        canonical = cast("list[dict[str, Any]]", dump(plan)["steps"])
        return tuple(map(_step, shown, canonical))

    @cached_property
    def metadata(self) -> PlanMetadata:
        """The question, and the time of planning."""
        known = self.typed.metadata
        query, created, takes = known.get("query"), known.get("created_at"), known.get(_ESTIMATE)
        is_estimate = isinstance(takes, int | float) and not isinstance(takes, bool) and takes >= 0
        return PlanMetadata(
            query if isinstance(query, str) else "",
            created if isinstance(created, str) else "",
            cast("float", takes) if is_estimate else None,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the plan in Clear AI's form.

        `from_json` reads it if no step has `more`; it always reads `text`.
        """
        return {
            "steps": [step.to_json() for step in self.steps],
            "metadata": self.metadata.to_json(),
        }

    @property
    def text(self) -> str:
        """The complete plan, in the canonical form."""
        return to_text(self.typed)

    @classmethod
    def from_json(cls, document: object) -> Plan:
        """Read a plan in Clear AI's form, as text or as an object.

        Raises:
            PlannerError: it is not a plan; the message names all problems.
        """
        if isinstance(document, Plan):
            return document
        try:
            text = document if isinstance(document, str) else json.dumps(document)
        except (TypeError, ValueError, RecursionError) as error:
            raise PlanValidationError(f"The plan is not JSON: {error}") from None
        parsed = parse(text, DIALECT)
        if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
            raise plan_error("The plan cannot be read", parsed.diagnostics, parsed.plan)
        return cls(parsed.plan)


def _step(shown: dict[str, Any], canonical: dict[str, Any]) -> PlanStep:
    """Return a step from Clear AI's form of it, and from the canonical form, which is complete."""
    more = {name: value for name, value in canonical.items() if name not in _EXPRESSED}
    params = canonical.get("args", {}) if more else shown["params"]
    return PlanStep(shown["tool"], params, tuple(shown["depends_on"]), shown["parallel"], more)
