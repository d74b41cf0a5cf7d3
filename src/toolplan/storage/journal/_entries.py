"""What a journal keeps of each run beside its events."""

from __future__ import annotations

from msgspec import Struct

from toolplan.events import RunState
from toolplan.path import Json


class RunRecord(Struct, frozen=True):
    """What a run was started with, and is resumed from.

    `plan` is the canonical JSON of the plan, `tools` are the objects of its tools, and `policy` is
    the policy document of its check.
    """

    plan: Json
    tools: Json
    policy: Json


class RunEntry(Struct, frozen=True):
    """One line of the list of runs. `question` is empty if the plan does not contain it.

    `tools` are those of the first steps. `is_left` says that it is not over and no process works
    on it.
    """

    run: str
    created_at: float
    status: RunState
    digest: str
    question: str
    tools: str
    is_left: bool
