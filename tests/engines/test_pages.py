"""Steps with `pages`: one call to its readers, each page a call of its own."""

import asyncio
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.engines._running import ran as run_of
from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan.engine import CannotRun, resume, run
from toolplan.events import PageEnded, Run, RunState
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, Value
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError
from toolplan.testing import Computes, Gives, ScriptedTools

_PAGED: Json = {
    "type": "object",
    "properties": {
        "page": {"type": "integer", "default": 1},
        "per_page": {"type": "integer", "default": 10},
        "of": {},
    },
}
_BY_CURSOR: Json = {
    "type": "object",
    "properties": {"cursor": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
}
ROWS: list[Json] = [{"id": at} for at in range(35)]


def page_of(args: Arguments) -> Json:
    """Return a page of 10 rows, with the number of all."""
    page = args.get("page", 1)
    assert isinstance(page, int)
    return {"data": ROWS[page * 10 - 10 : page * 10], "total": len(ROWS)}


def by_cursor(args: Arguments) -> Json:
    """Return a page of 10 rows, with the cursor of the next."""
    start = int(str(args.get("cursor", 0)))
    more = start + 10 < len(ROWS)
    return {"data": ROWS[start : start + 10], "next_cursor": str(start + 10) if more else None}


def tools_of(function: Callable[[Arguments], Json], schema: Json = _PAGED) -> ScriptedTools:
    """Return the tool `list`, which computes `function`."""
    tools = ScriptedTools()
    tools.add("list", Computes(function, delay_s=0.01), input_schema=schema)
    return tools


STEP = Step("a", "list", pages="all")


def ran(tools: ScriptedTools, *steps: Step, limits: Limits = Limits()) -> Run:
    """Return the run of a plan of `steps`."""
    return run_of(tools, *(steps or (STEP,)), limits=limits)[0]


def test_numbered_pages_come_at_the_same_time_and_in_order() -> None:
    tools = tools_of(page_of)
    result = ran(tools)
    assert result.output == {"a": {"data": ROWS, "total": 35}}
    assert result.steps["a"].partial == ()
    assert len(tools.calls) == 4
    assert tools.most_running == 3


def test_a_cursor_leads_from_page_to_page() -> None:
    tools = tools_of(by_cursor, _BY_CURSOR)
    assert ran(tools).output == {"a": {"data": ROWS, "next_cursor": "10"}}
    assert [call.args.get("cursor") for call in tools.calls] == [None, "10", "20", "30"]
    assert tools.most_running == 1


def test_pages_count_towards_the_limit_of_calls() -> None:
    tools = tools_of(page_of)
    failure = ran(tools, limits=Limits(calls=3)).steps["a"].error
    assert failure is not None
    assert failure.code == "too-many-calls"
    assert len(tools.calls) == 1
    assert ran(tools_of(page_of), limits=Limits(calls=4)).succeeded


def test_the_most_pages_make_a_part_that_is_reported() -> None:
    result = ran(tools_of(page_of), Step("a", "list", pages="all", max_pages=2))
    assert result.status is RunState.SUCCEEDED
    assert [(each.step, each.rows, each.reason) for each in result.partial] == [
        ("a", 20, "max-pages")
    ]


def test_a_page_is_tried_again_by_itself() -> None:
    failed: set[int] = set()

    def flaky(args: Arguments) -> Json:
        page = args.get("page", 1)
        assert isinstance(page, int)
        if page in (1, 3) and page not in failed:
            failed.add(page)
            raise ToolError("not yet")
        return page_of(args)

    tools = tools_of(flaky)
    result = ran(tools, Step("a", "list", pages="all", retries=1))
    assert result.output == {"a": {"data": ROWS, "total": 35}}
    assert len(tools.calls) == 6
    assert result.steps["a"].attempts == 2


def test_the_first_page_in_order_that_fails_fails_the_step() -> None:
    def bad(args: Arguments) -> Json:
        page = args.get("page", 1)
        if page in (3, 4):
            raise ToolError(f"no page {page}")
        return page_of(args)

    failure = ran(tools_of(bad)).steps["a"].error
    assert failure is not None
    assert failure.message == "no page 3"


def one_cursor(_: Arguments) -> Json:
    """Return the same page with the same cursor, whatever is asked for."""
    return {"data": ROWS[:10], "next_cursor": "10"}


def one_page(_: Arguments) -> Json:
    """Return the same page, whatever is asked for."""
    return ROWS[:10]


@pytest.mark.parametrize(("function", "schema"), [(one_cursor, _BY_CURSOR), (one_page, _PAGED)])
def test_a_tool_that_does_not_turn_pages_fails_the_step(
    function: Callable[[Arguments], Json], schema: Json
) -> None:
    tools = tools_of(function, schema)
    failure = ran(tools).steps["a"].error
    assert failure is not None
    assert failure.code == "pages-repeat"
    assert len(tools.calls) == 2


def test_each_item_has_its_own_pages() -> None:
    def of_item(args: Arguments) -> Json:
        count, page = args["of"], args.get("page", 1)
        assert isinstance(count, int)
        assert isinstance(page, int)
        return ROWS[:count][page * 10 - 10 : page * 10]

    step = Step(
        "a", "list", {"of": Ref("item")}, for_each=Literal([0, 5, 10, 25]), pages="all"
    )  # fmt: skip
    result = ran(tools_of(of_item), step)
    assert result.output == {"a": [ROWS[:0], ROWS[:5], ROWS[:10], ROWS[:25]]}


def test_a_tool_with_effects_has_no_pages() -> None:
    tools = ScriptedTools()
    tools.add("list", Gives([]), input_schema=_PAGED, effects=Effects.WRITE)
    with pytest.raises(CannotRun, match="all pages"):
        ran(tools)


@pytest.mark.parametrize("for_each", [None, Literal([1])])
@pytest.mark.parametrize("stops", range(4))
async def test_pages_are_asked_for_once(stores: Stores, stops: int, for_each: Value | None) -> None:
    reached = asyncio.Event()

    async def list_(args: Arguments) -> Json:
        if args.get("cursor", "0") == str(10 * stops) and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        asked.append(args.get("cursor"))
        return by_cursor(args)

    asked: list[Json] = []
    tools = Toolbox([Tool("list", "", _BY_CURSOR, None, Effects.READ, call=list_)])
    step = Step("a", "list", for_each=for_each, pages="all")
    plan = execution_plan(Plan((step,)))
    with closing(stores.open()) as journal:
        task = asyncio.ensure_future(run(plan, tools, journal=journal, run_id="r"))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sum(isinstance(e, PageEnded) for e in journal.events("r")) == stops
        done = await resume(plan, tools, "r", journal=journal)
        loaded = journal.load("r")
    whole: Json = {"data": ROWS, "next_cursor": "10"}
    assert done.output == {"a": whole if for_each is None else [whole]}
    assert loaded.output == done.output
    assert asked == [None, "10", "20", "30"]
