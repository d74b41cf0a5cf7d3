"""What a plan may change, for the person who approves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from toolplan.approval import EffectStep
from toolplan.path import Json
from toolplan.plan import Literal
from toolplan.plan_json import dump_value
from toolplan.render.printable import count_text, fit_encoding, printable, value_text
from toolplan.tools import Effects

_VALUE_WIDTH: Final = 2_000
_INDENT: Final = "    "


@dataclass(frozen=True)
class ApprovalView:
    """The steps of a plan that may change something, and the plan's digest, for a rich console.

    Nothing is left out: a value is shown as written, an unknown one by its reference.
    """

    steps: tuple[EffectStep, ...]
    digest: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style in self._lines():
            yield Text(fit_encoding(text, options.encoding), style=style, overflow="fold")

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield f"This plan changes something: {_calls_of_all(self.steps)}.", "bold yellow"
        for step in self.steps:
            effects = "destructive" if step.effects is Effects.UNKNOWN else step.effects.value
            unsaid = " (its source does not say)" if step.effects is Effects.UNKNOWN else ""
            style = "yellow" if step.effects is Effects.WRITE else "bold red"
            yield f"  {printable(step.step)}: {printable(step.tool)}, {effects}{unsaid}", style
            for line in _conditions(step):
                yield _INDENT + line, ""
            for name, value in step.args.items():
                sign = "=" if isinstance(value, Literal) else "<-"
                yield f"{_INDENT}{printable(name)} {sign} {value_text(value, _VALUE_WIDTH)}", ""
        yield f"digest {self.digest}", "dim"


def approval_json(steps: Sequence[EffectStep], digest: str) -> dict[str, Json]:
    """Return what `ApprovalView` shows as JSON."""
    return {
        "digest": digest,
        "effects": [
            {
                "step": step.step,
                "tool": step.tool,
                "effects": step.effects.value,
                "args": {name: dump_value(value) for name, value in step.args.items()},
                "for_each": None if step.for_each is None else dump_value(step.for_each),
                "conditional": step.conditional,
                "calls": step.calls,
                "exact": step.exact,
            }
            for step in steps
        ],
    }


def _calls_of_all(steps: Sequence[EffectStep]) -> str:
    calls = sum(step.calls for step in steps)
    exact = all(step.exact and not step.conditional for step in steps)
    most = "" if exact else "at most "
    return f"{count_text(len(steps), 'step')}, {most}{count_text(calls, 'call')}"


def _conditions(step: EffectStep) -> Iterator[str]:
    if step.for_each is not None:
        calls = ("" if step.exact else "at most ") + count_text(step.calls, "call")
        yield f"{calls}: one for each of {value_text(step.for_each, _VALUE_WIDTH)}"
    if step.conditional:
        yield "only if its condition holds"
