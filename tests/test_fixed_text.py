"""Fixes written in place, nullable arguments, and huge literal lists."""

from __future__ import annotations

import json
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.compiler import examine, fixed_text
from toolplan.dialects import DIALECTS
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool

ENUM: Json = {"enum": ["free", "pro"]}
NULL: Json = {"type": "null"}
NULLABLE: tuple[Json, ...] = (
    {"anyOf": [ENUM, NULL]},
    {"anyOf": [NULL, ENUM]},
    {"oneOf": [ENUM, NULL]},
    {"enum": ["free", "pro", None]},
    {"type": ["string", "null"], "enum": ["free", "pro", None]},
    {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL]},
    {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL], "default": None, "title": "Tier"},
    {"$ref": "#/$defs/Maybe"},
    {"allOf": [{"$ref": "#/$defs/Maybe"}]},
    {"anyOf": [ENUM, {"enum": [None]}]},
)


def tool(part: Json) -> Tool:
    definitions: Json = {"Tier": ENUM, "Maybe": {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL]}}
    return Tool("t", "d", {"type": "object", "properties": {"tier": part}, "$defs": definitions})


@pytest.mark.parametrize("part", NULLABLE)
def test_a_nullable_argument_is_checked_as_what_it_holds(part: Json) -> None:
    text = '{"steps": [{"id": "a", "tool": "t", "args": {"tier":  "Pro"}}]}'
    (found,) = examine(text, tools=[tool(part)]).diagnostics
    assert found.fixed
    assert found.help == "Expected: one of 'free', 'pro'."
    assert fixed_text(text, tools=[tool(part)]) == text.replace("Pro", "pro")


def test_only_the_fixes_are_written() -> None:
    text = (
        '// mine\n{ "note": 1,\n "steps": [{"id":"a", "x": 2, '
        '"tool":"t",  "args":{"TIER":"Pro",}}]}'
    )
    new = fixed_text(text, tools=[tool(ENUM)])
    assert new == text.replace("TIER", "tier").replace("Pro", "pro")


def test_a_huge_literal_list_is_a_diagnostic() -> None:
    step: Json = {"id": "a", "tool": "t", "for_each": list(range(100_000))}
    found = examine(json.dumps({"steps": [step]}), tools=[tool(ENUM)]).diagnostics
    assert "fan-out-large" in {each.code for each in found}


_SPACE = st.sampled_from(
    ["", " ", "\n", "\r\n", "\t", "  \n ", " /* mine: TIER, Pro */ ", "// é\r\n"]
)
_UNKNOWN = st.dictionaries(
    st.sampled_from(["note", "comment", "timout_s", "TIER.", "ü"]),
    st.one_of(st.integers(), st.sampled_from(["Pro", "TIER", "a/b~c", "\u2028"]), st.none()),
    max_size=3,
)
_STEP = st.tuples(
    st.sampled_from(["tier", "TIER", "Tier"]), st.sampled_from(["pro", "Pro", "PRO", "free"])
)


@st.composite
def _texts(draw: st.DrawFn) -> tuple[str, str]:
    """Draw the text of a plan, and what it should be after its fixes."""
    written: list[str] = []
    fixed: list[str] = []

    def add(part: str, after: str | None = None) -> None:
        space = draw(_SPACE)
        written.append(part + space)
        fixed.append((part if after is None else after) + space)

    def add_object(fields: list[tuple[str, object]]) -> None:
        add("{")
        for at, (name, value) in enumerate(draw(st.permutations(fields))):
            if at:
                add(",")
            add(json.dumps(name))
            add(":")
            if callable(value):
                value()
            else:
                add(json.dumps(value))
        add("}")

    def add_args(name: str, value: str) -> None:
        add("{")
        add(json.dumps(name), json.dumps(name.lower()))
        add(":")
        add(json.dumps(value), json.dumps(value.lower()))
        add("}")

    def add_steps() -> None:
        add("[")
        for at, (name, value) in enumerate(draw(st.lists(_STEP, min_size=1, max_size=3))):
            if at:
                add(",")
            known: list[tuple[str, object]] = [
                ("id", f"s{at}"),
                ("tool", "t"),
                ("args", lambda name=name, value=value: add_args(name, value)),
            ]
            add_object([*known, *draw(_UNKNOWN).items()])
        add("]")

    add_object([("steps", add_steps), *draw(_UNKNOWN).items()])
    return "".join(written), "".join(fixed)


@given(_texts())
def test_a_text_differs_after_its_fixes_only_where_they_are(texts: tuple[str, str]) -> None:
    written, fixed = texts
    assert fixed_text(written, tools=[tool(ENUM)]) == fixed
    assert fixed_text(fixed, tools=[tool(ENUM)]) == fixed


WRITTEN: dict[str, str] = {
    "clear": '{"steps":[ {"tool":"t",\r\n  "params":{"TIER" :"Pro"},"parallel":true,"note":"n"}],'
    '\n "metadata":{"x":1}, "zz": [1, 2,  3]}',
    "kirha": "Well: <plan>[ {'toolName':'t','arguments':{'TIER':'Pro'}, 'note': 1.50} ]</plan> Pro",
    "llmcompiler": 'Pro:\n1.  t( tier = "Pro" )\n\n',
    "nestful": '[ {"name":"t",\t"arguments":{"TIER":"Pro"},"label":"$v", "why": "Pro"} ]',
    "rewoo": "Plan: Pro\n\n  #E1 = t[Pro]",
    "sealtools": '[{"api" : "t","parameters": {"TIER":"Pro"},"responses":["API_call_0"], "P": 2}]',
    "taskbench": '{"task_nodes":[{"task":"t","arguments":[{"name":"tier","value":"Pro"}]}],'
    '  "task_links":[], "by": "Pro"}',
}
"""A plan in each dialect as no printer writes it, with an unknown field where it can be said."""


def test_every_dialect_is_fixed_in_place() -> None:
    # a task of a STATE has no arguments of its own names, and Arazzo has tests of its own
    assert {*WRITTEN, "toolplan", "state", "arazzo"} == {*DIALECTS}
    for dialect, text in WRITTEN.items():
        new = fixed_text(text, dialect, [tool(ENUM)])
        assert new is not None, dialect
        assert new != text, dialect
        changed = [
            (text[a:b], new[c:d])
            for how, a, b, c, d in SequenceMatcher(None, text, new, autojunk=False).get_opcodes()
            if how != "equal"
        ]
        lower = "".join(old for old, _ in changed).lower()
        assert lower == "".join(fixed for _, fixed in changed), (dialect, changed)
        assert fixed_text(new, dialect, [tool(ENUM)]) == new
        assert not any(each.fixed for each in examine(new, dialect, [tool(ENUM)]).diagnostics)
