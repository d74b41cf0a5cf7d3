"""What can go wrong with one call to a model, and what may help."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from toolplan.errors import ToolplanError
from toolplan.providers._base import ModelError, Usage

_NOTHING: Final = Usage()


class Course(Enum):
    """What may help after a failure."""

    AGAIN = "the same model again, after a pause"
    ONWARD = "another model"
    NOWHERE = "nothing: the request is wrong, or the model refused"


_COURSES: Final = {
    "llm-rate-limit": Course.AGAIN,
    "llm-unavailable": Course.AGAIN,
    "llm-stream-cut": Course.AGAIN,
    "llm-refused": Course.NOWHERE,
    "llm-request": Course.NOWHERE,
    "llm-truncated": Course.NOWHERE,
}
"""For all other codes: another model."""

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


class Failure(Struct, frozen=True):
    """Why a call gave no whole reply.

    Attributes:
        code: a code of `ModelError`.
        reason: one sentence; it names the model and holds no key.
        help: what the user can do.
        lasts: whether asking the same model again cannot help, as with a spent quota.
        retry_after_s: seconds that the endpoint asks to wait.
        schema: whether the endpoint may have refused the schema of the reply.
        changed: whether the endpoint writes the next request otherwise, without the parameter that
            was refused; it is made at once, and does not count as a try.
    """

    code: str
    reason: str
    help: str = ""
    lasts: bool = False
    retry_after_s: float | None = None
    schema: bool = False
    changed: bool = False

    @property
    def course(self) -> Course:
        """What may help."""
        course = _COURSES.get(self.code, Course.ONWARD)
        return Course.ONWARD if self.lasts else course

    @property
    def of_the_endpoint(self) -> bool:
        """Whether it counts against the endpoint, and not only against this request."""
        return self.code in _OF_THE_ENDPOINT


class CallFailed(ToolplanError):
    """A call to a model gave no whole reply. `spent` is what it has used."""

    def __init__(self, failure: Failure, spent: Usage = _NOTHING) -> None:
        super().__init__(failure.code, failure.reason, failure.help)
        self.failure = failure
        self.spent = spent


def none_replied(failures: Sequence[Failure], usage: Usage) -> ModelError:
    """Return the error for a chain in which each model failed, in the order in which they did."""
    first, *others = failures
    if not others:
        return ModelError(first.code, first.reason, first.help, usage)
    codes = {failure.code for failure in failures}
    code = first.code if len(codes) == 1 else "llm-unavailable"
    reasons = " ".join(f"{failure.reason} ({failure.code})" for failure in failures)
    help = " ".join(dict.fromkeys(failure.help for failure in failures if failure.help))
    return ModelError(code, f"No model of the chain gave a reply. {reasons}", help, usage)
