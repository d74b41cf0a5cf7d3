"""Doubles for the adapters: a provider that says what its script holds, waits that take no time."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from toolplan.plan.path import Json

TODAY = date(2025, 10, 12)
NOW = datetime(2025, 10, 12, 6, tzinfo=UTC).timestamp()

ONE_STEP = json.dumps({"steps": [{"tool": "shipments_list", "params": {}}]})


def plan_text(*steps: Mapping[str, Json], **more: Json) -> str:
    """Return the text of a plan in Clear AI's form."""
    return json.dumps({"steps": [*steps], **more})


class Provider:
    """Gives `replies` one after the other, and the last one for ever; an exception is raised.

    `requests` holds every request so far.
    """

    def __init__(self, *replies: object) -> None:
        self._replies: Sequence[object] = replies
        self.requests: list[dict[str, object]] = []

    async def generate(self, request: dict[str, object], /) -> object:
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        if isinstance(reply, BaseException):
            raise reply
        return {"content": reply, "usage": {"total_tokens": 50}}

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    def prompt(self, at: int = -1) -> str:
        """Return all that was said to the model in one request."""
        return json.dumps(self.requests[at]["messages"], ensure_ascii=False)


class Naps:
    """Waits that take no time; `seconds` holds how long each was to be."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
