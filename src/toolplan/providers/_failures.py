"""What can go wrong with one call to a model, and what may help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from toolplan.providers._base import ModelError, Usage

_NOTHING: Final = Usage()


class Course(Enum):
    """What may help after a failure."""

    AGAIN = "the same model again, after a pause"
    ONWARD = "another model"
    NOWHERE = "nothing: the fault is in what was asked, or the model decided so"


_COURSES: Final = {
    "llm-rate-limit": Course.AGAIN,
    "llm-unavailable": Course.AGAIN,
    "llm-stream-cut": Course.AGAIN,
    "llm-refused": Course.NOWHERE,
    "llm-request": Course.NOWHERE,
    "llm-truncated": Course.NOWHERE,
}
"""Those of the codes that are not here: another model."""

_OF_THE_ENDPOINT: Final = frozenset(
    (
        "llm-auth",
        "llm-bad-response",
        "llm-rate-limit",
        "llm-stream-cut",
        "llm-timeout",
        "llm-unavailable",
    )
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no whole reply.

    Attributes:
        code: as `ModelError` has it.
        reason: one sentence; it names the model and holds no key.
        help_: what the user can do.
        lasts: asking the same model again cannot help, as with a spent quota.
        retry_after_s: seconds that the endpoint asks to wait.
        schema: it may be the schema of the reply that the endpoint did not take.
    """

    code: str
    reason: str
    help_: str = ""
    lasts: bool = False
    retry_after_s: float | None = None
    schema: bool = False

    @property
    def course(self) -> Course:
        """What may help."""
        course = _COURSES.get(self.code, Course.ONWARD)
        return Course.ONWARD if self.lasts else course

    @property
    def of_the_endpoint(self) -> bool:
        """Whether it speaks against the endpoint, and not against this request only."""
        return self.code in _OF_THE_ENDPOINT


class CallFailed(Exception):
    """A call to a model gave no whole reply. `spent` is what it has used all the same."""

    def __init__(self, failure: Failure, spent: Usage = _NOTHING) -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.spent = spent


def none_replied(failures: Sequence[Failure], usage: Usage) -> ModelError:
    """Return the error for a chain in which each model failed, in the order in which they did."""
    first, *others = failures
    if not others:
        return ModelError(first.code, first.reason, first.help_, usage)
    codes = {failure.code for failure in failures}
    code = first.code if len(codes) == 1 else "llm-unavailable"
    told = " ".join(f"{failure.reason} ({failure.code})" for failure in failures)
    ways = dict.fromkeys(failure.help_ for failure in failures if failure.help_)
    return ModelError(code, f"No model of the chain gave a reply. {told}", " ".join(ways), usage)
