"""Bodies of the API's requests and responses; the page's types are generated from them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from toolplan.plan.comparison import ABSENT
from toolplan.plan.comparison import Change as Changed
from toolplan.show.printable import printable

MOST_TEXT = 2_000_000
"""Maximum length of a plan, in characters."""
MOST_QUESTION = 20_000
"""Maximum length of a question, in characters."""

Digest: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Printable: TypeAlias = Annotated[str, AfterValidator(printable)]
RunStatus: TypeAlias = Literal["running", "succeeded", "failed", "cancelled", "waiting", "in_doubt"]
StepStatus: TypeAlias = Literal[
    "pending", "running", "succeeded", "failed", "skipped", "cancelled", "waiting", "in_doubt"
]
EffectKind: TypeAlias = Literal["read", "write", "destructive", "unknown"]


class Given(BaseModel):
    """A body of a request: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Shown(BaseModel):
    """A body of a response: every field is there. It is made from an object with these fields."""

    model_config = ConfigDict(
        json_schema_serialization_defaults_required=True, from_attributes=True
    )


class Problem(Shown):
    """Why a request was refused. `detail` is one sentence, `help` says what to do."""

    code: str
    title: str
    status: int
    detail: str
    help: str | None = None


class Session(Given):
    """The one-time token of the address that the command printed."""

    token: Annotated[str, Field(min_length=1, max_length=500)]


class About(Shown):
    """What is served: `user` is who decides here; `examples` are questions to begin with."""

    version: str
    user: str
    tools: int
    sources: list[str]
    has_model: bool
    examples: list[str]


class Question(Given):
    """A question. `conversation` names earlier questions that it may point to."""

    question: Annotated[str, Field(min_length=1, max_length=MOST_QUESTION)]
    conversation: Name | None = None
    today: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] | None = None


class PlanText(Given):
    """A plan as a person edits it."""

    text: Annotated[str, Field(max_length=MOST_TEXT)]
    dialect: Name = "toolplan"


class PlanPair(Given):
    """Two plans to compare."""

    before: Annotated[str, Field(max_length=MOST_TEXT)]
    after: Annotated[str, Field(max_length=MOST_TEXT)]


class Place(Shown):
    """A part of the text: lines and columns from 1, `start` and `end` in characters from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


class DiagnosticOut(Shown):
    """A problem of a plan. `fixed` says that it was corrected; `pointer` is a JSON pointer."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    step: str | None
    pointer: str
    help: str | None
    fixed: bool
    fix: JsonValue
    place: Place | None


class NodeOut(Shown):
    """A step in the graph; `layer` is its column, from 0.

    `when_shown` is the condition of a conditional step, as in `EffectOut`.
    """

    id: str
    tool: str
    effects: EffectKind
    layer: int
    for_each: bool
    conditional: bool
    when_shown: str | None
    on_error: Literal["fail", "continue"]
    thought: str | None
    args: dict[str, JsonValue]
    problems: int


class EdgeOut(Shown):
    """A line of the graph. `after` is an order that no value needs."""

    source: str
    target: str
    kind: Literal["value", "after"]


class Graph(Shown):
    """Steps as a graph; `layers` are the ids of each column, in the order of the plan."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]
    layers: list[list[str]]


class Understood(Shown):
    """Where a value of the plan comes from.

    `words` are the first and the last word of the question that say it, from 0; `text` is them.

    Without words, `reason` says it: `default`, or `ref`.
    """

    pointer: str
    step: str | None
    argument: str | None
    text: str | None
    words: list[int]
    reason: JsonValue


class EffectOut(Shown):
    """What a person approves: a step that may change something, with its arguments.

    `shown` is the exact text of each argument, in which no character can hide or move another: this
    is what a person reads. `for_each_shown` is that of the list, `when_shown` that of the condition
    `when`, in words and as JSON. `exact` says that the step makes exactly `calls` calls unless it
    is skipped or fails.
    """

    step: str
    tool: str
    effects: EffectKind
    args: dict[str, JsonValue]
    shown: dict[str, str]
    for_each: JsonValue
    for_each_shown: str | None
    conditional: bool
    when: JsonValue
    when_shown: str | None
    calls: int
    exact: bool
    warnings: list[str]


class FlowSource(Shown):
    """The part of a step's output that a value comes from."""

    step: str
    tool: str
    path: str


class FlowOut(Shown):
    """A value that reaches a place where it can do harm, and what the policy says about it."""

    step: str
    pointer: str
    kind: Literal["argument", "condition", "count", "secret", "default"]
    needs: str
    label: str
    sources: list[FlowSource]
    verdict: Literal["allow", "check", "ask", "refuse"]
    default: JsonValue = None


class ForecastOut(Shown):
    """The expected time in seconds and the calls of a run."""

    expected_s: float
    p90_s: float
    critical_path: list[str]
    calls_least: int
    calls_most: int
    effect_calls_most: int
    unknown_tools: list[str]
    unknown_counts: list[str]
    past_calls: int
    is_known: bool


class CheckedPlan(Shown):
    """A plan and what is known of it. `digest` is null where it may not run.

    `text` is what was checked. `plan` is the plan as it will run, with corrections, and null where
    the text is no plan at all. `by_values` says that a value of a tool reaches a place where it can
    do harm: then its calls are best approved with their values.
    """

    text: str
    valid: bool
    digest: str | None
    plan: JsonValue
    graph: Graph
    understood: list[Understood]
    diagnostics: list[DiagnosticOut]
    effects: list[EffectOut]
    flows: list[FlowOut]
    needs_approval: bool
    by_values: bool
    forecast: ForecastOut | None
    unchecked_references: int


class ClarificationOut(Shown):
    """A question back. `options` are answers to choose from, `examples` questions to ask."""

    question: str
    options: list[str]
    unexplained: list[str]
    examples: list[str]


Outcome: TypeAlias = Literal["plan", "clarification", "refusal", "problems"]


class Proposed(Shown):
    """The result of a question.

    `plan`: a plan that may run. `clarification`: a question back. `refusal`: no plan can do it.
    `problems`: a draft that does not pass the check.
    """

    outcome: Outcome
    question: str
    today: str
    reason: str
    planner: str | None
    attempts: int
    clarification: ClarificationOut | None
    checked: CheckedPlan | None


class Change(Shown):
    """One value that differs. Where `before` or `after` is absent, `has_…` is false."""

    pointer: str
    has_before: bool
    before: JsonValue
    has_after: bool
    after: JsonValue

    @model_validator(mode="before")
    @classmethod
    def _from_change(cls, given: object) -> object:
        if not isinstance(given, Changed):
            return given
        return {
            "pointer": given.pointer,
            "has_before": given.before is not ABSENT,
            "before": None if given.before is ABSENT else given.before,
            "has_after": given.after is not ABSENT,
            "after": None if given.after is ABSENT else given.after,
        }


class StepChange(Shown):
    """A step that differs, or that only one plan has; each id is that of its own plan."""

    kind: Literal["added", "removed", "changed"]
    before: str | None
    after: str | None
    tool: str
    changes: list[Change]


class Difference(Shown):
    """What differs between two plans; `matched` are steps of the later by those of the earlier."""

    same: bool
    steps: list[StepChange]
    output: list[Change]
    matched: dict[str, str]


class FailureOut(Shown):
    """Why something did not succeed."""

    code: str
    message: str
    pointer: str


class LintOut(Shown):
    """What makes a tool hard to plan with."""

    code: str
    pointer: str
    message: Printable
    help: Printable


class PinChange(Shown):
    """A place of a tool that is not as it was accepted: exact texts, null where there is nothing.

    `place` is a JSON pointer into the tool object, or into `/server`, which is who offers it.
    """

    place: str
    before: str | None
    after: str | None


class ToolOut(Shown):
    """A tool; `unusable` says why it cannot be called.

    `pin` is the digest of the tool as it came from its source, null where its source cannot change
    it. `changes` say how it differs from the one that was accepted, and `warnings` which of their
    characters look like those of another script.
    """

    name: str
    source: str
    description: str
    effects: EffectKind
    input_schema: JsonValue
    output_schema: JsonValue
    unusable: str | None
    pin: str | None
    changes: list[PinChange]
    warnings: list[str]
    can_try: bool
    lints: list[LintOut]


class ToolList(Shown):
    """The tools."""

    tools: list[ToolOut]


class TryGiven(Given):
    """Arguments for one call of a tool that only reads."""

    args: dict[str, JsonValue]


class Tried(Shown):
    """The result of one call; it is kept as the run `run`."""

    run: str
    status: RunStatus
    output: JsonValue
    error: FailureOut | None
    took_s: float | None
