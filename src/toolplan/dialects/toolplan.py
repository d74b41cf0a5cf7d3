"""The canonical dialect: the JSON form of `toolplan.plan_json`, `${step.path}` for references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolplan.diagnostics import CannotExpress, Diagnostic, Severity
from toolplan.dialects import _json
from toolplan.dialects._base import StepStream, has_key
from toolplan.dialects._stream import JsonReader, RereadSteps
from toolplan.path import Json
from toolplan.plan import Limits, Plan, Signature
from toolplan.plan_json import DEEPEST, Parsed, dump, load
from toolplan.source import Span, locate

_NO_LIMITS = Limits(text_bytes=2**40, steps=2**31, depth=DEEPEST)


@dataclass(frozen=True, slots=True)
class ToolplanDialect:
    """Says every plan that is made of JSON, with well-formed ids and paths."""

    name: str = "toolplan"
    json: bool = True

    def parse(
        self,
        text: str,
        signatures: Mapping[str, Signature] | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises."""
        read = _json.read(text, is_plan, limits)
        if read.block is None:
            return Parsed(None, read.diagnostics)
        loaded = load(read.block.document, limits)
        rest = _json.without(loaded.diagnostics, read.diagnostics)
        return Parsed(loaded.plan, (*read.diagnostics, *rest))

    def print(self, plan: Plan, signatures: Mapping[str, Signature] | None = None) -> str:
        """Return the text of `plan`, a step a line.

        Raises:
            CannotExpress: the plan holds what JSON cannot say (`NaN`, half a character), or an id
                or a path that no reference can spell.
        """
        text = _json.write(dump(plan))
        back = self.parse(text, None, _NO_LIMITS)
        if back.plan != plan:
            raise CannotExpress(
                "the canonical form cannot say this plan", _not_said(back.diagnostics)
            )
        return text

    def locate(self, text: str, pointer: str) -> Span | None:
        """Return the place of what `pointer` names, None where no plan is found in `text`."""
        block = _json.read(text, is_plan, _NO_LIMITS).block
        if block is None:
            return None
        found = locate(text[block.span.start : block.span.end], pointer)
        return found and Span(found.start + block.span.start, found.end + block.span.start)

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        is_clear = has_key(text, "params", "depends_on", "dependsOn") and not has_key(text, "args")
        return has_key(text, "steps") and not is_clear

    def stream(
        self, signatures: Mapping[str, Signature] | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps."""
        return RereadSteps(
            JsonReader("steps"),
            lambda count: "]}",
            lambda text: self.parse(text, signatures, limits),
            alone=True,
        )


def is_plan(document: Json) -> bool:
    """Whether `document` is an object with a list of steps, each of them an object."""
    if not isinstance(document, dict):
        return False
    steps = document.get("steps")
    return isinstance(steps, list) and bool(steps) and all(isinstance(s, dict) for s in steps)


def _not_said(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    found = [
        Diagnostic("cannot-express", Severity.ERROR, each.message, each.step, each.pointer)
        for each in diagnostics
        if each.severity is Severity.ERROR
    ]
    return found or [
        Diagnostic("cannot-express", Severity.ERROR, "What was written would be read otherwise.")
    ]


DIALECT: Final = ToolplanDialect()
