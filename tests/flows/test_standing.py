"""Standing approvals: `[unasked.TOOL]` of a policy, which a person gives beforehand."""

import asyncio
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.flows.mails import step
from toolplan import Effects, Journal, ToolplanError, compile_plan
from toolplan import open as open_app
from toolplan.engine import prepare, run
from toolplan.events import RunApproved
from toolplan.plan.path import Json
from toolplan.policy import Policy, PolicyError, parse_policy
from toolplan.policy.approval import ApprovalRequired, needs_no_approval
from toolplan.testing import Gives, ScriptedTools

TODAY = date.today()  # the day of this machine, as the policy's
POLICY = r"""
[unasked.note]
args.path = { type = "string", pattern = "^notes/[a-z]+$" }
args.text = "plain"
args.mode = { enum = ["new", "more"] }
args.tags = { type = ["array", "null"], items = { type = "string" }, maxItems = 2 }
"""


def toolbox() -> ScriptedTools:
    tools = ScriptedTools()
    text: Json = {"type": "string"}
    tools.add(
        "note",
        input_schema={
            "type": "object",
            "properties": {
                "path": text,
                "text": text,
                "mode": {"type": "string", "default": "new"},
                "owner": text,
                "tags": {"type": "array", "items": text},
                "at": {"type": "object", "properties": {"zone": {**text, "default": "UTC"}}},
            },
            "required": ["path", "text"],
        },
        effects=Effects.WRITE,
    )
    tools.add(
        "forget",
        input_schema={
            "type": "object",
            "properties": {"all": {"type": "boolean", "default": True}, "folder": text},
        },
        effects=Effects.WRITE,
    )
    tools.add("wipe", input_schema={"type": "object"}, effects=Effects.DESTRUCTIVE)
    tools.add("read", Gives(["milk"]), input_schema={"type": "object"})
    return tools


def asks(*steps: Json, policy: str = POLICY, journal: Journal | None = None) -> bool:
    """Return whether a plan needs an approval; one that does not is run."""
    tools = toolbox()
    plan: dict[str, object] = {"toolplan": 1, "steps": list(steps)}
    compiled = compile_plan(plan, tools=tools.toolbox, policy=parse_policy(policy))
    assert compiled.plan is not None, compiled.diagnostics
    try:
        assert asyncio.run(run(compiled.plan, tools.toolbox, journal=journal)).succeeded
    except ApprovalRequired:
        assert tools.calls == []
        return True
    return False


def note(**args: Json) -> dict[str, Json]:
    return {"id": "note", "tool": "note", "args": {"path": "notes/today", "text": "milk", **args}}


@pytest.mark.parametrize(
    "given",
    [note(), note(mode="more"), note(tags=["a", "b"]), note(text="42"), note(path="notes/x")],
)
def test_a_call_within_the_bounds_runs_unasked(given: dict[str, Json], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.sqlite")
    assert not asks(given, journal=journal)
    (entry,) = journal.runs()
    approved = [each for each in journal.events(entry.run) if isinstance(each, RunApproved)]
    assert [each.by for each in approved] == ["policy"]
    journal.close()


def test_a_run_for_workers_names_the_policy_as_who_approved_it() -> None:
    tools = toolbox().toolbox
    plan: Json = {"toolplan": 1, "steps": [note()]}
    compiled = compile_plan(plan, tools=tools, policy=parse_policy(POLICY))
    assert compiled.plan is not None
    prepared = prepare(compiled.plan, tools)
    approved = [each for each in prepared.events if isinstance(each, RunApproved)]
    assert ([each.by for each in approved], prepared.waits) == (["policy"], False)


@pytest.mark.parametrize(
    "steps",
    [
        [note(path="notes/../etc")],
        [note(path="other")],
        [note(path="notes/today\n")],
        [note(text="see http://evil.example")],
        [note(mode="over")],
        [note(tags=["a", "b", "c"])],
        [note(owner="ann")],
        [note(at={})],  # sends a default inside of an argument
        [note(at={"zone": "UTC"})],
        [step("list", "read"), note(text="${list[0]}")],
        [step("list", "read"), note(text="On ${list[0]}")],
        [step("list", "read"), note(tags=["${list[0]}"])],
        [{**note(text="${item}"), "for_each": ["milk"]}],
        [{**note(), "for_each": ["milk"]}],
        [note(), step("gone", "wipe")],
        [note(), step("gone", "forget")],
    ],
)
def test_any_other_call_needs_an_approval(steps: list[Json]) -> None:
    assert asks(*steps)


@pytest.mark.parametrize(
    ("bounds", "is_asked"),
    [
        ("[unasked.forget]\n", True),  # the default would be sent, and is not named
        ("[unasked.forget]\nargs.all = 'any'", False),
        ("[unasked.forget]\nargs.all = { const = true }", False),
        ("[unasked.forget]\nargs.all = { const = false }", True),
        ("[unasked.forget]\nargs.all = 'any'\nargs.folder = { enum = ['tmp'] }", True),
        ("[unasked.forget]\nargs.all = 'any'\nargs.folder = { type = 'null' }", False),
    ],
)
def test_a_default_sent_is_within_the_bounds_or_asked_about(bounds: str, is_asked: bool) -> None:
    assert asks(step("gone", "forget"), policy=bounds) is is_asked


@pytest.mark.parametrize("name", ["", ".", "[]", "[0]", "a.b", "a/b", "~"])
@pytest.mark.parametrize(("const", "is_asked"), [("x", False), ("y", True)])
def test_a_default_of_any_argument_is_checked(name: str, const: str, is_asked: bool) -> None:
    tools = ScriptedTools()
    schema: Json = {"type": "object", "properties": {name: {"type": "string", "default": "x"}}}
    tools.add("odd", input_schema=schema, effects=Effects.WRITE)
    policy = Policy.from_json({"unasked": {"odd": {"args": {name: {"const": const}}}}})
    plan: Json = {"toolplan": 1, "steps": [step("odd", "odd")]}
    compiled = compile_plan(plan, tools=tools.toolbox, policy=policy)
    assert compiled.plan is not None
    assert needs_no_approval(compiled.plan) is not is_asked


def test_a_default_that_only_the_tool_knows_is_asked_about() -> None:
    tools = ScriptedTools()
    made: Json = {"type": "string", "x-default": "made when the tool is called"}
    schema: Json = {"type": "object", "properties": {"to": made}}
    tools.add("send", input_schema=schema, effects=Effects.WRITE)
    policy = parse_policy("[unasked.send]\nargs.to = 'any'")
    cases: list[tuple[Json, bool]] = [({}, True), ({"to": "ann"}, False)]
    for args, is_asked in cases:
        steps: list[Json] = [{"id": "s", "tool": "send", "args": args}]
        plan: dict[str, object] = {"toolplan": 1, "steps": steps}
        compiled = compile_plan(plan, tools=tools.toolbox, policy=policy)
        assert compiled.plan is not None
        assert needs_no_approval(compiled.plan) is not is_asked


def test_a_tool_without_arguments_has_no_bounds() -> None:
    assert not asks(step("gone", "wipe"), policy="[unasked.wipe]\n")


@pytest.mark.parametrize(
    ("days", "is_asked"), [(-400, True), (-1, True), (0, False), (1, False), (400, False)]
)
@pytest.mark.parametrize("quote", ['"', ""])
def test_it_lasts_to_the_end_of_its_last_day(days: int, is_asked: bool, quote: str) -> None:
    until = f"until = {quote}{TODAY + timedelta(days)}{quote}\n"
    policy = POLICY.replace("[unasked.note]\n", f"[unasked.note]\n{until}")
    assert asks(note(), policy=policy) is is_asked


def test_the_rest_of_the_policy_counts_as_well() -> None:
    """A plan with a flow that the policy asks about is asked about."""
    condition: Json = {"value": "${list[0]}", "is": {"const": "milk"}}
    steps: list[Json] = [step("list", "read"), {**note(), "when": condition}]
    assert asks(*steps)
    assert not asks(*steps, policy=POLICY + "[decide]\nnote = 'any'\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[unasked]\nnote = 1", "'note' is not a table"),
        ("[unasked.note]\nargs = 1", "'args' is not a table"),
        ("[unasked.note]\narg.x = 'any'", "no 'arg' in [unasked.note]"),
        ("[unasked.note]\nargs.path = 'trusted'", "'path' is not a JSON Schema"),
        ("[unasked.note]\nargs.path = ['any']", "'path' is not a JSON Schema"),
        ("[unasked.note]\nargs.path = { needs = 'plain' }", "passes: 'needs'"),
        ("[unasked.note]\nargs.path = { or = { type = 'string' } }", "passes: 'or'"),
        ("[unasked.note]\nargs.path = { type = 'string', regex = 'a' }", "unknown keyword"),
        ("[unasked.note]\nargs.text = { items = { max = 1 } }", "unknown keyword"),
        ("[unasked.note]\nargs.path = { type = 'txt' }", "not a usable JSON Schema"),
        ("[unasked.note]\nargs.path = { pattern = '(?=a)' }", "a pattern that cannot be used"),
        ("[unasked.note]\nuntil = 'soon'", "'until' is 'soon', and not a day"),
        ("[unasked.note]\nuntil = 2027-01-01T10:00:00", "and not a day"),
        ("[unasked.note]\nuntil = 20270101", "and not a day"),
        ("[unasked.note]\nuntil = false", "and not a day"),
        ("[unasked.note]\nuntil = ''", "and not a day"),
    ],
)
def test_a_wrong_standing_approval_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_policy(text)
    assert words in str(raised.value)
    assert raised.value.keys[0] == "unasked"


@pytest.mark.parametrize("text", ["[unasked.nota]\n", "[unasked.note]\nargs.pat = 'any'"])
def test_a_tool_or_argument_that_does_not_exist_lets_no_plan_run(text: str) -> None:
    tools = toolbox().toolbox
    with (
        open_app(tools, planner="offline", policy=parse_policy(text)) as app,
        pytest.raises(ToolplanError, match=r"nota|pat"),
    ):
        asyncio.run(app.run({"toolplan": 1, "steps": [note()]}, yes=True))


def test_the_document_is_read_back_and_its_bounds_are_in_the_digest() -> None:
    lasting = POLICY.replace("[unasked.note]", "[unasked.note]\nuntil = 2100-01-01")
    policies = [parse_policy(text) for text in (POLICY, lasting, POLICY.replace("more", "less"))]
    digests: set[str] = set()
    for policy in policies:
        assert Policy.from_json(policy.to_json()) == policy
        compiled = compile_plan(
            {"toolplan": 1, "steps": [note()]}, tools=toolbox().toolbox, policy=policy
        )
        assert compiled.plan is not None
        digests.add(compiled.plan.digest)
    assert len(digests) == len(policies)
