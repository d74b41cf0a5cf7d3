"""What comes of a query, and how far it is on the way there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from toolplan.integrations.clear.analysis import Analysis
from toolplan.integrations.clear.plan import Plan
from toolplan.path import Json

Stage: TypeAlias = Literal[
    "context-loading", "planning", "executing", "analyzing", "summarizing", "storing", "complete"
]
Status: TypeAlias = Literal["answered", "clarification", "failed", "timed-out", "cancelled"]


class Progress(NamedTuple):
    """How far a query is: its stage, and 0 to 100."""

    request_id: str
    stage: Stage
    percent: int
    message: str


OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class ResponseMetadata:
    """How a query went.

    Attributes:
        request_id: the name of the query, by which it could be cancelled.
        total_duration_ms: from the asking to the answer.
        timestamp: when the answer was ready: ISO 8601 in UTC.
        error: whether there is no answer.
        degraded: what was done without, a sentence each.
    """

    request_id: str
    total_duration_ms: float
    timestamp: str
    error: bool = False
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """What came of a query.

    Attributes:
        message: what the user reads.
        status: whether that is an answer, a question back, or why there is neither.
        metadata: how it went.
        tools_used: the tools of the steps that succeeded, in order, each as often as it was used.
        data: what these gave, in the same order.
        analysis: what was found in it.
        plan: what was run, or was to be.
        options: for a question back, answers to choose from.
    """

    message: str
    status: Status
    metadata: ResponseMetadata
    tools_used: tuple[str, ...] = ()
    data: tuple[Json, ...] = ()
    analysis: Analysis | None = None
    plan: Plan | None = None
    options: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        told = self.metadata
        return {
            "message": self.message,
            "status": self.status,
            "tools_used": [*self.tools_used],
            "data": [*self.data],
            "analysis": None if self.analysis is None else self.analysis.to_json(),
            "options": [*self.options],
            "metadata": {
                "request_id": told.request_id,
                "total_duration_ms": told.total_duration_ms,
                "timestamp": told.timestamp,
                "error": told.error,
                "degraded": [*told.degraded],
            },
        }
