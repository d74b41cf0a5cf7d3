"""Reads a workflow of Arazzo as a plan, and names what a plan cannot say of it.

The steps of a workflow that it calls, or depends on, stand in the plan like its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

from msgspec.structs import replace

from toolplan.dialects import form, values
from toolplan.dialects.steps import IdCheck
from toolplan.path import Json
from toolplan.plan import (
    Literal,
    Plan,
    Ref,
    Step,
    Value,
    When,
    array,
    escape_pointer,
    object_,
    step_refs,
)
from toolplan.plan_json import Report, shown
from toolplan_openapi.arazzo import _expressions as expressions
from toolplan_openapi.arazzo import _steps
from toolplan_openapi.arazzo._criteria import Condition, criterion
from toolplan_openapi.arazzo._document import (
    default_inputs,
    fields_of,
    input_names,
    listed,
    needed_inputs,
)
from toolplan_openapi.arazzo._expressions import Scope

_COMPONENT = re.compile(r"\$components\.parameters\.([\w.-]+)")
_KNOWN: Final = (
    "stepId", "description", "operationId", "operationPath", "parameters", "requestBody",
    "successCriteria", "outputs", "dependsOn", "timeout", "workflowId", "onSuccess", "onFailure",
)  # fmt: skip
ROOT_FIELDS: Final = (
    "arazzo", "info", "sourceDescriptions", "workflows", "components", "$self",
)  # fmt: skip
WORKFLOW_FIELDS: Final = (
    "workflowId", "summary", "description", "inputs", "dependsOn", "steps", "successActions",
    "failureActions", "outputs", "parameters",
)  # fmt: skip
_SAYABLE: Final = ("$inputs.", "$outputs.", "$steps.", "$workflows.")
_DEEPEST: Final = 50
_LONGEST_ID: Final = 56
_OTHER_NAMES: Final = {"id": "stepId", "operation": "operationId", "inputs": "parameters"}


def refuse_unknown(
    item: Mapping[str, Json], known: tuple[str, ...], pointer: str, report: Report
) -> None:
    rest = {key: each for key, each in item.items() if key[:2] != "x-"}
    report.unknown_fields(rest, known, pointer, None, {})


@dataclass
class Reading:
    """What the workflows of one document share while they become one plan."""

    root: Mapping[str, Json]
    signatures: form.Signatures | None
    report: Report
    most_steps: int
    steps: list[Step] = field(default_factory=list[Step])
    places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    conditions: list[tuple[str, Condition]] = field(default_factory=list[tuple[str, Condition]])
    last_criterion: str = ""
    finished: dict[str, Mapping[str, Value]] = field(default_factory=dict[str, Mapping[str, Value]])
    running: list[str] = field(default_factory=list[str])
    calls: int = 0
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.workflows = [fields_of(each) for each in listed(self.root.get("workflows"))]
        self.check = IdCheck(self.report)

    def position(self, name: Json) -> int | None:
        """Return the position of the workflow `name`, None where there is none."""
        ids = [each.get("workflowId") for each in self.workflows]
        return ids.index(name) if isinstance(name, str) and name in ids else None

    def plan(self, at: int, given: Mapping[str, Json]) -> Plan:
        """Return the plan of the workflow at position `at`, with the values `given` to inputs."""
        items = listed(self.workflows[at].get("steps"))
        stated = (fields_of(each).get("stepId") for each in items)
        self.taken |= {each for each in stated if isinstance(each, str)}
        inputs = default_inputs(self.workflows[at].get("inputs"), self.root)
        filled: dict[str, Value] = {k: Literal(v) for k, v in {**inputs, **given}.items()}
        reader = WorkflowReader(self, at, filled, "")
        outputs = reader.read()
        last = self.steps[-1].id if self.steps else None
        if any(step == last for step, _ in self.conditions):
            said = "No step comes after this one that its criterion could keep from running."
            self.report.error("cannot-express", said, self.last_criterion, last)
        return Plan(tuple(self.steps), None if outputs is None else object_(tuple(outputs.items())))

    def call(
        self, name: str, inputs: Mapping[str, Value], prefix: str, place: str, step: str | None
    ) -> Mapping[str, Value]:
        """Add the steps of the workflow `name`, and return its outputs."""
        at = self.position(name)
        if at is None:
            said = f"The document has no workflow {shown(name)}."
            help_ = "A plan calls the workflows of its own document."
            self.report.error("cannot-express", said, place, step, help_)
            return {}
        self.calls += 1
        if name in self.running:
            way = " -> ".join([*self.running[self.running.index(name) :], name])
            self.report.error("cycle", f"A workflow calls itself: {way}.", place, step)
            return {}
        if len(self.running) >= _DEEPEST or self.calls > self.most_steps:
            said = f"Workflows call workflows more than {_DEEPEST} deep, or too often."
            self.report.error("too-many-steps", said, place, step)
            return {}
        defaults = default_inputs(self.workflows[at].get("inputs"), self.root)
        filled = {**{k: Literal(v) for k, v in defaults.items()}, **inputs}
        outputs = WorkflowReader(self, at, filled, prefix).read() or {}
        self.finished[name] = outputs
        return outputs


class WorkflowReader:
    """Reads one workflow, or one call of it; `prefix` begins the ids of its steps."""

    def __init__(self, reading: Reading, at: int, inputs: Mapping[str, Value], prefix: str) -> None:
        self._reading = reading
        self._root = reading.root
        self._workflow = reading.workflows[at]
        self._signatures = reading.signatures
        self._report = reading.report
        self._at = at
        self._place = f"/workflows/{at}"
        self._prefix = prefix
        self._scope = Scope(inputs, workflows=reading.finished, is_chosen=not prefix)
        self._syntax = values.Syntax(self._scope.read_text, values.write_none)

    def read(self) -> dict[str, Value] | None:
        """Add the steps to those that were read, and return the outputs; None where none are."""
        refuse_unknown(self._workflow, WORKFLOW_FIELDS, self._place, self._report)
        for named in ("successActions", "failureActions"):
            if self._workflow.get(named):
                said = f"A plan has no {named!r} of a workflow."
                self._report.error("cannot-express", said, f"{self._place}/{named}")
        items = self._workflow.get("steps")
        if not isinstance(items, list):
            self._report.error("missing-field", "The workflow has no list 'steps'.", self._place)
            return None
        self._reading.running.append(str(self._workflow.get("workflowId", "")))
        self._run_before()
        for at, item in enumerate(items):
            if len(self._reading.steps) >= self._reading.most_steps:
                said = f"The plan has more than {self._reading.most_steps:,} steps."
                self._report.error("too-many-steps", said, f"{self._place}/steps/{at}")
                break
            self._read_step(item, at)
        self._reading.running.pop()
        return self._output()

    def _run_before(self) -> None:
        for at, name in enumerate(listed(self._workflow.get("dependsOn"))):
            place = f"{self._place}/dependsOn/{at}"
            if not isinstance(name, str):
                self._report.wrong_type("dependsOn", name, "the name of a workflow", place)
            elif name not in self._reading.finished:
                self._reading.call(name, {}, f"{name}-", place, None)

    def _read_step(self, item: Json, at: int) -> None:
        reading, pointer = self._reading, f"{self._place}/steps/{at}"
        fields = fields_of(item)
        stated = fields.get("stepId")
        if isinstance(item, dict) and "workflowId" in fields:
            return self._call(fields, stated if isinstance(stated, str) else f"s{at}", pointer, at)
        if not self._prefix and isinstance(stated, str):
            name = stated
        else:
            name = self._free(stated if isinstance(stated, str) else f"s{at}")
        reading.check.take(name)
        reading.places.append((self._at, at))
        reading.steps.append(self._step(item, at, name, stated))
        return None

    def _free(self, stated: str) -> str:
        """Return an id that no step has, for the step `stated` of a workflow that is called."""
        base = re.sub(r"[^A-Za-z0-9_-]", "_", f"{self._prefix}{stated}")[:_LONGEST_ID].lstrip("-")
        name, number = base, 1
        while name in self._reading.taken:
            number += 1
            name = f"{base}-{number}"
        self._reading.taken.add(name)
        return name

    def _call(self, item: Mapping[str, Json], name: str, pointer: str, at: int) -> None:
        """Add the steps of the workflow that a step calls."""
        self._refuse_fields(item, at, name)
        self._retries(item, at, pointer, name)
        for named in ("operationId", "operationPath", "requestBody", "timeout"):
            if named in item:
                said = f"A step that calls a workflow has no {named!r}."
                self._report.error("cannot-express", said, f"{pointer}/{named}", name)
        target = item.get("workflowId")
        inputs: dict[str, Value] = {}
        for number, each in enumerate(listed(item.get("parameters"))):
            found = self._parameter(each, f"{pointer}/parameters/{number}", name)
            if found is not None:
                inputs[found[0]] = found[1]
        self._refuse_inputs(target, inputs, pointer, name)
        if not isinstance(target, str):
            self._report.wrong_type("workflowId", target, "text", f"{pointer}/workflowId", name)
            outputs: Mapping[str, Value] = {}
        else:
            prefix = f"{self._prefix}{name}-"
            place = f"{pointer}/workflowId"
            outputs = self._reading.call(target, inputs, prefix, place, name)
        self._scope.own = outputs
        self._scope.outputs[name] = {**outputs, **self._declared(item, pointer, name, None)}
        self._scope.own = None
        for number, each in enumerate(listed(item.get("successCriteria"))):
            if criterion(fields_of(each)):
                said = "A step that calls a workflow has no response to look at."
                place = f"{pointer}/successCriteria/{number}"
                self._report.error("cannot-express", said, place, name)

    def _refuse_inputs(
        self, target: Json, inputs: Mapping[str, Value], pointer: str, name: str
    ) -> None:
        at = self._reading.position(target)
        known = input_names(self._reading.workflows[at].get("inputs"), self._root) if at else None
        for number, each in enumerate(inputs):
            if known is not None and each not in known:
                said = f"The workflow {shown(str(target))} has no input {shown(each)}."
                place = f"{pointer}/parameters/{number}/name"
                self._report.error("unknown-argument", said, place, name)

    def _step(self, item: Json, at: int, name: str, stated: Json) -> Step:
        reading, pointer = self._reading, f"{self._place}/steps/{at}"
        position, before = len(reading.steps), reading.steps[-1].id if reading.steps else None
        if not isinstance(item, dict):
            what = "A step is no object."
            self._report.error("field-type", what, f"/steps/{position}", name)
            return Step(name, "")
        if not isinstance(stated, str):
            what = "The step has no 'stepId'."
            self._report.error("missing-field", what, f"/steps/{position}", name)
        self._refuse_fields(item, at, name)
        made = Step(
            name,
            _steps.tool_of(item, f"/steps/{position}/tool", name, reading),
            self._args(item, pointer, name),
            when=self._when(),
            retries=self._retries(item, at, pointer, name),
            timeout_s=self._timeout(item, pointer, name),
            thought=self._text(item, "description", f"/steps/{position}/thought", name),
        )
        needed = {ref.step for _, ref in step_refs(made)}
        if before is not None and before not in needed:
            made = replace(made, after=(before,))
        known = stated if isinstance(stated, str) else name
        self._scope.outputs[known] = self._declared(item, pointer, name, name)
        self._criteria(item, pointer, name)
        return made

    def _retries(self, item: Mapping[str, Json], at: int, pointer: str, name: str) -> int:
        after = listed(self._workflow.get("steps"))[at + 1 : at + 2]
        _steps.refuse_jumps(item, after, pointer, name, self._report)
        return _steps.retries(item, pointer, name, self._report)

    def _refuse_fields(self, item: Mapping[str, Json], at: int, name: str) -> None:
        rest = {
            key: each
            for key, each in item.items()
            if key not in _steps.UNSAYABLE and key[:2] != "x-"
        }
        pointer = f"{self._place}/steps/{at}"
        self._report.unknown_fields(rest, _KNOWN, pointer, name, _OTHER_NAMES)
        for named, why in _steps.UNSAYABLE.items():
            if item.get(named):
                self._report.error("cannot-express", why, f"{pointer}/{named}", name)
        for each in listed(item.get("dependsOn")):
            known = isinstance(each, str) and each.removeprefix("$steps.") in self._scope.outputs
            if not known:
                said = "'dependsOn' names what is no earlier step of this workflow."
                self._report.error("cannot-express", said, f"{pointer}/dependsOn", name)

    def _args(self, item: Mapping[str, Json], pointer: str, step: str) -> dict[str, Value]:
        args: dict[str, Value] = {}
        shared = listed(self._workflow.get("parameters"))
        own = listed(item.get("parameters"))
        for place, items in (
            (f"{self._place}/parameters", shared),
            (f"{pointer}/parameters", own),
        ):
            seen: set[str] = set()
            for at, each in enumerate(items):
                found = self._parameter(each, f"{place}/{at}", step)
                if found is None:
                    continue
                name, value = found
                if name in seen:
                    said = f"Two parameters are called {shown(name)}; an argument has one value."
                    self._report.error("duplicate-key", said, f"{place}/{at}", step)
                seen.add(name)
                args[name] = value
        for name, value in self._body(item, pointer, step):
            if name in args:
                said = f"{shown(name)} is a parameter, and in the body too."
                self._report.error("duplicate-key", said, f"{pointer}/requestBody", step)
            args[name] = value
        return args

    def _parameter(self, item: Json, place: str, step: str) -> tuple[str, Value] | None:
        fields = fields_of(item)
        reference = fields.get("reference")
        if isinstance(reference, str):
            found = _COMPONENT.fullmatch(reference)
            components = fields_of(fields_of(self._root.get("components")).get("parameters"))
            named = components.get(found[1]) if found is not None else None
            if not isinstance(named, dict):
                said = f"There is no {shown(reference)}."
                self._report.error("reference-syntax", said, place, step)
                return None
            fields = {**named, **{k: v for k, v in fields.items() if k == "value"}}
        name = fields.get("name")
        if not isinstance(name, str) or "value" not in fields:
            said = "A parameter has a 'name' and a 'value'."
            self._report.error("missing-field", said, place, step)
            return None
        if self._is_left_out(fields["value"], name, f"{place}/value", step):
            return None
        return name, self._syntax.read(fields["value"], f"{place}/value", step, self._report)

    def _is_left_out(self, value: Json, name: str, place: str, step: str) -> bool:
        """Return whether an argument is an optional input that the calling step leaves out."""
        unset = expressions.unset_input(value, self._scope) if self._prefix else None
        schema = self._workflow.get("inputs")
        if unset is None or unset in needed_inputs(schema, self._root):
            return False
        if unset not in (input_names(schema, self._root) or ()):
            return False
        said = f"{shown(name)} is left out: the input {shown(unset)} has no value here."
        self._report.warning("noise", said, place, step)
        return True

    def _body(
        self, item: Mapping[str, Json], pointer: str, step: str
    ) -> Iterator[tuple[str, Value]]:
        body = item.get("requestBody")
        if body is None:
            return
        place = f"{pointer}/requestBody"
        if not isinstance(body, dict):
            self._report.wrong_type("requestBody", body, "an object", place, step)
            return
        if body.get("replacements"):
            said = "A plan replaces nothing in a payload: write the values into it."
            self._report.error("cannot-express", said, f"{place}/replacements", step)
        if "payload" not in body:
            return
        payload = body["payload"]
        if isinstance(payload, str):
            payload = _embedded_json(payload, body.get("contentType"))
        if isinstance(payload, dict) and not self._takes_body(item, payload):
            for key, each in payload.items():
                inner = f"{place}/payload/{escape_pointer(key)}"
                if not self._is_left_out(each, key, inner, step):
                    yield key, self._syntax.read(each, inner, step, self._report)
        else:
            yield "body", self._syntax.read(payload, f"{place}/payload", step, self._report)

    def _takes_body(self, item: Mapping[str, Json], payload: Mapping[str, Json]) -> bool:
        """Return whether the tool takes the payload as one argument."""
        named = _steps.named(item.get("operationId"), self._reading)
        signature = None if named is None else (self._signatures or {}).get(named)
        if signature is None or "body" not in signature.inputs:
            return False
        return not all(key in signature.inputs for key in payload)

    def _declared(
        self, item: Mapping[str, Json], pointer: str, name: str, step: str | None
    ) -> dict[str, Value]:
        """Return the outputs of a step, for what comes after it; `step` has the response."""
        found: dict[str, Value] = {}
        for key, stated in fields_of(item.get("outputs")).items():
            place = f"{pointer}/outputs/{escape_pointer(key)}"
            path = expressions.body_path(stated) if isinstance(stated, str) else None
            if path is not None and step is not None:
                found[key] = Ref(step, path)
            elif not isinstance(stated, str):
                said = "An output of a step is an expression: $response.body#/POINTER."
                self._report.error("cannot-express", said, place, name)
            elif stated.startswith("$") and not stated.startswith(_SAYABLE):
                said = f"This output is left out: a plan has no {shown(stated)}."
                self._report.warning("noise", said, place, name)
            else:
                found[key] = self._syntax.read(stated, place, name, self._report)
        return found

    def _criteria(self, item: Mapping[str, Json], pointer: str, step: str) -> None:
        for at, each in enumerate(listed(item.get("successCriteria"))):
            read = criterion(fields_of(each))
            if isinstance(read, str):
                place = f"{pointer}/successCriteria/{at}/condition"
                self._report.error("cannot-express", read, place, step)
            else:
                self._reading.conditions += [(step, found) for found in read]
                self._reading.last_criterion = f"{pointer}/successCriteria/{at}"

    def _when(self) -> When | None:
        """Return what the steps before ask of their responses: without it a step does not run."""
        asked = self._reading.conditions
        asked_of: list[Value] = [Ref(step, found.path) for step, found in asked]
        schemas: list[Json] = [found.schema for _, found in asked]
        if len(asked_of) == 1:
            return When(asked_of[0], schemas[0])
        return When(array(tuple(asked_of)), {"prefixItems": schemas}) if asked_of else None

    def _output(self) -> dict[str, Value] | None:
        outputs = self._workflow.get("outputs")
        if outputs is None:
            return None
        place = f"{self._place}/outputs"
        if not isinstance(outputs, dict):
            self._report.wrong_type("outputs", outputs, "an object", place)
            return None
        read = partial(self._syntax.read, step=None, report=self._report)
        return {k: read(v, f"{place}/{escape_pointer(k)}") for k, v in outputs.items()}

    def _text(self, item: Mapping[str, Json], named: str, place: str, step: str) -> str | None:
        text = item.get(named)
        if text is None or isinstance(text, str):
            return text
        self._report.wrong_type(named, text, "text", place, step)
        return None

    def _timeout(self, item: Mapping[str, Json], pointer: str, step: str) -> float | None:
        stated = item.get("timeout")
        if stated is None:
            return None
        if isinstance(stated, bool) or not isinstance(stated, int) or not 0 < stated < 10**9:
            place = f"{pointer}/timeout"
            self._report.wrong_type("timeout", stated, "milliseconds", place, step)
            return None
        return stated / 1000


def _embedded_json(payload: str, kind: Json) -> Json:
    """Return what a payload that is JSON in a text says; the text where it is none."""
    if kind is not None and "json" not in str(kind).lower():
        return payload
    try:
        found = cast("Json", json.loads(payload))
    except (ValueError, RecursionError):
        return payload
    return found if isinstance(found, dict | list) else payload
