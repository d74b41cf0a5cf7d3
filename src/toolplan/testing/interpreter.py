"""The reference interpreter: the meaning of plans as a short sequential program.

It runs one step and one item after the other, without tasks, timeouts, pauses or events. An engine
must produce the same states and outputs. It shares only plans, paths, schemas and the order of
pages with the engines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from toolplan.events import Failure, Run, RunState, StepRun, StepState
from toolplan.plan import model
from toolplan.plan.path import Json, NotThere, copied, select
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema import Schema, undecided
from toolplan.schema.paging import PageError, Pager
from toolplan.schema.tool import Tool

_LIMITS = model.Limits()
_CODES = {
    "type": "argument-type",
    "value": "argument-value",
    "missing": "missing-argument",
    "unknown": "unknown-argument",
}


async def interpret(
    plan: ExecutionPlan, tools: Mapping[str, Tool], limits: model.Limits = _LIMITS
) -> Run:
    """Run `plan` step by step and return the run, without any times.

    There are no timeouts, and effects need no approval.

    Raises:
        KeyError: a tool of the plan is not in `tools`.
    """
    return await _Interpreter(plan.plan, tools, limits).run(plan.order)


_UNUSABLE: Final = ("result-type", "result-schema", "outcome-unknown")
_UNDECIDED: Final = (StepState.IN_DOUBT, StepState.PENDING)


class _Stop(Exception):
    """The step fails, or is in doubt: a call that may not be repeated gave an unusable result.

    `output` are, for items, the outputs of the others.
    """

    def __init__(
        self, code: str, pointer: str = "", output: Json = None, *, in_doubt: bool = False
    ) -> None:
        super().__init__(code)
        self.failure = Failure(code, code, pointer)
        self.output = output
        self.in_doubt = in_doubt


class _Interpreter:
    def __init__(self, plan: model.Plan, tools: Mapping[str, Tool], limits: model.Limits) -> None:
        self.plan = plan
        self.tools = tools
        self.limits = limits
        self.calls = 0
        self.steps: dict[str, StepRun] = {}
        self.outputs: dict[str, Json] = {}
        self.broken: set[str] = set()  # failed, or skipped because something failed

    async def run(self, order: tuple[str, ...]) -> Run:
        by_id = {step.id: step for step in self.plan.steps}
        for name in order:
            self.steps[name] = await self.step(by_id[name])
        steps = {step.id: self.steps[step.id] for step in self.plan.steps}
        if any(step.state is StepState.IN_DOUBT for step in steps.values()):
            return Run(status=RunState.IN_DOUBT, steps=steps)
        succeeded = all(step.state is not StepState.FAILED for step in self.steps.values())
        complete = True
        if self.plan.output is not None:
            output, complete = _fill_available(self.plan.output, self.outputs)
        else:
            names = [name for name in model.sinks(self.plan) if name in self.outputs]
            output = {name: self.outputs[name] for name in names}
        status = RunState.SUCCEEDED if succeeded and complete else RunState.FAILED
        return Run(status=status, steps=steps, output=output)

    async def step(self, step: model.Step) -> StepRun:
        reason = self.reason_to_skip(step)
        if reason == "pending":  # a step before it is in doubt
            return StepRun()
        if reason is not None:
            return StepRun(StepState.SKIPPED, error=Failure(reason, reason))
        try:
            if step.when is not None:
                value = self.fill(step.when.value, {}, "/when/value")
                condition = Schema.load(step.when.schema)
                if not condition.is_valid(value):
                    return StepRun(StepState.SKIPPED, error=Failure("when-false", "", "/when"))
                if undecided(condition, value) is not None:
                    raise _Stop("when-schema", "/when/is")
            output = await (self.whole(step, {}) if step.for_each is None else self.fan(step))
        except _Stop as stop:
            if stop.in_doubt:
                return StepRun(StepState.IN_DOUBT, error=stop.failure)
            if step.on_error == "fail":
                self.broken.add(step.id)
                return StepRun(StepState.FAILED, error=stop.failure)
            self.outputs[step.id] = stop.output
            return StepRun(StepState.SUCCEEDED, output=stop.output, error=stop.failure)
        self.outputs[step.id] = output
        return StepRun(StepState.SUCCEEDED, output=output)

    def reason_to_skip(self, step: model.Step) -> str | None:
        referred = {ref.step for _, ref in model.step_refs(step)} & self.steps.keys()
        needed = referred | set(step.after)
        if any(self.steps[each].state in _UNDECIDED for each in needed):
            return "pending"
        if any(self.steps[each].state is StepState.FAILED for each in needed):
            self.broken.add(step.id)
            return "upstream-failed"
        skipped = {each for each in needed if self.steps[each].state is StepState.SKIPPED}
        if skipped & self.broken:
            self.broken.add(step.id)
        elif not skipped & referred:
            return None
        return "upstream-skipped"

    async def fan(self, step: model.Step) -> Json:
        items = self.fill(step.for_each or model.Literal(None), {}, "/for_each")
        if not isinstance(items, list):
            raise _Stop("not-a-list", "/for_each")
        if len(items) > min(step.max_items, self.limits.items):
            raise _Stop("too-many-items", "/for_each")
        if self.calls + len(items) > self.limits.calls:
            raise _Stop("too-many-calls")
        outputs: list[Json] = []
        stops: list[_Stop] = []
        for index, item in enumerate(items):
            try:
                outputs.append(await self.whole(step, {"item": item, "index": index}))
            except _Stop as stop:
                stops.append(stop)
                outputs.append(None)
                if step.on_error == "fail" and not stop.in_doubt:
                    break
        doubts = [stop for stop in stops if stop.in_doubt]
        if doubts:
            raise doubts[-1]
        if stops and step.on_error == "fail":
            raise stops[0]
        if stops:
            raise _Stop(stops[0].failure.code, stops[0].failure.pointer, outputs)
        return outputs

    async def whole(self, step: model.Step, local: Mapping[str, Json]) -> Json:
        """Return the result of one call: that of all of its pages, one after the other."""
        if step.pages is None:
            return await self.call(step, local)
        paging = self.tools[step.tool].paging
        if paging is None:
            raise _Stop("tool-error")
        pager = Pager(paging, self.arguments(step, local), step.max_pages)
        _check(self.tools[step.tool], pager.args_of(0))
        while not pager.complete:
            if self.calls + len(pager.waiting) > self.limits.calls:
                raise _Stop("too-many-calls")
            for page in [*pager.waiting]:
                output = await self.call(step, local, pager.args_of(page))
                try:
                    pager.take(page, output)
                except PageError as error:
                    raise _Stop(error.code) from None
        return pager.result()

    def arguments(self, step: model.Step, local: Mapping[str, Json]) -> dict[str, Json]:
        return {
            name: self.fill(value, local, f"/args/{model.escape_pointer(name)}")
            for name, value in step.args.items()
        }

    async def call(
        self, step: model.Step, local: Mapping[str, Json], page: dict[str, Json] | None = None
    ) -> Json:
        tool = self.tools[step.tool]
        for left in reversed(range(1 + (step.retries if tool.may_repeat else 0))):
            args = self.arguments(step, local) if page is None else dict(page)
            _check(tool, args)
            if self.calls == self.limits.calls:
                raise _Stop("too-many-calls")
            self.calls += 1
            try:
                return await _answer(tool, args)
            except _Stop as stop:
                if not tool.may_repeat and stop.failure.code in _UNUSABLE:
                    raise _Stop(stop.failure.code, in_doubt=True) from None
                if not left:
                    raise
        raise _Stop("tool-error")

    def fill(self, value: model.Value, local: Mapping[str, Json], pointer: str) -> Json:
        try:
            return _fill(value, {**self.outputs, **local})
        except NotThere:
            raise _Stop("reference-missing", pointer) from None


def _check(tool: Tool, args: dict[str, Json]) -> None:
    for violation in tool.input.violations(args):
        raise _Stop(_CODES[violation.kind], f"/args{violation.pointer}")


async def _answer(tool: Tool, args: dict[str, Json]) -> Json:
    if tool.call is None:
        raise _Stop("tool-error")
    try:
        answer = await tool.call(args)
    except Exception:  # a tool may raise anything
        raise _Stop("tool-error") from None
    try:
        output: Json = json.loads(json.dumps(answer, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise _Stop("result-type") from None
    if tool.output is not None and not tool.output.is_valid(output):
        raise _Stop("result-schema")
    return output


def _fill(value: model.Value, scope: Mapping[str, Json]) -> Json:
    match value:
        case model.Literal(literal):
            return copied(literal)
        case model.Ref(step, path):
            return copied(select(scope[step], path))
        case model.Template(parts):
            return "".join(p if isinstance(p, str) else _text(_fill(p, scope)) for p in parts)
        case model.Array(items):
            return [_fill(item, scope) for item in items]
        case model.Object(fields):
            return {key: _fill(inner, scope) for key, inner in fields}


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _fill_available(value: model.Value, outputs: Mapping[str, Json]) -> tuple[Json, bool]:
    """Return the value, with null for parts that cannot be filled, and whether all paths exist."""
    if isinstance(value, model.Array):
        parts = [_fill_available(item, outputs) for item in value.items]
        return [part for part, _ in parts], all(complete for _, complete in parts)
    if isinstance(value, model.Object):
        fields = {key: _fill_available(inner, outputs) for key, inner in value.fields}
        complete = all(complete for _, complete in fields.values())
        return {key: part for key, (part, _) in fields.items()}, complete
    if any(ref.step not in outputs for ref in model.refs(value)):
        return None, True
    try:
        return _fill(value, outputs), True
    except NotThere:
        return None, False
