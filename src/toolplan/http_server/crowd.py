"""Who has to leave when there are too many: idle ones, of the peer that has the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from msgspec import Struct

IDLE: Final = 0
"""Nothing was asked yet, or nothing more, or a request is not all there."""

LISTENING: Final = 1
"""It only listens: a client opens such a stream again."""

BUSY: Final = 2
"""A request is answered; what is busy is never closed."""


class Place(Protocol):
    """What counts: a connection, or a session."""

    @property
    def peer(self) -> str:
        """The address of whom it belongs to."""
        ...

    @property
    def since(self) -> float:
        """When it was last of use, in seconds."""
        ...

    @property
    def rank(self) -> int:
        """One of the words above; the lowest leaves first."""
        ...


_Place = TypeVar("_Place", bound=Place)


class Bounds(Struct, frozen=True):
    """The most places, of all peers together and of each."""

    total: int
    each: int


def one_to_close(places: Iterable[_Place], bounds: Bounds, peer: str) -> _Place | None:
    """Return what to close so that `peer` may have one more place; None where nothing can be.

    Call it only if `is_crowded`.
    """
    there = list(places)
    counts = Counter(place.peer for place in there)
    crowding = peer
    if counts[peer] < bounds.each:
        most = max(counts.values())
        crowding = peer if counts[peer] == most else counts.most_common(1)[0][0]
    candidates = [place for place in there if place.peer == crowding and place.rank < BUSY]
    return min(candidates, key=lambda place: (place.rank, place.since), default=None)


def is_crowded(places: Iterable[Place], bounds: Bounds, peer: str) -> bool:
    """Return whether there is no place for one more of `peer`."""
    peers = [place.peer for place in places]
    return len(peers) >= bounds.total or peers.count(peer) >= bounds.each
