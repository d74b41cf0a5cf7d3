"""Policies: read, written, refused with the line."""

from pathlib import Path

import pytest

from tests.flows.mails import POLICY, TOOLS, codes, step
from toolplan import Effects, Tool, Toolbox, ToolplanError
from toolplan.app.settings import policy_of, read_policy
from toolplan.plan.path import Json
from toolplan.policy import (
    Need,
    Policy,
    PolicyError,
    Trust,
    Verdict,
    Vouched,
    draft_policy,
    objection,
    parse_policy,
)
from toolplan.policy.policy import line_of


def test_a_policy_is_what_its_document_says() -> None:
    assert Policy.from_json(POLICY.to_json()).to_json() == POLICY.to_json()
    assert Policy.from_json(Policy().to_json()) == Policy()
    assert Policy(("b", "a")).to_json() == {"allow": ["a", "b"]}
    assert POLICY.sinks["send"]["to"] == Need(Trust.TRUSTED, None, Verdict.REFUSE)
    with_schema = parse_policy('[sinks.send]\nto = { needs = "said", or = { maxLength = 3 } }')
    assert Policy.from_json(with_schema.to_json()) == with_schema


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[truste]\nx = 1", 1, "no 'truste'"),
        ('allow = "a"', 1, "not a list"),
        ("allow = [1]", 1, "not a name"),
        ('approval = "never"', 1, "'approval'"),
        ('\n[trusted]\noutput = ["a"]', 3, "no 'output'"),
        ('[trusted]\noutputs = ["a", "a"]', 2, "twice"),
        ('[trusted]\noutputs = ["a"]\n[listed]\noutputs = [\n  "b",\n  "a",\n]', 6, "in [listed]"),
        ('[sinks]\nsend = "x"', 2, "not a table"),
        ('[sinks.send]\n\n# the address\nto = "sure"', 4, "nothing that can be needed"),
        ('[sinks.send]\nto = { need = "said" }', 2, "no 'need'"),
        ('[sinks.send]\nto = { needs = "said", else = "allow" }', 2, "'else'"),
        ('[sinks.send]\nto = { needs = "any", else = "refuse" }', 2, "takes anything"),
        ('[sinks.send]\nto = { needs = "plain", or = {} }', 2, "'or' cannot stand"),
        ('[sinks.send]\nto = { or = { type = "txt" } }', 2, "JSON Schema"),
        ('[sinks.send]\nto = { or = { type = "string", regex = "a" } }', 2, "unknown keyword"),
        ('[sinks.send]\nto = { or = { pattern = "(?<=a)b" } }', 2, "pattern"),
        ("[sinks.send]\nto = { or = { const = 2020-01-01 } }", 2, "no JSON value"),
        ('[decide]\nsend = "plain"', 2, "nothing that can be needed"),
        ('[decide.send]\nfor_each = "plain"', 2, "nothing that can be needed"),
        ('[decide.send]\nwhen = "any"\nelse = "ask"', 3, "There is no 'else' in [decide.send]"),
        ("[decide]\nsend = 3", 2, "table"),
        ("[egress]\ntools = 3", 2, "not a list"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "mine.toml")
    assert str(caught.value).startswith(f"mine.toml:{line}: ")
    assert words in str(caught.value)
    assert caught.value.code == "bad-policy"


@pytest.mark.parametrize("text", ["a =", "[a", "a = 1\na = 2", "\x00", "[" * 3_000, "x" * 300_000])
def test_what_is_no_toml_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match=r"mine\.toml"):
        parse_policy(text, "mine.toml")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ('[trusted]\noutputs = ["contact"]', "policy-tool", "Did you mean 'contacts'?"),
        ('[sinks.sent]\nto = "said"', "policy-tool", "Did you mean 'send'?"),
        ('[decide]\nsned = "any"', "policy-tool", "Did you mean 'send'?"),
        ('[egress]\ntools = ["http"]', "policy-tool", None),
        ('allow = ["send", "inbxo"]\n[egress]\ntools = []', None, None),
        ('allow = ["inbxo"]\n[egress]\ntools = ["send"]', "policy-tool", "Did you mean 'inbox'?"),
        ('[listed]\noutputs = ["inbox[*].di"]', "policy-output", None),
        ('[listed]\noutputs = ["inbox.id"]', "policy-output", None),
        ('[listed]\noutputs = ["inbox["]', "policy-output", None),
        ('[listed]\noutputs = ["inbox.0.id"]', None, None),
        ('[listed]\noutputs = ["sql"]', "policy-output", "Take it out."),
        (
            '[trusted]\noutputs = ["inbox.0"]\n[listed]\noutputs = ["inbox[0]"]',
            "policy-output",
            None,
        ),
        ('[sinks.send]\nTo = "said"', "policy-argument", "Did you mean 'to'?"),
    ],
)
def test_what_no_tool_has_stops_every_plan(text: str, code: str | None, said: str | None) -> None:
    faults = Vouched(parse_policy(text, "p.toml"), TOOLS).faults
    assert [each.code for each in faults] == ([code] if code else [])
    assert not said or [each.help for each in faults] == [said]
    assert (code in codes(step("mails", "inbox"), policy=parse_policy(text))) == bool(code)


def test_names_of_tools_may_have_dots() -> None:
    tools = Toolbox(Tool(name, "", {}, effects=Effects.READ) for name in ("a", "a.b", "a.b.c"))
    vouched = Vouched(parse_policy('[trusted]\noutputs = ["a.b.c", "a.b.d", "a[0]"]'), tools)
    assert vouched.outputs("a.b.c").trusts == (((), Trust.TRUSTED),)
    assert vouched.outputs("a.b").trusts == ((("d",), Trust.TRUSTED),)
    assert vouched.outputs("a").trusts == (((0,), Trust.TRUSTED),)


def test_the_line_is_found_wherever_it_stands() -> None:
    text = "# first\n\n[a]\nb = [\n  1,\n  2,\n]\n\n[c.d]\ne = '''\nx\n'''\nf = 2\n"
    assert line_of(text, ("a", "b")) == 4
    assert line_of(text, ("c",)) == 9
    assert line_of(text, ("c", "d", "e")) == 10
    assert line_of(text, ("c", "d", "f")) == 13
    assert line_of(text, ("c", "x")) is None


def test_a_draft_is_a_policy_without_faults(tmp_path: Path) -> None:
    text = draft_policy(TOOLS)
    policy = parse_policy(text)
    assert Vouched(policy, TOOLS).faults == ()
    assert (policy.trusted, policy.listed) == ((), ("inbox[*].id",))
    assert policy.approval == "always"  # a draft lets no plan run unasked
    assert policy.sinks["send"]["body"].guard == "plain"
    odd = Tool('x"]\n[trusted]\noutputs=["inbox"]\n', "", {"properties": {"a\n=": {}}})
    hostile = parse_policy(draft_policy(Toolbox([odd])))
    assert hostile.trusted == ()
    assert list(hostile.sinks) == [odd.name]
    (tmp_path / "toolplan.policy.toml").write_text(text, "utf-8")
    assert policy_of(None, tmp_path / "toolplan.toml") == policy
    assert policy_of(text and str(tmp_path / "toolplan.policy.toml"), None) == policy
    assert policy_of(policy.to_json(), None) == policy
    assert policy_of(None, None) == Policy()


def test_a_draft_knows_names_in_lists_times_and_what_destroys() -> None:
    text: Json = {"type": "string"}
    names: Json = {"type": "array", "items": text}
    optional: Json = {"anyOf": [text, {"type": "null"}]}
    arguments: Json = {
        "type": "object",
        "properties": {
            "channel": text,
            "user": names,
            "start_time": text,
            "date": {"type": "integer"},
            "note": optional,
            "cc": names,
            "event_id": text,
        },
    }
    read, write = Effects.READ, Effects.WRITE
    tools = Toolbox(
        [
            Tool("get_channels", "", {}, names, effects=read),
            Tool("list_users_of", "", {}, names, effects=read),
            Tool("get_note", "", {}, {"type": "object", "properties": {"id_": text}}, effects=read),
            Tool('say "x"', "", {"properties": {}}, names, effects=write),
            Tool("post", "", arguments, effects=write),
            Tool("drop", "", arguments, effects=Effects.DESTRUCTIVE),
            Tool("odd", "", arguments),
        ]
    )
    policy = parse_policy(draft_policy(tools))
    assert Vouched(policy, tools).faults == ()
    assert policy.listed == ("get_channels", "list_users_of", "get_note.id_")
    said = {name: str(need) for name, need in policy.sinks["post"].items()}
    assert said == {
        "channel": "listed",
        "user": "trusted",
        "start_time": "trusted, or of a form",
        "date": "trusted",
        "note": "plain",
        "cc": "trusted",
        "event_id": "listed",
    }
    guard = policy.sinks["post"]["start_time"].guard
    for time in ("2024-05-19 10:00", "2024-05-19T10:00:00.5+02:00", "2024-05-19"):
        assert objection(guard, time) is None
    others: list[Json] = ["tomorrow", "2024-05-19 www.evil.com", "1", 5, ["2024-05-19"]]
    for other in others:
        assert objection(guard, other) is not None
    destroys = {name: str(need) for name, need in policy.sinks["drop"].items()}
    assert destroys == {**said, "channel": "trusted", "event_id": "trusted"}
    assert str(policy.sinks["odd"]["event_id"]) == "listed"
    assert {name: str(each.when) for name, each in policy.decide.items()} == {
        'say "x"': "listed",
        "post": "listed",
        "drop": "trusted",
        "odd": "trusted",
    }


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolplanError, match="No such file"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xff")
    with pytest.raises(ToolplanError, match="UTF-8"):
        read_policy(tmp_path / "latin.toml")
    with pytest.raises(ToolplanError, match="policy="):
        policy_of(3, None)  # pyright: ignore[reportArgumentType]
