"""Bodies of the API's requests and responses about runs and decisions about them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field, JsonValue

from toolplan_studio import _wire as wire


class RunGiven(wire.Given):
    """A plan to run: the `text` of a checked plan, with the digest that was shown.

    `approve` approves it, if it has effects; without it such a run waits for a decision. With
    `values` what only reads runs first, and then each call with effects waits with its values.
    `run` names the run: sent again with the same name, it starts nothing twice.
    """

    text: Annotated[str, Field(max_length=wire.MOST_TEXT)]
    digest: wire.Digest
    approve: bool = False
    values: bool = False
    run: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None


RunState: TypeAlias = wire.RunStatus | Literal["interrupted", "no_worker", "parked", "refused"]
ShownStepState: TypeAlias = wire.StepStatus | Literal["interrupted", "not_run"]


class RunLine(wire.Shown):
    """One line of the list of runs; `created_at` is in seconds since 1970.

    `state` is its status, or more exactly why a running run makes no progress, or who ended it;
    `note` is a sentence about it. `active` says that this server works on it.
    """

    run: str
    created_at: float
    status: wire.RunStatus
    state: RunState
    note: str
    active: bool
    digest: str
    question: str
    tools: str


class StrandedOut(wire.Shown):
    """Runs that no worker will continue, all of one queue: what is wrong, and what to do."""

    text: str
    help: str


class RunList(wire.Shown):
    """Runs, the newest first; `next` is the cursor of those after them, null at the end.

    A search ends after a while: `until` is the time of the last run that it looked at, and `next`
    continues there. `stranded` has every run without a worker, `counts` all runs by their status.
    """

    runs: list[RunLine]
    next: str | None
    until: float | None
    stranded: list[StrandedOut]
    counts: dict[str, int]


class DoubtOut(wire.Shown):
    """A call whose outcome is not known. A person decides about it."""

    step: str
    item: int | None
    attempt: int
    tool: str
    args: JsonValue
    failure: wire.FailureOut
    result: JsonValue


class OriginOut(wire.Shown):
    """Where a value of a call comes from.

    `label` says how far it is to be trusted, `needs` what its place needs, `asked` that it is less.
    `refs` are the references that make it, `sources` the outputs that make it no more than that.
    """

    label: str
    needs: str
    asked: bool
    refs: list[str]
    sources: list[wire.FlowSource]


class CallOut(wire.Shown):
    """A call that waits until a person allows or refuses it; `digest` stands for its values.

    `shown` is the exact text of each argument, as in `EffectOut`. `choices` are the origins of what
    decides whether and how often it is called, by the place in the plan.
    """

    step: str
    item: int | None
    tool: str
    effects: wire.EffectKind
    shown: dict[str, str]
    origins: dict[str, OriginOut]
    choices: dict[str, OriginOut]
    digest: str
    warnings: list[str]


class StepOut(wire.Shown):
    """The state of a step. `output` is null where it is large: then `output_left_out` is true."""

    state: ShownStepState
    output: JsonValue
    output_left_out: bool
    error: wire.FailureOut | None
    started_at: float | None
    ended_at: float | None
    attempts: int
    items: int | None
    items_done: int
    items_failed: int
    doubts: list[DoubtOut]


class DecisionOut(wire.Shown):
    """A decision that the journal keeps. `by` is who decided; empty where it is not known."""

    kind: str
    by: str
    at: float
    digest: str | None
    step: str | None
    item: int | None
    reason: str | None


class RunOut(wire.Shown):
    """A run. `seq` is how many events it has: events from there on are new.

    `note` says who continues the run, or what it takes. `step_notes` has a sentence for each state
    of a step.
    `plan_fault` says why the plan cannot run any more with these tools. `answer` is what the
    command line shows, and its parts as tables. `by_values` says that its calls are approved with
    their values; `calls` are those that wait.
    """

    line: RunLine
    note: str
    plan: JsonValue
    plan_fault: str | None
    graph: wire.Graph
    steps: dict[str, StepOut]
    step_notes: dict[ShownStepState, str]
    output: JsonValue
    output_left_out: bool
    error: wire.FailureOut | None
    answer: JsonValue
    answer_text: str | None
    started_at: float | None
    ended_at: float | None
    took_s: float | None
    approved_at: float | None
    effects: list[wire.EffectOut]
    by_values: bool
    calls: list[CallOut]
    flows: list[wire.FlowOut]
    decisions: list[DecisionOut]
    allowed: list[Literal["approve", "allow", "refuse", "decide", "cancel", "resume", "replan"]]
    forecast: wire.ForecastOut | None
    seq: int


class ItemOut(wire.Shown):
    """A call of a step with `for_each`."""

    item: int
    output: JsonValue
    attempts: int
    failure: wire.FailureOut | None


class StepDetail(wire.Shown):
    """A step with its output, and the calls that are over from `offset` on."""

    step: str
    state: StepOut
    output: JsonValue
    items: list[ItemOut]
    offset: int
    total: int


class EventOut(BaseModel):
    """One event of a run; fields that say nothing are left out.

    Outputs are left out too: `runs/{id}` and its `steps` have them.

    `seq` is its position in the journal, and the id of the server-sent event.
    """

    seq: int
    kind: str
    at: float
    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    attempts: int | None = None
    items: int | None = None
    status: wire.RunStatus | None = None
    failure: wire.FailureOut | None = None
    decision: str | None = None
    done: float | None = None
    total: float | None = None
    message: str | None = None
    steps: list[str] | None = None
    digest: str | None = None
    tool: str | None = None
    args: JsonValue = None
    by: str | None = None


class Approve(wire.Given):
    """Approve the waiting run, if its plan has the digest that was shown."""

    kind: Literal["approve"]
    digest: wire.Digest


class Refuse(wire.Given):
    """Refuse the waiting run: nothing of it runs. The reason goes back to the planner."""

    kind: Literal["refuse"]
    digest: wire.Digest
    reason: Annotated[str, Field(max_length=wire.MOST_QUESTION)] = ""


class ShownCall(wire.Given):
    """A call that waits, as it was shown."""

    step: wire.Name
    item: Annotated[int, Field(ge=0)] | None = None
    digest: wire.Digest


class Allow(wire.Given):
    """Allow or refuse calls that wait, all of a step at once; the run continues.

    A step whose calls are refused fails, and the planner gets the reason.
    """

    kind: Literal["allow"]
    calls: Annotated[tuple[ShownCall, ...], Field(max_length=100_000)] = ()
    refused: Annotated[tuple[ShownCall, ...], Field(max_length=100_000)] = ()
    reason: Annotated[str, Field(max_length=wire.MOST_QUESTION)] = ""


class CallDecision(wire.Given):
    """A decision about a call in doubt.

    It was `done` and gave `output`, it is made `again`, or it `failed`.
    """

    step: wire.Name
    item: Annotated[int, Field(ge=0)] | None = None
    decision: Literal["done", "again", "failed"]
    output: JsonValue = None


class Decide(wire.Given):
    """Decide about calls in doubt; the run continues."""

    kind: Literal["decide"]
    calls: Annotated[list[CallDecision], Field(min_length=1, max_length=1_000)]


class Cancel(wire.Given):
    """Cancel the run; it can be resumed."""

    kind: Literal["cancel"]


class Resume(wire.Given):
    """Resume a run that was cancelled or interrupted; what is done is not done again."""

    kind: Literal["resume"]


class Replan(wire.Given):
    """Ask the planner for another plan for the question of this run; nothing runs."""

    kind: Literal["replan"]
    reason: Annotated[str, Field(max_length=wire.MOST_QUESTION)] = ""


DecisionGiven: TypeAlias = Annotated[
    Approve | Allow | Refuse | Decide | Cancel | Resume | Replan, Field(discriminator="kind")
]


class Decided(wire.Shown):
    """What a decision did. `replanned` is a new proposal, with its `difference` from the plan."""

    run: RunLine
    replanned: wire.Proposed | None = None
    difference: wire.Difference | None = None


class RunDiff(wire.Shown):
    """Two runs side by side: `difference` is that of their plans.

    `results` are what differs in states, seconds, outputs, errors and decisions.
    """

    before: RunLine
    after: RunLine
    difference: wire.Difference
    results: list[wire.Change]
