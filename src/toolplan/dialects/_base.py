"""What a dialect is: one way to write plans, read and printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from toolplan.plan.canonical import Parsed
from toolplan.plan.model import Limits, Plan, Signature, Step
from toolplan.plan.text.loose import Span

Signatures: TypeAlias = Mapping[str, Signature]
"""What is known of tools, by their names."""


class StepStream(Protocol):
    """Reads the steps of a plan while its text is written."""

    def feed(self, text: str) -> Sequence[Step]:
        """Return the steps that `text`, the next piece, completes, in the order written.

        A step with an error is not returned, nor is any step after it: those are known when the
        plan is whole. A returned step may refer to one that is not written yet.
        """
        ...


class Dialect(Protocol):
    """Reads plans and prints them.

    A package adds one with an entry point in the group `toolplan.dialects`. The entry is a dialect:
    an instance with these members, not a class. `name` is the name of the entry.

    The law: `parse(print(plan)).plan == plan` for every plan that `print` does not refuse, up to a
    renaming of steps (`toolplan.plan.model.positional`) where the dialect has no ids.
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
        self, text: str, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises."""
        ...

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        """Return the text of `plan`.

        `signatures` are needed only where the dialect names outputs by what tools declare.

        Raises:
            CannotExpress: the dialect has no way to say it; its diagnostics name each such thing.
        """
        ...

    def locate(self, text: str, pointer: str, *, key: bool = False) -> Span | None:
        """Return the place in `text` of what `pointer` names in the canonical plan.

        With `key` it is the place of its key, where it has one.
        """
        ...

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        ...

    def stream(
        self, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps; None where no step is known before the end."""
        ...


@runtime_checkable
class Choosing(Protocol):
    """A dialect whose texts may hold several plans."""

    def chosen(self, choice: str) -> Dialect | None:
        """Return the dialect with a `choice`, such as `:NAME`; None where it has no choices."""
        ...


def has_key(text: str, *names: str) -> bool:
    """Return whether `text` has one of `names` as a key of JSON."""
    return re.search(rf'"(?:{"|".join(names)})"\s*:', text) is not None
