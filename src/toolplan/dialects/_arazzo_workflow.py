"""Reads one workflow of Arazzo as a plan, and names what a plan cannot say of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, cast

from toolplan.dialects import _arazzo_expressions as expressions
from toolplan.dialects import _form, _values
from toolplan.dialects._arazzo_expressions import Condition, Scope
from toolplan.dialects._arazzo_places import STEPS, fields_of, listed
from toolplan.dialects._steps import IdCheck, free_id
from toolplan.path import Json
from toolplan.plan import Plan, Ref, Step, Value, When, array, escape_pointer, object_, step_refs
from toolplan.plan_json import Report, shown

_OPERATION = re.compile(r"(?:\$sourceDescriptions\.[\w-]+\.)?(?P<name>[^\s${}]+)")
_PATH = re.compile(r"\{\$sourceDescriptions\.[\w-]+\.url\}#/paths/(?P<path>[^/]*)/(?P<method>\w+)")
_COMPONENT = re.compile(r"\$components\.parameters\.([\w.-]+)")
_KNOWN: Final = (
    "stepId", "description", "operationId", "operationPath", "parameters", "requestBody",
    "successCriteria", "outputs", "dependsOn", "timeout",
)  # fmt: skip
ROOT_FIELDS: Final = (
    "arazzo", "info", "sourceDescriptions", "workflows", "components", "$self",
)  # fmt: skip
WORKFLOW_FIELDS: Final = (
    "workflowId", "summary", "description", "inputs", "dependsOn", "steps", "successActions",
    "failureActions", "outputs", "parameters",
)  # fmt: skip
_UNSAYABLE: Final[Mapping[str, str]] = {
    "workflowId": "A plan calls tools, and no other workflow.",
    "channelPath": "A plan has no channels of messages.",
    "action": "A plan has no channels of messages.",
    "correlationId": "A plan has no channels of messages.",
    "onSuccess": "A plan has no jumps: each step runs after the one before it.",
    "onFailure": "A plan has no jumps, and repeats a call only by 'retries'.",
}
_OTHER_NAMES: Final = {"id": "stepId", "operation": "operationId", "inputs": "parameters"}


def refuse_unknown(
    item: Mapping[str, Json], known: tuple[str, ...], pointer: str, report: Report
) -> None:
    rest = {key: each for key, each in item.items() if key[:2] != "x-"}
    report.unknown_fields(rest, known, pointer, None, {})


class WorkflowReader:
    """Reads one workflow."""

    def __init__(
        self,
        root: Mapping[str, Json],
        workflow: Mapping[str, Json],
        signatures: _form.Signatures | None,
        report: Report,
    ) -> None:
        self._root = root
        self._workflow = workflow
        self._signatures = signatures
        self._report = report
        self._scope = Scope(_inputs(workflow.get("inputs"), root))
        self._syntax = _values.Syntax(self._scope.read_text, _values.write_none)
        self._conditions: list[tuple[str, Condition]] = []

    def plan(self, items: list[Json]) -> Plan:
        """Return the plan of the steps `items`."""
        for field in ("dependsOn", "successActions", "failureActions"):
            if self._workflow.get(field):
                said = f"A plan has no {field!r} of a workflow."
                self._report.error("cannot-express", said, f"/workflows/0/{field}")
        check = IdCheck(self._report)
        names = [fields_of(each).get("stepId") for each in items]
        taken = {each for each in names if isinstance(each, str)}
        steps: list[Step] = []
        for at, item in enumerate(items):
            stated = names[at]
            name = stated if isinstance(stated, str) else free_id(at, taken)
            check.take(name)
            steps.append(self._step(item, at, name, steps[-1].id if steps else None))
        self._refuse_last(steps)
        return Plan(tuple(steps), self._output())

    def _step(self, item: Json, at: int, name: str, before: str | None) -> Step:
        pointer = f"{STEPS}/{at}"
        if not isinstance(item, dict):
            self._report.error("field-type", "A step is no object.", f"/steps/{at}", name)
            return Step(name, "")
        if not isinstance(item.get("stepId"), str):
            self._report.error("missing-field", "The step has no 'stepId'.", f"/steps/{at}", name)
        self._refuse_fields(item, at, name)
        args = self._args(item, pointer, name)
        made = Step(
            name,
            self._tool(item, at, name),
            args,
            when=self._when(),
            timeout_s=self._timeout(item, pointer, name),
            thought=self._text(item, "description", f"/steps/{at}/thought", name),
        )
        needed = {ref.step for _, ref in step_refs(made)}
        if before is not None and before not in needed:
            made = Step(
                name, made.tool, args, (before,),
                when=made.when, timeout_s=made.timeout_s, thought=made.thought,
            )  # fmt: skip
        self._declare(item, pointer, name)
        self._criteria(item, pointer, name)
        return made

    def _refuse_fields(self, item: Mapping[str, Json], at: int, name: str) -> None:
        rest = {
            key: each for key, each in item.items() if key not in _UNSAYABLE and key[:2] != "x-"
        }
        pointer = f"{STEPS}/{at}"
        self._report.unknown_fields(rest, _KNOWN, pointer, name, _OTHER_NAMES)
        for field, why in _UNSAYABLE.items():
            if item.get(field):
                self._report.error("cannot-express", why, f"{pointer}/{field}", name)
        for each in listed(item.get("dependsOn")):
            known = isinstance(each, str) and each.removeprefix("$steps.") in self._scope.outputs
            if not known:
                said = "'dependsOn' names what is no earlier step of this workflow."
                self._report.error("cannot-express", said, f"{pointer}/dependsOn", name)

    def _tool(self, item: Mapping[str, Json], at: int, name: str) -> str:
        place = f"/steps/{at}/tool"
        by_id, by_path = item.get("operationId"), item.get("operationPath")
        if isinstance(by_id, str):
            found = _OPERATION.fullmatch(by_id)
            if found is not None:
                return found["name"]
        if isinstance(by_path, str):
            found = _PATH.fullmatch(by_path)
            if found is not None:
                path = found["path"].replace("~1", "/").replace("~0", "~")
                tool = re.sub(r"[^A-Za-z0-9_.-]+", "_", found["method"] + path).strip("_")
                if tool and (self._signatures is None or tool in self._signatures):
                    return tool
                said = f"There is no tool for the operation {shown(by_path)}."
                help_ = "Name it by its 'operationId'."
                self._report.error("unknown-tool", said, place, name, help_)
                return tool
        if by_id is None and by_path is None:
            if not any(item.get(field) for field in _UNSAYABLE):
                self._report.error("missing-field", "No 'operationId' is given.", place, name)
        else:
            self._report.error("field-type", "The operation cannot be read.", place, name)
        return ""

    def _args(self, item: Mapping[str, Json], pointer: str, step: str) -> dict[str, Value]:
        args: dict[str, Value] = {}
        shared = listed(self._workflow.get("parameters"))
        own = listed(item.get("parameters"))
        for place, items in (("/workflows/0/parameters", shared), (f"{pointer}/parameters", own)):
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
        return name, self._syntax.read(fields["value"], f"{place}/value", step, self._report)

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
                yield key, self._syntax.read(each, inner, step, self._report)
        else:
            yield "body", self._syntax.read(payload, f"{place}/payload", step, self._report)

    def _takes_body(self, item: Mapping[str, Json], payload: Mapping[str, Json]) -> bool:
        """Return whether the tool takes the payload as one argument."""
        found = _OPERATION.fullmatch(str(item.get("operationId", "")))
        known = self._signatures or {}
        signature = None if found is None else known.get(found["name"])
        if signature is None or "body" not in signature.inputs:
            return False
        return not all(key in signature.inputs for key in payload)

    def _declare(self, item: Mapping[str, Json], pointer: str, step: str) -> None:
        """Keep the outputs of a step, for the steps after it."""
        found: dict[str, Value] = {}
        for name, stated in fields_of(item.get("outputs")).items():
            place = f"{pointer}/outputs/{escape_pointer(name)}"
            path = expressions.body_path(stated) if isinstance(stated, str) else None
            if path is not None:
                found[name] = Ref(step, path)
            elif isinstance(stated, str):
                found[name] = self._syntax.read(stated, place, step, self._report)
            else:
                said = "An output of a step is an expression: $response.body#/POINTER."
                self._report.error("cannot-express", said, place, step)
        self._scope.outputs[step] = found

    def _criteria(self, item: Mapping[str, Json], pointer: str, step: str) -> None:
        for at, each in enumerate(listed(item.get("successCriteria"))):
            fields, place = fields_of(each), f"{pointer}/successCriteria/{at}"
            condition = fields.get("condition")
            if fields.get("type", "simple") != "simple" or not isinstance(condition, str):
                said = "A plan has no criteria of regular expressions, JSONPath and XPath."
                self._report.error("cannot-express", said, place, step)
                continue
            read = expressions.conditions(condition)
            if isinstance(read, str):
                self._report.error("cannot-express", read, f"{place}/condition", step)
            else:
                self._conditions += [(step, found) for found in read]

    def _when(self) -> When | None:
        """Return what the steps before ask of their responses: without it a step does not run."""
        values: list[Value] = [Ref(step, found.path) for step, found in self._conditions]
        schemas: list[Json] = [found.schema for _, found in self._conditions]
        if len(values) == 1:
            return When(values[0], schemas[0])
        return When(array(tuple(values)), {"prefixItems": schemas}) if values else None

    def _refuse_last(self, steps: list[Step]) -> None:
        last = steps[-1].id if steps else None
        if any(step == last for step, _ in self._conditions):
            said = "No step comes after this one that its criterion could keep from running."
            place = f"{STEPS}/{len(steps) - 1}/successCriteria"
            self._report.error("cannot-express", said, place, last)

    def _output(self) -> Value | None:
        outputs = self._workflow.get("outputs")
        if outputs is None:
            return None
        place = "/workflows/0/outputs"
        if not isinstance(outputs, dict):
            self._report.wrong_type("outputs", outputs, "an object", place)
            return None
        read = partial(self._syntax.read, step=None, report=self._report)
        return object_(
            tuple((k, read(v, f"{place}/{escape_pointer(k)}")) for k, v in outputs.items())
        )

    def _text(self, item: Mapping[str, Json], field: str, place: str, step: str) -> str | None:
        text = item.get(field)
        if text is None or isinstance(text, str):
            return text
        self._report.wrong_type(field, text, "text", place, step)
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


def _inputs(schema: Json, root: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values of inputs: their `default`, or their `const`."""
    shared = fields_of(fields_of(root.get("components")).get("inputs"))
    prefix = "#/components/inputs/"

    def followed(node: Json) -> Mapping[str, Json]:
        fields = fields_of(node)
        reference = fields.get("$ref")
        if isinstance(reference, str) and reference.startswith(prefix):
            return fields_of(shared.get(reference.removeprefix(prefix)))
        return fields

    found: dict[str, Json] = {}
    for name, node in fields_of(followed(schema).get("properties")).items():
        fields = followed(node)
        for key in ("default", "const"):
            if key in fields:
                found[name] = fields[key]
    return found


def _embedded_json(payload: str, kind: Json) -> Json:
    """Return what a payload that is JSON in a text says; the text where it is none."""
    if kind is not None and "json" not in str(kind).lower():
        return payload
    try:
        found = cast("Json", json.loads(payload))
    except (ValueError, RecursionError):
        return payload
    return found if isinstance(found, dict | list) else payload
