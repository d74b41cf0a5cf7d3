"""A run goes on, with its digest, after words of its tools have changed, and only then."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import toolplan
from toolplan import CannotRun, ValueApproval, approve, compile_plan
from toolplan.app.resume import plan_in, recorded_tool
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.tools.pins import SourcedTool

PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "pay", "args": {"n": 1}}]}'


async def _paid(_: Arguments) -> Json:
    return {"paid": True}


def _tool(words: str, kind: Any, **number: Json) -> Tool:
    schema: dict[str, Json] = {
        "title": words,
        "type": "object",
        "properties": {"n": {"description": words, **number}},
        "required": ["n"],
    }
    wire: Any = {"wire": {"name": "pay", "description": words, "inputSchema": schema}}
    return kind(
        name="pay",
        description=words,
        raw_input=schema,
        raw_output={"description": words},
        effects=Effects.WRITE,
        annotations={"title": words},
        call=_paid,
        **(wire if kind is SourcedTool else {}),
    )


@pytest.fixture(params=[Tool, SourcedTool])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def _waiting(place: Path, tool: Tool) -> str:
    """Keep a run that waits for an approval; return the digest of its plan."""
    plan = compile_plan(PLAN, tools=[tool]).plan
    assert plan is not None
    with closing(toolplan.Journal(place)) as journal:
        ended = asyncio.run(
            toolplan.run(plan, [tool], journal=journal, run_id="r", approval=ValueApproval())
        )
        assert ended.status is RunState.WAITING
    return plan.digest


def test_a_run_keeps_its_digest_where_only_words_have_changed(tmp_path: Path, kind: Any) -> None:
    place = tmp_path / "runs.sqlite"
    digest = _waiting(place, _tool("Pays.", kind, type="integer"))
    tools = [_tool("Pays it, and says so.", kind, type="integer")]
    with toolplan.open(tools, journal=place) as app:
        seen: list[str] = []
        ended = asyncio.run(
            app.resume("r", allow=["a"], on_plan=lambda plan: seen.append(plan.digest))
        )
    assert ended.status is RunState.SUCCEEDED
    assert (seen, ended.digest) == ([digest], digest)


@pytest.mark.parametrize("change", ["schema", "effects", "identity"])
def test_any_other_change_is_named(tmp_path: Path, kind: Any, change: str) -> None:
    place = tmp_path / "runs.sqlite"
    before = _tool("Pays.", kind, type="integer")
    after, part = _tool("Pays.", kind, type="number"), "input_schema"
    if change == "effects":
        after, part = replace(before, effects=Effects.DESTRUCTIVE), "annotations"
    elif change == "identity":
        if kind is Tool:
            return
        after, part = replace(before, identity={"url": "https://other.example"}), "pin"
    _waiting(place, before)
    with (
        toolplan.open([after], journal=place) as app,
        pytest.raises(CannotRun, match=rf"started: 'pay' \(.*{part}.*\)\."),
    ):
        asyncio.run(app.resume("r", allow=["a"]))


def test_the_record_of_a_run_is_enough_to_know_its_digest(tmp_path: Path, kind: Any) -> None:
    """A person approves it without its tools, as where workers have them."""
    place = tmp_path / "runs.sqlite"
    digest = _waiting(place, _tool("Pays.", kind, type="integer"))
    with closing(toolplan.Journal(place)) as journal:
        record = journal.record("r")
    assert isinstance(record.tools, list)
    tools = [recorded_tool(each) for each in record.tools if isinstance(each, dict)]
    assert plan_in(record, tools).digest == digest


def test_words_do_not_count_for_a_version_and_names_of_properties_do(kind: Any) -> None:
    one, two = _tool("One.", kind), _tool("Two.", kind)
    assert one.version == two.version
    assert one.to_json() != two.to_json()
    schema: Json = {"type": "object", "properties": {"title": {}, "description": {}}}
    other: Json = {"type": "object", "properties": {"title": {}}}
    assert Tool("t", "", schema).version != Tool("t", "", other).version
    assert (
        Tool("t", "", {"default": {"title": 1}}).version != Tool("t", "", {"default": {}}).version
    )


def test_an_approval_covers_words(kind: Any) -> None:
    digests = set[str]()
    for words in ("One.", "Two."):
        plan = compile_plan(PLAN, tools=Toolbox([_tool(words, kind)])).plan
        assert plan is not None
        digests.add(approve(plan).digest)
    assert len(digests) == 2
