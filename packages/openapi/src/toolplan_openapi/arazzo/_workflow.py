"""Reads a workflow of Arazzo as a plan, and reports the parts that a plan cannot express.

The steps of a workflow that it calls, or depends on, stand in the plan like its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec.structs import replace

from toolplan.dialects import form, values
from toolplan.plan.canonical import MOST_RETRIES, IdCheck, Report, Syntax, shown
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import (
    Plan,
    Ref,
    Step,
    Value,
    When,
    array,
    escape_pointer,
    object_,
    split_pointer,
    step_refs,
)
from toolplan.plan.path import Json
from toolplan.tools import plain_name
from toolplan_openapi._document import Place, free_name
from toolplan_openapi.arazzo._expressions import (
    REFERENCE,
    Condition,
    Inputs,
    Outputs,
    Scope,
    Unsayable,
    body_path,
    criterion,
)

Fields: TypeAlias = Mapping[str, type]
"""The fields that an object may have, and their types."""

ROOT_FIELDS: Final[Fields] = {
    "arazzo": str, "info": dict, "sourceDescriptions": list, "workflows": list, "components": dict,
    "$self": str,
}  # fmt: skip
_WORKFLOW_FIELDS: Final[Fields] = {
    "workflowId": str, "summary": str, "description": str, "inputs": dict, "dependsOn": list,
    "steps": list, "outputs": dict, "parameters": list,
}  # fmt: skip
_STEP_FIELDS: Final[Fields] = {
    "stepId": str, "description": str, "operationId": str, "operationPath": str,
    "parameters": list, "requestBody": dict, "successCriteria": list, "outputs": dict,
    "dependsOn": list, "timeout": int, "workflowId": str, "onSuccess": list, "onFailure": list,
}  # fmt: skip
_NO_CALL_FIELDS: Final = ("operationId", "operationPath", "requestBody", "timeout")
_CALL_FIELDS: Final = {k: v for k, v in _STEP_FIELDS.items() if k not in _NO_CALL_FIELDS}
_BODY_FIELDS: Final[Fields] = {"contentType": str, "payload": object}
_KINDS: Final = {str: "text", dict: "an object", list: "a list", int: "a whole number"}
_OTHER_NAMES: Final = {"id": "stepId", "operation": "operationId", "inputs": "parameters"}
_UNSAYABLE: Final = {
    **dict.fromkeys(("channelPath", "action", "correlationId"), "channels of messages"),
    **dict.fromkeys(("successActions", "failureActions"), "actions of a workflow"),
    "replacements": "replacements: write the values into the payload",
}
"""Fields that a plan cannot express, with the words of the fault."""
_SHARED: Final = "$components.parameters."
_SAYABLE: Final = ("$inputs.", "$outputs.", "$steps.", "$workflows.")
_OPERATION = re.compile(r"(?:\$sourceDescriptions\.[\w-]+\.)?(?P<name>[^\s${}]+)")
_PATH = re.compile(r"\{\$sourceDescriptions\.[\w-]+\.url\}#/paths/(?P<path>[^/]*)/(?P<method>\w+)")
_PATH_HELP: Final = (
    "'operationPath' names a source, a path and a method:"
    " '{$sourceDescriptions.NAME.url}#/paths/~1books~1{id}/get'."
)
_DEEPEST: Final = 50
_LONGEST_ID: Final = 56
_LONGEST_TIMEOUT_MS: Final = 10**9


@dataclass
class Reading:
    """State shared by the workflows of one document while they become one plan.

    `places` are pointers into the document by those of the plan; `conditions` the criteria of
    steps, each with its pointer; `step` is the one that is being read.
    """

    root: Place
    signatures: form.Signatures | None
    report: Report
    most_steps: int
    steps: list[Step] = field(default_factory=list[Step])
    places: dict[str, str] = field(default_factory=dict[str, str])
    conditions: list[tuple[str, Condition, str]] = field(
        default_factory=list[tuple[str, Condition, str]]
    )
    finished: dict[str, Outputs] = field(default_factory=dict[str, Outputs])
    running: list[str] = field(default_factory=list[str])
    calls: int = 0
    taken: set[str] = field(default_factory=set[str])
    step: str | None = None

    def __post_init__(self) -> None:
        self.workflows = [*self.root.at("workflows").each()]
        self.check = IdCheck(self.report)

    def workflow(self, name: Json) -> Place | None:
        """Return the workflow `name`, or None."""
        named = (each for each in self.workflows if each.node.get("workflowId") == name)
        return next(named, None) if isinstance(name, str) else None

    def fields(self, place: Place, known: Fields) -> None:
        """Report fields of `place` that are not `known`, or of another type; not extensions."""
        for name, what in _UNSAYABLE.items():
            if place.node.get(name) and name not in known:
                self.refuse(f"A plan has no {what}.", place.at(name))
        rest = {k: v for k, v in place.node.items() if k[:2] != "x-" and k not in _UNSAYABLE}
        self.report.unknown_fields(rest, tuple(known), place.pointer, self.step, _OTHER_NAMES)
        for name, kind in known.items():
            each = place.at(name)
            is_flag = kind is int and isinstance(each.value, bool)
            if each.value is not None and (is_flag or not isinstance(each.value, kind)):
                self.report.wrong_type(name, each.value, _KINDS[kind], each.pointer, self.step)

    def refuse(
        self, said: str, place: Place, code: str = "cannot-express", help: str | None = None
    ) -> None:
        """Report a part that a plan cannot express."""
        self.report.error(code, said, place.pointer, self.step, help)

    def criteria(self, place: Place) -> Iterator[tuple[Place, list[Condition] | Unsayable]]:
        """Yield the success criteria of a step, each with its conditions or why it has none."""
        for each in place.at("successCriteria").each():
            try:
                yield each, criterion(each.node)
            except Unsayable as error:
                yield each, error

    def plan(self, workflow: Place, inputs: Outputs) -> Plan:
        stated = (each.node.get("stepId") for each in workflow.at("steps").each())
        self.taken |= {each for each in stated if isinstance(each, str)}
        self.places["/steps"] = f"{workflow.pointer}/steps"
        self.places["/output"] = f"{workflow.pointer}/outputs"
        outputs = _WorkflowReader(self, workflow, inputs, "").read()
        last = self.steps[-1].id if self.steps else None
        if self.conditions and self.conditions[-1][0] == last:
            said = "No step comes after this one that its criterion could keep from running."
            self.report.error("cannot-express", said, self.conditions[-1][2], last)
        return Plan(tuple(self.steps), None if outputs is None else object_(tuple(outputs.items())))

    def call(self, name: str, given: Outputs, prefix: str, place: Place) -> Outputs:
        """Add the steps of the workflow `name`, and return its outputs."""
        workflow = self.workflow(name)
        self.calls += 1
        if workflow is None:
            self.refuse(f"The document has no workflow {shown(name)}.", place)
        elif name in self.running:
            way = " -> ".join([*self.running[self.running.index(name) :], name])
            self.refuse(f"A workflow calls itself: {way}.", place, "cycle")
        elif len(self.running) >= _DEEPEST or self.calls > self.most_steps:
            said = f"Workflows call workflows more than {_DEEPEST} deep, or too often."
            self.refuse(said, place, "too-many-steps")
        else:
            inputs = Inputs.of(workflow, self.root)
            for each in given if inputs.declared else ():
                if each not in inputs.declared:
                    said = f"The workflow {shown(name)} has no input {shown(each)}."
                    self.refuse(said, place, "unknown-argument")
            for said in inputs.unfit(given):
                self.refuse(said, place, "argument-value")
            reader = _WorkflowReader(self, workflow, inputs.filled(given), prefix)
            self.finished[name] = reader.read() or {}
            return self.finished[name]
        return {}

    def native(self, pointer: str) -> str:
        """Return where in the document the canonical `pointer` is."""
        near, rest = pointer, ""
        while near and near not in self.places:
            near, _, token = near.rpartition("/")
            rest = f"/{token}{rest}"
        return self.places[near] + rest if near else pointer


class _WorkflowReader:
    """Reads one workflow, or one call of it; `prefix` begins the ids of its steps."""

    def __init__(self, reading: Reading, workflow: Place, inputs: Outputs, prefix: str) -> None:
        self._reading = reading
        self._workflow = workflow
        self._prefix = prefix
        self._scope = Scope(inputs, reading.finished, is_chosen=not prefix)
        self._syntax = Syntax(self._scope.read_text, values.write_none)
        self._inputs = Inputs.of(workflow, reading.root)
        self._refuse = reading.refuse

    def read(self) -> dict[str, Value] | None:
        """Add the steps to those read before, and return the outputs, or None."""
        reading, steps = self._reading, self._workflow.at("steps")
        reading.step = None
        reading.fields(self._workflow, _WORKFLOW_FIELDS)
        if not isinstance(steps.value, list):
            said = "The workflow has no list 'steps'."
            self._refuse(said, self._workflow, "missing-field")
            return None
        reading.running.append(self._workflow.text("workflowId"))
        for each in self._workflow.at("dependsOn").each():
            if (name := str(each.value)) not in reading.finished:
                reading.call(name, {}, f"{name}-", each)
        for at, place in enumerate(steps.each()):
            if len(reading.steps) >= reading.most_steps:
                said = f"The plan has more than {reading.most_steps:,} steps."
                self._refuse(said, place, "too-many-steps")
                break
            self._read_step(place, at)
        reading.running.pop()
        reading.step = None
        outputs = self._workflow.at("outputs")
        if outputs.value is None:
            return None
        return {name: self._value(outputs.at(name)) for name in outputs.node}

    def _note(self, said: str, place: Place) -> None:
        self._reading.report.warning("noise", said, place.pointer, self._reading.step)

    def _value(self, place: Place) -> Value:
        reading = self._reading
        return self._syntax.read(place.value, place.pointer, reading.step, reading.report)

    def _read_step(self, place: Place, at: int) -> None:
        reading = self._reading
        stated = place.text("stepId")
        if "workflowId" in place.node:
            return self._call(place, stated or f"s{at}")
        name = self._free(stated or f"s{at}") if self._prefix or not stated else stated
        reading.step = name
        if not stated:
            self._refuse("The step has no 'stepId'.", place, "missing-field")
        reading.check.take(name)
        canonical = f"/steps/{len(reading.steps)}"
        operation = "operationPath" if "operationPath" in place.node else "operationId"
        reading.places[canonical] = place.pointer
        for ours, native in (("id", "stepId"), ("tool", operation), ("thought", "description")):
            reading.places[f"{canonical}/{ours}"] = f"{place.pointer}/{native}"
        self._check_fields(place, _STEP_FIELDS)
        made = Step(
            name,
            self._tool(place),
            self._args(place, f"{canonical}/args"),
            when=self._when(),
            retries=self._actions(place, at, MOST_RETRIES),
            timeout_s=self._timeout(place.at("timeout")),
            thought=place.text("description") if "description" in place.node else None,
        )
        needed = {ref.step for _, ref in step_refs(made)}
        if reading.steps and (before := reading.steps[-1].id) not in needed:
            made = replace(made, after=(before,))
        self._scope.steps[stated or name] = self._step_outputs(place, name)
        for each, asked in reading.criteria(place):
            if isinstance(asked, Unsayable):
                self._refuse(str(asked), each.at("condition"))
            else:
                reading.conditions += [(name, one, each.pointer) for one in asked]
        reading.steps.append(made)
        return None

    def _free(self, stated: str) -> str:
        """Return an id that no step has, for the step `stated` of a workflow that is called."""
        base = re.sub(r"[^A-Za-z0-9_-]", "_", f"{self._prefix}{stated}")[:_LONGEST_ID].lstrip("-")
        name = free_name(base, self._reading.taken, "-")
        self._reading.taken.add(name)
        return name

    def _call(self, place: Place, name: str) -> None:
        reading, target = self._reading, place.at("workflowId")
        reading.step = name
        self._check_fields(place, _CALL_FIELDS)
        self._actions(place, int(split_pointer(place.pointer)[-1]), 0)
        inputs = dict(
            found[:2] for each in place.at("parameters").each() if (found := self._parameter(each))
        )
        outputs = reading.call(str(target.value), inputs, f"{self._prefix}{name}-", target)
        reading.step, self._scope.own = name, outputs
        stated = self._step_outputs(place, None)
        self._scope.own = None
        self._scope.steps[name] = {**outputs, **stated}
        for each, asked in reading.criteria(place):
            if asked:
                self._refuse("A step that calls a workflow has no response to look at.", each)

    def _check_fields(self, place: Place, known: Fields) -> None:
        self._reading.fields(place, known)
        for each in place.at("dependsOn").each():
            if str(each.value).removeprefix("$steps.") not in self._scope.steps:
                said = "'dependsOn' names what is no earlier step of this workflow."
                self._refuse(said, each)

    def _tool(self, place: Place) -> str:
        """Return the name of a step's tool, empty where it has none, and report the faults."""
        known, path = self._reading.signatures, place.text("operationPath")
        if (named := self._named(place)) is not None:
            return named
        if not path:
            self._refuse("No 'operationId' is given.", place, "missing-field")
            return ""
        found = _PATH.fullmatch(path)
        if found is None:
            said = f"The operation {shown(path)} cannot be read."
            self._refuse(said, place.at("operationPath"), "field-type", _PATH_HELP)
            return ""
        tool = plain_name(found["method"] + split_pointer(f"/{found['path']}")[0])
        if not tool or (known is not None and tool not in known):
            said = f"There is no tool for the operation {shown(path)}."
            self._refuse(said, place, "unknown-tool", "Name it by its 'operationId'.")
        return tool

    def _named(self, place: Place) -> str | None:
        """Return the tool with the `operationId` that a step states; None for no text.

        Behind the name of a source, also without `$sourceDescriptions`, it is the id there.
        """
        found = _OPERATION.fullmatch(place.text("operationId"))
        if found is None:
            return None
        source, _, rest = found["name"].partition(".")
        sources = self._reading.root.at("sourceDescriptions").each()
        if rest and source in [each.node.get("name") for each in sources]:
            return rest if found["name"] not in (self._reading.signatures or ()) else found["name"]
        return found["name"]

    def _actions(self, place: Place, at: int, most: int) -> int:
        """Return the number of retries of a step's call; report other actions that follow it."""
        after = self._workflow.at("steps", at + 1)
        for each in place.at("onSuccess").each():
            action = {k: v for k, v in each.node.items() if k != "name" and k[:2] != "x-"}
            following = {"type": "goto", "stepId": after.node.get("stepId")}
            expected = {"type": "end"} if after.value is None else following
            if action != expected:
                said = "A plan has no jumps: each step runs after the one before it."
                self._refuse(said, each)
        tries = 0
        for each in place.at("onFailure").each():
            is_plain = not each.node.keys() & {"criteria", "stepId", "workflowId", "reference"}
            limit = each.node.get("retryLimit", 1)
            is_retry = is_plain and each.node.get("type") == "retry" and type(limit) is int
            if is_retry and isinstance(limit, int) and 0 < limit <= most:
                tries = max(tries, limit)
                if "retryAfter" in each.node:
                    said = "The pauses between the tries of a call are not said by a plan."
                    self._note(said, each.at("retryAfter"))
            elif not is_plain or each.node.get("type") != "end":
                said = "A plan has no jumps; it repeats a call by 'retry' without criteria alone."
                self._refuse(said, each)
        return tries

    def _args(self, place: Place, canonical: str) -> dict[str, Value]:
        args, places = dict[str, Value](), dict[str, str]()
        for owner in (self._workflow, place):
            seen: set[str] = set()
            for each in owner.at("parameters").each():
                found = self._parameter(each)
                if found is None:
                    continue
                name, args[name], places[name] = found
                if name in seen:
                    said = f"Two parameters are called {shown(name)}; an argument has one value."
                    self._refuse(said, each, "duplicate-key")
                seen.add(name)
        for name, value, pointer in self._body(place):
            if name in args:
                said = f"{shown(name)} is a parameter, and in the body too."
                self._refuse(said, place.at("requestBody"), "duplicate-key")
            args[name], places[name] = value, pointer
        for name, pointer in places.items():
            self._reading.places[f"{canonical}/{escape_pointer(name)}"] = pointer
        return args

    def _parameter(self, place: Place) -> tuple[str, Value, str] | None:
        """Return a parameter's name, its value, and the pointer to it; None where it has none."""
        fields, value = place.node, place.at("value")
        if isinstance(reference := fields.get("reference"), str):
            shared = self._reading.root.at("components", "parameters")
            shared = shared.at(reference.removeprefix(_SHARED))
            if not shared.node or not reference.startswith(_SHARED):
                said = f"There is no {shown(reference)}."
                self._refuse(said, place, "reference-syntax")
                return None
            fields, value = shared.node, value if "value" in fields else shared.at("value")
        name = fields.get("name")
        if not isinstance(name, str) or not ("value" in fields or "value" in place.node):
            said = "A parameter has a 'name' and a 'value'."
            self._refuse(said, place, "missing-field")
            return None
        if self._is_left_out(value, name):
            return None
        return name, self._value(value), value.pointer

    def _is_left_out(self, value: Place, name: str) -> bool:
        """Return whether an argument is an optional input that the calling step leaves out."""
        found = REFERENCE.fullmatch(value.value) if isinstance(value.value, str) else None
        if not self._prefix or found is None or not found["inputs"]:
            return False
        named, inputs = found["name"], self._inputs
        if named in self._scope.inputs or named not in inputs.declared or named in inputs.required:
            return False
        self._note(f"{shown(name)} is omitted: the input {shown(named)} has no value here.", value)
        return True

    def _body(self, place: Place) -> Iterator[tuple[str, Value, str]]:
        """Yield the arguments that are in the body: names, values, and pointers to them."""
        body = place.at("requestBody")
        self._reading.fields(body, _BODY_FIELDS)
        payload = body.at("payload")
        kind = body.text("contentType").lower()
        if isinstance(payload.value, str) and (not kind or "json" in kind):
            with suppress(ValueError, RecursionError):  # it may be JSON in a text
                written = read_json(payload.value)
                if isinstance(written, dict | list):
                    payload = replace(payload, value=written)
        if "payload" not in body.node:
            return
        signature = (self._reading.signatures or {}).get(self._named(place) or "")
        inputs = set[str]() if signature is None else {*signature.inputs}
        is_one = "body" in inputs and not payload.node.keys() <= inputs
        if not isinstance(payload.value, dict) or is_one:
            yield "body", self._value(payload), payload.pointer
            return
        for name in payload.node:
            each = payload.at(name)
            if not self._is_left_out(each, name):
                yield name, self._value(each), each.pointer

    def _step_outputs(self, place: Place, step: str | None) -> dict[str, Value]:
        """Return the outputs of a step, for later steps; `step` is the one with the response."""
        found: dict[str, Value] = {}
        for name in place.at("outputs").node:
            each = place.at("outputs", name)
            stated = each.value
            path = body_path(stated) if isinstance(stated, str) else None
            if path is not None and step is not None:
                found[name] = Ref(step, path)
            elif not isinstance(stated, str):
                said = "An output of a step is an expression: $response.body#/POINTER."
                self._refuse(said, each)
            elif stated.startswith("$") and not stated.startswith(_SAYABLE):
                said = f"This output is left out: a plan has no {shown(stated)}."
                self._note(said, each)
            else:
                found[name] = self._value(each)
        return found

    def _when(self) -> When | None:
        """Return the condition of a step: the criteria of earlier steps, all of which must hold."""
        conditions = self._reading.conditions
        asked_of: list[Value] = [Ref(step, asked.path) for step, asked, _ in conditions]
        schemas: list[Json] = [asked.schema for _, asked, _ in conditions]
        if len(asked_of) == 1:
            return When(asked_of[0], schemas[0])
        return When(array(tuple(asked_of)), {"prefixItems": schemas}) if asked_of else None

    def _timeout(self, place: Place) -> float | None:
        stated = place.value
        if not isinstance(stated, int) or isinstance(stated, bool):
            return None
        if not 0 < stated < _LONGEST_TIMEOUT_MS:
            self._refuse("'timeout' is no length of time.", place, "field-type")
            return None
        return stated / 1000
