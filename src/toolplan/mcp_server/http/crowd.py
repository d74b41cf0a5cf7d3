"""The connection or session that is closed for a new one: idle, of the peer that has the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from msgspec import Struct

IDLE: Final = 0
"""There is no whole request."""

LISTENING: Final = 1
"""A stream of events, which a client opens again."""

BUSY: Final = 2
"""A request is being answered; it is never closed."""


class Place(Protocol):
    """A connection or a session."""

    @property
    def peer(self) -> str:
        """The address of its client."""
        ...

    @property
    def since(self) -> float:
        """When it was last used, in seconds."""
        ...

    @property
    def rank(self) -> int:
        """One of the numbers above; the lowest is closed first."""
        ...


_Place = TypeVar("_Place", bound=Place)


class Bounds(Struct, frozen=True):
    """The most places, of all peers together and of each."""

    total: int
    each: int


def is_crowded(places: Iterable[Place], bounds: Bounds, peer: str) -> bool:
    """Return whether there is no place for one more of `peer`."""
    peers = [place.peer for place in places]
    return len(peers) >= bounds.total or peers.count(peer) >= bounds.each


def one_to_close(places: Iterable[_Place], bounds: Bounds, peer: str) -> _Place | None:
    """Return what to close so that `peer` may have one more place; None where nothing can be.

    Call it only if `is_crowded`.
    """
    there = list(places)
    counts = Counter(place.peer for place in there)
    most = max(counts.values())
    if counts[peer] < min(bounds.each, most):
        peer = counts.most_common(1)[0][0]
    candidates = [place for place in there if place.peer == peer and place.rank < BUSY]
    return min(candidates, key=lambda place: (place.rank, place.since), default=None)
