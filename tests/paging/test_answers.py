"""Counts, groups, ranks, anti-joins over the tools of 110 APIs: exact, or said to be of a part."""

import json

import pytest

from tests.paging.apis import APIS, Api
from tests.paging.test_pages import arguments, rows_of
from toolplan import ExecutionPlan, compile_plan, run
from toolplan.events import to_json
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.show.answer import answer
from toolplan_sql import sql_tool

COUNT = 217
"""Rows of each list: more than most tools give at once."""

_STATEMENTS = {
    "count": "SELECT count(*) AS n FROM t",
    "group": "SELECT owner, sum(hours) AS h FROM t GROUP BY owner ORDER BY owner",
    "rank": "SELECT id FROM t ORDER BY hours DESC LIMIT 3",
    "anti-join": "SELECT p.name FROM p WHERE p.name NOT IN (SELECT owner FROM t) ORDER BY 1",
}
_PEOPLE: Json = [{"name": f"o{at}"} for at in range(9)]


def expected(question: str) -> Json:
    """Return the answer over all rows."""
    if question == "count":
        return [{"n": COUNT}]
    if question == "group":
        return [
            {"owner": f"o{owner}", "h": sum(at for at in range(COUNT) if at % 7 == owner)}
            for owner in range(7)
        ]
    if question == "rank":
        return [{"id": COUNT - 1 - at} for at in range(3)]
    return [{"name": "o7"}, {"name": "o8"}]


def toolbox(api: Api, has_schema: bool) -> Toolbox:
    """Return `sql` and the tool of `api`."""
    data = rows_of(COUNT)

    async def call(args: Arguments) -> Json:
        return api.answer(args, data)

    output = api.output_schema if has_schema else None
    tool = Tool(api.name, "", api.input_schema, output, effects=Effects.READ, call=call)
    return Toolbox([tool, sql_tool()])


def planned(api: Api, tools: Toolbox, statement: str) -> ExecutionPlan:
    """Return the plan that computes `statement` over the list of `api`."""
    given = api.answer({}, rows_of(1))
    place = _rows_place(given)
    tables: dict[str, Json] = {"t": f"${{list{place}}}"}
    if " p " in statement or "FROM p" in statement:
        tables["p"] = _PEOPLE
    columns: Json = {"t": {"id": "integer", "owner": "string", "hours": "integer"}}
    args: dict[str, Json] = {"sql": statement, "tables": tables, "columns": columns}
    steps: Json = [
        {"id": "list", "tool": api.name, "args": arguments(api, None, None)},
        {"id": "found", "tool": "sql", "args": args},
    ]
    compiled = compile_plan(json.dumps({"toolplan": 1, "steps": steps}), tools=tools)
    assert compiled.plan is not None, [each.message for each in compiled.diagnostics]
    return compiled.plan


def _rows_place(value: Json, place: str = "") -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict) and "owner" in value[0]:
        return place or "[*]"
    parts = value.items() if isinstance(value, dict) else ()
    return next((found for k, v in parts if (found := _rows_place(v, f'{place}["{k}"]'))), "")


@pytest.mark.parametrize("has_schema", [True, False], ids=["schema", "bare"])
@pytest.mark.parametrize("question", list(_STATEMENTS))
async def test_an_answer_is_exact_or_says_that_it_is_over_a_part(
    question: str, has_schema: bool
) -> None:
    exact = 0
    for api in APIS:
        tools = toolbox(api, has_schema)
        plan = planned(api, tools, _STATEMENTS[question])
        done = await run(plan, tools)
        if not done.succeeded:
            assert done.steps["list"].error is not None, (api.name, done.steps)
            continue
        output = done.steps["found"].output
        assert isinstance(output, dict)
        if output["data"] == expected(question) and not done.partial:
            exact += 1
            continue
        assert "Over a part only" in answer(plan, done).headline, api.name
        assert to_json(done)["complete"] is False
        assert done.steps["found"].partial
    assert exact >= (100 if has_schema else 80)
