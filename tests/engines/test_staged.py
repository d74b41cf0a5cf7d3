"""Calls that wait until a person has seen their values."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.stores import Stores
from toolplan import ExecutionPlan, ToolplanError, approve, compile_plan
from toolplan.engine import CannotRun, resume, run
from toolplan.events import ConsentGiven, Event, Run, RunState, StepState, StepSucceeded
from toolplan.plan.path import Json, copied
from toolplan.policy import Flow, Policy, Trust
from toolplan.policy.consent import (
    Answer,
    Consent,
    Decide,
    Denied,
    Effect,
    PolicyEngine,
    ValueApproval,
)
from toolplan.schema.tool import Arguments, Call, Effects, Tool, Toolbox, ToolError

TEXT: Json = {"type": "string"}
MAILS: list[Json] = [{"sender": "eve@evil.example", "n": 1}, {"sender": "bob@ours.example", "n": 2}]


class World:
    """Tools and what was called."""

    def __init__(self, **results: Json) -> None:
        self.calls: list[tuple[str, Arguments]] = []
        self.results: dict[str, Json] = {"inbox": copied(MAILS), **results}
        rows: Json = {
            "type": "array",
            "items": {"type": "object", "properties": {"sender": TEXT, "n": {"type": "number"}}},
        }
        sent: Json = {"type": "object", "properties": {"id": TEXT}}
        self.tools = Toolbox(
            [
                self.tool("inbox", rows, Effects.READ),
                self.tool("look", {}, Effects.READ),
                self.tool("send", sent),
                self.tool("put", {}, idempotent=True),
            ]
        )

    def tool(
        self, name: str, output: Json, effects: Effects = Effects.WRITE, *, idempotent: bool = False
    ) -> Tool:
        return Tool(
            name=name,
            description="",
            raw_input={"type": "object"},
            raw_output=output or None,
            effects=effects,
            idempotent=idempotent,
            call=self._call(name),
        )

    def _call(self, name: str) -> Call:
        async def call(args: Arguments) -> Json:
            self.calls.append((name, dict(args)))
            sent = self.made.count("send")
            await asyncio.sleep(0)
            return {"id": f"m{sent}"} if name == "send" else self.results.get(name)

        return call

    @property
    def made(self) -> list[str]:
        return [name for name, _ in self.calls]

    def plan(self, *steps: dict[str, Json], policy: Policy = Policy()) -> ExecutionPlan:
        plan: dict[str, object] = {"toolplan": 1, "steps": list(steps)}
        compiled = compile_plan(plan, tools=self.tools, policy=policy)
        assert compiled.plan is not None, compiled.diagnostics
        return compiled.plan


def step(name: str, tool: str, args: Json = None, **own: Json) -> dict[str, Json]:
    return {"id": name, "tool": tool, "args": args or {}, **own}


MAIL = (
    step("mails", "inbox"),
    step("answer", "send", {"to": "${mails[0].sender}", "body": "Hello"}),
    step("seen", "look", {"x": "${mails[0].n}"}),
)


def staged(world: World, plan: ExecutionPlan, decide: Decide | None = None, **options: Any) -> Run:
    approval = ValueApproval(decide, tuple(options.pop("shapes", ())))
    return asyncio.run(run(plan, world.tools, approval=approval, **options))


def test_reads_run_first_and_a_call_waits_with_its_values() -> None:
    world = World()
    done = staged(world, world.plan(*MAIL))
    assert done.status is RunState.WAITING
    assert world.made == ["inbox", "look"]
    assert done.steps["answer"].state is StepState.WAITING
    (waiting,) = done.waiting
    assert waiting.args == {"to": "eve@evil.example", "body": "Hello"}


def test_who_decides_gets_each_value_with_its_source_and_label() -> None:
    world, seen = World(), list[Effect]()

    def decide(effects: tuple[Effect, ...]) -> bool:
        seen.extend(effects)
        return True

    assert staged(world, world.plan(*MAIL), decide).succeeded
    assert world.calls[-1] == ("send", {"to": "eve@evil.example", "body": "Hello"})
    (effect,) = seen
    assert (effect.tool, effect.step, effect.item) == ("send", "answer", None)
    labels = {name: origin.label for name, origin in effect.origins.items()}
    assert labels == {"to": Trust.UNTRUSTED, "body": Trust.SAID}
    assert [str(each) for each in effect.sources["to"]] == ["mails[0].sender (inbox)"]
    assert (effect.origins["to"].refs, effect.asked) == (("mails[0].sender",), ("to",))


def test_a_refused_call_is_not_made_and_its_reason_is_kept() -> None:
    world = World()
    plan = world.plan(*MAIL, step("later", "look", {"x": "${answer.id}"}))
    done = staged(world, plan, lambda effects: Denied(f"not to {effects[0].args['to']}"))
    assert done.status is RunState.FAILED
    error = done.steps["answer"].error
    assert error is not None
    assert (error.code, "not to eve@evil.example" in error.message) == ("denied", True)
    assert done.steps["answer"].attempts == 0
    assert done.steps["later"].state is StepState.SKIPPED
    assert "send" not in world.made


def test_an_effect_behind_an_effect_is_asked_for_when_it_is_known() -> None:
    world, seen = World(), list[list[tuple[str, Mapping[str, Json]]]]()
    plan = world.plan(*MAIL, step("note", "put", {"x": "${answer.id}"}))

    def decide(effects: tuple[Effect, ...]) -> bool:
        seen.append([(effect.step, effect.args) for effect in effects])
        return True

    assert staged(world, plan, decide).succeeded
    assert [[name for name, _ in asked] for asked in seen] == [["answer"], ["note"]]
    assert seen[1][0][1] == {"x": "m1"}


def test_a_step_may_be_approved_as_a_shape() -> None:
    world, seen = World(), list[str]()
    plan = world.plan(*MAIL, step("note", "put", {"x": "${answer.id}"}))

    def decide(effects: tuple[Effect, ...]) -> bool:
        seen.extend(effect.step for effect in effects)
        return True

    assert staged(world, plan, decide, shapes=["note"]).succeeded
    assert seen == ["answer"]


EACH = (
    step("mails", "inbox"),
    step("each", "send", {"to": "${item.sender}"}, for_each="${mails[*]}"),
)


def test_there_is_one_question_for_all_items() -> None:
    world, seen = World(), list[tuple[Effect, ...]]()

    def decide(effects: tuple[Effect, ...]) -> dict[str, Answer]:
        seen.append(effects)
        return {"each": True}

    done = staged(world, world.plan(*EACH), decide)
    assert done.succeeded
    assert [[each.item for each in asked] for asked in seen] == [[0, 1]]
    assert len({each.digest for each in seen[0]}) == 2
    assert [args["to"] for _, args in world.calls[1:]] == ["eve@evil.example", "bob@ours.example"]
    assert done.steps["each"].output == [{"id": "m1"}, {"id": "m2"}]


def test_items_behind_one_that_failed_are_not_called_although_they_were_allowed() -> None:
    world = World()

    async def send(args: Arguments) -> Json:
        world.calls.append(("send", args))
        raise ToolError("No.")

    world.tools = Toolbox([world.tools["inbox"], replace(world.tools["send"], call=send)])
    done = staged(world, world.plan(*EACH), lambda _: True, concurrency=1)
    assert done.status is RunState.FAILED
    assert world.made == ["inbox", "send"]


def test_items_before_one_that_cannot_be_filled_are_called_once_they_are_allowed() -> None:
    world = World(inbox=[{"sender": "a"}, {"sender": "b"}, {"n": 1}, {"sender": "d"}])
    assert staged(world, world.plan(*EACH), lambda _: True).status is RunState.FAILED
    assert [args.get("to") for _, args in world.calls[1:]] == ["a", "b"]


def test_no_answer_leaves_the_run_waiting_and_other_steps_are_not_lost() -> None:
    world = World()
    plan = world.plan(*MAIL, step("other", "put", {"x": "${mails[1].n}"}))
    done = staged(world, plan, lambda _: {"other": True})
    assert done.status is RunState.WAITING
    assert world.made.count("put") == 1
    assert [call.step for call in done.waiting] == ["answer"]


@pytest.mark.parametrize("answer", ["yes", 1, 0, (), "True"])
def test_what_is_no_answer_approves_nothing(answer: Any) -> None:
    world = World()
    with pytest.raises(ToolplanError, match="answered by a value"):
        staged(world, world.plan(*MAIL), lambda _: answer)
    assert "send" not in world.made


def test_a_plan_whose_flows_are_allowed_runs_unasked_where_the_policy_says_so() -> None:
    world = World()
    policy = Policy.from_json({"approval": "when-needed", "trusted": {"outputs": ["inbox"]}})
    assert staged(world, world.plan(*MAIL, policy=policy)).succeeded
    assert "send" in world.made


def test_a_run_that_waits_is_resumed_with_an_answer(stores: Stores) -> None:
    world, journal = World(), stores.open()
    plan = world.plan(*MAIL)
    done = staged(world, plan, journal=journal, run_id="r")
    assert done.status is RunState.WAITING
    assert journal.runs(1)[0].status is RunState.WAITING
    # an approval of the plan answers no question about values
    again = asyncio.run(resume(plan, world.tools, "r", journal=journal, approval=approve))
    assert again.status is RunState.WAITING
    with pytest.raises(CannotRun, match="No call of step 'seen'"):
        asyncio.run(
            resume(plan, world.tools, "r", journal=journal, consents={"seen": Consent(True)})
        )
    other = Consent(True, calls={None: "0" * 64})
    with pytest.raises(CannotRun, match="not the one that was shown"):
        asyncio.run(resume(plan, world.tools, "r", journal=journal, consents={"answer": other}))
    assert "send" not in world.made
    shown = Consent(True, calls={None: done.waiting[0].digest})
    last = asyncio.run(resume(plan, world.tools, "r", journal=journal, consents={"answer": shown}))
    assert last.succeeded
    assert world.made == ["inbox", "look", "send"]
    with pytest.raises(CannotRun, match="No call of step 'answer'"):
        asyncio.run(resume(plan, world.tools, "r", journal=journal, consents={"answer": shown}))
    journal.close()


def test_a_run_that_waits_is_resumed_with_a_refusal(stores: Stores) -> None:
    world, journal = World(), stores.open()
    plan = world.plan(*MAIL)
    staged(world, plan, journal=journal, run_id="r")
    no = Consent(False, "unknown recipient")
    last = asyncio.run(resume(plan, world.tools, "r", journal=journal, consents={"answer": no}))
    assert last.status is RunState.FAILED
    assert "unknown recipient" in str(last.steps["answer"].error)
    assert journal.load("r").status is RunState.FAILED
    journal.close()


def test_an_approver_can_be_asked_when_a_run_is_resumed(stores: Stores) -> None:
    world, journal = World(), stores.open()
    plan = world.plan(*EACH)
    staged(world, plan, journal=journal, run_id="r")
    asked = ValueApproval(lambda effects: len(effects) == 2)
    last = asyncio.run(resume(plan, world.tools, "r", journal=journal, approval=asked))
    assert last.succeeded
    assert world.made == ["inbox", "send", "send"]
    journal.close()


async def test_a_cancelled_question_makes_no_call_and_its_run_is_resumable(stores: Stores) -> None:
    world, journal = World(), stores.open()
    plan = world.plan(*MAIL)

    asked = asyncio.Event()

    async def decide(effects: tuple[Effect, ...]) -> bool:
        asked.set()
        await asyncio.sleep(3600)
        return bool(effects)

    going = asyncio.ensure_future(
        run(plan, world.tools, approval=ValueApproval(decide), journal=journal, run_id="r")
    )
    await asked.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert "send" not in world.made
    last = await resume(plan, world.tools, "r", journal=journal, consents={"answer": Consent(True)})
    assert last.succeeded
    assert world.made == ["inbox", "look", "send"]
    journal.close()


def test_what_changes_between_the_table_and_the_call_is_not_made() -> None:
    world = World()

    def decide(effects: tuple[Effect, ...]) -> bool:
        effects[0].args["to"] = "mallory@evil.example"  # type: ignore[index]
        return True

    with pytest.raises(ToolplanError, match="were changed while they were shown"):
        staged(world, world.plan(*MAIL), decide)
    assert "send" not in world.made


def test_an_output_that_a_listener_changes_after_the_table_does_not_go_into_the_call() -> None:
    world, outputs = World(), list[Any]()

    def keep(event: Event) -> None:
        if isinstance(event, StepSucceeded) and event.step == "mails":
            outputs.append(event.output)

    asked: list[str] = []

    def decide(effects: tuple[Effect, ...]) -> bool | None:
        asked.append(str(effects[0].args["to"]))
        outputs[0][0]["sender"] = "mallory@evil.example"
        return True if len(asked) == 1 else None

    done = staged(world, world.plan(*MAIL), decide, on_event=keep)
    assert done.status is RunState.WAITING  # it is another call, which is asked for again
    assert asked == ["eve@evil.example", "mallory@evil.example"]
    assert "send" not in world.made


# A policy engine beside the person


def judged(
    world: World, plan: ExecutionPlan, engine: PolicyEngine, decide: Decide | None = None
) -> tuple[Run, list[Event]]:
    events: list[Event] = []
    approval = ValueApproval(decide, policy_engine=engine)
    return asyncio.run(run(plan, world.tools, approval=approval, on_event=events.append)), events


def test_a_policy_engine_gets_each_flow_with_its_value_and_may_allow_the_call() -> None:
    world, seen = World(), list[tuple[str, str, Json]]()

    def engine(flow: Flow, value: Json) -> str:
        seen.append((flow.pointer, flow.label.trust.word, value))
        return "allow"

    done, events = judged(world, world.plan(*MAIL), engine)
    assert done.succeeded
    assert world.calls[-1] == ("send", {"to": "eve@evil.example", "body": "Hello"})
    assert seen == [
        ("/steps/1/args/to", "untrusted", "eve@evil.example"),
        ("/steps/1/args/body", "said", "Hello"),
    ]
    assert [each.by for each in events if isinstance(each, ConsentGiven)] == ["policy engine"]


def test_a_policy_engine_may_be_async_and_refuses_with_its_reason() -> None:
    world, asked = World(), list[Effect]()

    async def engine(flow: Flow, value: Json) -> str | Denied:
        await asyncio.sleep(0)
        is_foreign = flow.pointer.endswith("/to") and not str(value).endswith("@ours.example")
        return Denied("not one of ours") if is_foreign else "allow"

    def decide(effects: tuple[Effect, ...]) -> bool:
        asked.extend(effects)
        return True

    done, _ = judged(world, world.plan(*MAIL), engine, decide)
    error = done.steps["answer"].error
    assert error is not None
    assert (error.code, "not one of ours" in error.message) == ("denied", True)
    assert (asked, "send" in world.made) == ([], False)  # a person does not overrule it


@pytest.mark.parametrize("given", ["ask", "fails"])
def test_what_a_policy_engine_leaves_open_is_asked_of_the_person(given: str) -> None:
    world, asked = World(), list[str]()

    def engine(flow: Flow, value: Json) -> str:
        del value
        if given == "fails" and flow.pointer.endswith("/to"):
            raise OSError("no gateway")
        return "ask" if flow.pointer.endswith("/to") else "allow"

    def decide(effects: tuple[Effect, ...]) -> bool:
        asked.extend(each.step for each in effects)
        return True

    done, events = judged(world, world.plan(*MAIL), engine, decide)
    assert (done.succeeded, asked) == (True, ["answer"])
    assert [each.by for each in events if isinstance(each, ConsentGiven)] == [""]
    alone, _ = judged(other := World(), other.plan(*MAIL), engine)
    assert (alone.status, other.made) == (RunState.WAITING, ["inbox", "look"])


def test_a_call_without_values_is_not_allowed_by_an_engine_that_was_asked_nothing() -> None:
    world = World()
    done, _ = judged(world, world.plan(step("s", "send")), lambda flow, value: "allow")
    assert (done.status, world.made) == (RunState.WAITING, [])


def test_one_refused_item_refuses_its_step_and_choices_are_asked_about() -> None:
    world, seen = World(), list[tuple[str, Json]]()
    each = step("each", "send", {"to": "${item.sender}"}, for_each="${mails}")
    only = step("only", "send", {"to": "x"}, when={"value": "${mails[0].n}", "is": {"minimum": 1}})

    def engine(flow: Flow, value: Json) -> str:
        seen.append((flow.kind, value))
        return "refuse" if value == "bob@ours.example" else "allow"

    done, _ = judged(world, world.plan(step("mails", "inbox"), each, only), engine)
    assert done.steps["each"].state is StepState.FAILED
    assert world.calls[1:] == [("send", {"to": "x"})]
    assert ("condition", True) in seen
    judged(other := World(), other.plan(step("mails", "inbox"), each), allow_all(seen))
    assert (seen[-1], other.made.count("send")) == (("count", 2), 2)


def allow_all(seen: list[tuple[str, Json]]) -> PolicyEngine:
    def engine(flow: Flow, value: Json) -> str:
        seen.append((flow.kind, value))
        return "allow"

    return engine


def test_an_engine_is_not_asked_again_about_what_it_left_to_a_person() -> None:
    world, times = World(), list[str]()
    other = step("other", "send", {"to": "${mails[1].sender}"})

    def engine(flow: Flow, value: Json) -> str:
        del value
        times.append(flow.step)
        if flow.step == "answer" and times.count("answer") == 1:
            raise OSError("not yet")
        return "allow"

    done, _ = judged(world, world.plan(*MAIL, other), engine, lambda effects: None)
    assert done.status is RunState.WAITING
    assert world.made.count("send") == 1  # only the other
    assert times.count("answer") == 1


@pytest.mark.parametrize("given", ["yes", True, None, ""])
def test_a_policy_engine_that_gives_no_judgement_stops_the_run(given: object) -> None:
    world = World()

    def engine(flow: Flow, value: Json) -> Any:
        del flow, value
        return given

    with pytest.raises(ToolplanError) as caught:
        judged(world, world.plan(*MAIL), engine)
    assert (caught.value.code, "send" in world.made) == ("bad-answer", False)


def test_a_policy_engine_that_changes_a_value_changes_no_call() -> None:
    world = World()
    plan = world.plan(step("mails", "inbox"), step("s", "send", {"to": ["${mails[0].sender}"]}))

    def engine(flow: Flow, value: Json) -> str:
        del flow
        assert isinstance(value, list)
        value[0] = "bob@ours.example"
        return "allow"

    done, _ = judged(world, plan, engine)
    assert done.succeeded
    assert world.calls[-1] == ("send", {"to": ["eve@evil.example"]})
