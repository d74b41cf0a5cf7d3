"""Plans, calls, tools and diagnostics as the API shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import asdict

from toolplan.app.results import AskResult, CheckResult
from toolplan.compiler.lint import Finding
from toolplan.engine.forecast import Forecast
from toolplan.plan.canonical import dump, dump_value
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.diagnostics import to_json as diagnostic_to_json
from toolplan.plan.model import Plan, Step, Value, When, needs, split_pointer, step_refs
from toolplan.plan.path import Json, print_path
from toolplan.plan.text.loose import Span
from toolplan.plan.text.places import line_and_column
from toolplan.planners import Clarification, Draft
from toolplan.policy import Trust
from toolplan.policy.approval import EffectStep, effect_steps
from toolplan.policy.consent import Effect, Origin, needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan.show.approval_view import BY_DEFAULT, approval_json, flow_to_json
from toolplan.show.exact import exact_text, mixed_scripts
from toolplan.show.plan_tree import condition_words
from toolplan.show.printable import harmless_json
from toolplan.tools.pins import Absent, RefusedTool, SourcedTool
from toolplan_studio import _run_wire as run_wire
from toolplan_studio import _wire as wire
from toolplan_studio._errors import Refused

MOST_DIAGNOSTICS: Final = 200
"""Maximum number of diagnostics that are shown; errors come before warnings."""


def plan_json_text(plan: Plan) -> str:
    return json.dumps(dump(plan), indent=2, ensure_ascii=False)


def proposed_view(asked: AskResult, checked: wire.CheckedPlan | None) -> wire.Proposed:
    """Return the result of a question; `checked` is its draft."""
    proposal = asked.proposal
    outcome: wire.Outcome = "refusal"
    clarification = planner = None
    if isinstance(proposal, Draft):
        outcome = "problems" if asked.plan is None else "plan"
        planner = proposal.planner or None
    elif isinstance(proposal, Clarification):
        outcome, clarification = "clarification", wire.ClarificationOut.model_validate(proposal)
    return wire.Proposed(
        outcome=outcome,
        question=asked.question.text,
        today=asked.question.today,
        reason="" if asked.plan is not None else asked.reason,
        planner=planner,
        attempts=len(asked.attempts),
        clarification=clarification,
        checked=checked,
    )


def checked_view(
    checked: CheckResult, written: Plan | None, forecast: Forecast | None, tools: Toolbox
) -> wire.CheckedPlan:
    """Return a checked plan; where it has errors, `written` is as much as could be read."""
    plan, text, located = checked.plan, checked.text, checked.located
    if len(located) > MOST_DIAGNOSTICS:
        located = sorted(located, key=lambda each: not each.diagnostic.blocks)[:MOST_DIAGNOSTICS]
    shown = written if plan is None else plan.plan
    needs_approval = plan is not None and bool(plan.effects)
    return wire.CheckedPlan(
        text=text,
        valid=checked.valid,
        digest=None if plan is None else plan.digest,
        plan=None if shown is None else dump(shown),
        graph=graph_view(shown, tools, checked.diagnostics),
        understood=_understood(shown),
        diagnostics=[
            wire.DiagnosticOut.model_validate(
                {**diagnostic_to_json(each.diagnostic), "place": _place(each.span, text)}
            )
            for each in located
        ],
        effects=effects_view(plan, tools),
        flows=flows_view(plan),
        needs_approval=needs_approval,
        by_values=needs_approval and plan is not None and needs_values(plan),
        forecast=forecast_view(forecast),
        unchecked_references=checked.unchecked_references,
    )


def _place(span: Span | None, text: str) -> wire.Place | None:
    if span is None:
        return None
    line, column = line_and_column(text, span.start)
    end_line, end = line_and_column(text, span.end)
    return wire.Place(
        line=line, column=column, end_line=end_line, end_column=end, start=span.start, end=span.end
    )


def graph_view(
    plan: Plan | None, tools: Mapping[str, Tool], diagnostics: Iterable[Diagnostic] = ()
) -> wire.Graph:
    """Return a plan as a graph; a plan with errors may have cycles and unknown steps."""
    steps = () if plan is None else plan.steps
    needed = {step.id: [each for each in needs(step) if each != step.id] for step in steps}
    layers = _layers(needed)
    problems = Counter(each.step for each in diagnostics if not each.fixed)
    columns: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for name, layer in layers.items():
        columns[layer].append(name)
    edges: list[wire.EdgeOut] = []
    for step in steps:
        by_value = {ref.step for _, ref in step_refs(step)}
        for name in needs(step):
            if name in layers and name != step.id:
                kind = "value" if name in by_value else "after"
                edges.append(wire.EdgeOut(source=name, target=step.id, kind=kind))
    nodes = [node_view(step, tools, layers[step.id], problems[step.id]) for step in steps]
    return wire.Graph(nodes=nodes, edges=edges, layers=columns)


def node_view(
    step: Step, tools: Mapping[str, Tool], layer: int = 0, problems: int = 0
) -> wire.NodeOut:
    return wire.NodeOut(
        id=step.id,
        tool=step.tool,
        effects=_effects_of(step.tool, tools),
        layer=layer,
        for_each=step.for_each is not None,
        conditional=step.when is not None,
        when_shown=None if step.when is None else _condition(step.when),
        on_error=step.on_error,
        thought=step.thought,
        args={name: dump_value(value) for name, value in step.args.items()},
        problems=problems,
    )


def _effects_of(name: str, tools: Mapping[str, Tool]) -> wire.EffectKind:
    """Return the effects of a tool, which may be missing now."""
    return (tools[name].effects if name in tools else Effects.UNKNOWN).value


def _layers(needed: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the column of each step: one behind the last step that it needs."""
    layers = dict.fromkeys(needed, 0)
    dependents: dict[str, list[str]] = {name: [] for name in needed}
    missing = dict.fromkeys(needed, 0)
    for name, before in needed.items():
        for each in before:
            if each in dependents:
                dependents[each].append(name)
                missing[name] += 1
    ready = [name for name, count in missing.items() if not count]
    for name in ready:  # it grows; steps of a cycle never become ready and stay in front
        for each in dependents[name]:
            layers[each] = max(layers[each], layers[name] + 1)
            missing[each] -= 1
            if not missing[each]:
                ready.append(each)
    return layers


def _understood(plan: Plan | None) -> list[wire.Understood]:
    """Return the origins of the values of a plan, as its planner noted them."""
    provenance = None if plan is None else plan.metadata.get("provenance")
    if plan is None or not isinstance(provenance, dict):
        return []
    found: list[wire.Understood] = []
    for pointer, reason in provenance.items():
        step = argument = None
        match split_pointer(pointer):
            case ("steps", at, *rest) if at.isdecimal() and int(at) < len(plan.steps):
                step = plan.steps[int(at)].id
                argument = rest[1] if len(rest) > 1 and rest[0] == "args" else None
            case _:
                pass
        noted = reason if isinstance(reason, dict) else {}
        words, text = noted.get("words"), noted.get("text")
        listed = words if isinstance(words, list) else []
        found.append(
            wire.Understood(
                pointer=pointer,
                step=step,
                argument=argument,
                text=text if isinstance(text, str) else None,
                words=[each for each in listed if isinstance(each, int)],
                reason=reason,
            )
        )
    return found


def effects_view(plan: ExecutionPlan | None, tools: Toolbox) -> list[wire.EffectOut]:
    if plan is None:
        return []
    steps = effect_steps(plan, tools)
    documents = cast("list[dict[str, Any]]", approval_json(steps, plan.digest)["effects"])
    return [_effect(*each) for each in zip(documents, steps, strict=True)]


def _effect(document: dict[str, Any], step: EffectStep) -> wire.EffectOut:
    condition = () if step.when is None else (step.when.value, step.when.schema)
    values = (step.for_each, *condition, *step.args.values(), *step.args, step.step, step.tool)
    defaults = _marked_defaults(step.defaults)
    return wire.EffectOut.model_validate(
        {
            **document,
            "args": {**document["args"], **defaults},
            "shown": {n: exact_text(each) for n, each in {**step.args, **defaults}.items()},
            "for_each_shown": None if step.for_each is None else exact_text(step.for_each),
            "when_shown": None if step.when is None else _condition(step.when),
            "warnings": [
                *_lookalikes(values),
                *(f"Not in the question: {name}" for name in step.invented),
            ],
        }
    )


def _marked_defaults(defaults: Mapping[str, Json]) -> dict[str, Json]:
    """Return the tool's own values for arguments that are left out, with marked names."""
    return {f"{name} {BY_DEFAULT}": value for name, value in defaults.items()}


def _lookalikes(values: Iterable[Value | Json]) -> list[str]:
    """Return the characters in `values` that look like those of another script, a sentence each."""
    found: dict[str, str] = {}
    for value in values:
        found |= {} if value is None else mixed_scripts(value)
    return [f"{exact_text(char)[1:-1]} is {name}" for char, name in found.items()]


def _condition(when: When) -> str:
    """Return a condition in words and as JSON: `${a.count} is at least 5: {"minimum":5}`."""
    words = harmless_json(condition_words(when))
    return f"{exact_text(when.value)} {words}: {exact_text(when.schema)}"


def flows_view(plan: ExecutionPlan | None) -> list[wire.FlowOut]:
    flows = () if plan is None else plan.flows
    return [wire.FlowOut.model_validate(flow_to_json(flow)) for flow in flows]


def forecast_view(forecast: Forecast | None) -> wire.ForecastOut | None:
    """Return the expected time and calls of a run."""
    if forecast is None:
        return None
    return wire.ForecastOut.model_validate({**forecast.to_json(), "is_known": forecast.is_known})


def tool_view(tool: Tool, findings: Sequence[Finding]) -> wire.ToolOut:
    """Return a tool with its pin, its changes, and the problems of planning with it."""
    changes = tool.differences if isinstance(tool, RefusedTool) else ()
    values = [each for change in changes for each in (change.before, change.after)]
    return wire.ToolOut(
        name=tool.name,
        source=tool.source,
        description=tool.description,
        effects=tool.effects.value,
        input_schema=tool.raw_input,
        output_schema=tool.raw_output,
        unusable=tool.unusable,
        pin=tool.pin if isinstance(tool, SourcedTool) else None,
        changes=[
            wire.PinChange(
                place=each.pointer.removeprefix("/tool"),
                before=_pinned(each.before),
                after=_pinned(each.after),
            )
            for each in changes
        ],
        warnings=_lookalikes(each for each in values if not isinstance(each, Absent)),
        can_try=tool.effects is Effects.READ and tool.unusable is None,
        lints=[wire.LintOut.model_validate(each) for each in findings if each.tool == tool.name],
    )


def _pinned(value: Json | Absent) -> str | None:
    return None if isinstance(value, Absent) else exact_text(value)


def call_view(effect: Effect, tools: Mapping[str, Tool]) -> run_wire.CallOut:
    """Return a call that waits, each value whole and exact."""
    defaults = _marked_defaults(effect.defaults)
    origins = {**effect.origins, **dict.fromkeys(defaults, Origin(Trust.TRUSTED))}
    return run_wire.CallOut(
        step=effect.step,
        item=effect.item,
        tool=effect.tool,
        effects=_effects_of(effect.tool, tools),
        shown={n: exact_text(each) for n, each in {**effect.args, **defaults}.items()},
        origins={name: _origin(each) for name, each in origins.items()},
        choices={place: _origin(each) for place, each in effect.choices.items()},
        digest=effect.digest,
        warnings=_lookalikes((*effect.args.values(), *effect.args)),
    )


def _origin(origin: Origin) -> run_wire.OriginOut:
    sources = [
        wire.FlowSource(step=each.step, tool=each.tool, path=print_path(each.path))
        for each in origin.sources
    ]
    return run_wire.OriginOut.model_validate(
        {**asdict(origin), "label": origin.label.word, "sources": sources}
    )


def chosen_effects(
    waiting: Sequence[Effect], given: run_wire.Allow
) -> tuple[list[Effect], list[Effect]]:
    """Return the calls of `waiting` that a person allows, and those that are refused.

    One that does not wait as it was shown, or lacks calls of its step, is a `Refused`.
    """
    known = {(each.step, each.item, each.digest): each for each in waiting}
    keys = [(each.step, each.item, each.digest) for each in (*given.calls, *given.refused)]
    steps = {step for step, _, _ in keys}
    if not keys:
        raise Refused("bad-request", "No call is named.", "Name the calls that were shown.")
    needed = {key for key in known if key[0] in steps}
    if len(keys) != len(needed) or needed != {*keys}:
        raise Refused(
            "digest-changed",
            "The calls that wait are not those that were shown.",
            "Look at them again, and decide anew. Nothing was run.",
        )
    decided = [known[key] for key in keys]
    allowed, denied = decided[: len(given.calls)], decided[len(given.calls) :]
    if {each.step for each in allowed} & {each.step for each in denied}:
        raise Refused("bad-request", "A step has two decisions.", "Decide about it once.")
    return allowed, denied
