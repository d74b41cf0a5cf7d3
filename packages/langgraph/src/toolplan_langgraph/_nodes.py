"""The nodes of the strategy: each takes the state and returns its changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.graph import END
from langgraph.types import Command, interrupt
from msgspec import Struct
from msgspec.structs import replace

from toolplan.compiler import compile_plan
from toolplan.engine import CannotRun, resume, run
from toolplan.plan.model import Limits
from toolplan.plan.path import Json
from toolplan.providers import Message, Model, ModelError, ModelRequest, complete
from toolplan.schema.tool import Toolbox
from toolplan.storage.journal import Store
from toolplan_langgraph import _replies as replies
from toolplan_langgraph._messages import failed, not_called, result, transcript
from toolplan_langgraph._runs import is_known, reporter, run_name
from toolplan_langgraph.approval import Refused, ask_approval
from toolplan_langgraph.configuration import Caps, Configuration, ConfigurationError, experts_text
from toolplan_langgraph.experts import Experts, ExpertUnavailable
from toolplan_langgraph.models import OpenModels, RoleModels
from toolplan_langgraph.state import FRESH, PlannerResult, Progress, State, Stop, Task, current_task

Goto: TypeAlias = Command[str]

_NO_PLAN: Final = "None of the experts can do this."


NODES: Final = {
    "planner": ("give_up", "human_input", "orchestrate", END),
    "orchestrate": (
        "give_up", "call_tool", "human_input", "planner", "assess_task_completion"
    ),
    "human_input": ("planner", "orchestrate"),
    "call_tool": ("assess_task_completion",),
    "assess_task_completion": ("give_up", "advance_to_next_task", "orchestrate"),
    "advance_to_next_task": ("orchestrate", "generate_response"),
    "generate_response": ("give_up", END),
    "give_up": (END,),
}  # fmt: skip
"""The nodes, methods of `Nodes`, and the nodes that may follow each."""


class Nodes(Struct, frozen=True):
    """The nodes. One that reaches a limit raises `Stop`.

    `journal` keeps the runs, so that no call with effects is repeated after a crash; None keeps
    them in memory. `new_id` names messages, `clock` returns the time in UTC.
    """

    configuration: Configuration
    experts: Experts
    models: RoleModels
    journal: Store | None
    limits: Limits
    timeout_s: float
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def configured(self, configurable: Mapping[str, Any], opened: OpenModels) -> Nodes:
        """Return the nodes with the prompts and models of one call."""
        models, prompts = self.models._asdict(), dict[str, Json]()
        for name, value in configurable.items():
            role = name.removesuffix("_model")
            if name in ("mcp_server_config", "confidence", "caps"):
                raise ConfigurationError(f"{name} is given to build_graph, not to a call.")
            if role != name and role in models:
                models[role] = value
            elif name.endswith(("_model", "_prompt")):
                prompts[name] = value
        configuration = self.configuration.with_fields(prompts)
        try:
            roles = RoleModels(**{role: opened(model) for role, model in models.items()})
        except ModelError as error:
            raise ConfigurationError(error.with_help) from None
        return replace(self, configuration=configuration, models=roles)

    @property
    def _caps(self) -> Caps:
        return self.configuration.caps

    async def planner(self, state: State) -> Goto:
        """Ask for a plan, or for the next task of the current plan."""
        current, progress = state.get("planner_result"), _progress(state)
        people = (each for each in reversed(state["messages"]) if isinstance(each, HumanMessage))
        turn = next((str(each.id) for each in people), "")
        if turn != progress["turn"]:  # a new message of the user resets the counters
            progress = Progress({**FRESH, "turn": turn, "began": progress["began"]})
        names = self.experts.names
        described = dict(self.configuration.get_mcp_server_descriptions())
        experts = experts_text([(name, described.get(name, "")) for name in names])
        now = f"The current plan: {_json(cast('Json', current))}"
        if progress["trouble"]:
            now += f"\nIt does not work: {progress['trouble']}\nReplace it, or say why nothing can."
        reply = await self._reply(
            "planner",
            progress,
            replies.PLANNER_FORM,
            self._recent(state["messages"]),
            now,
            f"Experts:\n{experts}",
            problems=lambda reply: replies.plan_problems(reply, current, names),
        )
        result = replies.planned(reply, current)
        messages: list[AnyMessage] = []
        goto = "orchestrate"
        if result["clarification"] is not None:
            messages.append(self._message(result["clarification"]))
            goto = "human_input"
        elif not result["plan"]:
            messages.append(self._message(str(reply["explanation"] or _NO_PLAN)))
            goto = END
        elif result["decision"] == "replace":
            progress = _next_task(progress, len(state["messages"]))
        return _go(
            goto,
            messages=messages,
            planner_result=result,
            task_completed=False,
            stopped=None,
            progress={**_asked(progress), "trouble": ""},
        )

    async def orchestrate(self, state: State) -> Goto:
        """Ask the current expert for its next step, with that expert's tools only."""
        progress, task = _progress(state), current_task(state)
        try:
            tools = await self.experts.tools(task["expert"])
        except ExpertUnavailable as error:
            return self._cannot(state, f"The expert {task['expert']!r} is not available: {error}")
        listed = "\n".join(
            _json({"name": t.name, "description": t.description, "args": t.raw_input})
            for t in tools.values()
        )
        now = f"You are the expert {task['expert']!r}. Your task: {task['task']}"
        if progress["assessment"]:
            now += f"\nThe last attempt did not complete it: {progress['assessment']}"
        reply = await self._reply(
            "orchestrate",
            progress,
            replies.STEP_FORM,
            self._recent(state["messages"]),
            now,
            f"Your tools:\n{listed}",
            f"The whole plan: {_json(cast('Json', state.get('planner_result')))}",
            problems=self._step_problems,
        )
        chosen, text = str(reply["kind"]), str(reply["text"])
        if chosen == "idk":
            return self._cannot(state, text)
        message = self._message(text)
        if chosen == "tool_calls":
            message.tool_calls = _tool_calls(reply, str(message.id))
        goto = {"tool_calls": "call_tool", "ask_human": "human_input"}
        return _go(
            goto.get(chosen, "assess_task_completion"),
            messages=[message],
            progress=_asked(progress),
        )

    async def human_input(self, state: State) -> Goto:
        """Ask the user the last question, and add the answer as a message."""
        result = state.get("planner_result")
        clarifies = result is None or result["clarification"] is not None
        shown: dict[str, Json] = {
            "kind": "clarification" if clarifies else "question",
            "question": str(state["messages"][-1].text),
            "task": None if clarifies else cast("Json", current_task(state)),
        }
        answer = ""
        while not answer:
            match cast("object", interrupt(shown)):
                case str(text) | {"answer": str(text)}:
                    answer = text.strip()
                case _:
                    pass
        message = HumanMessage(answer, id=self.new_id())
        return _go(
            "planner" if clarifies else "orchestrate",
            messages=[message],
            progress={**_progress(state), "turn": str(message.id), "rounds": 0},
        )

    async def call_tool(self, state: State) -> Goto:
        """Run all calls of the last message as one plan, and add a result for each."""
        message, task = state["messages"][-1], current_task(state)
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        try:
            tools = await self.experts.tools(task["expert"])
            answers = await self._results(calls, tools, task, str(message.id))
        except (ExpertUnavailable, CannotRun) as error:
            answers = [failed(call, str(error)) for call in calls]
        return _go("assess_task_completion", messages=answers)

    async def assess_task_completion(self, state: State) -> Goto:
        """Ask whether the current task is done, with the messages since it began."""
        progress, task = _progress(state), current_task(state)
        reply = await self._reply(
            "task_assessment",
            progress,
            replies.ASSESSMENT_FORM,
            transcript(state["messages"][progress["began"] :], self._caps.result_chars),
            f"The task: {task['task']}\nIs it done?",
        )
        sure = cast("float", reply["confidence"]) >= self.configuration.confidence
        missing = str(reply["explanation"])
        if reply["is_completed"] is True and sure:
            progress = Progress({**_asked(progress), "assessment": ""})
            return _go("advance_to_next_task", task_completed=True, progress=progress)
        progress = _asked(progress)
        progress["assessment"] = missing
        progress["attempts"] += 1
        update = {"task_completed": False, "progress": progress}
        if progress["attempts"] >= self._caps.attempts:
            why = f"The task {task['task']!r} was not done in {progress['attempts']} attempts."
            raise Stop("attempts", f"{why} {missing}".strip(), update)
        return _go("orchestrate", **update)

    async def advance_to_next_task(self, state: State) -> Goto:
        result = cast("PlannerResult", state.get("planner_result"))  # a task of it is done
        following = result["next_task"] + 1
        return _go(
            "orchestrate" if following < len(result["plan"]) else "generate_response",
            planner_result={**result, "next_task": following},
            task_completed=False,
            progress=_next_task(_progress(state), len(state["messages"])),
        )

    async def generate_response(self, state: State) -> Goto:
        """Write the answer from the whole conversation, and remove the plan."""
        request = [
            self._system(self.configuration.generate_response_system_prompt),
            *transcript(state["messages"], self._caps.result_chars),
            Message("user", "Write the answer for the user."),
        ]
        model = cast("Model", self.models.generate_response)
        reply = await complete(model, ModelRequest(tuple(request)))
        return _go(
            END,
            messages=[self._message(reply.text)],
            planner_result=None,
            stopped=None,
            progress={**FRESH, "turn": _progress(state)["turn"]},
        )

    async def give_up(self, state: State) -> Goto:
        """Report the limit that was reached, and the tasks that are done; the plan is kept."""
        stopped, result = state.get("stopped"), state.get("planner_result")
        lines = ["I have stopped." if stopped is None else f"I have stopped. {stopped['message']}"]
        done = [] if result is None else result["plan"][: result["next_task"]]
        lines += [f"Done: {task['task']} ({task['expert']})" for task in done]
        return _go(END, messages=[self._message("\n".join(lines))])

    async def _results(
        self, calls: list[ToolCall], tools: Toolbox, task: Task, message_id: str
    ) -> list[ToolMessage]:
        steps: list[Json] = [
            {"id": f"c{at}", "tool": call["name"], "args": call["args"]}
            for at, call in enumerate(calls, 1)
        ]
        document = _json({"toolplan": 1, "steps": steps})
        compiled = compile_plan(document, tools=tools, limits=self.limits)
        if compiled.plan is None:
            return not_called(calls, compiled)
        # no call has been made yet: after the interrupt the node starts again from its beginning
        about: dict[str, Json] = {"expert": task["expert"], "task": task["task"]}
        approval = ask_approval(compiled.plan, tools, about)
        if isinstance(approval, Refused):
            why = f"The user refused it; no call was made. {approval.reason}".strip()
            return [failed(call, why) for call in calls]
        name = run_name(message_id)
        journal = self.journal
        start = partial(run, compiled.plan, tools, journal=journal, run_id=name)
        if journal is not None and await is_known(journal, name):  # a process died in this node
            start = partial(resume, compiled.plan, tools, name, journal=journal)
        report, timeout_s = reporter(name), self.timeout_s
        ended = await start(
            approval=approval, limits=self.limits, on_event=report, timeout_s=timeout_s
        )
        return [result(call, ended.steps[f"c{at}"], ended.run) for at, call in enumerate(calls, 1)]

    def _cannot(self, state: State, why: str) -> Goto:
        """Return to the planner, as often as the limit allows."""
        progress = _asked(_progress(state))
        progress["trouble"] = why or "It does not say why."
        progress["replans"] += 1
        update = {"messages": [self._message(why)], "progress": progress}
        if progress["replans"] > self._caps.replans:
            task = current_task(state)
            message = f"The expert {task['expert']!r} cannot do the task {task['task']!r}: {why}"
            raise Stop("replans", message, update)
        return _go("planner", **update)

    def _step_problems(self, reply: dict[str, Json]) -> list[str]:
        count = len(cast("list[Json]", reply["tool_calls"]))  # the reply fits its schema
        is_calling = reply["kind"] == "tool_calls"
        if is_calling and not 1 <= count <= self._caps.calls:
            return [f"/tool_calls: There must be from 1 to {self._caps.calls}, not {count}."]
        if not is_calling and count:
            return [f"/tool_calls: There must be none if kind is {reply['kind']!r}."]
        if not is_calling and not str(reply["text"]).strip():
            return ["/text: It is empty."]
        return []

    async def _reply(
        self,
        role: str,
        progress: Progress,
        form: replies.Form,
        history: Sequence[Message],
        now: str,
        *more: str,
        problems: Callable[[dict[str, Json]], Sequence[str]] = lambda _: (),
    ) -> dict[str, Json]:
        """Ask a role for a reply: by its prompt with `more`, the messages so far, and `now`."""
        if progress["rounds"] >= self._caps.rounds:
            message = f"Models were asked {progress['rounds']} times without coming to an end."
            raise Stop("rounds", f"{message} Say how to continue.")
        prompt = getattr(self.configuration, f"{role}_system_prompt")
        messages = [self._system(prompt, *more), *history, Message("user", now)]
        model = cast("Model", getattr(self.models, role))  # `configured` has opened it
        return await replies.structured_reply(model, messages, form, problems, self._caps.replies)

    def _system(self, prompt: str, *more: str) -> Message:
        now = self.clock().isoformat(timespec="seconds")
        return Message("system", "\n\n".join([prompt, *more, f"The time is {now}."]))

    def _recent(self, messages: list[AnyMessage]) -> list[Message]:
        return transcript(messages[-self._caps.messages :], self._caps.result_chars)

    def _message(self, text: str) -> AIMessage:
        return AIMessage(text, id=self.new_id())


def _go(goto: str, **update: object) -> Goto:
    return Command(goto=goto, update=update)


def _progress(state: State) -> Progress:
    return state.get("progress", FRESH)


def _asked(progress: Progress) -> Progress:
    """Return the progress after one more request to a model."""
    return {**progress, "rounds": progress["rounds"] + 1}


def _next_task(progress: Progress, began: int) -> Progress:
    return {**progress, "began": began, "attempts": 0, "assessment": ""}


def _tool_calls(reply: dict[str, Json], message_id: str) -> list[ToolCall]:
    listed = cast("list[dict[str, Json]]", reply["tool_calls"])  # the reply fits its schema
    return [
        ToolCall(
            name=str(call["name"]),
            args=cast("dict[str, Json]", call["args"]),
            id=f"{message_id}_{at}",
            type="tool_call",
        )
        for at, call in enumerate(listed, 1)
    ]


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
