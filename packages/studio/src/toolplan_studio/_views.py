"""Plans, tools and diagnostics as the API shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from toolplan.app.results import AskResult, CheckResult
from toolplan.approval import EffectStep, effect_steps
from toolplan.comparison import ABSENT, Absent, Comparison
from toolplan.comparison import Change as Changed
from toolplan.consent import needs_values
from toolplan.diagnostics import Diagnostic
from toolplan.diagnostics import to_json as diagnostic_to_json
from toolplan.execution_plan import ExecutionPlan
from toolplan.forecast import Forecast
from toolplan.path import Json
from toolplan.plan import Plan, Step, Value, When, needs, split_pointer, step_refs
from toolplan.plan_json import dump, dump_value
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.render.approval_view import BY_DEFAULT, approval_json
from toolplan.render.diagnostics import Located
from toolplan.render.exact import exact_text, mixed_scripts
from toolplan.render.flow_view import flow_to_json
from toolplan.render.printable import harmless_json, printable
from toolplan.render.step_text import condition_words
from toolplan.source import line_and_column
from toolplan.sources.pins import Absent as AbsentPart
from toolplan.sources.pins import RefusedTool, SourcedTool
from toolplan.tool_lint import Finding
from toolplan.tools import Effects, Tool, Toolbox
from toolplan_studio._wire import (
    Change,
    CheckedPlan,
    ClarificationOut,
    DiagnosticOut,
    Difference,
    EdgeOut,
    EffectOut,
    FlowOut,
    ForecastOut,
    Graph,
    LintOut,
    NodeOut,
    Outcome,
    PinChange,
    Place,
    Proposed,
    StepChange,
    ToolOut,
    Understood,
)

MOST_DIAGNOSTICS: Final = 200
"""The most diagnostics that are shown; errors come before warnings."""


def plan_json_text(plan: Plan) -> str:
    """Return a plan as the text that a person edits."""
    return json.dumps(dump(plan), indent=2, ensure_ascii=False)


def proposed_view(asked: AskResult, checked: CheckedPlan | None) -> Proposed:
    """Return the result of a question; `checked` is its draft."""
    proposal = asked.proposal
    clarification: ClarificationOut | None = None
    outcome: Outcome = "problems"
    match proposal:
        case Clarification():
            outcome = "clarification"
            clarification = ClarificationOut(
                question=proposal.question,
                options=[*proposal.options],
                unexplained=[*proposal.unexplained],
                examples=[*proposal.examples],
            )
        case Refusal():
            outcome = "refusal"
        case Draft():
            outcome = "problems" if asked.plan is None else "plan"
    return Proposed(
        outcome=outcome,
        question=asked.question.text,
        today=asked.question.today,
        reason="" if asked.plan is not None else asked.reason,
        planner=proposal.planner or None if isinstance(proposal, Draft) else None,
        attempts=len(asked.attempts),
        clarification=clarification,
        checked=checked,
    )


def checked_view(
    checked: CheckResult, written: Plan | None, forecast: Forecast | None, tools: Toolbox
) -> CheckedPlan:
    """Return a checked plan; where it has errors, `written` is as much as could be read."""
    plan, text = checked.plan, checked.text
    shown = written if plan is None else plan.plan
    return CheckedPlan(
        text=text,
        valid=checked.valid,
        digest=None if plan is None else plan.digest,
        plan=None if shown is None else dump(shown),
        graph=graph_view(shown, tools, checked.diagnostics),
        understood=understood_view(shown),
        diagnostics=diagnostics_view(checked.located, text),
        effects=[] if plan is None else effects_view(plan, tools),
        flows=[] if plan is None else flows_view(plan),
        needs_approval=plan is not None and bool(plan.effects),
        by_values=plan is not None and bool(plan.effects) and needs_values(plan),
        forecast=None if forecast is None else forecast_view(forecast),
        unchecked_references=checked.unchecked_references,
    )


def diagnostics_view(located: Sequence[Located], text: str) -> list[DiagnosticOut]:
    """Return diagnostics with their places; if there are too many, errors come first."""
    if len(located) > MOST_DIAGNOSTICS:
        located = sorted(located, key=lambda each: not each.diagnostic.blocks)[:MOST_DIAGNOSTICS]
    return [
        DiagnosticOut.model_validate(
            {**diagnostic_to_json(each.diagnostic), "place": _place(each, text)}
        )
        for each in located
    ]


def _place(located: Located, text: str) -> Place | None:
    span = located.span
    if span is None:
        return None
    line, column = line_and_column(text, span.start)
    end_line, end_column = line_and_column(text, span.end)
    return Place(
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        start=span.start,
        end=span.end,
    )


def graph_view(
    plan: Plan | None, tools: Mapping[str, Tool], diagnostics: Iterable[Diagnostic] = ()
) -> Graph:
    """Return a plan as a graph; a plan with errors may have cycles and unknown steps."""
    if plan is None:
        return Graph(nodes=[], edges=[], layers=[])
    layers = _layers(plan)
    problems = Counter(each.step for each in diagnostics if not each.fixed)
    nodes = [_node(step, layers[step.id], tools, problems[step.id]) for step in plan.steps]
    columns: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for name, layer in layers.items():
        columns[layer].append(name)
    edges = [
        edge for step in plan.steps for edge in _edges(step, layers) if edge.source != edge.target
    ]
    return Graph(nodes=nodes, edges=edges, layers=columns)


def _node(step: Step, layer: int, tools: Mapping[str, Tool], problems: int) -> NodeOut:
    tool = tools.get(step.tool)
    return NodeOut(
        id=step.id,
        tool=step.tool,
        effects=(Effects.UNKNOWN if tool is None else tool.effects).value,
        layer=layer,
        for_each=step.for_each is not None,
        conditional=step.when is not None,
        when_shown=None if step.when is None else _condition(step.when),
        on_error=step.on_error,
        thought=step.thought,
        args={name: dump_value(value) for name, value in step.args.items()},
        problems=problems,
    )


def node_view(step: Step, tools: Mapping[str, Tool]) -> NodeOut:
    """Return a step that arrives while its plan is written."""
    return _node(step, 0, tools, 0)


def _edges(step: Step, known: Mapping[str, int]) -> Iterable[EdgeOut]:
    by_value = {ref.step for _, ref in step_refs(step)}
    for name in needs(step):
        if name in known:
            kind = "value" if name in by_value else "after"
            yield EdgeOut(source=name, target=step.id, kind=kind)


def _layers(plan: Plan) -> dict[str, int]:
    """Return the column of each step: one behind the last step that it needs."""
    before = {step.id: [each for each in needs(step) if each != step.id] for step in plan.steps}
    layers = dict.fromkeys(before, 0)
    behind: dict[str, list[str]] = {name: [] for name in before}
    left = dict.fromkeys(before, 0)
    for name, needed in before.items():
        for each in needed:
            if each in behind:
                behind[each].append(name)
                left[name] += 1
    ready = [name for name, count in left.items() if not count]
    for name in ready:  # it grows; steps of a cycle never become ready and stay in front
        for each in behind[name]:
            layers[each] = max(layers[each], layers[name] + 1)
            left[each] -= 1
            if not left[each]:
                ready.append(each)
    return layers


def understood_view(plan: Plan | None) -> list[Understood]:
    """Return where the values of a plan come from, as its planner noted it."""
    provenance = None if plan is None else plan.metadata.get("provenance")
    if plan is None or not isinstance(provenance, dict):
        return []
    return [_understood(pointer, reason, plan) for pointer, reason in provenance.items()]


def _understood(pointer: str, reason: Json, plan: Plan) -> Understood:
    said = reason if isinstance(reason, dict) else {}
    words, text = said.get("words"), said.get("text")
    step, argument = None, None
    match split_pointer(pointer):
        case ("steps", at, *rest) if at.isdecimal() and int(at) < len(plan.steps):
            step = plan.steps[int(at)].id
            argument = rest[1] if len(rest) > 1 and rest[0] == "args" else None
        case _:
            pass
    return Understood(
        pointer=pointer,
        step=step,
        argument=argument,
        text=text if isinstance(text, str) else None,
        words=[each for each in words if isinstance(each, int)] if isinstance(words, list) else [],
        reason=reason,
    )


def effects_view(plan: ExecutionPlan, tools: Toolbox) -> list[EffectOut]:
    """Return what a person approves, each value whole and exact."""
    steps = effect_steps(plan, tools)
    documents = cast("list[dict[str, Json]]", approval_json(steps, plan.digest)["effects"])
    return [
        EffectOut.model_validate({**_with_defaults(document, step), **_exact(step)})
        for step, document in zip(steps, documents, strict=True)
    ]


def lookalikes(values: Iterable[Value | Json]) -> list[str]:
    """Return which characters in `values` look like those of another script, a sentence each."""
    found: dict[str, str] = {}
    for value in values:
        found |= {} if value is None else mixed_scripts(value)
    return [f"{exact_text(char)[1:-1]} is {name}" for char, name in found.items()]


def _with_defaults(document: dict[str, Json], step: EffectStep) -> dict[str, Json]:
    """Return a step as the page shows it: what is left out is among its arguments, marked."""
    args = document["args"]
    shown = {f"{name} {BY_DEFAULT}": value for name, value in step.defaults.items()}
    rest = {name: each for name, each in document.items() if name != "defaults"}
    return {**rest, "args": {**(args if isinstance(args, dict) else {}), **shown}}


def _exact(step: EffectStep) -> dict[str, object]:
    condition = () if step.when is None else (step.when.value, step.when.schema)
    values = (step.for_each, *condition, *step.args.values(), *step.args, step.step, step.tool)
    invented = (f"Not in the question: {name}" for name in step.invented)
    return {
        "shown": {
            **{name: exact_text(value) for name, value in step.args.items()},
            **{f"{n} {BY_DEFAULT}": exact_text(value) for n, value in step.defaults.items()},
        },
        "for_each_shown": None if step.for_each is None else exact_text(step.for_each),
        "when_shown": None if step.when is None else _condition(step.when),
        "warnings": [*lookalikes(values), *invented],
    }


def _condition(when: When) -> str:
    """Return a condition in words and as JSON: `${a.count} is at least 5: {"minimum":5}`."""
    words = harmless_json(condition_words(when))
    return f"{exact_text(when.value)} {words}: {exact_text(when.schema)}"


def flows_view(plan: ExecutionPlan) -> list[FlowOut]:
    """Return the flows of a plan into places where they can do harm."""
    return [FlowOut.model_validate(flow_to_json(flow)) for flow in plan.flows]


def forecast_view(forecast: Forecast) -> ForecastOut:
    """Return what a run is expected to take."""
    return ForecastOut.model_validate({**forecast.to_json(), "is_known": forecast.is_known})


def difference_view(comparison: Comparison) -> Difference:
    """Return what differs between two plans."""
    return Difference(
        same=comparison.same,
        steps=[
            StepChange(
                kind=each.kind,
                before=each.before,
                after=each.after,
                tool=each.tool,
                changes=[*map(_change, each.changes)],
            )
            for each in comparison.steps
        ],
        output=[*map(_change, comparison.output)],
        matched=dict(comparison.matched),
    )


def _change(change: Changed) -> Change:
    return Change(
        pointer=change.pointer,
        has_before=change.before is not ABSENT,
        before=None if isinstance(change.before, Absent) else change.before,
        has_after=change.after is not ABSENT,
        after=None if isinstance(change.after, Absent) else change.after,
    )


def tool_view(tool: Tool, findings: Sequence[Finding]) -> ToolOut:
    """Return a tool with its pin, what has changed, and what makes it hard to plan with."""
    changes = tool.differences if isinstance(tool, RefusedTool) else ()
    values = [each for change in changes for each in (change.before, change.after)]
    return ToolOut(
        name=tool.name,
        source=tool.source,
        description=tool.description,
        effects=tool.effects.value,
        input_schema=tool.raw_input,
        output_schema=tool.raw_output,
        unusable=tool.unusable,
        pin=tool.pin if isinstance(tool, SourcedTool) else None,
        changes=[
            PinChange(
                place=each.pointer.removeprefix("/tool"),
                before=None if isinstance(each.before, AbsentPart) else exact_text(each.before),
                after=None if isinstance(each.after, AbsentPart) else exact_text(each.after),
            )
            for each in changes
        ],
        warnings=lookalikes(each for each in values if not isinstance(each, AbsentPart)),
        can_try=tool.effects is Effects.READ and tool.unusable is None,
        lints=[
            LintOut(
                code=each.code,
                pointer=each.pointer,
                message=printable(each.message),
                help=printable(each.help),
            )
            for each in findings
            if each.tool == tool.name
        ],
    )
