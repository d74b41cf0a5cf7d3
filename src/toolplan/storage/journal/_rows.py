"""Records that are committed together, as a row of the journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from toolplan.storage.journal import _checksums
from toolplan.storage.journal._blobs import blob_name
from toolplan.storage.journal._reading import BLOB

BLOB_SIZE: Final = 64_000
"""Longer records, in characters, are kept as blobs."""

KEPT_DURATIONS: Final = 200
"""The number of latest calls whose durations are kept for each tool."""


class Group(Struct, frozen=True):
    """`size` records as a row, and the large ones by the names of blobs."""

    row: tuple[str, int, str, str]
    size: int
    large: dict[str, str]


def group_of(run: str, texts: Sequence[str], at: int) -> Group:
    """Return the group of records `texts`, the first of them at position `at`.

    One row for all: with a row each, every one would wait for the interpreter lock.
    """
    large = {blob_name(text): text for text in texts if len(text) > BLOB_SIZE}
    lines = [_line(text) for text in texts]
    row = (run, at, "\n".join(lines), _checksums.checksums(run, at, lines))
    return Group(row, len(texts), large)


def _line(text: str) -> str:
    return text if len(text) <= BLOB_SIZE else f'{BLOB}"{blob_name(text)}",{len(text)}]'
