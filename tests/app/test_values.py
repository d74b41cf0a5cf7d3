"""Approval of calls with their values, in Python."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

import toolplan
from toolplan.base.errors import ToolplanError
from toolplan.events import RunState, StepFailed
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Draft, Proposal, Question
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox

TEXT: Json = {"type": "string"}


class Mailbox:
    """An inbox with an address that an outsider chose, and what was sent."""

    def __init__(self) -> None:
        self.sent: list[Arguments] = []
        self.read = 0
        self.tools = Toolbox([self._tool("inbox", Effects.READ), self._tool("send", Effects.WRITE)])

    def _tool(self, name: str, effects: Effects) -> Tool:
        async def call(args: Arguments) -> Json:
            if name == "inbox":
                self.read += 1
                return [{"sender": "eve@evil.example"}, {"sender": "bob@ours.example"}]
            self.sent.append(args)
            return {"id": f"m{len(self.sent)}"}

        mails: Json = {
            "type": "array", "items": {"type": "object", "properties": {"sender": TEXT}}
        }  # fmt: skip
        return Tool(
            name=name,
            description="",
            raw_input={"type": "object"},
            raw_output=mails if name == "inbox" else None,
            effects=effects,
            call=call,
        )


def plan(at: int = 0) -> dict[str, Json]:
    return {
        "toolplan": 1,
        "steps": [
            {"id": "mails", "tool": "inbox", "args": {}},
            {"id": "answer", "tool": "send", "args": {"to": f"${{mails[{at}].sender}}"}},
        ],
    }


def opened(box: Mailbox, folder: Path) -> toolplan.App:
    return toolplan.open(box.tools, planner="offline", journal=folder / "runs.sqlite")


def test_a_run_waits_and_is_resumed_with_the_calls_that_were_shown(tmp_path: Path) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        ended = app.wait(app.run(plan(), run_id="r1", approve="values", yes=True))
        assert (ended.status, box.sent) == (RunState.WAITING, [])
    with opened(box, tmp_path) as app:  # as in another process
        (effect,) = app.result("r1").effects
        assert (effect.tool, effect.args) == ("send", {"to": "eve@evil.example"})
        assert [str(each) for each in effect.sources["to"]] == ["mails[0].sender (inbox)"]
        assert app.wait(app.resume("r1", yes=True)).status is RunState.WAITING
        assert app.wait(app.resume("r1", allow=[effect])).succeeded
    assert box.sent == [{"to": "eve@evil.example"}]


def test_a_run_is_resumed_with_a_refusal(tmp_path: Path) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        app.wait(app.run(plan(), run_id="r1", approve="values"))
        ended = app.wait(app.resume("r1", deny=["answer"], reason="Not to strangers."))
    assert ended.status is RunState.FAILED
    assert "Not to strangers." in str(ended.steps["answer"].error)
    assert box.sent == []


def test_a_step_has_one_decision(tmp_path: Path) -> None:
    with opened(Mailbox(), tmp_path) as app, pytest.raises(ToolplanError, match="two decisions"):
        app.wait(app.resume("r1", allow=["answer"], deny=["answer"]))


class Planner:
    """Answers the first mail, and another one when that was refused."""

    def __init__(self) -> None:
        self.tried: list[tuple[Attempt, ...]] = []

    async def propose(
        self, question: Question, tools: Toolbox, attempts: Sequence[Attempt], **_: object
    ) -> Proposal:
        self.tried.append(tuple(attempts))
        return Draft(json.dumps(plan(len(attempts))), "toolplan", "scripted")


def test_the_reason_of_a_refusal_goes_to_the_planner_and_new_values_are_asked_for() -> None:
    box, planner = Mailbox(), Planner()
    asked: list[str] = []

    def decide(effects: tuple[toolplan.Effect, ...]) -> bool | toolplan.Denied:
        asked.append(str(effects[0].args["to"]))
        return len(asked) > 1 or toolplan.Denied("Only to our own people.")

    with toolplan.App(box.tools, planner) as app:
        approval = toolplan.ValueApproval(decide)
        done = app.wait(app.ask("Answer the mail", approve=approval, replan=True))
    assert done.succeeded
    assert asked == ["eve@evil.example", "bob@ours.example"]
    assert box.sent == [{"to": "bob@ours.example"}]
    failed = [each for each in planner.tried[1][0].events if isinstance(each, StepFailed)]
    assert "Only to our own people." in failed[0].failure.message


def test_a_question_that_nobody_answers_waits() -> None:
    box, planner = Mailbox(), Planner()
    with toolplan.App(box.tools, planner) as app:
        done = app.wait(app.ask("Answer the mail", approve="values", replan=True))
    assert done.run is not None
    assert done.run.status is RunState.WAITING
    assert [each.step for each in done.effects] == ["answer"]
    assert len(planner.tried) == 1
    assert box.sent == []


def each(**more: Json) -> dict[str, Json]:
    steps: list[Json] = [
        {"id": "mails", "tool": "inbox", "args": {}},
        {
            "id": "each",
            "tool": "send",
            "args": {"to": "${item.sender}", **more},
            "for_each": "${mails[*]}",
        },
    ]
    return {"toolplan": 1, "steps": steps}


def test_leaving_out_an_item_makes_another_plan_with_the_same_other_calls(tmp_path: Path) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        first = app.wait(app.run(each(), run_id="r1", approve="values"))
        eve, bob = first.effects
        done = app.wait(app.resume("r1", allow=[bob], leave_out=[eve]))
        assert done.succeeded
        assert box.sent == [{"to": "bob@ours.example"}]
        assert box.read == 1  # what is done is taken over
        assert (done.run != "r1", done.digest != first.digest) == (True, True)
        old = app.result("r1")
        assert (old.status, old.error and old.error.code) == (RunState.FAILED, "left-out")
        assert done.run in str(old.error)
        assert old.effects == ()
        with pytest.raises(toolplan.CannotRun):
            app.wait(app.resume("r1", allow=["each"]))
        with pytest.raises(toolplan.CannotRun, match="of no other"):
            app.wait(app.resume("r1", allow=["each"], leave_out=["each:0"]))
    assert box.sent == [{"to": "bob@ours.example"}]


def test_what_is_left_waits_where_nothing_is_allowed_or_values_differ(tmp_path: Path) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        app.wait(app.run(each(), run_id="r1", approve="values"))
        left = app.wait(app.resume("r1", leave_out=["each:0"]))
        assert (left.status, len(left.effects)) == (RunState.WAITING, 1)
        assert left.effects[0].args == {"to": "bob@ours.example"}
        assert app.wait(app.resume(left.run, allow=left.effects)).succeeded
        assert len(box.sent) == 1
        # the place of an item is a value of the call: what was shown is not what would be made
        app.wait(app.run(each(at="${index}"), run_id="r2", approve="values"))
        other = app.wait(app.resume("r2", allow=["each"], leave_out=["each:0"]))
        assert other.status is RunState.WAITING
        assert other.effects[0].args == {"to": "bob@ours.example", "at": 0}
    assert len(box.sent) == 1


def test_what_cannot_be_left_out_is_refused_and_the_run_still_waits(tmp_path: Path) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        shown = app.wait(app.run(each(), run_id="r1", approve="values")).effects
        with pytest.raises(toolplan.CannotRun, match="All calls"):
            app.wait(app.resume("r1", leave_out=["each:0", "each:1"]))
        with pytest.raises(toolplan.CannotRun, match="No call 7"):
            app.wait(app.resume("r1", leave_out=["each:7"]))
        other = replace(shown[0], digest="0" * 64)
        with pytest.raises(toolplan.CannotRun, match="not the one that was shown"):
            app.wait(app.resume("r1", leave_out=[other]))
        with pytest.raises(ToolplanError, match="names no item"):
            app.wait(app.resume("r1", leave_out=["each"]))
        assert app.result("r1").status is RunState.WAITING
        assert len(app.runs()) == 1
        placed = each()
        placed["output"] = "${each[1].id}"
        app.wait(app.run(placed, run_id="r2", approve="values"))
        with pytest.raises(toolplan.CannotRun, match="by its place"):
            app.wait(app.resume("r2", leave_out=["each:0"]))
    assert box.sent == []


def test_a_decision_that_was_cut_off_is_taken_up_without_a_second_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app:
        app.wait(app.run(each(), run_id="r1", approve="values"))

        def cut_off(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("toolplan.app._runs._end", cut_off)
            with pytest.raises(KeyboardInterrupt):
                app.wait(app.resume("r1", allow=["each"], leave_out=["each:0"]))
        assert box.sent == []
        assert app.wait(app.resume("r1", allow=["each"], leave_out=["each:0"])).succeeded
        assert len(app.runs()) == 2
    assert box.sent == [{"to": "bob@ours.example"}]


def asking(answers: list[object], seen: list[list[Json]]) -> toolplan.ValueApproval:
    """Return an approver that gives these answers, and notes what it was shown."""

    def decide(effects: tuple[toolplan.Effect, ...]) -> object:
        seen.append([each.args["to"] for each in effects])
        return answers[len(seen) - 1]

    return toolplan.ValueApproval(decide)  # pyright: ignore[reportArgumentType]


def test_an_approver_leaves_calls_out(tmp_path: Path) -> None:
    box, seen = Mailbox(), list[list[Json]]()
    with opened(box, tmp_path) as app:
        approve = asking([toolplan.LeaveOut((0,))], seen)
        done = app.wait(app.run(each(), run_id="r1", approve=approve))
        assert done.succeeded
        assert (done.run != "r1", box.read, len(seen)) == (True, 1, 1)
        assert [step["for_each"] for step in toolplan_steps(done) if "for_each" in step] == [
            ["${mails[1]}"]
        ]
        assert app.result("r1").error is not None
    assert box.sent == [{"to": "bob@ours.example"}]


def toolplan_steps(result: toolplan.RunResult) -> list[dict[str, Json]]:
    assert result.plan is not None
    steps = dump(result.plan.plan)["steps"]
    assert isinstance(steps, list)
    return [step for step in steps if isinstance(step, dict)]


def test_an_approver_leaves_calls_out_of_a_question_and_of_a_resumed_run(tmp_path: Path) -> None:
    box, seen = Mailbox(), list[list[Json]]()
    with toolplan.open(box.tools, planner=EachPlanner(), journal=tmp_path / "runs.sqlite") as app:
        asked = app.wait(app.ask("?", approve=asking([{"each": toolplan.LeaveOut((1,))}], seen)))
        assert asked.succeeded
        assert box.sent == [{"to": "eve@evil.example"}]
        app.wait(app.run(each(), run_id="r2", approve="values"))
        seen.clear()
        done = app.wait(app.resume("r2", approve=asking([toolplan.LeaveOut((0,))], seen)))
        assert done.succeeded
    assert [mail["to"] for mail in box.sent] == ["eve@evil.example", "bob@ours.example"]


def test_where_values_change_by_what_is_left_out_they_are_asked_for_again(tmp_path: Path) -> None:
    box, seen = Mailbox(), list[list[Json]]()
    with opened(box, tmp_path) as app:
        answers: list[object] = [toolplan.LeaveOut((0,)), True]
        done = app.wait(app.run(each(at="${index}"), approve=asking(answers, seen)))
        assert done.succeeded
    assert seen == [["eve@evil.example", "bob@ours.example"], ["bob@ours.example"]]
    assert box.sent == [{"to": "bob@ours.example", "at": 0}]


def test_to_leave_out_nothing_makes_all_and_all_makes_none(tmp_path: Path) -> None:
    box, seen = Mailbox(), list[list[Json]]()
    with opened(box, tmp_path) as app:
        none = app.wait(app.run(each(), approve=asking([toolplan.LeaveOut((0, 1))], seen)))
        assert none.steps["each"].error is not None
        assert none.steps["each"].error.code == "denied"
        assert box.sent == []
        seen.clear()
        assert app.wait(app.run(each(), approve=asking([toolplan.LeaveOut(())], seen))).succeeded
    assert len(box.sent) == 2


@pytest.mark.parametrize("answer", [toolplan.LeaveOut((7,)), toolplan.LeaveOut((-1,)), "y"])
def test_an_answer_that_names_no_call_makes_none(tmp_path: Path, answer: object) -> None:
    box = Mailbox()
    with opened(box, tmp_path) as app, pytest.raises(ToolplanError):
        app.wait(app.run(each(), approve=asking([answer], [])))
    assert box.sent == []


def test_calls_are_left_out_only_where_runs_are_kept() -> None:
    box = Mailbox()
    tools = box.tools
    with toolplan.App(tools, planner=EachPlanner()) as app:
        approve = asking([toolplan.LeaveOut((0,))], [])
        with pytest.raises(ToolplanError, match="no journal"):
            app.wait(app.run(each(), approve=approve))
    checked = toolplan.compile_plan(each(), tools=tools).plan
    assert checked is not None
    approve = asking([toolplan.LeaveOut((0,))], [])
    with pytest.raises(ToolplanError, match="no app"):
        asyncio.run(toolplan.run(checked, tools, approval=approve))
    assert box.sent == []


class EachPlanner(Planner):
    """Answers each mail."""

    async def propose(self, *_: object, **__: object) -> Proposal:
        return Draft(json.dumps(each()), "toolplan", "scripted")
