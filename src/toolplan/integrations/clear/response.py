"""The response to a query, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from toolplan.integrations.clear.analysis import Analysis
from toolplan.integrations.clear.plan import Plan
from toolplan.path import Json

Stage: TypeAlias = Literal[
    "context-loading", "planning", "executing", "analyzing", "summarizing", "storing", "complete"
]
Status: TypeAlias = Literal[
    "answered", "clarification", "approval-required", "failed", "timed-out", "cancelled"
]


class Progress(NamedTuple):
    """The progress of a query: its stage, and 0 to 100 percent."""

    request_id: str
    stage: Stage
    percent: int
    message: str


OnProgress: TypeAlias = Callable[[Progress], None]


class ResponseMetadata(Struct, frozen=True):
    """Metadata of a response.

    Attributes:
        request_id: the name of the query; `cancel_query` takes it.
        total_duration_ms: from the question to the answer.
        timestamp: the time of the answer: ISO 8601 in UTC.
        error: whether there is no answer.
        degraded: the parts that failed and were replaced or left out, a sentence each.
    """

    request_id: str
    total_duration_ms: float
    timestamp: str
    error: bool = False
    degraded: tuple[str, ...] = ()


class Response(Struct, frozen=True):
    """The response to a query.

    Attributes:
        message: the text for the user.
        status: whether it is an answer, a question to the user, or why it is neither.
        metadata: times and errors.
        tools_used: the tools of the steps that succeeded, in order, with repetitions.
        data: the outputs of these steps, in the same order.
        analysis: the analysis of the results.
        plan: the plan.
        options: possible answers, if the message is a question to the user.
        digest: what to approve, if the plan needs an approval.
    """

    message: str
    status: Status
    metadata: ResponseMetadata
    tools_used: tuple[str, ...] = ()
    data: tuple[Json, ...] = ()
    analysis: Analysis | None = None
    plan: Plan | None = None
    options: tuple[str, ...] = ()
    digest: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        metadata = self.metadata
        return {
            "message": self.message,
            "status": self.status,
            "tools_used": [*self.tools_used],
            "data": [*self.data],
            "analysis": None if self.analysis is None else self.analysis.to_json(),
            "options": [*self.options],
            "digest": self.digest,
            "metadata": {
                "request_id": metadata.request_id,
                "total_duration_ms": metadata.total_duration_ms,
                "timestamp": metadata.timestamp,
                "error": metadata.error,
                "degraded": [*metadata.degraded],
            },
        }
