"""Schemas learned from results: the laws of folding, drift, and the file."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolplan import Effects, Tool, Toolbox, ToolError, compile_plan, run
from toolplan.plan.path import Json
from toolplan.schema import Absent, Schema, at
from toolplan.schema.tool import LearnedOutput
from toolplan.testing import Computes, Gives, ScriptedTools
from toolplan.tools import learned as module
from toolplan.tools.learned import (
    MOST_PLACES,
    Learned,
    LearnedError,
    LearnedSchemas,
    TooLarge,
    learn,
    learned_from,
    tool_digest,
)

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "f", "id"])
TEXTS = st.sampled_from(
    ["", "x", "2025-02-29", "2024-02-29", "2024-02-29T12:00:00Z", "ann@example.org"]
) | st.uuids().map(str)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)
RESULTS = st.lists(VALUES, min_size=1, max_size=6)


@pytest.fixture
def kept() -> Iterator[LearnedSchemas]:
    with LearnedSchemas(":memory:") as opened:
        yield opened


ROWS: Json = {
    "data": [
        {"id": "S1", "date": "2025-10-12", "weight": 12, "note": None, "tags": ["a"]},
        {"id": "S2", "date": "2025-10-13", "weight": 1.5, "note": "wet", "tags": []},
    ],
    "total": 2,
}


@pytest.fixture(params=["usual bounds", "narrow bounds"])
def bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    """The laws hold where nothing is cut off, and where nearly everything is."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "narrow bounds":
            patch.setattr(module, "MOST_NAMES", 3)
            patch.setattr(module, "MOST_PLACES", 12)
            patch.setattr(module, "MOST_DEPTH", 4)
        yield


def folded(shapes: Sequence[Learned]) -> Learned:
    def take(into: Learned, each: Learned) -> Learned:
        into.take(each)
        return into

    return reduce(take, shapes, Learned())


def learned(*values: Json) -> Learned:
    return folded([learned_from(value) for value in values])


def schema(*values: Json) -> Any:
    return learned(*values).shape.schema()


@pytest.mark.usefixtures("bounds")
@given(results=RESULTS)
def test_every_result_that_was_seen_is_valid(results: list[Json]) -> None:
    found = Schema.load(schema(*results))
    for result in results:
        assert found.violations(result) == []


@pytest.mark.usefixtures("bounds")
@given(results=RESULTS, chance=st.randoms(use_true_random=False))
def test_the_order_of_results_does_not_matter(results: list[Json], chance: Any) -> None:
    other = list(results)
    chance.shuffle(other)
    assert learned(*results) == learned(*other)


@pytest.mark.usefixtures("bounds")
@given(results=RESULTS, more=RESULTS, most=RESULTS)
def test_the_grouping_of_results_does_not_matter(
    results: list[Json], more: list[Json], most: list[Json]
) -> None:
    """Two processes that learned apart may be put together."""
    left = folded([folded([learned(*results), learned(*more)]), learned(*most)])
    right = folded([learned(*results), folded([learned(*more), learned(*most)])])
    assert left == right == learned(*results, *more, *most)


@given(results=RESULTS)
def test_folding_changes_nothing_but_what_is_folded_into(results: list[Json]) -> None:
    apart = [learned_from(result) for result in results]
    folded(apart)
    assert apart == [learned_from(result) for result in results]


@settings(max_examples=15)
@given(results=RESULTS)
def test_what_is_kept_is_read_again_as_it_was(
    results: list[Json], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("learned") / "learned.sqlite"
    for result in results:
        with LearnedSchemas(path) as kept:
            kept.observe("t", result)
    with LearnedSchemas(path) as kept:
        assert kept.schema("t") == LearnedOutput(schema(*results), len(results))


def test_rows_become_a_schema_that_plans_are_checked_with() -> None:
    assert schema(ROWS) == {
        "type": "object",
        "properties": {
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "date": {"type": "string", "format": "date"},
                        "id": {"type": "string"},
                        "note": {"type": ["null", "string"]},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "weight": {"type": "number"},
                    },
                    "required": ["date", "id", "note", "tags", "weight"],
                },
            },
            "total": {"type": "integer"},
        },
        "required": ["data", "total"],
    }
    assert isinstance(at(Schema.load(schema(ROWS)), ("items",)), Absent)


INTEGER: Json = {"type": "integer"}
SCHEMAS: list[tuple[list[Json], Json]] = [
    (["open", "closed"] * 500, {"type": "string"}),
    (["2025-01-01", "2024-02-29"], {"type": "string", "format": "date"}),
    (["2025-01-01", "soon"], {"type": "string"}),
    (["2025-01-01", None], {"type": ["null", "string"], "format": "date"}),
    (["2025-01-01", "2025-01-01T10:00:00Z"], {"type": "string"}),
    ([1, 2], {"type": "integer"}),
    ([1, 2.5], {"type": "number"}),
    ([True], {"type": "boolean"}),
    ([[]], {"type": "array"}),
    ([{}], {"type": "object", "properties": {}}),
    (
        [{"a": 1, "b": 2}, {"a": 1}],
        {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a"]},
    ),
    ([], {}),
]


@pytest.mark.parametrize(("values", "expected"), SCHEMAS)
def test_a_schema_says_just_what_all_results_have(values: list[Json], expected: Json) -> None:
    assert schema(*values) == expected


def test_objects_with_very_many_names_are_maps_and_their_names_are_not_kept() -> None:
    by_id: Json = {f"F{number}": {"tons": number} for number in range(101)}
    found = learned(by_id)
    assert found.shape.schema() == {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {"tons": {"type": "integer"}},
            "required": ["tons"],
        },
    }
    assert "F7" not in repr(found)


def test_a_learned_schema_is_bounded_whatever_is_seen(kept: LearnedSchemas) -> None:
    def wide(depth: int, start: int) -> Json:
        if depth == 0:
            return 1
        return {f"n{start}_{depth}_{n}": wide(depth - 1, start) for n in range(6)}

    found = Learned()
    for start in range(12):
        found.take(learned_from([wide(4, start)]))
    assert found.shape.places() <= MOST_PLACES
    for start in range(12):
        kept.observe("t", [wide(4, start)])
    expected = kept.schema("t")
    assert expected is not None
    assert json.dumps(expected.raw).count("type") <= 2 * MOST_PLACES
    Schema.load(expected.raw)


def test_what_is_nested_without_end_is_not_looked_into() -> None:
    deep: Json = "x"
    for _ in range(400):
        deep = {"a": [deep]}
    assert Schema.load(schema(deep)).violations(deep) == []


def test_a_result_that_is_too_large_is_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 10)
    long: Json = ["x" for _ in range(20)]
    with pytest.raises(TooLarge):
        learned_from({"data": long})
    with LearnedSchemas(":memory:") as kept:
        kept.observe("t", long)
        assert kept.schema("t") is None
        kept.observe("t", [1])
        kept.observe("t", long)
        assert kept.schema("t") == LearnedOutput(schema([1]), 1)


def test_a_tool_with_another_digest_begins_anew(kept: LearnedSchemas) -> None:
    kept.observe("one", ROWS)
    assert kept.schema("other") is None


def test_tools_that_gave_something_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolplan.tools.learned.MOST_TOOLS", 3)
    times = iter(range(100))
    with LearnedSchemas(":memory:", clock=lambda: float(next(times))) as kept:
        for tool in ("a", "b", "c", "a", "d"):
            kept.observe(tool, 1)
        assert [tool for tool in "abcd" if kept.schema(tool)] == ["a", "c", "d"]


def test_threads_and_files_learn_together(tmp_path: Path) -> None:
    path = tmp_path / "learned.sqlite"

    def learn(start: int) -> None:
        with LearnedSchemas(path) as kept:
            for number in range(10):
                kept.observe("t", {f"n{start + number}": 1})

    threads = [threading.Thread(target=learn, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with LearnedSchemas(path) as kept:
        expected = kept.schema("t")
    assert expected is not None
    assert expected.samples == 40
    assert isinstance(expected.raw, dict)
    properties = expected.raw["properties"]
    assert isinstance(properties, dict)
    assert len(properties) == 40


def test_a_file_of_a_newer_version_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "learned.sqlite"
    with LearnedSchemas(path) as kept:
        kept.observe("t", ROWS)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LearnedError, match="newer version") as caught:
        LearnedSchemas(path)
    assert caught.value.help
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\x00", None])
def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "learned.sqlite"
    if content is None:
        path = path / "in a file" / "learned.sqlite"
    (tmp_path / "learned.sqlite").write_bytes((content or b"") + b"x" * 900)
    with pytest.raises(LearnedError, match=r"learned\.sqlite") as caught:
        LearnedSchemas(path)
    assert "again" in str(caught.value.help)


@pytest.mark.parametrize(
    "shape",
    [
        "nonsense",
        "[]",
        "{}",
        '{"samples": "many", "shape": {}}',
        '{"samples": -1, "shape": {}}',
        '{"samples": 1, "depth": -1, "shape": {}}',
        '{"samples": 1, "shape": {"kinds": ["text"]}}',
        '{"samples": 1, "shape": {"fields": []}}',
    ],
)
def test_what_cannot_be_read_is_learned_again(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "learned.sqlite"
    with LearnedSchemas(path) as kept:
        kept.observe("t", ROWS)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE learned SET shape = ?", (shape,))
    connection.commit()
    connection.close()
    with LearnedSchemas(path) as kept:
        assert kept.schema("t") is None
        kept.observe("t", ROWS)
        assert kept.schema("t") == LearnedOutput(schema(ROWS), 1)


def ran(kept: LearnedSchemas, tools: Toolbox, *steps: dict[str, Json]) -> None:
    """Run a plan, and learn from it."""
    compiled = compile_plan(json.dumps({"toolplan": 1, "steps": steps}), tools=tools)
    assert compiled.plan is not None
    learn(kept, compiled.plan.plan, asyncio.run(run(compiled.plan, tools)), tools)


def picky(arguments: dict[str, Json]) -> Json:
    if arguments["n"] == 2:
        raise ToolError("not that one")
    return {"n": arguments["n"]}


def test_every_run_is_learned_from(kept: LearnedSchemas) -> None:
    tools = ScriptedTools()
    tools.add("a", Gives({"tons": 1}), Gives({"tons": "3 t"}))
    for _ in range(2):
        ran(kept, tools.toolbox, {"id": "s", "tool": "a"})
    expected = schema({"tons": 1}, {"tons": "3 t"})
    assert kept.schema(tool_digest(tools.toolbox["a"])) == LearnedOutput(expected, 2)


def test_every_item_is_learned_from_and_no_call_that_failed(kept: LearnedSchemas) -> None:
    tools = ScriptedTools()
    tools.add("a", Computes(picky))
    many: dict[str, Json] = {
        "id": "s",
        "tool": "a",
        "for_each": [1, 2, 3],
        "args": {"n": "${item}"},
        "on_error": "continue",
    }
    one: dict[str, Json] = {"id": "t", "tool": "a", "args": {"n": 2}, "on_error": "continue"}
    fails: dict[str, Json] = {"id": "u", "tool": "a", "args": {"n": 2}}
    ran(kept, tools.toolbox, many, one, fails)
    known = kept.schema(tool_digest(tools.toolbox["a"]))
    assert known == LearnedOutput(schema({"n": 1}, {"n": 3}), 2)


def test_a_tool_that_says_what_it_gives_is_not_learned_about(kept: LearnedSchemas) -> None:
    tools = ScriptedTools()
    tools.add("a", Gives({}), output_schema={"type": "object"})
    ran(kept, tools.toolbox, {"id": "s", "tool": "a"})
    assert kept.schema(tool_digest(tools.toolbox["a"])) is None


def test_the_digest_of_a_tool_is_of_what_its_source_says() -> None:
    base = Tool("a", "One.", {"type": "object"}, source="x")
    assert tool_digest(base) == tool_digest(Toolbox([base]).labelled({"a": Effects.READ})["a"])
    others = [
        Tool("a", "Two.", {"type": "object"}, source="x"),
        Tool("a", "One.", {}, source="x"),
        Tool("a", "One.", {"type": "object"}, source="y"),
    ]
    assert len({tool_digest(each) for each in (base, *others)}) == 4
