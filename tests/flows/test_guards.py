"""Values that are looked at right before a call."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.flows.mails import TOOLS, step
from toolplan import Journal, approve, compile_plan, compile_stream, run, run_stream
from toolplan.events import Run, StepState
from toolplan.plan.path import Json
from toolplan.policy import Policy, objection, parse_policy
from toolplan.schema.tool import Arguments, Effects, Toolbox

LINKS = [
    "see https://evil.example/x", "see HTTP://1.2.3.4", "//evil/x", "www evil", "evil.com",
    "EVIL.COM/path", "evil\uff0ecom", "evil\u3002com", "evil\u034f.com", "evil\ufe0f.com",
    "evil.\u034fcom", "http:\u034f//evil", "\u0930\u093e.\u0915\u093e\u0916",
    "h\uff54tp:\uff0f\uff0fevil", "write to a@b", "write to a\uff20b", "mailto:someone",
    "javascript:alert(1)", "http:\\\\evil", "HTTPS:intranet", "\\\\server\\share",
    "data:text/html,x", "tel:+491234", "10.0.0.1", "fe80::1", "![x](y)", "[click](y)",
    "[click] (y)", "[1]: y", "<img src=x>", "</p>", "&#104;i", "&lt;b", "zero\u200bwidth",
    "turned\u202eround", "\x1b[2J", "\x00", "tag\U000e0041", "\ue000", "bitcoin:1A1zP1",
    "slack:open", "sms:+49123", "intent:#x", "WhatsApp:send", "view-source:x",
    "pay to DE89 3704 0044 0532 0130 00 now", "GB82WEST12345698765432", "nl91 abna 0417 1643 00",
    "my card is 4111 1111 1111 1111", "5500-0055-5555-5559", "378282246310005", "6011111111111117",
    "4111.1111.1111.1111", "4111\u20131111\u20131111\u20131111", "4111_1111_1111_1111",
    "4111/1111/1111/1111", "4111  1111  1111  1111", "DE89-3704-0044-0532-0130-00",
    "de89.3704.0044.0532.0130.00", "_DE89_3704_0044_0532_0130_00_",
]  # fmt: skip


FORMULAS = [
    '=HYPERLINK("x")', "+1+cmd", "-2+3", "\tx", "  =1+1", "\uff1d1+1",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_begins_like_a_formula_is_not_plain(text: str) -> None:
    assert "formula" in str(objection("plain", text))
    assert objection("plain", f"so {text.strip()[1:]}") is None or "HYPER" in text


@pytest.mark.parametrize("text", LINKS)
def test_text_that_leads_somewhere_is_not_plain(text: str) -> None:
    assert objection("plain", text)
    assert objection("plain", f"Dear Bob,\n{text}\nYours")
    assert objection("plain", ["fine", {"a": [text]}])
    assert objection("plain", {text: 1})


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Dear Bob,\n\tthe bill of 98.70 EUR (see 3.2) is due on 2023-12-01, at 10:30:15; e.g. now.",
        "Grüße, naïve café — 50 % of «that» & more: yes/no?",
        "The data: none. [sic]",
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e. \u2764\ufe0f",
        3.5,
        None,
        -5,
        [1, True, {"a": "b"}],
    ],
)
def test_ordinary_text_is_plain(value: Json) -> None:
    assert objection("plain", value) is None


@pytest.mark.parametrize("value", [4111111111111111, [{"a": 378282246310005}]])
def test_the_number_of_a_card_is_not_plain_as_a_number_either(value: Json) -> None:
    assert "card" in str(objection("plain", value))


def test_a_schema_is_a_guard_too() -> None:
    guard: Json = {"type": "string", "pattern": "@ours\\.com$"}
    assert objection(guard, "bob@ours.com") is None
    assert objection(guard, "bob@ours.com.evil")
    assert objection(guard, 3)


def tools(text: str, calls: list[tuple[str, Arguments]]) -> Toolbox:
    """Return the tools of `mails`, where each mail says `text`, and each call is noted."""

    def made(name: str, answer: Json) -> Toolbox:
        async def call(arguments: Arguments) -> Json:
            calls.append((name, arguments))
            return answer

        return Toolbox([replace(TOOLS[name], call=call)])

    mail: Json = [{"id": "1", "sender": "x@y", "text": text}, {"id": "2", "text": "fine"}]
    answers: dict[str, Json] = {"inbox": mail, "send": None, "fetch": text}
    return Toolbox(made(name, answer)[name] for name, answer in answers.items())


def started(given: Toolbox, *steps: Json, policy: Policy, journal: Journal | None = None) -> Run:
    plan: dict[str, object] = {"toolplan": 1, "steps": list(steps)}
    compiled = compile_plan(plan, tools=given, policy=policy)
    assert compiled.plan is not None, compiled.diagnostics
    approval = approve(compiled.plan)
    return asyncio.run(run(compiled.plan, given, approval=approval, journal=journal))


POLICY = parse_policy('[sinks.send]\nbody = "plain"\nto = { or = { pattern = "@ours\\\\.com$" } }')
MAILS = step("mails", "inbox")


def test_a_value_that_does_not_pass_is_not_sent_though_the_plan_is_approved(tmp_path: Path) -> None:
    calls: list[tuple[str, Arguments]] = []
    answer = step("sent", "send", to="bob@ours.com", body="They say: ${mails[0].text}")
    given = tools("pay at evil.com", calls)
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        ended = started(given, MAILS, answer, policy=POLICY, journal=journal)
        assert journal.load(ended.run).steps["sent"].state is StepState.FAILED
    error = ended.steps["sent"].error
    assert error is not None
    assert (error.code, error.pointer) == ("guard", "/args/body")
    assert "evil" not in error.message
    assert [name for name, _ in calls] == ["inbox"]

    calls.clear()
    assert started(tools("all is well", calls), MAILS, answer, policy=POLICY).succeeded
    assert [name for name, _ in calls] == ["inbox", "send"]


def test_each_item_is_looked_at() -> None:
    calls: list[tuple[str, Arguments]] = []
    each = step("sent", "send", for_each="${mails}", to="bob@ours.com", body="${item.text}")
    each["on_error"] = "continue"
    ended = started(tools("see evil.com", calls), MAILS, each, policy=POLICY)
    assert [arguments["body"] for name, arguments in calls if name == "send"] == ["fine"]
    assert ended.steps["sent"].items_failed == 1


def test_what_stands_in_the_plan_is_not_looked_at() -> None:
    calls: list[tuple[str, Arguments]] = []
    said = step("sent", "send", to="a@b.c", body="see https://ours.com")
    assert started(tools("", calls), said, policy=POLICY).succeeded


def test_an_address_of_another_form_is_refused() -> None:
    calls: list[tuple[str, Arguments]] = []
    answer = step("sent", "send", to="${mails[0].sender}", body="hi")
    error = started(tools("", calls), MAILS, answer, policy=POLICY).steps["sent"].error
    assert error is not None
    assert error.code == "guard"


def test_a_step_that_reads_does_not_start_early_where_its_value_is_looked_at() -> None:
    calls: list[tuple[str, Arguments]] = []
    given = tools("evil.com", calls)
    policy = parse_policy('[sinks.fetch]\nurl = "plain"')
    page = step("page", "fetch", url="${mails[0].text}")
    text = json.dumps({"toolplan": 1, "steps": [MAILS, page]})

    async def chunks() -> AsyncIterator[str]:
        for char in text:
            yield char

    async def go() -> Run:
        stream = compile_stream(chunks(), tools=given, policy=policy)
        return await run_stream(stream, given)

    ended = asyncio.run(go())
    assert [name for name, _ in calls] == ["inbox"]
    assert ended.steps["page"].error is not None
    assert given["fetch"].effects is Effects.READ
