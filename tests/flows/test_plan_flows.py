"""Verdicts of plans: which values may go where, as the policy of `mails` says."""

import time
from collections.abc import Sequence
from typing import Final

import pytest

from tests.flows.mails import POLICY, TOOLS, codes, flows, step, verdicts
from toolplan import Effects, ExecutionPlan, Tool, Toolbox, compile_plan
from toolplan.plan.path import EVERY, Json
from toolplan.policy import Policy, Source, Trust, parse_policy
from toolplan.policy.approval import effect_steps

INBOX: Final = step("mails", "inbox")
CONTACTS: Final = step("people", "contacts", name="Bob")
ACCOUNTS: Final = step("accounts", "accounts")
VAULT: Final = step("vault", "vault")


def sent(to: Json, body: Json = "hi", **own: Json) -> dict[str, Json]:
    return step("sent", "send", to=to, body=body, **own)


@pytest.mark.parametrize(
    ("to", "verdict"),
    [
        ("bob@ours.com", "allow"),
        ("${people[0].email}", "allow"),
        ("${people[*].email}", "allow"),
        ("${mails[0].sender}", "refuse"),
        ("${mails[0].id}", "refuse"),
        ("${people[0].email}, ${mails[0].sender}", "refuse"),
        (["${people[0].email}", "${mails[0].sender}"], "refuse"),
        ({"a": "${people[0].email}"}, "allow"),
        ({"a": "${people[0].email}", "b": ["${mails[0].sender}"]}, "refuse"),
        ("${nothing.of.that.name}", "refuse"),
        ("${accounts[0].iban}", "allow"),
        ("${accounts[0].note}", "refuse"),
        ("${accounts[0]}", "refuse"),
        ("${accounts}", "refuse"),
    ],
)
def test_the_label_is_that_of_the_path_and_the_least_of_the_parts(to: Json, verdict: str) -> None:
    assert verdicts(INBOX, CONTACTS, ACCOUNTS, sent(to))["/steps/3/args/to"] == verdict
    assert ("flow-refused" in codes(INBOX, CONTACTS, ACCOUNTS, sent(to))) == (verdict == "refuse")


def test_what_outsiders_chose_is_no_better_than_listed() -> None:
    chosen = step("people", "contacts", name="${mails[0].sender}")
    (to, _) = flows(INBOX, chosen, sent("${people[0].email}"))[:2]
    assert to.label.trust is Trust.LISTED
    assert to.label.sources == (Source("mails", "inbox", (0, "sender")),)
    assert to.verdict == "refuse"


@pytest.mark.parametrize(
    ("listed", "item", "verdict"),
    [
        ("${mails}", "${item.id}", "allow"),
        ("${mails[*].id}", "${item}", "allow"),
        ("${mails}", "${item.text}", "ask"),
        ("${mails}", "${item}", "ask"),
        ("${mails[*].text}", "${item}", "ask"),
        (["a", "b"], "${item}", "allow"),
        (["a", "${mails[0].text}"], "${item}", "ask"),
        ([{"id": "${mails[0].id}", "text": "${mails[0].text}"}], "${item.id}", "allow"),
        ([{"id": "${mails[0].id}", "text": "${mails[0].text}"}], "${item.text}", "ask"),
        ("${mails}", "${index}", "allow"),
    ],
)
def test_items_have_the_label_of_their_path(listed: Json, item: str, verdict: str) -> None:
    found = verdicts(INBOX, step("gone", "delete", for_each=listed, id=item))
    assert found["/steps/1/args/id"] == verdict


def test_how_often_a_step_is_made_is_a_choice() -> None:
    by_outsiders = step("gone", "delete", for_each="${mails}", id="x")
    assert verdicts(INBOX, by_outsiders)["count /steps/1/for_each"] == "ask"
    by_contacts = step("gone", "delete", for_each="${people}", id="x")
    assert verdicts(CONTACTS, by_contacts)["count /steps/1/for_each"] == "allow"
    assert "untrusted-count" in codes(INBOX, by_outsiders)


def test_what_refers_to_a_step_that_is_made_so_often_is_chosen_too() -> None:
    many = step("gone", "delete", for_each="${mails}", id="x")
    behind = step("far", "delete", id="${gone[0]}")
    counts = [each for each in flows(INBOX, many, behind) if each.kind == "count"]
    assert [(each.step, each.pointer, each.verdict) for each in counts] == [
        ("gone", "/steps/1/for_each", "ask"),
        ("far", "/steps/1/for_each", "ask"),
    ]


def test_a_condition_is_a_choice_for_what_stands_behind_it() -> None:
    when: Json = {"value": "${mails[0].text}", "is": {"const": "x"}}
    read = step("people", "contacts", name="Bob", when=when)
    gone = step("gone", "delete", id="${people[0].name}")
    found = verdicts(INBOX, read, gone)
    assert found["condition /steps/1/when/value"] == "ask"
    assert found["/steps/2/args/id"] == "allow"
    assert "untrusted-condition" in codes(INBOX, read, gone)
    behind = step("far", "delete", id="${gone}")
    assert verdicts(INBOX, read, gone, behind)["condition /steps/1/when/value"] == "ask"
    assert "condition /steps/2/when/value" not in verdicts(
        INBOX, read, step("gone", "delete", id="x", after=["people"])
    )


def test_plain_text_is_looked_at_before_the_call() -> None:
    assert verdicts(INBOX, sent("a", "${mails[0].text}"))["/steps/1/args/body"] == "check"
    assert verdicts(CONTACTS, sent("a", "${people[0].name}"))["/steps/1/args/body"] == "allow"


def test_a_secret_does_not_reach_a_tool_that_is_read_outside() -> None:
    assert "flow-refused" in codes(VAULT, sent("a", "${vault.pin}"))
    assert "flow-refused" in codes(VAULT, step("page", "fetch", url="x?${vault.pin}"))
    through = step("people", "contacts", name="${vault.pin}")
    assert "flow-refused" in codes(VAULT, through, sent("a", "${people[0].name}"))
    when: Json = {"value": "${vault.pin}", "is": {"const": "1"}}
    assert "flow-refused" in codes(VAULT, step("page", "fetch", url="x", when=when))
    by_sql = step("q", "sql", sql="SELECT name FROM p WHERE name = 'x'", tables={"p": "${people}"})
    assert "flow-refused" not in codes(CONTACTS, by_sql, sent("a", "${q.data[0].name}"))
    assert "flow-refused" not in codes(VAULT, step("gone", "delete", id="${vault.pin}"))


@pytest.mark.parametrize(
    ("sql", "path", "verdict"),
    [
        ("SELECT iban FROM a", "data[0].iban", "allow"),
        ("SELECT note FROM a", "data[0].note", "refuse"),
        ("SELECT iban, note FROM a", "data[0].iban", "allow"),
        ("SELECT iban, note FROM a", "data[0]", "refuse"),
        ("SELECT iban AS x FROM a ORDER BY due", "data[0].x", "allow"),
        ("SELECT iban AS x FROM a ORDER BY note", "data[0].x", "refuse"),
        ("SELECT iban FROM a WHERE note LIKE '%pay%'", "data[0].iban", "refuse"),
        ("SELECT max(iban) AS x FROM a", "data[0].x", "allow"),
        ("SELECT count(*) AS x FROM a", "data[0].x", "refuse"),
        ("SELECT CASE WHEN note = 'x' THEN iban ELSE 'y' END AS x FROM a", "data[0].x", "refuse"),
        ("SELECT iban FROM a UNION SELECT text FROM m", "data[0].iban", "refuse"),
        ("SELECT 'x' AS iban FROM a", "data[0].iban", "allow"),
        ("WITH b AS (SELECT note AS iban FROM a) SELECT iban FROM b", "data[0].iban", "refuse"),
        ("SELECT a.iban FROM a JOIN m ON m.text = a.note", "data[0].iban", "refuse"),
        ("SELECT * FROM a", "data[0].iban", "allow"),
        ("SELECT * FROM a", "data[0].note", "refuse"),
        ("SELECT iban FROM a", "count", "refuse"),
        ("SELECT iban, note FROM a ORDER BY 2", "data[0].iban", "refuse"),
        ("SELECT iban, note FROM a ORDER BY ALL", "data[0].iban", "refuse"),
        ("SELECT DISTINCT iban, note FROM a", "data[0].iban", "refuse"),
        ("SELECT iban, unnest(string_split(note, ' ')) AS n FROM a", "data[0].iban", "refuse"),
        ("SELECT iban FROM a, range(3)", "data[0].iban", "refuse"),
    ],
)
def test_sql_gives_what_it_is_given(sql: str, path: str, verdict: str) -> None:
    made = step("q", "sql", sql=sql, tables={"a": "${accounts}", "m": "${mails}"})
    found = verdicts(INBOX, ACCOUNTS, made, sent(f"${{q.{path}}}"))
    assert found["/steps/3/args/to"] == verdict


def test_rows_picked_by_outsiders_are_listed() -> None:
    made = step("q", "sql", sql="SELECT iban FROM a WHERE note = 'x'", tables={"a": "${accounts}"})
    (flow, *_) = flows(ACCOUNTS, made, sent("${q.data[0].iban}"))
    assert flow.label.trust is Trust.LISTED
    assert flow.label.sources == (Source("accounts", "accounts", (EVERY, "note")),)


def test_what_is_computed_over_chosen_rows_is_no_better_than_what_chose_them() -> None:
    for sql, trust in (
        ("SELECT max(iban) AS x FROM a WHERE note = 'x'", Trust.UNTRUSTED),
        ("SELECT upper(iban) AS x FROM a WHERE note = 'x'", Trust.LISTED),
        ("SELECT row_number() OVER (ORDER BY note) AS x FROM a", Trust.UNTRUSTED),
    ):
        made = step("q", "sql", sql=sql, tables={"a": "${accounts}"})
        assert flows(ACCOUNTS, made, sent("${q.data[0].x}"))[0].label.trust is trust


def test_a_part_that_is_worth_less_counts_for_the_whole() -> None:
    policy = parse_policy(
        '[trusted]\noutputs = ["contacts"]\n[listed]\noutputs = ["contacts[*].name"]'
    )
    for path, trust in (("[0].email", 2), ("[0].name", 1), ("[0]", 1), ("", 1), ("[*].name", 1)):
        found = flows(CONTACTS, sent(f"${{people{path}}}"), policy=policy)
        assert found[0].label.trust == trust, path


def test_what_is_said_of_the_smaller_part_holds() -> None:
    trusted = '[trusted]\noutputs = ["contacts[*].email", "inbox[0].id"]\n'
    policy = parse_policy(trusted + '[listed]\noutputs = ["contacts"]')
    for path, trust in (("people[0].email", 2), ("people[0].name", 1), ("people", 1)):
        assert flows(CONTACTS, sent(f"${{{path}}}"), policy=policy)[0].label.trust == trust, path
    for path, trust in (("mails[0].id", 2), ("mails[1].id", 0), ("mails[*].id", 0)):
        assert flows(INBOX, sent(f"${{{path}}}"), policy=policy)[0].label.trust == trust, path


def test_results_of_calls_for_chosen_items_are_listed() -> None:
    asked = step("people", "contacts", for_each="${mails}", name="Bob")
    made = step("q", "sql", for_each="${mails}", sql="SELECT 'x' AS r", tables={})
    for before, path in ((asked, "people[0][0].email"), (made, "q[0].data[0].r")):
        (flow, *_) = flows(INBOX, before, sent(f"${{{path}}}"))
        assert flow.label.trust is Trust.LISTED, path
        assert flow.label.sources == (Source("mails", "inbox", ()),)


def test_a_statement_that_is_not_understood_is_worth_the_least_of_its_tables() -> None:
    pivot = "SELECT * FROM (PIVOT a ON due IN ('x') USING max(iban))"
    made = step("q", "sql", sql=pivot, tables={"a": "${accounts}"})
    assert flows(ACCOUNTS, made, sent("${q.data[0].x}"))[0].label.trust is Trust.UNTRUSTED


def test_what_holds_a_secret_is_one() -> None:
    policy = parse_policy('[secret]\noutputs = ["vault.pin"]\n[egress]\ntools = ["send"]')
    for path in ("", ".pin"):
        assert "flow-refused" in codes(VAULT, sent(f"${{vault{path}}}"), policy=policy)


def test_without_a_policy_each_argument_with_effects_is_asked_about_and_nothing_is_said() -> None:
    found = verdicts(INBOX, sent("${mails[0].sender}"), policy=Policy())
    assert found == {"/steps/1/args/to": "ask", "/steps/1/args/body": "allow"}
    assert codes(INBOX, sent("${mails[0].sender}"), policy=Policy()) == set()


def test_a_plan_that_only_reads_has_no_flows() -> None:
    assert flows(INBOX, step("people", "contacts", name="${mails[0].sender}")) == []


def test_a_policy_makes_arguments_of_a_tool_that_reads_sinks() -> None:
    policy = parse_policy('[sinks.fetch]\nurl = "trusted"')
    page = step("page", "fetch", url="${mails[0].text}")
    assert verdicts(INBOX, page, policy=policy) == {"/steps/1/args/url": "ask"}
    compiled = checked(INBOX, page, policy=policy)
    assert compiled.effects == ("page",)
    assert [each.step for each in effect_steps(compiled, TOOLS)] == ["page"]


def checked(*steps: Json, policy: Policy = Policy(), more: Sequence[Tool] = ()) -> ExecutionPlan:
    """Return the plan of `steps`, with `more` tools beside those of `mails`."""
    plan: dict[str, object] = {"toolplan": 1, "steps": [*steps]}
    compiled = compile_plan(plan, tools=Toolbox([*more, *TOOLS.values()]), policy=policy).plan
    assert compiled is not None
    return compiled


@pytest.mark.parametrize(("source", "verdict"), [("python", "allow"), ("a server", "ask")])
def test_only_tools_of_the_program_itself_vouch_and_state_needs(source: str, verdict: str) -> None:
    output: Json = {"type": "object", "properties": {"id": {"x-trust": "trusted"}}}
    own = Tool("own", "", {"type": "object"}, output, Effects.READ, source=source)
    given: Json = {"type": "object", "properties": {"id": {"type": "string", "x-needs": "any"}}}
    wipe = Tool("wipe", "", given, effects=Effects.WRITE, source=source)
    vouching = checked(step("own", "own"), step("gone", "delete", id="${own.id}"), more=[own])
    needing = checked(INBOX, step("wiped", "wipe", id="${mails[0].text}"), more=[wipe])
    for plan in (vouching, needing):
        assert [each.verdict for each in plan.flows] == [verdict]


OPEN: Final = Tool(
    "open", "", {"type": "object", "properties": {"url": {"type": "string"}}}, None, Effects.READ,
    annotations={"openWorldHint": True}, source="a server",
)  # fmt: skip


def test_a_server_that_says_it_reaches_outside_is_a_sink_under_a_policy() -> None:
    page = step("page", "open", url="${mails[0].text}")
    assert checked(INBOX, page, more=[OPEN]).effects == ()
    assert checked(INBOX, page, policy=POLICY, more=[OPEN]).effects == ("page",)


def test_a_tool_that_says_it_reaches_outside_gets_no_secret() -> None:
    page = step("page", "open", url="${vault.pin}")
    plan: dict[str, object] = {"toolplan": 1, "steps": [VAULT, page]}
    compiled = compile_plan(plan, tools=Toolbox([OPEN, *TOOLS.values()]), policy=POLICY)
    assert "flow-refused" in {each.code for each in compiled.diagnostics}


def test_the_policy_is_part_of_the_digest() -> None:
    other = parse_policy('[trusted]\noutputs = ["contacts[*].email"]')
    steps = (CONTACTS, sent("${people[0].email}"))
    assert len({checked(*steps, policy=each).digest for each in (POLICY, other, Policy())}) == 3


def test_a_cycle_is_reported_and_has_no_flows_to_hang_on() -> None:
    one = step("one", "delete", id="${two}")
    two = step("two", "delete", id="${one}")
    assert flows(one, two) == []
    assert "cycle" in codes(one, two)


def test_chains_and_long_plans_are_followed_in_time() -> None:
    chain = [ACCOUNTS]
    for number in range(300):
        before = "${accounts}" if not number else f"${{q{number - 1}.data}}"
        sql = "SELECT iban FROM t ORDER BY iban"
        chain.append(step(f"q{number}", "sql", sql=sql, tables={"t": before}))
    chain.append(sent("${q299.data[0].iban}"))
    assert flows(*chain)[0].verdict in ("allow", "refuse")
    many: list[dict[str, Json]] = [CONTACTS]
    for number in range(3_000):
        before = "${people[0].email}" if not number else f"${{s{number - 1}}} ${{people[0].name}}"
        many.append(step(f"s{number}", "delete", id=before))
    began = time.process_time()
    assert len(flows(*many)) == 3_000
    assert time.process_time() - began < 10
