"""Plans as the SDK has them: steps named by their position, and `execute`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct

from toolplan.approval import Approver
from toolplan.compiler import parse, to_text
from toolplan.integrations.kirha.errors import parse_error
from toolplan.integrations.kirha.execution import OnStatus, StepResult, execute
from toolplan.integrations.kirha.steps import Step
from toolplan.integrations.kirha.tools import AnyTool
from toolplan.path import Json
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import rename_steps

DIALECT = "kirha"
_THINKING = re.compile(r"\s*<think(ing)?>.*?</think(ing)?>", re.DOTALL)
_MARKS = ("<plan>", "toolName")
"""One of these is in every reply that has a plan."""


class Plan(Struct, frozen=True, dict=True):
    """A plan that can be shown, validated and executed. `typed` is the plan that runs."""

    typed: TypedPlan

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order in which they were written."""
        return tuple(map(Step, self.typed.steps))

    @property
    def think(self) -> str | None:
        """The model's thinking before the plan."""
        notes = self.typed.metadata.get("notes")
        return notes if isinstance(notes, str) else None

    async def execute(
        self,
        *,
        tools: Iterable[AnyTool],
        approval: Approver | None = None,
        timeout_s: float = 60.0,
        on_status: OnStatus | None = None,
    ) -> list[StepResult]:
        """Run the plan: see `toolplan.integrations.kirha.execute` for arguments and errors."""
        return await execute(
            self.typed, tools, approval=approval, timeout_s=timeout_s, on_status=on_status
        )

    def to_json(self) -> list[Json]:
        """Return the wire form: the list of steps."""
        return [step.to_json() for step in self.steps]

    @property
    def text(self) -> str:
        """The plan in the canonical form, for `toolplan check`, `show` and `run`."""
        return to_text(self.typed)


def parse_plan(text: str) -> Plan | None:
    """Read a model's reply, `<think>…</think><plan>[…]</plan>`; None if no plan is written in it.

    Of several plans the first is read. A list of steps without the tag is a plan too.

    Raises:
        PlannerError: the plan has no steps.
        PlanParseError: the tag holds no plan, or the plan refers to a step that does not exist.
    """
    said = _THINKING.sub("", text)
    if not any(mark in said for mark in _MARKS):
        return None
    parsed = parse(text, DIALECT)
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        raise parse_error(parsed.diagnostics)
    names = {step.id: str(at) for at, step in enumerate(parsed.plan.steps)}
    return Plan(rename_steps(parsed.plan, names))
