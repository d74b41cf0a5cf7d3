"""The call that a tool makes: its identity, its progress, statements about its result, the day.

Engines set the call in flight; tools use the functions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from typing import Final, Protocol

from msgspec import Struct

from toolplan.plan.path import Json


class ToolCall(Struct, frozen=True):
    """The identity of a call, for the tool that makes it.

    `item` is the position in `for_each`, or None. `key` is an idempotency key to pass on: SHA-256
    (hex) of run, step, item and page, the same for every attempt in every process.
    """

    run: str
    step: str
    item: int | None
    attempt: int
    key: str


class StatedLabel(Struct, frozen=True):
    """The statement of a tool about its result: outsiders may have written it, or it is secret."""

    is_untrusted: bool = False
    is_secret: bool = False


class AttendedCall(Protocol):
    """The engine's side of a call in flight."""

    def identity(self) -> ToolCall:
        """Return the identity of the call."""
        ...

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Report its progress."""

    def state_label(self, stated: StatedLabel) -> None:
        """Take the label that the tool states for the result."""

    def report_page(self, said: Mapping[str, Json]) -> None:
        """Take the statements of the tool, beside its result, about further pages."""


ATTENDED: Final[ContextVar[AttendedCall | None]] = ContextVar("attended_call", default=None)
"""The current call; engines set it, tools use the functions below."""


def current_call() -> ToolCall | None:
    """Return the current call, for the tool that makes it; None outside of a run."""
    attended = ATTENDED.get()
    return None if attended is None else attended.identity()


REFERENCE_DAY: Final[ContextVar[date | None]] = ContextVar("reference_day", default=None)


@contextmanager
def on_day(day: date) -> Generator[None]:
    """Treat `day` as today for the tools that are called in the block."""
    token = REFERENCE_DAY.set(day)
    try:
        yield
    finally:
        REFERENCE_DAY.reset(token)


def reference_day() -> date | None:
    """Return the date that counts as today, to a tool that needs one; None where none is set."""
    return REFERENCE_DAY.get()


def report_progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report the progress of the current call; do nothing outside of a run.

    Thread-safe; of many reports in a short time one is shown.
    """
    attended = ATTENDED.get()
    if attended is not None:
        attended.progress(done, total, message)


def report_page(said: Mapping[str, Json]) -> None:
    """Report beside the result of the current call the list of which it is a page, as headers do.

    `total` is the number of all rows; `next` a cursor, the number of the next page or a link to it,
    or None where no page follows. Unknown values are left out.
    """
    attended = ATTENDED.get()
    if attended is not None and said:
        attended.report_page(said)


def state_label(*, untrusted: bool = False, secret: bool = False) -> None:
    """State that the result of the current call is worth less than a policy may say.

    A result that is `untrusted` although the policy trusts it cannot be used, nor one that is
    `secret` where the policy names tools of [egress] and not this secret. Nothing raises a label.
    Call it before the tool returns; it does nothing outside of a run.
    """
    attended = ATTENDED.get()
    if attended is not None and (untrusted or secret):
        attended.state_label(StatedLabel(untrusted, secret))
