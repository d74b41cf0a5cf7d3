"""The answer in a model's words: checked, marked, in three forms, and never instead of the run."""

import asyncio
import json
from typing import Any, get_args

import pytest

from toolplan.events import (
    Event,
    Failure,
    Run,
    RunEnded,
    RunStarted,
    RunState,
    StepFailed,
    StepSkipped,
    StepSucceeded,
    fold,
)
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import ModelError, Text
from toolplan.show.answer import Answer, answer
from toolplan.show.document import Bullets, Fields, Heading, Lead, Note, Table
from toolplan.show.summary import Format, Summariser, Summary
from toolplan.show.summary.summariser import document_markdown
from toolplan.testing.tools import ModelReply, ScriptedModel

QUESTION = "Which carriers have the highest contamination rates in the last 90 days?"
ROWS: list[Json] = [
    {"carrier": "NordWaste", "contamination_rate": 0.3624},
    {"carrier": "BulkMovers", "contamination_rate": 0.36},
    {"carrier": "GreenHaul", "contamination_rate": 0.1214},
]
HONEST = "NordWaste has the highest contamination rate with 36.2 %. GreenHaul has 12.1 %."
DISHONEST = "NordWaste leads with 42 %, followed by ACME-9. GreenHaul has 12.1 %."


def ran(rows: list[Json] | None = None, *, failed: bool = False) -> tuple[Answer, Run]:
    rows = ROWS if rows is None else rows
    steps = (Step("rates", "sql"), Step("notes", "notes_list"), Step("mail", "mail_send"))
    names = tuple(step.id for step in steps) if failed else ("rates",)
    plan = Plan(tuple(step for step in steps if step.id in names))
    execution = ExecutionPlan(plan, names, dict.fromkeys(names, ()), {}, (), "d")
    events: list[Event] = [RunStarted("r", "d", names, 0.0)]
    events.append(StepSucceeded("rates", {"data": rows}, 1, None, 1.0))
    if failed:
        events.append(StepFailed("notes", Failure("tool-error", "the server said no"), 2, 1.0))
        events.append(StepSkipped("mail", Failure("upstream-failed", "notes failed"), 1.0))
    status = RunState.FAILED if failed else RunState.SUCCEEDED
    events.append(RunEnded(status, {"data": rows}, 2.0))
    run = fold(events)
    return answer(execution, run), run


def summarised(
    reply: ModelReply | ScriptedModel | None,
    *,
    rows: list[Json] | None = None,
    failed: bool = False,
    question: str = QUESTION,
    **options: Any,
) -> Summary:
    said, run = ran(rows, failed=failed)
    model = reply if reply is None or isinstance(reply, ScriptedModel) else ScriptedModel([reply])
    return asyncio.run(Summariser(model, **options).summarise(said, run, question))


def test_a_true_summary_is_shown_as_it_is_written() -> None:
    """F000-43, issue 5 part 7."""
    summary = summarised(HONEST)
    assert (summary.text, summary.unsupported) == (HONEST, ())
    assert len(summary.claims) == 2
    assert (summary.model, summary.reason, summary.notes) == ("scripted:model", "", ())


@pytest.mark.parametrize(
    ("form", "number", "name"),
    [("plain", "42 % [?]", "ACME-9 [?]"), ("markdown", "~~42 %~~ ⚠", "~~ACME-9~~ ⚠")],
)
def test_a_wrong_number_and_invented_identity_are_marked(form: str, number: str, name: str) -> None:
    """The must-show line of issue 5."""
    summary = summarised(DISHONEST, format=form)
    assert [claim.text for claim in summary.unsupported] == ["42 %", "ACME-9"]
    assert summary.text.startswith(f"NordWaste leads with {number}, followed by {name}. Green")
    assert "not found in the results: 42 %, ACME-9." in summary.text


def test_in_json_what_is_not_found_stands_in_a_field_of_its_own() -> None:
    summary = summarised(DISHONEST, format="json")
    document = json.loads(summary.text)
    assert document["summary"] == DISHONEST
    assert [each["text"] for each in document["unsupported"]] == ["42 %", "ACME-9"]
    assert [each["found"] for each in document["claims"]] == [False, False, True]
    for each in document["claims"]:
        assert document["summary"][each["start"] : each["end"]] == each["text"]
    assert document["answer"]["sections"][0]["rows"] == ROWS
    assert document["status"] == "succeeded"


@pytest.mark.parametrize("form", get_args(Format))
@pytest.mark.parametrize("reply", [None, HONEST, DISHONEST, ModelError("llm-auth", "no", "key")])
def test_json_is_json_and_the_other_forms_are_not(form: Format, reply: ModelReply | None) -> None:
    summary = summarised(reply, format=form)
    assert summary.format == form
    if form == "json":
        assert json.loads(summary.text)["summary"]
    else:
        assert "NordWaste" in summary.text
        assert not summary.text.startswith("{")


def test_json_stays_json_for_rows_that_json_cannot_say() -> None:
    rows: list[Json] = [{"a": float("nan"), "b": "\ud800\x9b1m\u202e"}, {"a": 1.0, "b": 'q"\n'}]
    text = summarised("There were 2 rows.", rows=rows, format="json").text
    assert text.isascii()
    assert json.loads(text)["answer"]["sections"][0]["rows"][0]["a"] is None


def test_without_a_model_the_computed_answer_stands() -> None:
    summary = summarised(None)
    assert (summary.text, summary.model) == (ran()[0].text, "")
    assert summary.reason == "no model was given"


@pytest.mark.parametrize(
    "code", ["llm-timeout", "llm-auth", "llm-truncated", "llm-budget", "llm-refused"]
)
def test_where_the_model_fails_the_computed_answer_is_used_and_the_reason_shown(code: str) -> None:
    """2.10: degradation that is really there."""
    summary = summarised(ModelError(code, "The model is away.", "Wait."))
    assert summary.text.startswith(ran()[0].text)
    assert f"Written without a model: The model is away. Wait [{code}]." in summary.text


@pytest.mark.parametrize(
    "more", [[], [ModelError("llm-stream-cut", "It stalled.")]], ids=["no end", "an error"]
)
def test_a_reply_that_is_not_whole_is_no_summary(more: list[ModelError]) -> None:
    summary = summarised([Text("NordWaste leads. Then"), *more])
    assert "[llm-stream-cut]" in summary.reason
    assert summary.said == ""
    assert summary.text.startswith(ran()[0].text)


@pytest.mark.parametrize("reply", [" \n ", "\x1b[2J", "\u200b"])
def test_a_model_that_writes_nothing_falls_back_to_the_computed_answer(reply: str) -> None:
    summary = summarised(reply)
    assert summary.reason == "the model wrote nothing"
    assert summary.text.startswith(ran()[0].text)


def test_a_run_without_results_is_not_given_to_a_model() -> None:
    model = ScriptedModel([HONEST])
    _, run = ran(failed=True)
    summary = asyncio.run(Summariser(model).summarise(Answer("None.", (), (), ()), run, "?"))
    assert model.requests == []
    assert summary.text == "None."


def test_failed_steps_are_reported_by_the_run_whatever_the_model_says() -> None:
    """L23."""
    summary = summarised("All 3 steps succeeded. NordWaste leads.", failed=True)
    head, _, _ = summary.text.partition("All 3 steps")
    assert "State of the run: failed; 1 of 3 steps succeeded." in head
    assert "notes failed: the server said no" in head
    assert "mail skipped: notes failed" in head
    document = json.loads(summarised("All is well.", failed=True, format="json").text)
    assert document["status"] == "failed"
    assert [each["step"] for each in document["problems"]] == ["notes", "mail"]
    markdown = summarised("All is well.", failed=True, format="markdown").text
    assert markdown.startswith("- **State of the run: failed; 1 of 3 steps succeeded.**\n")


@pytest.mark.parametrize("form", ["plain", "markdown"])
def test_claims_stand_where_they_say(form: str) -> None:
    reply = f"# Key Findings\r\n\n\n\n{DISHONEST}\n\n- BulkMovers: **36 %**\n  - more\n\n"
    summary = summarised(reply, format=form)
    assert [claim.text for claim in summary.unsupported] == ["42 %", "ACME-9"]
    for claim in summary.claims:
        assert summary.said[slice(*claim.span)] == claim.text
    assert "\n\n\n" not in summary.text


def test_the_length_counts_words_and_is_kept() -> None:
    """C-37."""
    long = "NordWaste leads the field by far. " * 300
    summary = summarised(long, length=20)
    assert len(summary.said.split()) == 21  # an ellipsis is none
    assert summary.said.endswith("NordWaste leads …")
    assert summary.text.endswith("Cut at 20 words.")
    assert len(summarised(long).said.split()) == 501
    one = summarised("word " * 50 + "end", length=7)
    assert one.said == "word word word word word word word …"
    assert summarised(HONEST, length=len(HONEST.split())).text == HONEST


def test_a_length_of_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match="`length` must be at least 1"):
        Summariser(None, length=0)


def test_the_prompt_says_how_to_write() -> None:
    model = ScriptedModel([HONEST])
    summarised(model, length=77, format="markdown")
    system = model.requests[0].messages[0].text
    assert "At most 77 words" in system
    assert "Markdown" in system
    assert model.requests[0].max_tokens >= 77


def test_markup_is_taken_out_of_plain_text() -> None:
    summary = summarised("## Findings\n* **NordWaste** leads with `36.2 %`.\n```\nGreenHaul\n```")
    assert summary.text == "Findings\n• NordWaste leads with 36.2 %.\nGreenHaul"


def test_a_document_becomes_markdown_in_which_no_text_is_markup() -> None:
    table = Table(("a|b", "n"), (False, True), (("<b>*x*</b>", "1"),))
    text = document_markdown(
        (
            Lead("[x](http://evil.example)"),
            Heading("a_b"),
            table,
            Fields((("k", "v"),)),
            Bullets(("#1",)),
            Note("done"),
        )
    )
    assert text.splitlines() == [
        r"**\[x\](`http://evil.example`)**",
        "",
        r"### a\_b",
        "",
        r"| a\|b | n |",
        "| :-- | --: |",
        r"| \<b\>\*x\*\</b\> | 1 |",
        "",
        "- **k**: v",
        "",
        r"- \#1",
        "",
        "done",
    ]


def test_a_plan_with_an_output_of_its_own_is_summarised_too() -> None:
    step = Step("rates", "sql", args={"n": Literal(1)})
    plan = Plan((step,), output=Ref("rates", ("data",)))
    execution = ExecutionPlan(plan, ("rates",), {"rates": ()}, {}, (), "d")
    run = fold(
        [
            RunStarted("r", "d", ("rates",), 0.0),
            StepSucceeded("rates", {"data": ROWS}, 1, None, 1.0),
            RunEnded(RunState.SUCCEEDED, ROWS, 2.0),
        ]
    )
    writer = Summariser(ScriptedModel([DISHONEST]))
    summary = asyncio.run(writer.summarise(answer(execution, run), run, QUESTION))
    assert [claim.text for claim in summary.unsupported] == ["42 %", "ACME-9"]
