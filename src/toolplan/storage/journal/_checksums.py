"""Checksums of what the journal keeps, so that nothing that was damaged passes for a value."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32


def checksums(run: str, at: int, lines: Sequence[str]) -> str:
    """Return the checksums of records of `run`, the first of them at position `at`."""
    return " ".join([f"{_of_record(run, place, line):x}" for place, line in enumerate(lines, at)])


def damaged_at(run: str, at: int, lines: Sequence[str], sums: str) -> int | None:
    """Return the position of the first record that does not fit its checksum, or None."""
    if checksums(run, at, lines) == sums:
        return None
    kept = sums.split(" ")
    for place, line in enumerate(lines):
        if place >= len(kept) or kept[place] != f"{_of_record(run, at + place, line):x}":
            return at + place
    return at + len(lines)


def run_checksum(run: str, created_at: float, digest: str, record: str) -> int:
    """Return the checksum of what a run was started with."""
    text = "\0".join((run, repr(created_at), digest, record))
    return crc32(text.encode("utf-8", "surrogatepass"))


def _of_record(run: str, place: int, line: str) -> int:
    return crc32(f"{run}\0{place}\0{line}".encode("utf-8", "surrogatepass"))
