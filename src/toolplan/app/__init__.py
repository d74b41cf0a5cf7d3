"""One question, from the asking to the answer: the only loop."""

from toolplan.app._notes import estimate, foreseen, noted
from toolplan.app._resume import plan_of, resume
from toolplan.app._session import DEFAULT_ATTEMPTS, AskResult, Session

__all__ = [
    "DEFAULT_ATTEMPTS",
    "AskResult",
    "Session",
    "estimate",
    "foreseen",
    "noted",
    "plan_of",
    "resume",
]
