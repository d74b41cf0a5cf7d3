"""Each rule about flows alone: what falls if it is weakened."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from tests.flows.mails import POLICY, TOOLS, flows, step, verdicts
from toolplan.compiler import flows_of
from toolplan.plan.canonical import load
from toolplan.plan.path import EVERY, Json, Path
from toolplan.policy import (
    Flow,
    Label,
    Need,
    PlanFlows,
    Policy,
    Source,
    Trust,
    Verdict,
    Vouched,
    least,
    parse_policy,
    picked,
)
from toolplan.policy.vouched import Outputs
from toolplan.schema.tool import EGRESS, Effects, Tool, Toolbox

U, L, T, S = Trust.UNTRUSTED, Trust.LISTED, Trust.TRUSTED, Trust.SAID
A, B = Source("a", "t"), Source("b", "t")
ACCOUNTS, INBOX = step("accounts", "accounts"), step("mails", "inbox")
VAULT = step("vault", "vault")


def test_what_stands_in_the_plan_is_allowed() -> None:
    assert set(verdicts(step("s", "send", to="bob", body="b")).values()) == {"allow"}


def test_a_value_of_parts_names_what_makes_it_worse_and_keeps_each_secret() -> None:
    low, high = Label(U, (A,), (A,)), Label(T, (B,), (B,))
    assert (
        least((low, high)) == replace(least((high, low)), secrets=(A, B)) == Label(U, (A,), (A, B))
    )
    assert least((low, Label(U, (B,), (B,)))) == Label(U, (A, B), (A, B))
    assert picked(Label(T, (A,), (A,)), Label(U, (B,), (B,))) == Label(L, (B,), (A, B))
    assert picked(Label(U, (A,)), Label(U, (B,), (B,))) == Label(U, (A,), (B,))
    assert picked(Label(L, (A,)), Label(U, (B,), (B,))) == Label(L, (A, B), (B,))
    assert picked(Label(S), Label(T, (B,), (B,))) == Label(S, (), (B,))
    assert picked(Label(T, (A,)), Label(L, (B,))) == Label(L, (B,))


def test_a_need_is_met_by_its_label_or_better() -> None:
    labels = [Label(each) for each in Trust]
    for need in Trust:
        found = [Need(need).verdict(each) for each in labels]
        assert found == [Verdict.ALLOW if each.trust >= need else Verdict.ASK for each in labels]
    assert Need().verdict(Label(L)) is Verdict.ASK
    assert Need(guard="plain", otherwise=Verdict.REFUSE).verdict(Label(U)) is Verdict.CHECK
    assert Need(otherwise=Verdict.REFUSE).verdict(Label(U)) is Verdict.REFUSE


@pytest.mark.parametrize(
    ("place", "path", "trust"),
    [
        ((), (0, "id"), T),
        ((EVERY, "id"), (0, "id"), T),
        ((EVERY, "id"), (EVERY, "id"), T),
        ((EVERY, "id"), (EVERY,), U),
        ((EVERY, "id"), (), U),
        ((EVERY,), ("key",), U),
        ((0, "id"), (EVERY, "id"), U),
        ((0, "id"), (1, "id"), U),
        (("a",), ("b",), U),
    ],
)
def test_a_path_speaks_for_what_is_below_it(place: Path, path: Path, trust: Trust) -> None:
    assert Outputs(((place, T),)).label("s", "t", path) == Label(trust, (Source("s", "t", path),))


def test_the_smaller_part_speaks_and_worse_parts_pull_down() -> None:
    said = Outputs((((), T), (("a",), L), (("b",), U)))
    assert [said.label("s", "t", path).trust for path in ((), ("a",), ("b",), ("c",))] == [
        U,
        L,
        U,
        T,
    ]
    better = Outputs((((), L), (("a",), T)))
    assert [better.label("s", "t", path).trust for path in ((), ("a", 0), ("b",))] == [L, T, L]
    secret = Outputs((), ((EVERY, "pin"),))
    for path, is_secret in (((), True), ((0,), True), ((0, "pin"), True), ((EVERY, "x"), False)):
        assert bool(secret.label("s", "t", path).secrets) == is_secret


# What tools say of themselves


def tool(
    name: str,
    source: str = "python",
    annotations: Mapping[str, Json] = MappingProxyType({}),
    **more: Json,
) -> Tool:
    text: Json = {"type": "string"}
    return Tool(
        name,
        "",
        {"type": "object", "properties": more.get("takes", {})},
        {
            "type": "array",
            "items": {"type": "object", "properties": more.get("gives", {"x": text})},
        },
        effects=Effects.READ,
        annotations=annotations,
        source=source,
    )


GIVES: Json = {"x": {"x-trust": "trusted"}, "y": {"x-trust": "listed"}, "z": {"x-trust": "secret"}}


@pytest.mark.parametrize("source", ["python", "builtin", "mcp", "openapi", ""])
def test_only_tools_of_the_program_raise_labels(source: str) -> None:
    given = tool("own", source, gives=GIVES)
    outputs = Vouched(Policy(), Toolbox([given])).outputs("own")
    own = source in ("python", "builtin")
    labels = [outputs.label("s", "own", (EVERY, name)) for name in ("x", "y", "z")]
    assert [each.trust for each in labels] == ([T, L, U] if own else [U, U, U])
    assert [bool(each.secrets) for each in labels] == [False, False, own]
    assert outputs.label("s", "own", ("x",)).trust is U  # a list has no such key


SECRET: Json = {"type": "string", "x-trust": "secret"}
LISTED: Json = {"type": "string", "x-trust": "listed"}
NULL: Json = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "path", "trust", "secret"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": SECRET}}, (), U, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": LISTED}}, (), L, False),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": LISTED}}, (EVERY,), L, False),
        ({"allOf": [{"type": "string"}, LISTED]}, (), L, False),
        ({"anyOf": [LISTED, NULL]}, (), L, False),
        ({"anyOf": [LISTED, {"type": "integer"}]}, (), U, False),
        ({"anyOf": [SECRET, {"type": "integer"}]}, (), U, True),
        ({"x-trust": "trusted", "anyOf": [LISTED, {"type": "integer"}]}, (), U, False),
        ({"x-trust": "trusted", "additionalProperties": LISTED}, ("a",), U, False),
        ({"additionalProperties": SECRET}, ("a",), U, True),
        ({"patternProperties": {"^a": SECRET}}, ("a",), U, True),
        ({"if": {"type": "string"}, "then": SECRET}, (), U, True),
        ({"prefixItems": [LISTED, {"type": "string"}]}, (0,), L, False),
        ({"prefixItems": [LISTED, {"type": "string"}]}, (1,), U, False),
        ({"prefixItems": [{"type": "string"}], "items": LISTED}, (0,), U, False),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"properties": {"pin": SECRET, "a": {"$ref": "#/$defs/a"}}}},
            },
            ("a", "a", "a", "pin"),
            U,
            True,
        ),
    ],
)
def test_what_a_tool_says_of_its_output_is_found_wherever_its_schema_says_it(
    schema: Json, path: Path, trust: Trust, secret: bool
) -> None:
    given = replace(tool("own", "python"), raw_output=schema)
    label = Vouched(Policy(), Toolbox([given])).outputs("own").label("s", "own", path)
    assert (label.trust, bool(label.secrets)) == (trust, secret)


@pytest.mark.parametrize(
    ("takes", "trust"),
    [
        ({"anyOf": [{"type": "string", "x-needs": "said"}, NULL]}, S),
        ({"allOf": [{"x-needs": "said"}], "x-needs": "any"}, S),
        ({"x-needs": "sayd"}, S),
        ({"x-needs": {"needs": "said"}}, S),
    ],
)
def test_what_a_tool_needs_is_found_and_what_cannot_be_read_needs_the_most(
    takes: Json, trust: Trust
) -> None:
    given = tool("own", "python", takes={"x": takes})
    needs = Vouched(Policy(), Toolbox([given])).needs(given)
    assert needs is not None
    assert needs["x"].trust is trust


def test_only_tools_of_the_program_lower_needs_and_the_policy_comes_first() -> None:
    takes: Json = {name: {"x-needs": name} for name in ("said", "trusted", "listed", "any")}
    for source in ("python", "mcp"):
        given = tool("own", source, takes=takes)
        needs = Vouched(Policy(), Toolbox([given])).needs(given)
        assert needs is not None
        stated = {name: need.trust for name, need in needs.items()}
        more = {"listed": L, "any": None} if source == "python" else {}
        assert stated == {"said": S, "trusted": T, **more}
        policy = parse_policy('[sinks.own]\nsaid = "any"')
        needs = Vouched(policy, Toolbox([given])).needs(given)
        assert needs is not None
        assert needs["said"].trust is None


def test_what_makes_a_tool_a_sink() -> None:
    plain, outside = tool("plain"), tool("outside", annotations={"openWorldHint": True})
    writes = replace(tool("writes"), effects=Effects.WRITE)
    read = tool("read", annotations={EGRESS: True})
    tools = Toolbox([plain, outside, writes, read])

    def sinks(policy: str) -> set[str]:
        known = Vouched(parse_policy(policy), tools)
        return {name for name, each in tools.items() if known.is_sink(each)}

    # what is readable outside is always one: a tool may call its own output secret
    assert sinks("") == {"writes", "outside", "read"}
    assert sinks('[decide]\nplain = "any"') == {"writes", "outside", "plain", "read"}
    assert sinks("[sinks.plain]") == {"writes", "outside", "plain", "read"}
    assert sinks('[secret]\noutputs = ["plain"]') == {"writes", "outside", "read"}
    egress = '[secret]\noutputs = ["read"]\n[egress]\ntools = ["plain"]'
    assert sinks(egress) == {"writes", "outside", "plain", "read"}


# Following values


def label_of(value: Json, *steps: Json) -> Trust:
    parsed = load({"toolplan": 1, "steps": [*steps, step("s", "send", to=value, body="b")]})
    assert parsed.plan is not None
    given = parsed.plan.steps
    order = tuple(each.id for each in given)
    called = {each.tool: TOOLS[each.tool] for each in given}
    known = PlanFlows(given, order, called, Vouched(POLICY, TOOLS), lambda _: ({}, {}))
    return known.label(given[-1], given[-1].args["to"]).trust


def test_a_key_on_a_list_of_results_means_all_of_it() -> None:
    many = step("y", "accounts", for_each=["x"])
    assert label_of("${y[0][0].iban}", many) is T
    assert label_of("${y.k[0].iban}", many) is U


def test_how_often_is_said_beside_a_condition_that_is_worse() -> None:
    when: Json = {"value": "${mails[0].text}", "is": {"const": "x"}}
    gone = step("d", "delete", id="x", for_each="${mails[*].id}", when=when)
    found = {each.kind: each.label.trust for each in flows(INBOX, gone)}
    assert found == {"argument": S, "condition": U, "count": L}


def test_each_part_of_a_value_counts() -> None:
    good, bad = "${accounts[0].iban}", "${mails[0].text}"
    both: list[Json] = [f"{good} {bad}", [good, bad], {"a": good, "b": bad}, [{"a": [good, bad]}]]
    for value in both:
        assert label_of(value, ACCOUNTS, INBOX) is U
    assert label_of([good, {"a": good}], ACCOUNTS) is T
    assert label_of("${index}", ACCOUNTS) is U  # there is none outside of a for_each
    assert label_of("${nobody}") is U


def sql(name: str, statement: str, table: Json) -> dict[str, Json]:
    return step(name, "sql", sql=statement, tables={"t": table})


def to(*steps: Json) -> Flow:
    return next(each for each in flows(*steps) if each.pointer.endswith("/args/to"))


def test_what_follows_its_arguments_has_their_labels() -> None:
    sent = step("s", "send", to="${q.data[0].x}", body="b")
    made: Json = [{"x": "${accounts[0].iban}", "y": "${mails[0].text}"}]
    assert to(ACCOUNTS, INBOX, sql("q", "SELECT x FROM t", made), sent).label.trust is T
    assert to(ACCOUNTS, INBOX, sql("q", "SELECT y AS x FROM t", made), sent).label.trust is U
    ordered = sql("q", "SELECT x FROM t ORDER BY y", made)
    assert to(ACCOUNTS, INBOX, ordered, sent).label.trust is L
    absent: Json = [{"x": "said"}]
    assert to(INBOX, sql("q", "SELECT x FROM t", absent), sent).label.trust is S


def test_a_chain_that_is_too_long_to_follow_is_worth_its_least() -> None:
    chain: list[Json] = [INBOX, sql("q0", "SELECT text AS x FROM t", "${mails}")]
    chain += [sql(f"q{at}", "SELECT x FROM t", f"${{q{at - 1}.data}}") for at in range(1, 46)]
    assert to(*chain, step("s", "send", to="${q45.data[0].x}", body="b")).label.trust is U


def test_results_for_each_item_of_a_list_of_outsiders_are_chosen() -> None:
    each = step("e", "contacts", name="Bob", for_each="${mails}")
    assert to(INBOX, each, step("s", "send", to="${e[0][0].email}", body="b")).label.trust is L
    every = sql("e", "SELECT 'x' AS x", [])
    many = {**every, "for_each": "${mails}"}
    assert to(INBOX, many, step("s", "send", to="${e[0].data[0].x}", body="b")).label.trust is L
    ours = {**step("e", "contacts", name="${item.iban}"), "for_each": "${accounts[*]}"}
    of_text = step("e", "contacts", name="Bob", for_each=["${mails[0].text}"])
    assert to(ACCOUNTS, ours, step("s", "send", to="${e[0][0].email}", body="b")).label.trust is L
    assert to(INBOX, of_text, step("s", "send", to="${e[0][0].email}", body="b")).label.trust is L


def test_a_secret_is_refused_wherever_it_stands() -> None:
    sent = step("s", "fetch", url="x ${vault.pin}")
    (flow,) = [each for each in flows(VAULT, sent) if each.kind == "secret"]
    assert (flow.verdict, flow.needs.otherwise) == (Verdict.REFUSE, Verdict.REFUSE)
    known: Json = {"value": "${vault.pin}", "is": {"const": "1"}}
    decided = step("s", "fetch", url="x", when=known)
    assert [each.verdict for each in flows(VAULT, decided) if each.kind == "secret"] == ["refuse"]
    behind = step("f", "contacts", name="Bob", when=known)
    named = step("s", "fetch", url="${f[0].name}")
    assert "refuse" in [each.verdict for each in flows(VAULT, behind, named)]


def test_choices_are_said_where_they_stand() -> None:
    known: Json = {"value": "${mails[0].text}", "is": {"const": "1"}}
    asked = step("f", "contacts", name="Bob", when=known)
    both = step("d", "delete", id="x", for_each="${mails}", when=known)
    found = verdicts(INBOX, both)
    assert found["condition /steps/1/when/value"] == "ask"
    assert found["count /steps/1/for_each"] == "ask"
    behind = verdicts(INBOX, asked, step("d", "delete", id="x ${f[0].name}"))
    assert behind["condition /steps/1/when/value"] == "ask"
    unsaid = Policy.from_json({**POLICY.to_json(), "decide": {}})
    assert verdicts(INBOX, both, policy=unsaid)["count /steps/1/for_each"] == "ask"
    anyone = Policy.from_json({**POLICY.to_json(), "decide": {"delete": "any"}})
    assert verdicts(INBOX, both, policy=anyone)["count /steps/1/for_each"] == "allow"


def test_conditions_and_counts_are_decided_apart() -> None:
    known: Json = {"value": "${mails[0].text}", "is": {"const": "1"}}
    both = step("d", "delete", id="x", for_each="${mails}", when=known)
    asked = step("f", "contacts", name="Bob", when=known)
    each = step("g", "contacts", name="Bob", for_each="${mails}")
    behind = step("d", "delete", id="x ${f[0].name} ${g}")
    for when, count in (("any", "trusted"), ("trusted", "any")):
        apart = {"delete": {"when": when, "for_each": count}}
        policy = Policy.from_json({**POLICY.to_json(), "decide": apart})
        assert Policy.from_json(policy.to_json()) == policy
        expected = {word: "allow" if word == "any" else "ask" for word in (when, count)}
        for steps in ((both,), (asked, each, behind)):
            found = verdicts(INBOX, *steps, policy=policy)
            decided = {place.split()[0]: verdict for place, verdict in found.items()}
            assert (decided["condition"], decided["count"]) == (expected[when], expected[count])
    due: Json = {"value": "${accounts[0].due}", "is": {"const": "1"}}
    own = step("d", "delete", id="x ${f[0].name}", when=due)
    assert (
        verdicts(ACCOUNTS, step("d", "delete", id="x", when=due))["condition /steps/1/when/value"]
        == "allow"
    )
    found = flows(INBOX, asked, ACCOUNTS, own)
    assert [each.verdict for each in found if each.kind == "condition"] == ["ask"]
    one = Policy.from_json({**POLICY.to_json(), "decide": {"delete": "listed"}})
    assert one.to_json()["decide"] == {"delete": "listed"}


def test_what_decides_about_a_read_whose_arguments_are_looked_at_is_a_flow() -> None:
    known: Json = {"value": "${mails[0].text}", "is": {"const": "1"}}
    asked = step("s", "search", q="x", when=known, for_each="${mails}")
    plan = load({"toolplan": 1, "steps": [INBOX, asked]}).plan
    assert plan is not None
    cases: list[tuple[Mapping[str, Json], dict[str, Json]]] = [
        ({"openWorldHint": True}, {}),
        ({}, {"search": {"q": "any"}}),
    ]
    for hints, sinks in cases:
        tools = TOOLS.with_tools(tool("search", annotations=hints))
        policy = Policy.from_json({**POLICY.to_json(), "sinks": sinks, "egress": {"tools": []}})
        found = {each.kind: each.verdict for each in flows_of(plan, tools, policy)}
        assert (found["condition"], found["count"]) == ("ask", "ask")


def test_a_policy_that_only_decides_is_one() -> None:
    for text in ('[decide]\nx = "any"', 'approval = "when-needed"', "[egress]\ntools = ['x']"):
        assert parse_policy(text).has_flows
    assert not parse_policy("allow = ['x']").has_flows
