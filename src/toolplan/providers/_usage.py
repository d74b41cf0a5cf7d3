"""Usage of models."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from toolplan.providers._base import Usage


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum. Its cost is None where no cost is known; an unknown one adds nothing.

    >>> total([Usage(1, 10, 5, 0.25), Usage(2, 20, 0)])
    Usage(calls=3, input_tokens=30, output_tokens=5, cost_usd=0.25, cached_tokens=0)
    """
    listed = list(usages)
    costs = [each.cost_usd for each in listed if each.cost_usd is not None]
    return Usage(
        sum(each.calls for each in listed),
        sum(each.input_tokens for each in listed),
        sum(each.output_tokens for each in listed),
        sum(costs) if costs else None,
        sum(each.cached_tokens for each in listed),
    )


class ModelCall(Struct):
    """The call that is in progress.

    Attributes:
        model: the name of the model.
        began: when it began, on the monotonic clock, in seconds.
        characters: how much of its reply is there.
    """

    model: str
    began: float
    characters: int = 0


class UsageTracker:
    """Sums up the usage of calls, by model. `call` is the call that is made now, or None.

    Pass the same tracker to every model of a run.
    """

    def __init__(self) -> None:
        """Start with nothing used."""
        self._used: dict[str, Usage] = {}
        self.call: ModelCall | None = None

    @property
    def usage(self) -> Usage:
        """The usage of all models."""
        return total(self._used.values())

    @property
    def by_model(self) -> dict[str, Usage]:
        """The usage of each model, in the order of their first calls."""
        return dict(self._used)

    def begin(self, model: str) -> None:
        """Count a call to `model` that is made now."""
        self._add(model, Usage(calls=1))
        self.call = ModelCall(model, time.monotonic())

    def wrote(self, text: str) -> None:
        """Count a piece of the reply that is being written."""
        if self.call is not None:
            self.call.characters += len(text)

    def ended(self) -> None:
        """Note that no call is made any more."""
        self.call = None

    def end(self, model: str, spent: Usage) -> None:
        """Add the tokens and the cost of a call that was counted when it began."""
        self._add(model, replace(spent, calls=0))

    def _add(self, model: str, usage: Usage) -> None:
        self._used[model] = total((self._used.get(model, Usage()), usage))
