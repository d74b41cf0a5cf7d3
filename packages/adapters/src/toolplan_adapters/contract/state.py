"""STATE: its keys, the intent in it, and the results of a run.

The planner reads `intent`. It writes `plan.tasks` and `plan.routing`, and appends to
`trace.node_run_order` and `trace.state_deltas`; everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.events import Event, Run, StepRun, StepState, fold
from toolplan.plan.path import Json, copied, json_type
from toolplan_adapters.contract.contracts import ConversionError, Text, convert

NEEDS_CLARIFICATION: Final = "unknown_or_needs_clarification"
LEAST_CONFIDENCE: Final = 0.5
"""The least confidence of an intent that is planned."""

NODE: Final = "Planner"
WRITTEN: Final = ("plan.tasks", "plan.routing")
STARTED: Final = "started"
"""The status in the trace of a task that has started."""

TARGET_SCOPE: Final = "target scope"
"""The scope where the intent names none."""

STATUS: Final[Mapping[StepState, str]] = {
    StepState.PENDING: "pending",
    StepState.RUNNING: "in_progress",
    StepState.WAITING: "in_progress",
    StepState.IN_DOUBT: "in_progress",
    StepState.SUCCEEDED: "completed",
    StepState.FAILED: "failed",
    StepState.CANCELLED: "failed",
    # a task that never started has not failed
    StepState.SKIPPED: "skipped",
}

_MOST_CHARACTERS: Final = 80


class StateError(ToolplanError, ValueError):
    """A STATE is invalid; the message has the JSON pointer. Code: `bad-state`."""

    def __init__(self, message: str, *, code: str = "bad-state") -> None:
        super().__init__(code, message)


class UnknownIntentError(StateError):
    """No contract answers the class of the intent. Code: `unknown-intent`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="unknown-intent")


class ClarificationNeeded(ToolplanError, ValueError):
    """The intent is not clear; `question` is for the user. Code: `unclear-intent`."""

    def __init__(self, question: str) -> None:
        super().__init__("unclear-intent", question)
        self.question = question


class MetaIntent(StrEnum):
    """The relation of a question to the conversation; other spellings in use are read too."""

    NEW_REQUEST = "new_request"
    FOLLOW_UP = "follow_up"
    CLARIFICATION = "clarification"
    REFINEMENT = "refinement"
    POLICY_QUESTION = "policy_question"
    COMPARISON = "comparison"
    EXPLANATION = "explanation"

    @classmethod
    def _missing_(cls, value: object) -> MetaIntent | None:
        text = str(value).strip().casefold().replace("-", "_").replace(" ", "_")
        return next((each for each in cls if text in _SPELLINGS[each]), None)


_SPELLINGS: Final[Mapping[MetaIntent, tuple[str, ...]]] = {
    MetaIntent.NEW_REQUEST: (
        "", "new_request", "new", "initial", "new_query", "new_question", "assessment", "question",
    ),
    MetaIntent.FOLLOW_UP: ("follow_up", "followup", "continuation"),
    MetaIntent.CLARIFICATION: ("clarification", "clarify"),
    MetaIntent.REFINEMENT: ("refinement", "drill_down"),
    MetaIntent.POLICY_QUESTION: ("policy_question", "policy", "policy_clarification"),
    MetaIntent.COMPARISON: ("comparison", "trend"),
    MetaIntent.EXPLANATION: ("explanation", "explain"),
}  # fmt: skip


class Entity(Struct, frozen=True):
    """Something that the question names; `confidence` is from 0 to 1."""

    type: str = ""
    value: str | int | float = ""
    confidence: float = 1.0


class Scope(Struct, frozen=True):
    """The scope in the details of an intent."""

    site: str = ""
    environment: str = ""
    time_range: str = ""


class Details(Struct, frozen=True):
    """The details of an intent, as far as planning reads them."""

    assessment_goal: str = ""
    scope: Scope = Scope()


class Intent(Struct, frozen=True):
    """The intent of a question, as in a STATE."""

    intent_class: Text
    meta_intent: MetaIntent = MetaIntent.NEW_REQUEST
    domain_details: Details = Details()
    entities: tuple[Entity, ...] = ()
    confidence: float = 1.0
    clarification_question: str = ""

    def named(self, kind: str) -> list[str]:
        """Return the values of the entities of type `kind`, each once, in order."""
        return list(dict.fromkeys(f"{each.value}" for each in self.entities if each.type == kind))

    @property
    def sites(self) -> list[str]:
        """The sites of the entities, otherwise the site of the details."""
        return self.named("site") or list(filter(None, [self.domain_details.scope.site]))

    @property
    def scope(self) -> str:
        """The scope in descriptions of tasks: devices, otherwise sites."""
        devices = [*self.named("device"), *self.named("ip_address")]
        return listed(devices or self.sites or [TARGET_SCOPE])

    @property
    def place(self) -> str:
        """The scope, with the word *site* where it is one: `HQ site`."""
        if not self.sites or self.scope != listed(self.sites):
            return self.scope
        return f"{self.scope} {'site' if len(self.sites) == 1 else 'sites'}"

    def to_scope(self) -> dict[str, Json]:
        """Return the argument `scope` of agents, without empty fields."""
        details = self.domain_details
        scope: dict[str, Json] = {
            "sites": [*self.sites],
            "targets": [{"type": e.type, "value": f"{e.value}"} for e in self.entities],
            "time_range": (self.named("timeframe") or [details.scope.time_range])[0],
            "environment": (self.named("environment") or [details.scope.environment])[0],
            "goal": details.assessment_goal,
        }
        return {name: value for name, value in scope.items() if value}


def listed(names: list[str]) -> str:
    """Return names as one phrase, each of them cut.

    >>> listed(["HQ", "DataCenter-1", "Lab"])
    'HQ, DataCenter-1 and Lab'
    """
    *most, last = [" ".join(name.split())[:_MOST_CHARACTERS] for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def intent_of(fields: Json) -> Intent:
    """Return the intent in `fields`, the value of `STATE.intent`; a null counts as missing.

    Raises:
        StateError: it is invalid.
    """
    try:
        return convert(_without_nulls(fields), Intent)
    except ConversionError as error:
        raise StateError(f"/intent{error.pointer}: {error}") from None


def written(state: Mapping[str, Json], plan: Json, note: Json) -> dict[str, Json]:
    """Return a deep copy of `state` with `plan` in its plan, and `note` in its trace.

    Raises:
        StateError: one of the paths cannot be written.
    """
    copy = {key: copied(value) for key, value in state.items()}
    copy["plan"] = {**_object(copy.get("plan"), "/plan"), **_object(plan, "/plan")}
    copy["trace"] = _traced(copy.get("trace"), [NODE], [note])
    return copy


def state_of(state: Mapping[str, Json], run: Run | Iterable[Event]) -> dict[str, Json]:
    """Return a copy of `state` with the results of `run` in its tasks.

    A task gets the `status` and the `outputs` of the step with its id; other tasks stay as they
    are. The outputs of a failed task are `{"error": {"code", "message", "pointer"?}}`. The paths
    that were written, and failures, are appended to `trace.state_deltas`, started agents to
    `trace.node_run_order`, each once.

    Raises:
        StateError: `state` has no tasks.
    """
    done = run if isinstance(run, Run) else fold(run)
    copy = {key: copied(value) for key, value in state.items()}
    plan = copy.get("plan")
    tasks = plan.get("tasks") if isinstance(plan, dict) else None
    if not isinstance(tasks, list):
        raise StateError("/plan/tasks: The STATE has no tasks; plan them first.")
    started: list[tuple[float, dict[str, Json]]] = []
    ended: list[dict[str, Json]] = []
    for at, task in enumerate(tasks):
        name = task.get("id") if isinstance(task, dict) else None
        step = done.steps.get(name) if isinstance(name, str) else None
        if step is None or not isinstance(task, dict):
            continue
        status, outputs = _result(step)
        task |= {"status": status, "outputs": outputs}
        delta: dict[str, Json] = {"node": task.get("owner"), "task": name, "run": done.run}
        if step.started_at is not None:
            started.append((step.started_at, {**delta, "status": STARTED}))
        if status in ("completed", "failed", "skipped"):
            fields = ("status", *(f"outputs.{field}" for field in outputs))
            delta |= {"status": status, "wrote": [f"plan.tasks[{at}].{each}" for each in fields]}
            ended.append({**delta, **outputs} if step.error is not None else delta)
    started.sort(key=lambda each: each[0])
    noted = _list(_object(copy.get("trace"), "/trace"), "state_deltas")
    deltas = [each for each in (*(delta for _, delta in started), *ended) if each not in noted]
    nodes = [each["node"] for each in deltas if each["status"] == STARTED]
    copy["trace"] = _traced(copy.get("trace"), nodes, deltas)
    return copy


def _result(step: StepRun) -> tuple[str, dict[str, Json]]:
    """Return the status and the outputs of the task of a step."""
    if step.error is not None:
        error: dict[str, Json] = {"code": step.error.code, "message": step.error.message}
        if step.error.pointer:
            error["pointer"] = step.error.pointer
        # a step that succeeded with an error is an optional agent that failed
        is_done = step.state is StepState.SUCCEEDED
        return "failed" if is_done else STATUS[step.state], {"error": error}
    if step.state is not StepState.SUCCEEDED:
        return STATUS[step.state], {}
    output = copied(step.output)
    return STATUS[step.state], output if isinstance(output, dict) else {"result": output}


def _traced(trace: Json, nodes: Sequence[Json], deltas: Sequence[Json]) -> dict[str, Json]:
    """Return `trace` with `nodes` and `deltas` appended to its two lists."""
    fields = _object(trace, "/trace")
    return {
        **fields,
        "node_run_order": [*_list(fields, "node_run_order"), *nodes],
        "state_deltas": [*_list(fields, "state_deltas"), *deltas],
    }


def _object(value: Json, pointer: str) -> Mapping[str, Json]:
    if not isinstance(value, dict | None):
        raise StateError(f"{pointer}: It must be an object, not {json_type(value)}.")
    return value or {}


def _list(fields: Mapping[str, Json], name: str) -> list[Json]:
    value = fields.get(name)
    if not isinstance(value, list | None):
        raise StateError(f"/trace/{name}: It must be a list, not {json_type(value)}.")
    return value or []


def _without_nulls(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value
