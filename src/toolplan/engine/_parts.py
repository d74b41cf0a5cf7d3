"""Outputs over parts of lists, and the steps that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolplan.events import Partial
from toolplan.plan.model import Ref, Step, Value, located_refs, refs
from toolplan.plan.path import Json, Path
from toolplan.schema.paging import (
    begins_later,
    is_cut,
    names_next,
    page_of,
    total_in_words,
    verdict_on,
)
from toolplan.schema.tool import Arguments, Tool

NO_PARTS: tuple[Partial, ...] = ()


def own_part(
    step: str, tool: Tool, args: Arguments, output: Json, said: Mapping[str, Json]
) -> tuple[Partial, ...]:
    """Return the part of its list that `output`, the result of one call of `tool`, has.

    `said` is what the tool reported beside it.
    """
    if not said and not tool.may_give_pages:
        return NO_PARTS
    paging = tool.paging
    page = page_of(output, paging, said)
    if page.rows is None:
        return NO_PARTS
    verdict = verdict_on(page, paging, args)
    if verdict.more is not False and verdict.reason:
        return (Partial(step, page.rows, page.total, verdict.reason, page.total_path),)
    if verdict.more is False and is_cut(output, page, tool.flat_input, args):
        return (Partial(step, page.rows, None, "limit"),)
    if verdict.more is False and names_next(output, page, tool.flat_input, args):
        return (Partial(step, page.rows, None, "cursor"),)
    if verdict.more is False and (total := total_in_words(output, page)) is not None:
        return (Partial(step, page.rows, total, "total"),)
    if begins_later(paging, args):
        return (Partial(step, page.rows, None, "start"),)
    return NO_PARTS


def of_items(step: str, parts: Iterable[tuple[Partial, ...]]) -> tuple[Partial, ...]:
    """Return the parts of a step with `for_each` from those of its calls: one for its own lists."""
    found: dict[str, Partial] = {}
    for each in (part for parts_of_item in parts for part in parts_of_item):
        known = found.get(each.step)
        if known is None:
            found[each.step] = each if each.step != step else _without_total(each, each.rows)
        elif each.step == step:
            found[step] = _without_total(known, known.rows + each.rows)
    return tuple(found.values())


def _without_total(part: Partial, rows: int) -> Partial:
    return Partial(part.step, rows, None, part.reason)


def read_parts(step: Step, known: Mapping[str, tuple[Partial, ...]]) -> tuple[Partial, ...]:
    """Return the parts of lists that `step` reads with its arguments, `for_each` and `when`."""
    values = [*step.args.values(), *(() if step.for_each is None else (step.for_each,))]
    values += () if step.when is None else (step.when.value,)
    found = (ref for value in values for _, ref in located_refs(value, ""))
    return _parts_of(found, known)


def run_parts(
    stated: Value | None,
    sinks: Iterable[str],
    acting: Iterable[Step],
    known: Mapping[str, tuple[Partial, ...]],
) -> tuple[Partial, ...]:
    """Return the parts of lists in the output of a plan, by default that of its `sinks`.

    Those that the steps `acting` read are among them: what was changed, or skipped, is over them.
    """
    if not known:
        return NO_PARTS
    found = refs(stated) if stated is not None else (Ref(name) for name in sinks)
    parts = [*_parts_of(found, known), *(p for step in acting for p in read_parts(step, known))]
    return tuple({each.step: each for each in reversed(parts)}.values())[::-1]


def _parts_of(
    found: Iterable[Ref], known: Mapping[str, tuple[Partial, ...]]
) -> tuple[Partial, ...]:
    parts: dict[str, Partial] = {}
    for ref in found:
        for part in known.get(ref.step, NO_PARTS):
            is_own = part.step == ref.step
            if not (is_own and _needs_no_other_row(ref.path, part)):
                parts.setdefault(part.step, part)
    return tuple(parts.values())


def _needs_no_other_row(path: Path, part: Partial) -> bool:
    """Return whether the value at `path` is the same with and without missing rows."""
    # the total counts all rows; one row is that row
    return (bool(part.total_path) and path == part.total_path) or any(
        type(each) is int for each in path
    )
