"""A peer: another way to make the calls of a plan, each once and after those that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

from benchmarks.engine.graphs import Work
from toolplan.policy.execution_plan import ExecutionPlan

Run: TypeAlias = Callable[[], Awaitable[object]]
Prepare: TypeAlias = Callable[[], Awaitable[Run]]
"""Makes ready what is not timed, in the loop in which it will run."""
Opened: TypeAlias = Callable[[ExecutionPlan, Work], AbstractContextManager[Prepare]]
"""Starts what is not timed and not bound to a loop, and ends it after the runs."""


class Peer(NamedTuple):
    """Another system.

    Attributes:
        module: what is found where the system is installed.
        opened: gives the runs of a plan whose tool does that work.
        does: what is to be known of it beside its figure, in a few words.
        packages: the packages of the index that it may be installed from.
        is_busy_while_open: whether it has threads that work between runs, and would be measured
            with whatever runs beside it: then it is started for each run anew.
    """

    module: str
    opened: Opened
    does: str = ""
    packages: tuple[str, ...] = ()
    is_busy_while_open: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether its module can be found; nothing but the packages around it is imported."""
        try:
            return find_spec(self.module) is not None
        except ImportError:  # a package around it is not there
            return False

    @property
    def version(self) -> str:
        """The version in which it is installed; empty where no package says it."""
        for package in self.packages:
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
        return ""


def prepared(run: Run) -> Prepare:
    """Return what needs nothing to be made ready in the loop."""

    async def prepare() -> Run:
        return run

    return prepare


def always_open(make: Callable[[ExecutionPlan, Work], Prepare]) -> Opened:
    """Return `make` as what has nothing to end."""
    return lambda plan, work: nullcontext(make(plan, work))
