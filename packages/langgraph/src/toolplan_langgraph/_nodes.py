"""The nodes of the strategy: each takes the state and returns its changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.types import interrupt
from msgspec import Struct
from msgspec.structs import replace

from toolplan.engines import CannotRun
from toolplan.path import Json
from toolplan.providers import Message, Model, ModelError, ModelRequest, complete
from toolplan.tools import Toolbox
from toolplan_langgraph._messages import compiled_calls, failed, not_called, results, transcript
from toolplan_langgraph._planning import plan_problems, planned, question_of
from toolplan_langgraph._replies import (
    ASSESSMENT_FORM,
    PLANNER_FORM,
    STEP_FORM,
    Form,
    structured_reply,
)
from toolplan_langgraph._runs import Running, run_name, run_once
from toolplan_langgraph.approval import Refused, ask_approval
from toolplan_langgraph.configuration import (
    Configuration,
    ConfigurationError,
    experts_text,
)
from toolplan_langgraph.experts import Experts, ExpertUnavailable
from toolplan_langgraph.models import OpenModels, RoleModels
from toolplan_langgraph.state import (
    FRESH,
    Choice,
    Progress,
    State,
    Stopped,
    StopReason,
    Task,
    current_task,
    progress_of,
)

Update: TypeAlias = dict[str, object]

_NO_PLAN: Final = "None of the experts can do this."


class Setup(Struct, frozen=True):
    """The parts that the nodes use; `new_id` names messages, `clock` returns the time in UTC."""

    configuration: Configuration
    experts: Experts
    models: RoleModels
    running: Running
    clock: Callable[[], datetime]
    new_id: Callable[[], str]


def configured(setup: Setup, configurable: Mapping[str, Any], opened: OpenModels) -> Setup:
    """Return `setup` with the prompts and models of one call.

    Raises:
        ConfigurationError: a field does not exist, is not text, or cannot change after the graph
            was built, or the name of a model is not valid.
    """
    fixed = ("mcp_server_config", "confidence", "caps")
    models, prompts = setup.models._asdict(), dict[str, Json]()
    for name, value in configurable.items():
        role = name.removesuffix("_model")
        if name in fixed:
            raise ConfigurationError(f"{name} is given to build_graph, not to a call.")
        if role != name and role in models:
            models[role] = value
        elif name.endswith(("_model", "_prompt")):
            prompts[name] = value
    configuration = setup.configuration.with_fields(prompts)
    try:
        roles = RoleModels(**{role: opened(model) for role, model in models.items()})
    except ModelError as error:
        raise ConfigurationError(error.with_help) from None
    return replace(setup, configuration=configuration, models=roles)


class Nodes:
    """The nodes."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._configuration = setup.configuration
        self._caps = setup.configuration.caps

    async def planner(self, state: State) -> Update:
        """Ask for a plan, or for the next task of the current plan."""
        current = state.get("planner_result")
        progress = self._turned(state)
        if (over := self._over(progress)) is not None:
            return {"stopped": over}
        names = self._setup.experts.names
        described = dict(self._configuration.get_mcp_server_descriptions())
        system = self._system(
            self._configuration.planner_system_prompt,
            f"Experts:\n{experts_text([(name, described.get(name, '')) for name in names])}",
        )
        now = f"The current plan: {_json(cast('Json', current))}"
        if progress["trouble"]:
            now += f"\nIt does not work: {progress['trouble']}\nReplace it, or say why nothing can."
        reply = await self._reply(
            self._model("planner"),
            [system, *self._recent(state["messages"]), Message("user", now)],
            PLANNER_FORM,
            lambda reply: plan_problems(reply, current, names),
        )
        result = planned(reply, current)
        messages: list[AnyMessage] = []
        if (question := question_of(reply)) is not None:
            messages.append(self._message(question))
        elif not result["plan"]:
            messages.append(self._message(str(reply["explanation"] or _NO_PLAN)))
        elif result["decision"] == "replace":
            progress = _next_task(progress, len(state["messages"]))
        return {
            "messages": messages,
            "planner_result": result,
            "task_completed": False,
            "stopped": None,
            "progress": _after_request(progress, trouble=""),
        }

    async def orchestrate(self, state: State) -> Update:
        """Ask the current expert for its next step, with that expert's tools only."""
        progress, task = progress_of(state), _task(state)
        if (over := self._over(progress)) is not None:
            return {"stopped": over}
        try:
            tools = await self._setup.experts.tools(task["expert"])
        except ExpertUnavailable as error:
            return self._cannot(state, f"The expert {task['expert']!r} is not available: {error}")
        system = self._system(
            self._configuration.orchestrate_system_prompt,
            f"Your tools:\n{_tools_text(tools)}",
            f"The whole plan: {_json(cast('Json', state.get('planner_result')))}",
        )
        now = f"You are the expert {task['expert']!r}. Your task: {task['task']}"
        if progress["assessment"]:
            now += f"\nThe last attempt did not complete it: {progress['assessment']}"
        reply = await self._reply(
            self._model("orchestrate"),
            [system, *self._recent(state["messages"]), Message("user", now)],
            STEP_FORM,
            self._step_problems,
        )
        chosen, text = cast("Choice", reply["kind"]), str(reply["text"])
        if chosen == "idk":
            return self._cannot(state, text)
        message = self._message(text)
        if chosen == "tool_calls":
            message.tool_calls = _tool_calls(reply, str(message.id))
        return {"messages": [message], "progress": _after_request(progress, chosen=chosen)}

    async def human_input(self, state: State) -> Update:
        """Ask the user the last question, and add the answer as a message."""
        result = state.get("planner_result")
        clarifies = result is not None and result["clarification"] is not None
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
        message = HumanMessage(answer, id=self._setup.new_id())
        progress: Progress = {**progress_of(state), "turn": str(message.id), "rounds": 0}
        return {"messages": [message], "progress": progress}

    async def call_tool(self, state: State) -> Update:
        """Run all calls of the last message as one plan, and add a result for each."""
        message, task = state["messages"][-1], _task(state)
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        try:
            tools = await self._setup.experts.tools(task["expert"])
        except ExpertUnavailable as error:
            return {"messages": [failed(call, str(error)) for call in calls]}
        return {"messages": await self._results(calls, tools, task, str(message.id))}

    async def assess(self, state: State) -> Update:
        """Ask whether the current task is done, with the messages since it began."""
        progress, task = progress_of(state), _task(state)
        if (over := self._over(progress)) is not None:
            return {"stopped": over}
        reply = await self._reply(
            self._model("task_assessment"),
            [
                self._system(self._configuration.task_assessment_system_prompt),
                *transcript(state["messages"][progress["began"] :], self._caps.result_chars),
                Message("user", f"The task: {task['task']}\nIs it done?"),
            ],
            ASSESSMENT_FORM,
            lambda _: (),
        )
        sure = cast("float", reply["confidence"]) >= self._configuration.confidence
        completed = reply["is_completed"] is True and sure
        missing = str(reply["explanation"])
        progress = _after_request(progress, assessment="" if completed else missing)
        update: Update = {"task_completed": completed, "progress": progress}
        if not completed:
            progress["attempts"] += 1
            if progress["attempts"] >= self._caps.attempts:
                why = f"The task {task['task']!r} was not done in {progress['attempts']} attempts."
                update["stopped"] = _stopped("attempts", f"{why} {missing}".strip())
        return update

    async def advance(self, state: State) -> Update:
        """Select the next task."""
        result = state.get("planner_result")
        if result is None:
            raise AssertionError("There is a plan when a task of it is done.")
        return {
            "planner_result": {**result, "next_task": result["next_task"] + 1},
            "task_completed": False,
            "progress": _next_task(progress_of(state), len(state["messages"])),
        }

    async def respond(self, state: State) -> Update:
        """Write the answer from the whole conversation, and remove the plan."""
        request = [
            self._system(self._configuration.generate_response_system_prompt),
            *transcript(state["messages"], self._caps.result_chars),
            Message("user", "Write the answer for the user."),
        ]
        reply = await complete(self._model("generate_response"), ModelRequest(tuple(request)))
        return {
            "messages": [self._message(reply.text)],
            "planner_result": None,
            "stopped": None,
            "progress": {**FRESH, "turn": progress_of(state)["turn"]},
        }

    async def give_up(self, state: State) -> Update:
        """Report which limit was reached, and the tasks that are done; the plan is kept."""
        stopped, result = state.get("stopped"), state.get("planner_result")
        lines = ["I have stopped." if stopped is None else f"I have stopped. {stopped['message']}"]
        done = [] if result is None else result["plan"][: result["next_task"]]
        lines += [f"Done: {task['task']} ({task['expert']})" for task in done]
        return {"messages": [self._message("\n".join(lines))]}

    async def _results(
        self, calls: list[ToolCall], tools: Toolbox, task: Task, message_id: str
    ) -> list[ToolMessage]:
        running = self._setup.running
        compiled = compiled_calls(calls, tools, running.limits)
        if compiled.plan is None:
            return not_called(calls, compiled)
        # no call has been made yet: after the interrupt the node starts again from its beginning
        about: dict[str, Json] = {"expert": task["expert"], "task": task["task"]}
        approval = ask_approval(compiled.plan, tools, about)
        if isinstance(approval, Refused):
            why = f"The user refused it; no call was made. {approval.reason}".strip()
            return [failed(call, why) for call in calls]
        try:
            ended = await run_once(compiled.plan, tools, approval, run_name(message_id), running)
        except CannotRun as error:
            return [failed(call, str(error)) for call in calls]
        return results(calls, ended)

    def _cannot(self, state: State, why: str) -> Update:
        """Return to the planner, as often as the limit allows."""
        progress = _after_request(
            progress_of(state), chosen="idk", trouble=why or "It does not say why."
        )
        progress["replans"] += 1
        update: Update = {"messages": [self._message(why)], "progress": progress}
        if progress["replans"] > self._caps.replans:
            task = _task(state)
            message = f"The expert {task['expert']!r} cannot do the task {task['task']!r}: {why}"
            update["stopped"] = _stopped("replans", message)
        return update

    def _turned(self, state: State) -> Progress:
        """Return the progress, with its counters reset if there is a new message of the user."""
        progress = progress_of(state)
        people = (each for each in reversed(state["messages"]) if isinstance(each, HumanMessage))
        turn = next((str(each.id) for each in people), "")
        if turn == progress["turn"]:
            return progress
        return {**FRESH, "turn": turn, "began": progress["began"], "chosen": progress["chosen"]}

    def _over(self, progress: Progress) -> Stopped | None:
        if progress["rounds"] < self._caps.rounds:
            return None
        message = f"Models were asked {progress['rounds']} times without coming to an end."
        return _stopped("rounds", f"{message} Say how to continue.")

    def _step_problems(self, reply: dict[str, Json]) -> list[str]:
        calls = reply["tool_calls"]
        count = len(calls) if isinstance(calls, list) else 0
        is_calling = reply["kind"] == "tool_calls"
        if is_calling and not 1 <= count <= self._caps.calls:
            return [f"/tool_calls: There must be from 1 to {self._caps.calls}, not {count}."]
        if not is_calling and count:
            return [f"/tool_calls: There must be none if kind is {reply['kind']!r}."]
        if not is_calling and not str(reply["text"]).strip():
            return ["/text: It is empty."]
        return []

    def _model(self, role: str) -> Model:
        return cast("Model", getattr(self._setup.models, role))  # `configured` has opened it

    async def _reply(
        self,
        model: Model,
        messages: Sequence[Message],
        form: Form,
        problems: Callable[[dict[str, Json]], Sequence[str]],
    ) -> dict[str, Json]:
        return await structured_reply(model, messages, form, problems, self._caps.replies)

    def _system(self, prompt: str, *more: str) -> Message:
        now = self._setup.clock().isoformat(timespec="seconds")
        return Message("system", "\n\n".join([prompt, *more, f"The time is {now}."]))

    def _recent(self, messages: list[AnyMessage]) -> list[Message]:
        return transcript(messages[-self._caps.messages :], self._caps.result_chars)

    def _message(self, text: str) -> AIMessage:
        return AIMessage(text, id=self._setup.new_id())


def _task(state: State) -> Task:
    task = current_task(state)
    if task is None:
        raise AssertionError("This node runs only if there is a task.")
    return task


def _after_request(
    progress: Progress,
    *,
    chosen: Choice | None = None,
    assessment: str | None = None,
    trouble: str | None = None,
) -> Progress:
    """Return the progress after one more request to a model."""
    return {
        **progress,
        "rounds": progress["rounds"] + 1,
        "chosen": progress["chosen"] if chosen is None else chosen,
        "assessment": progress["assessment"] if assessment is None else assessment,
        "trouble": progress["trouble"] if trouble is None else trouble,
    }


def _next_task(progress: Progress, began: int) -> Progress:
    """Return the progress at the beginning of a task."""
    return {**progress, "began": began, "attempts": 0, "assessment": ""}


def _stopped(reason: StopReason, message: str) -> Stopped:
    return Stopped(reason=reason, message=message)


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


def _tools_text(tools: Toolbox) -> str:
    return "\n".join(
        _json({"name": t.name, "description": t.description, "args": t.raw_input})
        for t in tools.values()
    )


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
