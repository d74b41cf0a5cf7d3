"""STATE: its keys, and the intent in it.

The planner reads `intent`. It writes `plan.tasks` and `plan.routing`, and appends to
`trace.node_run_order` and `trace.state_deltas`; everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.errors import ToolplanError
from toolplan.events import Event, Failure, Run, StepRun, StepState, fold
from toolplan.path import Json, copied, json_type

SCOPE: Final = "scope"
PLACE: Final = "place"
TARGET_SCOPE: Final = "target scope"
"""The scope where the intent names none."""

_PLACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_CHARACTERS: Final = 80


def unknown_places(text: str) -> list[str]:
    """Return the unknown placeholders in `text`."""
    return [name for name in _PLACES.findall(text) if name not in (SCOPE, PLACE)]


def described(text: str, scope: str, place: str) -> str:
    """Return `text` with `scope` for `{scope}` and `place` for `{place}`.

    Placeholders in the inserted names are not replaced.

    >>> described("Fetch configurations for {place}", "HQ", "HQ site")
    'Fetch configurations for HQ site'
    """
    named = {SCOPE: scope, PLACE: place}
    return _PLACES.sub(lambda found: named.get(found[1], found[0]), text)


def listed(names: list[str]) -> str:
    """Return names as one phrase, each of them cut.

    >>> listed(["HQ", "DataCenter-1", "Lab"])
    'HQ, DataCenter-1 and Lab'
    """
    short = [" ".join(name.split())[:_MOST_CHARACTERS] for name in names]
    return " and ".join(part for part in (", ".join(short[:-1]), short[-1]) if part)


STATE_KEYS: Final = (
    "input", "intent", "plan", "routing", "schema", "ontology", "trace", "conversation",
)  # fmt: skip
"""The keys of a STATE."""

NEEDS_CLARIFICATION: Final = "unknown_or_needs_clarification"
LEAST_CONFIDENCE: Final = 0.5
"""The least confidence of an intent that is planned."""

NODE: Final = "Planner"
WRITTEN: Final = ("plan.tasks", "plan.routing")


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
    """The relation of a question to the conversation."""

    NEW_REQUEST = "new_request"
    FOLLOW_UP = "follow_up"
    CLARIFICATION = "clarification"
    REFINEMENT = "refinement"
    POLICY_QUESTION = "policy_question"
    COMPARISON = "comparison"
    EXPLANATION = "explanation"


_META_INTENTS: Final[Mapping[str, MetaIntent]] = {
    **{each.value: each for each in MetaIntent},
    # other spellings in use
    "new": MetaIntent.NEW_REQUEST,
    "initial": MetaIntent.NEW_REQUEST,
    "new_query": MetaIntent.NEW_REQUEST,
    "new_question": MetaIntent.NEW_REQUEST,
    "assessment": MetaIntent.NEW_REQUEST,
    "question": MetaIntent.NEW_REQUEST,
    "followup": MetaIntent.FOLLOW_UP,
    "continuation": MetaIntent.FOLLOW_UP,
    "clarify": MetaIntent.CLARIFICATION,
    "drill_down": MetaIntent.REFINEMENT,
    "policy": MetaIntent.POLICY_QUESTION,
    "policy_clarification": MetaIntent.POLICY_QUESTION,
    "trend": MetaIntent.COMPARISON,
    "explain": MetaIntent.EXPLANATION,
}


class Entity(Struct, frozen=True):
    """Something that the question names; `confidence` is from 0 to 1."""

    type: str
    value: str
    confidence: float = 1.0

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {"type": self.type, "value": self.value, "confidence": self.confidence}


class Intent(Struct, frozen=True):
    """The intent of a question, as far as planning reads it."""

    intent_class: str
    meta_intent: MetaIntent = MetaIntent.NEW_REQUEST
    goal: str = ""
    site: str = ""
    environment: str = ""
    time_range: str = ""
    entities: tuple[Entity, ...] = ()
    confidence: float = 1.0
    clarification_question: str = ""

    def named(self, kind: str) -> list[str]:
        """Return the values of the entities of type `kind`, each once, in order."""
        return list(dict.fromkeys(each.value for each in self.entities if each.type == kind))

    @property
    def sites(self) -> list[str]:
        """The sites of the entities, otherwise the site of the details."""
        return self.named("site") or ([self.site] if self.site else [])

    @property
    def scope(self) -> str:
        """The scope in descriptions of tasks: devices, otherwise sites."""
        devices = [*self.named("device"), *self.named("ip_address")]
        return listed(devices or self.sites or [TARGET_SCOPE])

    @property
    def place(self) -> str:
        """The scope, with the word *site* where it is one: `HQ site`."""
        is_site = self.sites and self.scope == listed(self.sites)
        return (
            f"{self.scope} {'site' if len(self.sites) == 1 else 'sites'}" if is_site else self.scope
        )

    def to_scope(self) -> dict[str, Json]:
        """Return the argument `scope` of agents, without empty fields."""
        ranges = self.named("timeframe") or [self.time_range]
        where = self.named("environment") or [self.environment]
        sites: list[Json] = [*self.sites]
        targets: list[Json] = [{"type": each.type, "value": each.value} for each in self.entities]
        scope: dict[str, Json] = {
            "sites": sites,
            "targets": targets,
            "time_range": ranges[0],
            "environment": where[0],
            "goal": self.goal,
        }
        return {name: value for name, value in scope.items() if value}


def read_intent(state: Mapping[str, Json]) -> Intent:
    """Return the intent of a STATE.

    Raises:
        StateError: it is missing or invalid.
    """
    return intent_of(_object(state.get("intent"), "/intent", required=True))


def intent_of(fields: Mapping[str, Json]) -> Intent:
    """Return the intent in `fields`.

    Raises:
        StateError: it is invalid.
    """
    details = _object(fields.get("domain_details"), "/intent/domain_details")
    scope = _object(details.get("scope"), "/intent/domain_details/scope")
    named = fields.get("entities")
    if named is not None and not isinstance(named, list):
        raise _wrong("/intent/entities", named, "a list")
    name = _text(fields, "intent_class", "/intent")
    if not name:
        raise StateError("/intent/intent_class: The class of the intent is missing.")
    return Intent(
        intent_class=name,
        meta_intent=_meta_intent(_text(fields, "meta_intent", "/intent")),
        goal=_text(details, "assessment_goal", "/intent/domain_details"),
        site=_text(scope, "site", "/intent/domain_details/scope"),
        environment=_text(scope, "environment", "/intent/domain_details/scope"),
        time_range=_text(scope, "time_range", "/intent/domain_details/scope"),
        entities=tuple(
            _entity(each, f"/intent/entities/{at}") for at, each in enumerate(named or [])
        ),
        confidence=_confidence(fields, "/intent"),
        clarification_question=_text(fields, "clarification_question", "/intent"),
    )


def gate(intent: Intent) -> None:
    """Check that an intent is clear.

    Raises:
        ClarificationNeeded: it is not; with the question of the intent, or a general one.
    """
    if intent.intent_class == NEEDS_CLARIFICATION or intent.confidence < LEAST_CONFIDENCE:
        asked = intent.clarification_question
        raise ClarificationNeeded(asked or "What should be assessed, and for what purpose?")


def written(
    state: Mapping[str, Json], tasks: Sequence[Json], routing: Sequence[Json], note: Json
) -> dict[str, Json]:
    """Return a deep copy of `state` with the four paths written.

    Raises:
        StateError: one of the paths cannot be written.
    """
    copy = {key: copied(value) for key, value in state.items()}
    plan = _object(copy.get("plan"), "/plan")
    copy["plan"] = {**plan, "tasks": list(tasks), "routing": list(routing)}
    copy["trace"] = traced(copy.get("trace"), [NODE], [note])
    return copy


def traced(trace: Json, nodes: Sequence[Json], deltas: Sequence[Json]) -> dict[str, Json]:
    """Return `trace` with `nodes` and `deltas` appended to its two lists.

    Raises:
        StateError: `trace` is not an object, or one of the two is not a list.
    """
    fields = _object(trace, "/trace")
    return {
        **fields,
        "node_run_order": [*_list(fields, "node_run_order"), *nodes],
        "state_deltas": [*_list(fields, "state_deltas"), *deltas],
    }


def _list(fields: Mapping[str, Json], name: str) -> list[Json]:
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(f"/trace/{name}", value, "a list")
    return value


def _entity(value: Json, pointer: str) -> Entity:
    fields = _object(value, pointer, required=True)
    found = fields.get("value")
    said = found if isinstance(found, str) else "" if found is None else f"{found}"
    return Entity(_text(fields, "type", pointer), said, _confidence(fields, pointer))


def _confidence(fields: Mapping[str, Json], pointer: str) -> float:
    value = fields.get("confidence")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(f"{pointer}/confidence", value, "a number")
    return float(value)


def _meta_intent(text: str) -> MetaIntent:
    if not text:
        return MetaIntent.NEW_REQUEST
    found = _META_INTENTS.get(text.strip().casefold().replace("-", "_").replace(" ", "_"))
    if found is None:
        known = ", ".join(MetaIntent)
        raise StateError(f"/intent/meta_intent: It must be one of {known}, not {text!r}.")
    return found


def _text(fields: Mapping[str, Json], name: str, pointer: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(f"{pointer}/{name}", value, "text")
    return value


def _object(value: Json, pointer: str, *, required: bool = False) -> Mapping[str, Json]:
    if isinstance(value, dict):
        return value
    if value is None and not required:
        return {}
    raise _wrong(pointer, value, "an object")


def _wrong(pointer: str, value: Json, wanted: str) -> StateError:
    return StateError(f"{pointer}: It must be {wanted}, not {json_type(value)}.")


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


STARTED: Final = "started"
"""The status in the trace of a task that has started."""


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
    if not isinstance(plan, dict) or not isinstance(tasks, list):
        raise StateError("/plan/tasks: The STATE has no tasks; plan them first.")
    tasks = [_with_result(task, done) for task in tasks]
    copy["plan"] = {**plan, "tasks": tasks}
    copy["trace"] = _trace(copy.get("trace"), tasks, done)
    return copy


def _with_result(task: Json, run: Run) -> Json:
    step = run.steps.get(_id(task))
    if step is None or not isinstance(task, dict):
        return task
    if step.error is not None and step.state is StepState.SUCCEEDED:
        # an optional agent that failed: the run continued without its outputs
        return {**task, "status": "failed", "outputs": {"error": _error(step.error)}}
    return {**task, "status": STATUS[step.state], "outputs": _outputs(step)}


def _outputs(step: StepRun) -> dict[str, Json]:
    if step.error is not None:
        return {"error": _error(step.error)}
    if step.state is not StepState.SUCCEEDED:
        return {}
    output = copied(step.output)
    return output if isinstance(output, dict) else {"result": output}


def _error(failure: Failure) -> Json:
    error: dict[str, Json] = {"code": failure.code, "message": failure.message}
    return {**error, "pointer": failure.pointer} if failure.pointer else error


def _trace(trace: Json, tasks: list[Json], run: Run) -> dict[str, Json]:
    """Return `trace` with the agents that started and every failure, each once."""
    before = traced(trace, [], [])
    known = before["state_deltas"]
    noted = known if isinstance(known, list) else []
    deltas = [each for each in (*_starts(tasks, run), *_ends(tasks, run)) if each not in noted]
    nodes = [each["node"] for each in deltas if each["status"] == STARTED]
    return traced(before, nodes, [*deltas])


def _starts(tasks: list[Json], run: Run) -> list[dict[str, Json]]:
    begun = [
        (step.started_at, task)
        for task in tasks
        if isinstance(task, dict)
        and (step := run.steps.get(_id(task))) is not None
        and step.started_at is not None
    ]
    return [_delta(task, run, STARTED) for _, task in sorted(begun, key=lambda each: each[0])]


def _ends(tasks: list[Json], run: Run) -> list[dict[str, Json]]:
    """Return what was written into each task that is over, and its error."""
    found: list[dict[str, Json]] = []
    for at, task in enumerate(tasks):
        if not isinstance(task, dict) or _id(task) not in run.steps:
            continue
        outputs = task.get("outputs")
        if task.get("status") in ("completed", "failed", "skipped") and isinstance(outputs, dict):
            place = f"plan.tasks[{at}]"
            paths = [f"{place}.status", *(f"{place}.outputs.{name}" for name in outputs)]
            delta = _delta(task, run, task["status"])
            delta["wrote"] = [*paths]
            if "error" in outputs:
                delta["error"] = outputs["error"]
            found.append(delta)
    return found


def _delta(task: dict[str, Json], run: Run, status: Json) -> dict[str, Json]:
    return {"node": task.get("owner"), "task": _id(task), "run": run.run, "status": status}


def _id(task: Json) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return name if isinstance(name, str) else ""
