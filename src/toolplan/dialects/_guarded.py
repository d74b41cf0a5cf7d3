"""A dialect of another package: what it raises or returns wrongly names it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from toolplan.base.extensions import EntryPoint, described
from toolplan.dialects._base import Choosing, Dialect, Signatures, StepStream
from toolplan.plan.canonical import Parsed
from toolplan.plan.model import Limits, Plan, Step
from toolplan.plan.text.loose import Span

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
