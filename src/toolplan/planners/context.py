"""The entry points of the group `toolplan.planners`: factories, and their context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from toolplan import providers
from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import Extensions
from toolplan.base.extras import install_command
from toolplan.planners._base import Attempt, Clarification, OnText, Planner, Proposal, Question
from toolplan.planners.guarded import guarded_factory
from toolplan.policy import Policy
from toolplan.schema.tool import Toolbox


class PlannerContext(Struct, frozen=True):
    """The settings from which a planner is made.

    Attributes:
        data: the user's data folder, where a planner may keep files of its own.
        choice: the planner that the user named, or `auto`.
        weeks: the meaning of *last week*: the last 7 days, or Monday to Sunday.
        contracts: files and folders of contracts.
        models: the names of the models, in the order in which they are asked; may be empty.
        model: the model, or None where none is named. It is opened when it is first asked.
        temperature: of a model that plans, 0 for the likeliest words.
        max_tokens: maximum number of tokens of a plan that a model writes.
        requests: maximum number of requests to a model for one question, failed ones counted.
        instructions: the user's instructions for every plan of a model.
        small_model: whether the model is small: the form of its replies has an end to every list.
        caching: whether plans that worked are remembered.
        cache_max_size: how many plans are remembered.
        cache_ttl_s: how long a plan is remembered, in seconds.
        policy: the policy for plans.
        inner: the planner to ask where this one has no plan: for a planner that wraps another.
        inner_version: changes when plans of `inner` may change: its model, style, prompt.
    """

    data: Path
    choice: str = "auto"
    weeks: Literal["rolling", "calendar"] = "rolling"
    contracts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    model: providers.Model | None = None
    temperature: float = 0.0
    max_tokens: int = 10_000
    requests: int | None = None
    instructions: str = ""
    small_model: bool = False
    caching: bool = True
    cache_max_size: int = 100
    cache_ttl_s: float = 3_600.0
    policy: Policy = Policy()
    inner: Planner | None = None
    inner_version: str = ""


PlannerFactory: TypeAlias = Callable[[PlannerContext], Planner | None]
"""Return a planner, or None where it does not apply: no model is named, no contracts are given."""


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
