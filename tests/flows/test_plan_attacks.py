"""More plans by which a value of an outsider's making might reach a call under a better label.

They go through what a model reads, lists of lists, conditions, failures, secrets and lengths.
"""

from typing import Final

import pytest

from tests.flows.mails import OBJECTS, POLICY, step
from tests.flows.test_attacks import ACCOUNTS, CONTACTS, INBOX, TABLES
from toolplan.compiler import compile_plan, flows_of
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.policy import Trust
from toolplan.schema.tool import Toolbox
from toolplan.testing import scripted_extract
from toolplan_sql import sql_tool

U, L, T, S = Trust.UNTRUSTED, Trust.LISTED, Trust.TRUSTED, Trust.SAID
TOOLS: Final = Toolbox(
    [
        *Toolbox.from_json(OBJECTS).values(),
        sql_tool(),
        scripted_extract(lambda text, instruction: text),
    ]
)
TEXT: Final = "${mails[0].text}"
CHOICE: Final[Json] = {"enum": ["a", "b"]}
WHERE_TEXT: Final[dict[str, Json]] = {
    **step("y", "contacts", name="x"),
    "when": {"value": TEXT, "is": {"minLength": 1}},
}
OF_A: Final[Json] = {"a": "${accounts}"}
NOTED: Final = step("q", "sql", sql="SELECT iban FROM a WHERE note = 'x'", tables=TABLES)
OF_TEXTS: Final = step("y", "contacts", name="${item.text}", for_each="${mails}")
NOT_THERE: Final = {
    **step("y", "contacts", name="x"),
    "when": {"value": "${mails[5].text}", "is": True},
    "on_error": "continue",
}
"""Fails where there are few mails, and gives null then."""
MAYBE: Final = {**step("z", "contacts", name="${y[0].email}"), "on_error": "continue"}
"""Is null where `NOT_THERE` is."""
NOT_A_NUMBER: Final = {
    **step("y", "sql", tables=TABLES, sql="SELECT iban, note::INT AS n FROM a"),
    "on_error": "continue",
}
"""Fails for a note that is not a number, and gives null then."""


def read(name: str, text: Json, schema: Json) -> dict[str, Json]:
    return step(name, "extract", text=text, instruction="What?", schema=schema)


def sql(statement: str, **tables: Json) -> dict[str, Json]:
    return step("q", "sql", sql=statement, tables=tables)


def found(value: Json, *steps: Json) -> dict[str, Trust]:
    """Return the labels of the flows into the last step, by kind; of its argument `to`."""
    sent = step("sent", "send", to=value, body="x")
    parsed = load({"toolplan": 1, "steps": [INBOX, CONTACTS, ACCOUNTS, *steps, sent]})
    assert parsed.plan is not None, parsed.diagnostics
    return {
        each.kind: each.label.trust
        for each in flows_of(parsed.plan, TOOLS, POLICY)
        if each.step == "sent" and not each.pointer.endswith("/body")
    }


def fields(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "label"),
    [
        ({"type": "array", "items": CHOICE}, "${x}", L),
        ({"type": "array", "items": CHOICE}, "v ${x[*]}", L),
        ({"type": "array", "items": True}, "${x}", U),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": CHOICE}, "${x[0]}", U),
        (fields(a=CHOICE), "${x.a}", L),
        (fields(a=CHOICE), "${x}", U),
        (fields(a=CHOICE), "${x.b}", U),
        (fields(a=CHOICE), "${x[*]}", U),
        ({"$ref": "#/$defs/a", "$defs": {"a": CHOICE}}, "${x}", U),
        ({"not": CHOICE}, "${x}", U),
        ({"anyOf": [CHOICE, {"type": "string"}]}, "${x}", U),
        ({"allOf": [{"type": "string"}]}, "${x}", U),
        ({"type": []}, "${x}", U),
        ({"if": {"const": 1}, "then": CHOICE}, "${x}", U),
        ({"type": "object", "additionalProperties": CHOICE}, "${x}", U),
        (
            {"type": "object", "patternProperties": {"a": CHOICE}, "additionalProperties": False},
            "${x}",
            U,
        ),
        ({"type": "integer", "minimum": 1, "maximum": 2}, "${x}", U),
        ({"type": "string", "maxLength": 1}, "${x}", U),
    ],
)
def test_what_a_schema_leaves_open_is_of_the_text(schema: Json, value: Json, label: Trust) -> None:
    assert found(value, read("x", TEXT, schema))["argument"] is label


@pytest.mark.parametrize(
    ("steps", "value", "label"),
    [
        # a model reads what a model gave
        ([read("x", TEXT, {"type": "string"}), read("y", "${x}", CHOICE)], "${y}", L),
        ([read("x", TEXT, CHOICE), read("y", "${x}", {"type": "string"})], "${y}", U),
        ([read("x", ["said", {"a": TEXT}], {"type": "string"})], "${x}", U),
        ([step("y", "contacts", name="${item}", for_each=["a", TEXT])], "${y[0][0].email}", L),
        # lists of lists, and their lengths
        (
            [OF_TEXTS, step("z", "contacts", name="${item[0].email}", for_each="${y}")],
            "${z[0][0].email}",
            L,
        ),
        ([step("y", "contacts", name="x", for_each="${mails}")], "${y}", L),
        ([step("y", "contacts", name="x", for_each="${mails}")], "${y[0][0].email}", L),
        ([step("y", "contacts", name="${index}", for_each="${mails}")], "${y[1][0].email}", L),
        (
            [step("y", "contacts", name="${item.a.b}", for_each=[{"a": {"b": TEXT}}])],
            "${y[0][0].email}",
            L,
        ),
        (
            [NOTED, step("y", "contacts", name="${item.iban}", for_each="${q.data}")],
            "${y[0][0].email}",
            L,
        ),
        # failures give null where a value would be
        ([{**step("y", "contacts", name=TEXT), "on_error": "continue"}], "${y}", L),
        ([{**step("y", "send", to="a", body=TEXT), "on_error": "continue"}], "${y}", U),
        ([NOT_THERE], "${y}", L),
        ([NOT_THERE], {"a": [{"b": "${y}"}]}, L),
        ([NOT_THERE], "v ${y}", L),
        ([NOT_THERE], "${y[0].email}", T),  # what reads in it is not called where it is null
        ([NOT_THERE, {**step("z", "contacts", name="x")}], "${z}", T),
        ([NOT_THERE, MAYBE], "${z}", L),
        ([NOT_THERE, {**MAYBE, "args": {"name": "x"}, "after": ["y"]}], "${z}", T),
        ([NOT_THERE, {**MAYBE, "on_error": "fail"}], "${z}", T),
        ([NOT_THERE, step("z", "contacts", name="${y}")], "${z}", L),
        ([NOT_THERE, {**MAYBE, "args": {"name": "x"}, "for_each": "${y}"}], "${z}", L),
        ([NOT_A_NUMBER, {**MAYBE, "args": {"name": "${y.data[0].iban}"}}], "${z}", L),
        # effects
        ([step("y", "send", to="a", body="b")], "${y.id}", U),
        # names
        ([], '${mails[0]["text"]}', U),
        ([], "${accounts[0].IBAN}", U),
        ([], "${accounts[0].other}", U),
        ([], '${accounts["0"].iban}', U),
        ([], "${accounts[*].note}", U),
        ([], {"said": ["${accounts[0].iban}", {"x": "${mails[*].id}"}]}, L),
        ([], "$${mails[0].text}", S),
        ([], "$$${mails[0].text}", U),
    ],
)
def test_steps_between_do_not_launder(steps: list[Json], value: Json, label: Trust) -> None:
    assert found(value, *steps)["argument"] is label


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ([], "${y[0].email}"),
        ([step("z", "contacts", name="${y[0].email}")], "${z[0].email}"),
        ([step("z", "contacts", name="${item.email}", for_each="${y}")], "${z[0][0].email}"),
        ([sql("SELECT email AS e FROM t", t="${y}")], "${q.data[0].e}"),
        ([read("x", "${y[0].name}", CHOICE)], "${x}"),
    ],
)
def test_a_condition_counts_for_all_behind_it(steps: list[Json], value: Json) -> None:
    assert found(value, WHERE_TEXT, *steps)["condition"] is U


VAULT: Final = step("v", "vault")
PINS: Final[dict[str, Json]] = {"t": ["${v}"], "p": "${people}"}


@pytest.mark.parametrize(
    ("between", "value"),
    [
        (step("y", "contacts", name="x", for_each=["${v.pin}"]), "${y[0][0].email}"),
        (sql("SELECT length(pin) AS n FROM t", t=["${v}"]), "${q.data[0].n}"),
        (
            sql("SELECT email AS e FROM p WHERE (SELECT max(pin) FROM t) < 'm'", **PINS),
            "${q.data[0].e}",
        ),
        (step("y", "contacts", name="${v.pin}"), "${y[0].email}"),
        ({**WHERE_TEXT, "when": {"value": "${v.pin}", "is": {"minLength": 4}}}, "${y[0].email}"),
        ({**step("y", "contacts", name="${v.pin}"), "on_error": "continue"}, "${y}"),
    ],
)
def test_secrets_do_not_leave_by_lengths_choices_and_conditions(between: Json, value: Json) -> None:
    assert "secret" in found(value, VAULT, between)


@pytest.mark.parametrize(
    "made",
    [
        read("x", "said", {"enum": [TEXT, "b"]}),
        read("x", TEXT, {**fields(a=CHOICE), "patternProperties": TEXT}),
        step("x", "extract", text="said", instruction=f"Say {TEXT}", schema=CHOICE),
        step("x", "sql", sql=f"SELECT '{TEXT}' AS r", tables={}),
        step("x", "sql", sql="SELECT iban FROM a", tables=OF_A, columns={"a": {"iban": TEXT}}),
    ],
)
def test_what_must_be_written_out_is_so_in_all_of_its_parts(made: Json) -> None:
    plan: dict[str, object] = {"toolplan": 1, "steps": [INBOX, ACCOUNTS, made]}
    compiled = compile_plan(plan, tools=TOOLS, policy=POLICY)
    assert compiled.plan is None
    assert any("must be written out" in each.message for each in compiled.diagnostics)
