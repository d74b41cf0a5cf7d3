"""One question, from the asking to the answer: the only loop."""

from toolplan.session._leave import Approve, approver
from toolplan.session._notes import estimate, foreseen, noted
from toolplan.session._resuming import plan_of, resume
from toolplan.session._session import DEFAULT_ATTEMPTS, Asked, Session

__all__ = [
    "DEFAULT_ATTEMPTS",
    "Approve",
    "Asked",
    "Session",
    "approver",
    "estimate",
    "foreseen",
    "noted",
    "plan_of",
    "resume",
]
