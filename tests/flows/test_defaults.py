"""What a tool puts in for an argument that a plan leaves out is a flow, and is shown as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolplan import Effects, Tool, Toolbox, ValueApproval, compile_plan, run, tool
from toolplan.cli import main
from toolplan.plan.path import Json
from toolplan.policy import Flow, Policy, parse_policy

MILLION = 1_000_000


def transfer(properties: Json, effects: Effects = Effects.WRITE) -> Tool:
    """Return a tool with a required IBAN and these arguments."""
    assert isinstance(properties, dict)
    given: Json = {
        "type": "object",
        "properties": {"iban": {"type": "string"}, **properties},
        "required": ["iban"],
        "$defs": {"n": NUMBER},
    }
    return Tool("transfer", "", given, effects=effects)


def flows(given: Tool, args: dict[str, Json], policy: Policy = Policy()) -> tuple[Flow, ...]:
    """Return the flows of a plan that calls the tool."""
    steps: Json = [{"id": "pay", "tool": "transfer", "args": {"iban": "DE1", **args}}]
    found = compile_plan({"toolplan": 1, "steps": steps}, tools=Toolbox([given]), policy=policy)
    assert found.plan is not None, found.diagnostics
    return found.plan.flows


NUMBER: Json = {"type": "integer", "default": MILLION}
INNER: Json = {"type": "object", "properties": {"amount": NUMBER, "note": {"type": "string"}}}


@pytest.mark.parametrize(
    ("properties", "args", "sent"),
    [
        ({"amount": NUMBER}, {}, {"amount": MILLION}),
        ({"amount": NUMBER}, {"amount": 1}, {}),
        ({"amount": {"type": "integer"}}, {}, {}),
        ({"amount": {"type": ["integer", "null"], "default": None}}, {}, {}),
        ({"amount": {"type": "integer", "default": 0}}, {}, {"amount": 0}),
        ({"now": {"type": "boolean", "default": False}}, {}, {"now": False}),
        ({"to": {"type": "string", "default": ""}}, {}, {"to": ""}),
        ({"to": {"enum": ["a", "b"], "default": "b"}}, {}, {"to": "b"}),
        ({"tags": {"type": "array", "default": ["x"]}}, {}, {"tags": ["x"]}),
        ({"how": {"type": "object", "default": {"a": [1]}}}, {}, {"how": {"a": [1]}}),
        ({"how": INNER}, {"how": {"note": "hi"}}, {"how/amount": MILLION}),
        ({"how": INNER}, {"how": {"amount": 2}}, {}),
        (
            {"items": {"type": "array", "items": INNER}},
            {"items": [{"amount": 1}, {"note": "x"}]},
            {"items/1/amount": MILLION},
        ),
        ({"amount": {"$ref": "#/$defs/n"}}, {}, {"amount": MILLION}),
        ({"a/b": NUMBER}, {}, {"a~1b": MILLION}),
        ({"a.b": NUMBER}, {}, {"a.b": MILLION}),
        ({"a": NUMBER, "b": NUMBER}, {"a": 3}, {"b": MILLION}),
    ],
)
def test_each_default_that_is_sent_is_a_flow(
    properties: Json, args: dict[str, Json], sent: dict[str, Json]
) -> None:
    found = flows(transfer(properties), args)
    defaults = [each for each in found if each.kind == "default"]
    assert {each.pointer.split("/args/")[1]: each.default for each in defaults} == sent
    assert {each.verdict.value for each in defaults} <= {"allow"}
    assert [each.pointer for each in found if each.kind == "argument"] == [
        f"/steps/0/args/{name}" for name in ("iban", *args)
    ]


def test_what_only_reads_has_flows_only_where_the_policy_looks_at_it() -> None:
    reads = transfer({"amount": NUMBER}, Effects.READ)
    assert flows(reads, {}) == ()
    looked_at = parse_policy('[sinks.transfer]\niban = "trusted"\n')
    assert [each.kind for each in flows(reads, {}, looked_at)] == ["argument", "default"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    given = transfer({"amount": NUMBER, "to": {"type": "string", "default": "p\u0430ypal"}})
    steps = [{"id": "pay", "tool": "transfer", "args": {"iban": "DE1"}}]
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps([given.to_json()]), "utf-8")
    Path("plan.json").write_text(json.dumps({"toolplan": 1, "steps": steps}), "utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_policy_check_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["policy", "check", "plan.json", "--tools", "tools.json"]
    with pytest.raises(SystemExit):
        main(words)
    said = " ".join(capsys.readouterr().out.split())
    assert "(the tool's default) pay: /steps/0/args/amount = 1000000 default trusted allow" in said
    assert '/steps/0/args/to = "p\\u0430ypal"' in said
    with pytest.raises(SystemExit):
        main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)["flows"]
    assert [(each["kind"], each.get("default")) for each in found] == [
        ("argument", None),
        ("default", MILLION),
        ("default", "p\u0430ypal"),
    ]


@pytest.mark.parametrize("most", [MILLION, MILLION - 1])
async def test_a_policy_engine_is_asked_about_defaults(most: int) -> None:
    """What it refuses as an argument it refuses as a default, too."""
    paid: list[int] = []

    @tool(effects="write")
    def pay(iban: str, amount: int = MILLION) -> int:
        """Pay."""
        del iban
        paid.append(amount)
        return amount

    def engine(flow: Flow, value: Json) -> str:
        del flow
        return "refuse" if isinstance(value, int) and value > most else "allow"

    steps = [{"id": "pay", "tool": "pay", "args": {"iban": "DE1"}}]
    plan = compile_plan({"toolplan": 1, "steps": steps}, tools=[pay]).plan
    assert plan is not None
    await run(plan, [pay], approval=ValueApproval(policy_engine=engine))
    assert paid == [MILLION] * (most == MILLION)
