"""Why steps are skipped: an earlier step failed, or was skipped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from toolplan.engines._graph import Graph
from toolplan.events import Failure


def reason_to_skip(
    graph: Graph, position: int, failed: Collection[str], skipped: Mapping[str, bool]
) -> tuple[Failure, bool] | None:
    """Return the reason to skip the step at `position`, and whether a failure caused it.

    A false condition skips the steps that refer to the skipped step, but not those that only come
    `after` it. A failure skips both. The steps that it needs are over; `skipped` has True where a
    failure is behind it.
    """
    needed = graph.needed(position)
    for each in needed:
        if each in failed:
            return Failure("upstream-failed", f"Step {each!r} failed."), True
    passed_over = [each for each in needed if each in skipped]
    if not passed_over:
        return None
    behind_failure = any(skipped[each] for each in passed_over)
    refers = graph.referenced(position)
    for each in passed_over:
        if skipped[each] or each in refers:
            return Failure("upstream-skipped", f"Step {each!r} was skipped."), behind_failure
    return None


def has_failure_behind(
    needed: Iterable[str], failed: Collection[str], skipped: Mapping[str, bool]
) -> bool:
    """Return whether a step that was skipped has a failure behind it."""
    return any(each in failed or skipped.get(each, False) for each in needed)
