"""The rules of pages: a part of a list that is taken for the whole, and `pages` that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan.model import Literal, Ref, Step, escape_pointer, refs
from toolplan.plan.path import EVERY, Json
from toolplan.schema.paging import Paging
from toolplan.schema.tool import Tool


@rule(Severity.WARNING)
def part_of_list(context: PlanContext) -> Iterator[Problem]:
    """A step computes with a list of which the plan asks for one page only, or acts on its rows.

    Its count, groups and ranks would be those of the first rows. Where the tool has an argument for
    further pages, the step gets `pages`; else the largest limit that the schema states. Where it
    has neither, the run says over how many rows the result is, and that the tool may have more.
    A step whose rows go straight into effects gets no fix, since more rows mean more effects; a
    step whose rows are computed with first gets one.

        {"id": "tickets", "tool": "list_tickets"}

    becomes

        {"id": "tickets", "tool": "list_tickets", "pages": "all"}

    No warning is given where the plan asks for a page by number, offset or cursor, or for the first
    rows in a stated order, nor where it acts on rows whose number its own `limit` sets.

    How to fix: `pages`, or a limit that is surely large enough. A tool that always gives whole
    lists says so with `"x-pages": false` in its input schema.
    """
    pages = [(call, paging) for call in context.calls if (paging := _paging(call.step, call.tool))]
    computed = _computed(context) if pages else frozenset[str]()
    changed = _changed(context) if pages else frozenset[str]()
    for call, paging in pages:
        step = call.step
        is_limited = paging.limit is not None and paging.limit.path[0] in step.args
        if step.id not in computed and (step.id not in changed or is_limited):
            continue
        most = None if paging.limit is None else paging.limit.number(_literals(step))
        rows = f"one page of {step.tool!r}" if most is None else f"{most} rows of {step.tool!r}"
        help = "The tool has no argument for further pages; the result says when it is a part."
        if paging.can_page:
            help = "Ask for all pages: `pages`."
        does = "computes with" if step.id in computed else "acts on"
        message = f"The plan {does} {rows}, and the tool may have more."
        fix = None if step.id in changed else _fix(call.pointer, step, paging)
        yield call.problem(message, "", help, fix)


def may_get_pages(step: Step, tool: Tool) -> bool:
    """Return whether a later step that computes with the list of `step` changes `step`."""
    paging = _paging(step, tool)
    return paging is not None and _fix("", step, paging) is not None


def _literals(step: Step) -> dict[str, Json]:
    return {name: v.value for name, v in step.args.items() if isinstance(v, Literal)}


def _paging(step: Step, tool: Tool | None) -> Paging | None:
    """Return how the tool pages, if `step` may get one page of its list only."""
    paging = None if tool is None or tool.has_effects or step.pages is not None else tool.paging
    if paging is None or not paging.arguments:
        return None
    literals = _literals(step)
    for each in (paging.cursor, paging.offset, paging.page):
        if each is None or each.path[0] not in step.args:
            continue
        if each.path[0] not in literals or each.of(literals) not in (None, "", each.default):
            return None
    limit = paging.limit
    if limit is None:
        return paging
    if limit.path[0] in step.args:
        names = [name.lower() for name in step.args]
        is_ordered = any(
            n.startswith("$orderby") or "sort" in n or "order" in n.split("_") for n in names
        )
        return None if is_ordered else paging
    gives_all = limit.gives_all or (limit.is_nullable and len(paging.arguments) == 1)
    return None if gives_all else paging


def _fix(pointer: str, step: Step, paging: Paging) -> Fix | None:
    if paging.can_page:
        return Fix(True, (Edit(f"{pointer}/pages", "all"),))
    limit = paging.limit
    if limit is None or limit.most is None or limit.is_text:
        return None
    name, *deeper = limit.path
    given = step.args.get(name)
    if deeper or (given is None and limit.default is None):
        return None  # without a limit the tool may give all rows
    if given is not None and (not isinstance(given, Literal) or given.value == limit.most):
        return None
    return Fix(True, (Edit(f"{pointer}/args/{escape_pointer(name)}", limit.most),))


def _computed(context: PlanContext) -> Set[str]:
    """Return the steps whose rows a computation reads, itself or through other reading steps.

    A computation is a call of `sql` or of another tool with a computed output, one that takes a
    list of values from the rows, or a condition over a list, unless one page decides it.
    """
    pending: list[str] = []
    for _, step, tool in context.calls:
        for ref in () if step.when is None else refs(step.when.value):
            read = context.steps.get(ref.step)
            paging = None if read is None else _paging(read, context.tool(read))
            if step.when is None or read is None or paging is None or _is_one_value(context, ref):
                continue
            if not _page_decides(step.when.schema, ref, read, paging):
                pending.append(ref.step)
        if tool is not None and not tool.has_effects:
            of_lists_only = tool.compute_output is None
            pending += _read_rows(context, step, of_lists_only=of_lists_only)

    def read_by(step: Step) -> Iterator[str]:
        tool = context.tool(step)
        return iter(()) if tool is None or tool.has_effects else _read_rows(context, step)

    return _reached(context, pending, read_by)


def _changed(context: PlanContext) -> Set[str]:
    """Return the steps whose rows reach effects, directly or through a read for each row."""
    acting = (step for _, step, tool in context.calls if tool is not None and tool.has_effects)
    pending = [name for step in acting for name in _read_rows(context, step)]

    def fanned_out_by(step: Step) -> Iterator[str]:
        found = () if step.for_each is None else refs(step.for_each)
        return (ref.step for ref in found if not _is_one_value(context, ref))

    return _reached(context, pending, fanned_out_by)


def _reached(
    context: PlanContext, pending: list[str], read_by: Callable[[Step], Iterable[str]]
) -> Set[str]:
    """Return the steps named in `pending`, and those that they read."""
    reached: set[str] = set()
    while pending:
        step = context.steps.get(pending.pop())
        if step is not None and step.id not in reached:
            reached.add(step.id)
            pending += read_by(step)
    return reached


def _page_decides(condition: Json, ref: Ref, step: Step, paging: Paging) -> bool:
    """Return whether the first page alone decides a condition on `ref`: a bound on its count."""
    rows, is_count = paging.facts.rows, ref.path in paging.facts.counts
    if rows is not None and ref.path and rows != ref.path[: len(rows)] and not is_count:
        return True  # a field beside the rows
    limit = None if paging.limit is None else paging.limit.number(_literals(step))
    most = 1 if limit is None else limit
    bounds = condition if isinstance(condition, dict) else {}
    return any(key in _BOUNDS for key in bounds) and all(
        key == "type" or (key in _BOUNDS and type(n) is int and n + _BOUNDS[key] <= most)
        for key, n in bounds.items()
    )


_BOUNDS = {
    "minItems": 0, "minimum": 0, "exclusiveMaximum": 0,
    "maxItems": 1, "maximum": 1, "exclusiveMinimum": 1, "const": 1,
}  # fmt: skip
"""Rows beyond a bound that one page must be able to hold, by keyword."""


def _read_rows(context: PlanContext, step: Step, *, of_lists_only: bool = False) -> Iterator[str]:
    """Yield the steps whose rows `step` reads, all of them: not the total, or one row by number.

    With `of_lists_only`, those of which an argument takes a list of values.
    """
    values = [*step.args.values()]
    if step.for_each is not None and not of_lists_only:
        values.append(step.for_each)
    for ref in (ref for value in values for ref in refs(value)):
        if not (of_lists_only and EVERY not in ref.path) and not _is_one_value(context, ref):
            yield ref.step


def _is_one_value(context: PlanContext, ref: Ref) -> bool:
    if any(type(each) is int for each in ref.path):
        return True
    read = context.steps.get(ref.step)
    tool = None if read is None else context.tool(read)
    if tool is None or tool.paging is None:
        return False
    return any(ref.path[: len(total)] == total for total in tool.paging.facts.totals)


@rule()
def cannot_page(context: PlanContext) -> Iterator[Problem]:
    """A step asks for all pages of a tool that has none, or that may change something.

    `pages` repeats a call with the next page number, offset or cursor. The tool needs an argument
    for that (`page`, `offset`, `cursor` and the like, or what `x-pages` names), and may only read:
    a call that changes something is never repeated.

    How to fix: remove `pages`.
    """
    for call in context.calls:
        if call.tool is None or call.step.pages is None:
            continue
        if call.tool.has_effects:
            reason = "may change something, and is called once only"
        elif call.tool.paging is None or not call.tool.paging.can_page:
            reason = "has no argument that asks for a further page"
        else:
            continue
        fix = Fix(False, (Edit(f"{call.pointer}/pages", REMOVED),))
        yield call.problem(f"{call.step.tool!r} {reason}.", "/pages", "Remove `pages`.", fix)
