"""Runs that no worker will continue, in words: which, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from toolplan.render.printable import count_text
from toolplan.render.runs_view import SHORT

_MOST: Final = 20


class Stranded(NamedTuple):
    """The runs of one queue that has no worker: what is wrong, and what to do."""

    text: str
    help: str


def stranded_texts(runs: Mapping[str, str], worked: Collection[str]) -> list[Stranded]:
    """Return what to say of `runs`, given with their queues, where only `worked` have workers."""
    found: list[Stranded] = []
    for queue in sorted({*runs.values()}):
        names = [run[:SHORT] for run in runs if runs[run] == queue]
        more = f", and {len(names) - _MOST} more" if len(names) > _MOST else ""
        needs = "needs" if len(names) == 1 else "need"
        toolbox = queue.partition("@")[0]
        others = sorted({each for each in worked if each.partition("@")[0] == toolbox})
        have = f" The workers for {' and '.join(others)} have other tools." if others else ""
        found.append(
            Stranded(
                f"There is no worker for {queue}, which {count_text(len(names), 'run')} {needs}:"
                f" {', '.join(names[:_MOST])}{more}.{have}",
                f"Start `toolplan worker {toolbox}` with the tools that they were planned for, or"
                " end a run: `toolplan cancel RUN`.",
            )
        )
    return found
