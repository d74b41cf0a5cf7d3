"""The entry points of the group `toolplan.planners`: factories, and their context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from toolplan import providers
from toolplan.planners._base import Planner
from toolplan.policy import Policy


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
