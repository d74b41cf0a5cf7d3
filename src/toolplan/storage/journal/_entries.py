"""What a journal keeps of each run beside its events."""

from __future__ import annotations

import math

from msgspec import Struct

from toolplan.errors import ToolplanError
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

    @property
    def cursor(self) -> str:
        """The place of the run in the list, which stays one when the run is removed."""
        return f"{self.created_at!r}:{self.run}"


def read_cursor(text: str) -> tuple[float, float, str]:
    """Return the time, twice, and the run of a cursor; for no text, what all runs come after.

    Raises:
        ToolplanError: it is no cursor.
    """
    at, colon, run = text.partition(":")
    try:
        if text and not (colon and run and math.isfinite(float(at))):
            raise ValueError
        return (float(at), float(at), run) if text else (math.inf, math.inf, "")
    except ValueError:
        raise ToolplanError(
            "usage", f"{text!r} is no cursor of a list of runs.", "Take `next` of `runs --json`."
        ) from None
