"""A dialect is one way to write plans, read and printed; those of packages are guarded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, cast, runtime_checkable

from toolplan.base.extensions import EntryPoint, described
from toolplan.plan.canonical import Parsed
from toolplan.plan.model import Limits, Plan, Signature, Step
from toolplan.plan.text.loose import Span

Signatures: TypeAlias = Mapping[str, Signature]
"""The signatures of tools, by their names."""


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
        """Return as much of the plan as can be read, and all problems. Never raises."""
        ...

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        """Return the text of `plan`.

        `signatures` are needed only where the dialect names outputs by what tools declare.

        Raises:
            CannotExpress: the dialect cannot express it; its diagnostics name each such part.
        """
        ...

    def locate(self, text: str, pointer: str, *, key: bool = False) -> Span | None:
        """Return the place in `text` of the value that `pointer` names in the canonical plan.

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


_METHODS = "parse print locate recognises stream"


def guarded_dialect(entry: EntryPoint, offered: object) -> Dialect:
    """Return the dialect that a package offers, with a guard around it.

    Raises:
        ExtensionError: it is no dialect.
    """
    entry.instance(offered, _METHODS, texts="name", flags="json")
    kind = _GuardedChoosing if isinstance(offered, Choosing) else _Guarded
    return kind(entry, cast("Dialect", offered))


class _Guarded:
    def __init__(self, entry: EntryPoint, inner: Dialect) -> None:
        self._entry = entry
        self._inner = inner
        self.name = inner.name
        self.json = inner.json

    def parse(
        self, text: str, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> Parsed:
        found = self._entry.call(self._inner.parse, text, signatures, limits)
        return self._entry.returned(found, Parsed, by="parse")

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        printed = self._entry.call(self._inner.print, plan, signatures)
        return self._entry.returned(printed, str, by="print")

    def locate(self, text: str, pointer: str, *, key: bool = False) -> Span | None:
        found = self._entry.call(self._inner.locate, text, pointer, key=key)
        return None if found is None else self._entry.returned(found, Span, by="locate")

    def recognises(self, text: str) -> bool:
        found = self._entry.call(self._inner.recognises, text)
        return self._entry.returned(found, bool, by="recognises")

    def stream(
        self, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        stream = self._entry.call(self._inner.stream, signatures, limits)
        if stream is None:
            return None
        if not callable(getattr(stream, "feed", None)):
            raise self._entry.wrong("returned from `stream` what has no method `feed`")
        return _GuardedStream(self._entry, stream)


class _GuardedChoosing(_Guarded):
    def chosen(self, choice: str) -> Dialect | None:
        inner = cast("Choosing", self._inner)
        found = self._entry.call(inner.chosen, choice)
        return None if found is None else guarded_dialect(self._entry, found)


class _GuardedStream:
    def __init__(self, entry: EntryPoint, inner: StepStream) -> None:
        self._entry = entry
        self._inner = inner

    def feed(self, text: str) -> Sequence[Step]:
        steps = cast("object", self._entry.call(self._inner.feed, text))
        if not isinstance(steps, Sequence):
            raise self._entry.wrong(f"returned {described(steps)} from `feed`, no list of steps")
        listed = cast("Sequence[object]", steps)
        return [self._entry.returned(each, Step, by="feed") for each in listed]
