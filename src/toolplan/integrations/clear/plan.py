"""Plans in Clear AI's shape: steps by position, with `params`, `depends_on` and `parallel`.

A `Plan` shows one of our plans in that shape, and an `Executor` runs that very plan, also where it
says more than the shape can: `for_each`, for instance, stands in a step's `more`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from toolplan.compiler import parse, to_text
from toolplan.diagnostics import Diagnostic
from toolplan.dialects import clear
from toolplan.integrations.clear.errors import PlanValidationError, plan_error
from toolplan.path import Json, copied
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import positional
from toolplan.plan_json import dump

DIALECT: Final = "clear"
_SAID: Final = frozenset({"id", "tool", "args", "after", "thought"})


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step, as Clear AI writes it.

    Attributes:
        tool: what is called.
        params: what it is called with; a reference is text such as `${step[0].data.*.id}`.
        depends_on: the positions of the steps that must be over before, in order, each once.
        parallel: advice for the reader: whether it can start at once beside others.
        more: what the step says beyond these (`for_each` …), in the canonical form of plans; its
            references, and those of its params, are written in that form too: `${s0.data[*]}`.
    """

    tool: str
    params: Mapping[str, Json]
    depends_on: tuple[int, ...] = ()
    parallel: bool = False
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def to_json(self) -> dict[str, Json]:
        """Return the wire form; `more` is in it only where there is any."""
        told: dict[str, Json] = {
            "tool": self.tool,
            "params": copied(dict(self.params)),
            "depends_on": [*self.depends_on],
            "parallel": self.parallel,
        }
        return {**told, "more": copied(dict(self.more))} if self.more else told


@dataclass(frozen=True, slots=True)
class PlanMetadata:
    """Advice about a plan.

    Attributes:
        query: what was asked.
        timestamp: when the plan was made: ISO 8601 in UTC, with milliseconds.
        estimated_duration_ms: about how long it will take, 0 or more; None where nobody knows.
    """

    query: str = ""
    timestamp: str = ""
    estimated_duration_ms: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without an estimate where there is none."""
        told: dict[str, Json] = {"query": self.query, "timestamp": self.timestamp}
        if self.estimated_duration_ms is not None:
            told["estimated_duration_ms"] = self.estimated_duration_ms
        return told


@dataclass(frozen=True)
class Plan:
    """Steps, and advice about them. `typed` is our plan, which is what runs.

    `problems` are what is wrong with it; there are none unless validation was told to be lax.
    """

    typed: TypedPlan
    problems: tuple[Diagnostic, ...] = ()

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """The steps, in order; a dependency is a position in this tuple."""
        plan = positional(self.typed)
        written, canonical = _steps(clear.dump(plan)), _steps(dump(plan))
        return tuple(map(_shown, written, canonical))

    @cached_property
    def metadata(self) -> PlanMetadata:
        """What was asked, and when the plan was made."""
        said = self.typed.metadata
        query, made, takes = (
            said.get(name) for name in ("query", "created_at", "estimated_duration_ms")
        )
        is_estimate = isinstance(takes, int | float) and not isinstance(takes, bool) and takes >= 0
        return PlanMetadata(
            query if isinstance(query, str) else "",
            made if isinstance(made, str) else "",
            takes if is_estimate and isinstance(takes, int | float) else None,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the plan in Clear AI's form.

        `from_json` reads it back where no step has `more`; `text` gives one that always can be.
        """
        return {
            "steps": [step.to_json() for step in self.steps],
            "metadata": self.metadata.to_json(),
        }

    @property
    def text(self) -> str:
        """The plan in the canonical form, which says all of it."""
        return to_text(self.typed)

    @classmethod
    def from_json(cls, document: object) -> Plan:
        """Read a plan in Clear AI's form: text, or the object that such text says.

        Raises:
            PlannerError: it is none; the class says what is wrong with it, the text names all.
        """
        if isinstance(document, Plan):
            return document
        parsed = parse(_text_of(document), DIALECT)
        if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
            raise plan_error("The plan cannot be read", parsed.diagnostics, parsed.plan)
        return cls(parsed.plan)


def _text_of(document: object) -> str:
    if isinstance(document, str):
        return document
    try:
        return json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanValidationError(f"The plan is not JSON: {error}") from None


def _shown(written: dict[str, Json], canonical: dict[str, Json]) -> PlanStep:
    """Return a step from Clear AI's form of it, and from ours, which says all of it."""
    more = {name: value for name, value in canonical.items() if name not in _SAID}
    tool, depends_on = written.get("tool"), written.get("depends_on")
    params = canonical.get("args", {}) if more else written.get("params")
    return PlanStep(
        tool if isinstance(tool, str) else "",
        params if isinstance(params, dict) else {},
        tuple(each for each in depends_on if isinstance(each, int))
        if isinstance(depends_on, list)
        else (),
        written.get("parallel") is True,
        more,
    )


def _steps(document: dict[str, Json]) -> list[dict[str, Json]]:
    steps = document.get("steps")
    return [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
