"""Plans by which a value of an outsider's making might reach a call under a better label."""

from typing import Final

import pytest
from msgspec.structs import replace

from tests.flows.mails import OBJECTS, POLICY, arguments, flows, step
from toolplan.compiler import compile_plan, flows_of
from toolplan.plan.canonical import load
from toolplan.plan.path import EVERY, Json
from toolplan.policy import Policy, Trust, Vouched, parse_policy
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan.testing import scripted_extract
from toolplan_sql import sql_tool
from toolplan_sql._lineage import Lost, StatementLineage
from toolplan_sql._types import Table

INBOX: Final = step("mails", "inbox")
CONTACTS: Final = step("people", "contacts", name="Bob")
ACCOUNTS: Final = step("accounts", "accounts")
TABLES: Final[Json] = {"a": "${accounts}", "m": "${mails}"}
U, L, T, S = Trust.UNTRUSTED, Trust.LISTED, Trust.TRUSTED, Trust.SAID


def trust(value: Json, *steps: Json) -> Trust:
    """Return the label that `value` has as an argument behind `steps`."""
    found = flows(INBOX, CONTACTS, ACCOUNTS, *steps, step("sent", "send", to=value, body="x"))
    return next(f.label.trust for f in found if f.step == "sent" and f.pointer.endswith("/to"))


@pytest.mark.parametrize(
    ("sql", "path", "label"),
    [
        # rows that outsiders make decide which value stands where
        ("SELECT 'p' AS r FROM m UNION ALL SELECT iban FROM a", "data[1].r", L),
        ("SELECT iban AS r FROM a UNION ALL SELECT 'p' AS p FROM m", "data[0].r", L),
        ("SELECT iban AS r FROM a UNION ALL SELECT due FROM a", "data[0].r", T),
        ("SELECT z.r FROM (SELECT 'p' AS r FROM m UNION ALL SELECT iban FROM a) z", "data[1].r", L),
        # or how many there are
        ("SELECT 'x' AS r FROM m", "data[*].r", L),
        ("SELECT 'x' AS r FROM m", "data[0].r", S),
        ("SELECT 'x' AS r FROM (SELECT text FROM m)", "data[*].r", L),
        ("WITH k AS (FROM m) SELECT 'x' AS r FROM k", "data[*].r", L),
        ("SELECT iban AS r FROM a", "data[*].r", T),
        ("SELECT 'x' AS r FROM (VALUES (1), (2)) v", "data[*].r", S),
        # how a column is read depends on the columns beside it: as a date, or as text
        ("SELECT due AS r, coalesce(note, due) AS s FROM a", "data[0].r", L),
        ("SELECT due AS r, note = due AS s FROM a", "data[0].r", L),
        ("SELECT due AS r, DUE = Note AS s FROM a", "data[0].r", L),
        ("SELECT due AS r, CASE WHEN TRUE THEN note ELSE due END AS s FROM a", "data[0].r", L),
        ("SELECT due AS r, note IN (SELECT due FROM a) AS s FROM a", "data[0].r", L),
        ("SELECT due AS r, iban AS s FROM a UNION ALL SELECT id, text FROM m", "data[0].r", L),
        (
            "WITH k AS (SELECT due AS v FROM a UNION ALL SELECT text FROM m)"
            " SELECT due AS r, (SELECT count(*) FROM k) AS s FROM a",
            "data[0].r",
            L,
        ),
        (
            "SELECT (SELECT max(k) FROM (SELECT 'x' AS k) b JOIN (SELECT 1 AS l) c"
            " ON a.note = 'x') AS r FROM a",
            "data[0].r",
            U,
        ),
        ("SELECT due AS r, note AS s FROM a", "data[0].r", T),
        ("SELECT due AS r, note > 'x' AND iban < 'y' AS s FROM a", "data[0].r", T),
        ("SELECT *, iban || due AS s FROM a", "data[0].iban", T),
        # names
        ("WITH a AS (SELECT 'x' AS r) SELECT r FROM main.a", "data[0].r", U),
        ("WITH m AS (SELECT 'x' AS text) SELECT text AS r FROM main.m", "data[0].r", U),
        ("WITH b AS (SELECT text FROM m), m AS (SELECT 'x' AS text) FROM b", "data[0].text", U),
        ("SELECT note AS k, k AS r FROM a", "data[0].r", U),
        ("SELECT iban AS r, note AS k FROM a WHERE k = 'x'", "data[0].r", L),
        ("SELECT iban AS r, note AS due FROM a ORDER BY due", "data[0].r", L),
        ("SELECT a.iban AS r FROM (SELECT {'iban': note} AS a FROM a) b", "data[0].r", U),
        ("SELECT r.iban AS r FROM (SELECT a AS r FROM a)", "data[0].r", U),
        ("SELECT * RENAME (note AS r) FROM a", "data[0].r", U),
        ("SELECT * REPLACE (note AS iban) FROM a", "data[0].iban", U),
        ("SELECT COLUMNS('note') AS iban FROM a", "data[0].iban", U),
        ("SELECT unnest({'iban': note}) FROM a", "data[0].iban", U),
        ("SELECT iban AS r, note AS s FROM a UNION ALL BY NAME FROM m", "data[0].r", U),
        # choices
        ("SELECT iban AS r FROM a LIMIT 1 OFFSET (SELECT count(*) FROM m)", "data[0].r", L),
        ("SELECT iban AS r FROM a ANTI JOIN m ON a.due = m.text", "data[0].r", L),
        ("SELECT iban AS r FROM a WHERE EXISTS (FROM m)", "data[0].r", L),
        ("SELECT iban AS r FROM a QUALIFY rank() OVER (ORDER BY note) = 1", "data[0].r", L),
        ("SELECT iban AS r FROM (SELECT iban FROM a ORDER BY note LIMIT 1)", "data[0].r", L),
        ("SELECT CASE WHEN EXISTS (FROM m) THEN 'a' ELSE 'b' END AS r", "data[0].r", L),
        ("SELECT first(iban ORDER BY note) AS r FROM a", "data[0].r", U),
        ("SELECT max(iban) FILTER (note = 'x') AS r FROM a", "data[0].r", U),
        ("SELECT lag(iban) OVER (ORDER BY note) AS r FROM a", "data[0].r", U),
        ("SELECT list_transform([iban], x -> x || note) AS r FROM a", "data[0].r", U),
        ("SELECT if(note = 'x', iban, due) AS r FROM a", "data[0].r", U),
        ("SELECT 'x' || row_number() OVER () AS r FROM m ORDER BY 1 DESC", "data[0].r", U),
    ],
)
def test_sql_does_not_launder(sql: str, path: str, label: Trust) -> None:
    assert trust(f"${{q.{path}}}", step("q", "sql", sql=sql, tables=TABLES)) is label


@pytest.mark.parametrize(
    ("tables", "label"),
    [
        ({"t": [{"IBAN": "${mails[0].text}"}]}, U),
        ({"t": [{"IBAN": "${accounts[0].iban}"}]}, T),
        ({"t": [{"iban": "x"}], "T": "${mails}"}, U),
        ({"t": "${accounts[*]}"}, T),
        ({"t": ["${accounts[0]}", {"iban": "${mails[0].text}"}]}, U),
    ],
)
def test_names_of_tables_and_columns_have_no_letter_case(tables: Json, label: Trust) -> None:
    made = step("q", "sql", sql="SELECT iban FROM t", tables=tables)
    assert trust("${q.data[0].iban}", made) is label


@pytest.mark.parametrize(
    ("steps", "value", "label"),
    [
        ([step("p", "contacts", name="${people[0].email}")], "${p[0].email}", T),
        ([step("p", "contacts", name="to ${mails[0].text}")], "${p[0].email}", L),
        ([step("p", "contacts", name=["x", {"a": "${mails[0].text}"}])], "${p[0].email}", L),
        ([step("p", "contacts", name="${index}", for_each="${mails}")], "${p[0][0].email}", L),
        (
            [step("p", "contacts", name="${item}", for_each="${mails[*].text}")],
            "${p[*][*].email}",
            L,
        ),
        ([step("p", "contacts", name="x", for_each=["${mails[0].id}"])], "${p[0]}", L),
        ([], ["${people[0].email}", "${mails[0].text}"], U),
        ([], {"a": {"b": ["x ${mails[*].sender}"]}}, U),
        ([], "${accounts[*]}", U),
        ([], "${accounts[*].iban}", T),
        ([], "${accounts[0].note}${accounts[0].iban}", U),
        (
            [
                step("q", "sql", sql="SELECT iban FROM a", tables=TABLES),
                step("p", "sql", sql="FROM t", tables={"t": "${q.data}"}),
            ],
            "${p.data[0].iban}",
            T,
        ),
        (
            [
                step("q", "sql", sql="SELECT note AS iban FROM a", tables=TABLES),
                step("p", "sql", sql="FROM t", tables={"t": "${q.data}"}),
            ],
            "${p.data[0].iban}",
            U,
        ),
        (
            [
                step("q", "sql", sql="SELECT 'x' AS r FROM m", tables=TABLES),
                step("p", "sql", sql="SELECT count(*) AS n FROM t", tables={"t": "${q.data}"}),
            ],
            "${p.data[0].n}",
            U,
        ),
    ],
)
def test_other_steps_do_not_launder(steps: list[Json], value: Json, label: Trust) -> None:
    assert trust(value, *steps) is label


def test_how_often_a_call_is_made_is_not_laundered() -> None:
    made = step("q", "sql", sql="SELECT 'x' AS r FROM m", tables={"m": "${mails}"})
    lists: list[tuple[Json, str]] = [
        ("${q.data[*].r}", "ask"),
        ("${q.data}", "ask"),
        (["x"], "allow"),
    ]
    for listed, verdict in lists:
        gone = step("gone", "delete", for_each=listed, id="x")
        found = {f.kind: f.verdict for f in flows(INBOX, made, gone)}
        assert found["count"] == verdict, listed


def test_what_a_model_reads_out_of_a_listed_text_is_on_no_list() -> None:
    read = scripted_extract(lambda text, instruction: text + instruction)
    tools = Toolbox([*Toolbox.from_json(OBJECTS).values(), sql_tool(), read])

    def label(text: str, schema: Json) -> Trust:
        made = step("x", "extract", text=text, instruction="Which?", schema=schema)
        steps: list[Json] = [INBOX, CONTACTS, made, step("s", "send", to="${x}", body="b")]
        parsed = load({"toolplan": 1, "steps": steps})
        assert parsed.plan is not None
        return flows_of(parsed.plan, tools, POLICY)[0].label.trust

    assert label("${mails[0].id}", {"type": "string"}) is U
    assert label("${mails[0].id}", {"enum": ["a", "b"]}) is L
    assert label("${mails[0].text}", {"enum": ["a", "b"]}) is L
    assert label("${people[0].name}", {"type": "string"}) is T
    assert label("said", {"type": "string"}) is T


def test_of_two_rules_for_one_place_the_lower_holds() -> None:
    for trusted, listed in (("inbox[*].id", "inbox[0].id"), ("inbox[0].id", "inbox[*].id")):
        policy = parse_policy(
            f'[trusted]\noutputs = ["{trusted}"]\n[listed]\noutputs = ["{listed}"]'
        )
        outputs = Vouched(policy, Toolbox.from_json(OBJECTS)).outputs("inbox")
        assert outputs.label("s", "inbox", (0, "id")).trust is L


SECRET: Final[Json] = {"type": "object", "properties": {"pin": {"x-trust": "secret"}}}


@pytest.mark.parametrize(
    "text", ["", '[trusted]\noutputs = ["own"]', '[secret]\noutputs = ["vault"]']
)
def test_what_a_tool_calls_secret_stays_secret_under_every_policy(text: str) -> None:
    own = Tool("own", "", {}, SECRET, Effects.READ, source="python")
    outside = replace(own, name="outside", raw_input={}, annotations={"openWorldHint": True})
    tools = Toolbox([own, outside, *Toolbox.from_json(OBJECTS).values()])
    plan: dict[str, object] = {
        "toolplan": 1,
        "steps": [step("own", "own"), step("page", "outside", url="${own.pin}")],
    }
    policy = parse_policy(text) if text else Policy()
    compiled = compile_plan(plan, tools=tools, policy=policy)
    assert "flow-refused" in {each.code for each in compiled.diagnostics}
    outputs = Vouched(policy, tools).outputs("own")
    assert outputs.label("s", "own", ("pin",)).secrets
    assert not outputs.label("s", "own", ("name", EVERY)).secrets


OPEN: Final = Toolbox.from_json(
    [
        {"name": "rows", "input_schema": {"type": "object"}, "annotations": {"effects": "read"}},
        {"name": "pages", "input_schema": {"type": "object"}, "annotations": {"effects": "read"}},
        {"name": "send", "input_schema": arguments("to"), "annotations": {"effects": "write"}},
    ]
).with_tools(sql_tool())
"""Tools that do not say what their rows have."""


@pytest.mark.parametrize(
    ("sql", "tables", "label"),
    [
        ("SELECT due AS r, note AS s FROM a", {"a": "${rows}"}, T),
        ("SELECT due AS r, note = DUE AS s FROM a", {"a": "${rows}"}, L),
        ("SELECT due AS r FROM a, m", {"a": "${rows}", "m": "${pages}"}, U),
        ("SELECT due AS r FROM a", {"a": "${rows}", "A": "${pages}"}, U),
        ("SELECT due AS r FROM A", {"A": "${pages}", "a": "${rows}"}, U),
        ("SELECT due AS r FROM a", {"A": "${pages}", "a": "${rows}"}, U),
        ("SELECT due AS r FROM A", {"a": "${rows}", "A": "${pages}"}, U),
    ],
)
def test_rows_that_nothing_is_known_of_do_not_launder(sql: str, tables: Json, label: Trust) -> None:
    steps = [step("rows", "rows"), step("pages", "pages"), step("q", "sql", sql=sql, tables=tables)]
    parsed = load({"toolplan": 1, "steps": [*steps, step("s", "send", to="${q.data[0].r}")]})
    assert parsed.plan is not None
    policy = parse_policy('[trusted]\noutputs = ["rows[*].due"]\n')
    (flow,) = flows_of(parsed.plan, OPEN, policy)
    assert flow.label.trust is label


def test_tables_of_one_name_are_not_followed() -> None:
    """The check refuses them, too."""
    with pytest.raises(Lost, match="one name"):
        StatementLineage({}, {"a": Table(), "A": Table()}, ())
