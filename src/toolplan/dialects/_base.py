"""What a dialect is: one way to write plans, read and printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from toolplan.plan import Limits, Plan, Signature
from toolplan.plan_json import Parsed
from toolplan.source import Span


class Dialect(Protocol):
    """Reads plans and prints them.

    The law: `parse(print(plan)).plan == plan` for every plan that `print` does not refuse, up to a
    renaming of steps (`toolplan.plan.positional`) where the dialect has no ids.
    """

    @property
    def name(self) -> str:
        """The name by which users choose it."""
        ...

    @property
    def json(self) -> bool:
        """Whether its text is JSON, so that a plan may stand inside other JSON as it is."""
        ...

    def parse(
        self,
        text: str,
        signatures: Mapping[str, Signature] | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises."""
        ...

    def print(self, plan: Plan, signatures: Mapping[str, Signature] | None = None) -> str:
        """Return the text of `plan`.

        `signatures` are needed only where the dialect names outputs by what tools declare.

        Raises:
            CannotExpress: the dialect has no way to say it; its diagnostics name each such thing.
        """
        ...

    def locate(self, text: str, pointer: str) -> Span | None:
        """Return the place in `text` of what `pointer` names in the canonical plan."""
        ...
