"""The planner without a model, as an installed package offers it under the name `offline`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import Extensions
from toolplan.base.extras import install_command
from toolplan.planners._base import Attempt, Clarification, OnText, Planner, Proposal, Question
from toolplan.planners.context import PlannerContext, PlannerFactory
from toolplan.planners.guarded import guarded_factory
from toolplan.schema.tool import Toolbox

NAME: Final = "offline"
PLANNERS: Final = Extensions[PlannerFactory]("toolplan.planners", guarded_factory)
"""The planners of installed packages, by name."""


def offline_planner(context: PlannerContext) -> Planner:
    """Return the planner without a model; where it is not installed, one that says how to."""
    made = PLANNERS[NAME](context) if NAME in PLANNERS else None
    return _NotInstalled() if made is None else made


def can_plan(planner: Planner) -> bool:
    """Return whether `planner` plans questions, and does not only stand for one that would."""
    return not isinstance(planner, _NotInstalled)


async def example_questions(planner: Planner, tools: Toolbox, today: str) -> tuple[str, ...]:
    """Return up to three questions that `planner` has plans for; none where it offers none."""
    if isinstance(planner, _NotInstalled):
        return ()
    asked = await planner.propose(Question("", today), tools, ())
    return asked.examples if isinstance(asked, Clarification) else ()


class _NotInstalled:
    """Stands for the planner without a model: an app that is given its plans needs none."""

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        raise ToolplanError(
            "no-planner",
            "Planning without a model needs the package toolplan-offline, which is not installed.",
            f"Install it: {install_command(NAME)}; or name a model: --model ollama:mistral.",
        )
