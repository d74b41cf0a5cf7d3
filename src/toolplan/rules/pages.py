"""The rules of pages: a part of a list that is taken for the whole, and `pages` that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Set

from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.paging import Paging
from toolplan.path import EVERY
from toolplan.plan import Literal, Ref, Step, escape_pointer, located_refs
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.tools import Tool


@rule(Severity.WARNING)
def part_of_list(context: PlanContext) -> Iterator[Problem]:
    """A step computes with a list of which the plan asks for one page only.

    Its count, groups and ranks would be those of the first rows. Where the tool has an argument for
    further pages, the step gets `pages`; else the largest limit that the schema states. Where it
    has neither, the run says over how many rows the result is, and that the tool may have more.

        {"id": "tickets", "tool": "list_tickets"}

    becomes

        {"id": "tickets", "tool": "list_tickets", "pages": "all"}

    A plan that asks for a page by number, offset or cursor, or for the first rows in an order that
    it states, means that page, and is left as it is.

    How to fix: `pages`, or a limit that is surely large enough. A tool that always gives whole
    lists says so with `"x-pages": false` in its input schema.
    """
    pages = list(_pages(context))
    computed = _computed(context) if pages else frozenset[str]()
    for position, step, paging in pages:
        if step.id not in computed:
            continue
        yield Problem(
            f"The plan computes with {_rows_of(step, paging)}, and the tool may have more.",
            f"/steps/{position}",
            step.id,
            "Ask for all pages: `pages`."
            if paging.can_page
            else "The tool has no argument for further pages; the result says when it is a part.",
            _fix(f"/steps/{position}", step, paging),
        )


def _pages(context: PlanContext) -> Iterator[tuple[int, Step, Paging]]:
    """Yield each step that may give one page of its list only, with its position."""
    for position, step in enumerate(context.plan.steps):
        tool = None if step.pages is not None else context.tool(step)
        paging = None if tool is None or tool.has_effects else tool.paging
        if paging is not None and _may_be_a_page(step, paging):
            yield position, step, paging


def may_get_pages(step: Step, tool: Tool) -> bool:
    """Return whether a later step that computes with the list of `step` changes `step`."""
    paging = None if tool.has_effects or step.pages is not None else tool.paging
    if paging is None or not _may_be_a_page(step, paging):
        return False
    return _fix("", step, paging) is not None


def _may_be_a_page(step: Step, paging: Paging) -> bool:
    if not paging.arguments:
        return False
    args = {name: v.value for name, v in step.args.items() if isinstance(v, Literal)}
    for each in (paging.cursor, paging.offset, paging.page):
        name = "" if each is None else each.path[0]
        if each is None or name not in step.args:
            continue
        if name not in args or each.of(args) not in (None, "", each.default):
            return False
    limit = paging.limit
    if limit is None:
        return True
    if limit.path[0] not in step.args:
        return not limit.gives_all and not (limit.is_nullable and len(paging.arguments) == 1)
    return not any(_orders(name) for name in step.args)


def _rows_of(step: Step, paging: Paging) -> str:
    args = {name: v.value for name, v in step.args.items() if isinstance(v, Literal)}
    most = None if paging.limit is None else paging.limit.number(args)
    return f"one page of {step.tool!r}" if most is None else f"{most} rows of {step.tool!r}"


def _orders(argument: str) -> bool:
    folded = argument.lower()
    return folded.startswith("$orderby") or "sort" in folded or "order" in folded.split("_")


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
    if isinstance(given, Literal) and given.value == limit.most:
        return None
    is_written = given is None or isinstance(given, Literal)
    pointer = f"{pointer}/args/{escape_pointer(name)}"
    return Fix(True, (Edit(pointer, limit.most),)) if is_written else None


def _computed(context: PlanContext) -> Set[str]:
    """Return the steps whose rows a computation reads, itself or through other reading steps.

    A computation is a call of `sql` or of another tool with a computed output, or one that takes a
    list of values from the rows.
    """
    pending: list[str] = []
    for step in context.plan.steps:
        tool = context.tool(step)
        if tool is None or tool.has_effects:
            continue
        if tool.compute_output is not None:
            pending += _read_rows(context, step)
        else:
            found = (ref for value in step.args.values() for _, ref in located_refs(value, ""))
            pending += [
                ref.step for ref in found if EVERY in ref.path and not _is_one_value(context, ref)
            ]
    computed: set[str] = set()
    while pending:
        step = context.steps.get(pending.pop())
        if step is None or step.id in computed:
            continue
        computed.add(step.id)
        tool = context.tool(step)
        if tool is not None and not tool.has_effects:
            pending += _read_rows(context, step)
    return computed


def _read_rows(context: PlanContext, step: Step) -> Iterator[str]:
    """Yield the steps of whose rows `step` reads all: not only the total, or one row by number."""
    values = [*step.args.values(), *(() if step.for_each is None else (step.for_each,))]
    for ref in (ref for value in values for _, ref in located_refs(value, "")):
        if not _is_one_value(context, ref):
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
    for position, step in enumerate(context.plan.steps):
        if step.pages is None:
            continue
        tool = context.tool(step)
        if tool is None:
            continue
        if tool.has_effects:
            reason = "may change something, and is called once only"
        elif tool.paging is None or not tool.paging.can_page:
            reason = "has no argument that asks for a further page"
        else:
            continue
        pointer = f"/steps/{position}/pages"
        yield Problem(
            f"{step.tool!r} {reason}.",
            pointer,
            step.id,
            "Remove `pages`.",
            Fix(False, (Edit(pointer, REMOVED),)),
        )
