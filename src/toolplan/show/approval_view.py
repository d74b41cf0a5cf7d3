"""What a person decides about: the effects of a plan, calls that wait or are in doubt, flows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from toolplan.events import CallInDoubt, Run
from toolplan.plan.canonical import dump_value
from toolplan.plan.model import Literal, Value
from toolplan.plan.path import Json, print_path
from toolplan.policy import Flow, Source, Trust
from toolplan.policy.approval import EffectStep
from toolplan.policy.consent import Effect, Origin
from toolplan.schema.tool import Effects
from toolplan.show.document import (
    GAP,
    Line,
    Piece,
    Screen,
    grid_lines,
    grid_widths,
    pair_lines,
    plain,
    wrapped,
)
from toolplan.show.exact import exact_lines, exact_name, exact_text, mixed_scripts
from toolplan.show.plan_tree import condition_words
from toolplan.show.printable import count_text, printable, text_width, visible
from toolplan.show.runs_view import SHORT

_INDENT: Final = "    "
_NARROWEST: Final = 20
_ROOM: Final = 60  # columns for values below the first line, so that most words are whole
_WIDEST_HEAD: Final = 24
_MOST_NAMED: Final = 8
_ALARM: Final = "bold red"

BY_DEFAULT: Final = "(the tool's default)"
UNDECLARED: Final = "may change something (undeclared)"


class ApprovalView(Struct, frozen=True):
    """The steps of a plan that may change something, and the plan's digest, as they are printed.

    Nothing is left out or rounded: a fixed value is shown as JSON that reads back as the same
    value, another one by its reference. See `toolplan.show.exact`.
    """

    steps: tuple[EffectStep, ...]
    digest: str

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        changes = "changes something" if declares_effects(self.steps) else "may change something"
        most = "" if all(each.exact and not each.conditional for each in self.steps) else "at most "
        calls = count_text(sum(each.calls for each in self.steps), "call")
        total = f"{count_text(len(self.steps), 'step')}, {most}{calls}"
        yield from head_lines(f"This plan {changes}: {total}.", "bold yellow", screen)
        for step in self.steps:
            yield from _step_lines(step, screen)
        yield from head_lines(f"digest {self.digest}", "dim", screen)


def approval_text(steps: Sequence[EffectStep], digest: str) -> str:
    """Return the text of `ApprovalView`, each value in one line."""
    return plain(ApprovalView(tuple(steps), digest).lines(Screen(sys.maxsize)))


def _step_lines(step: EffectStep, screen: Screen) -> Iterator[Line]:
    effects = UNDECLARED if step.effects is Effects.UNKNOWN else step.effects.value
    style = "yellow" if step.effects is Effects.WRITE else "bold red"
    name, tool = (exact_name(each, screen.encoding) for each in (step.step, step.tool))
    yield from head_lines(f"  {name}: {tool}, {effects}", style, screen)
    if step.for_each is not None:
        calls = ("" if step.exact else "at most ") + count_text(step.calls, "call")
        yield from value_lines(f"{calls}: one for each of ", step.for_each, screen)
    if step.when is not None:
        yield from value_lines("only if ", step.when.value, screen)
        yield from value_lines(f"  {condition_words(step.when)}: ", step.when.schema, screen)
    for argument, value in step.args.items():
        sign = "=" if isinstance(value, Literal) else "<-"
        yield from value_lines(f"{exact_name(argument, screen.encoding)} {sign} ", value, screen)
    yield from default_lines(step.defaults, screen)
    condition = () if step.when is None else (step.when.value, step.when.schema)
    given = (*step.args.values(), *step.args, dict(step.defaults))
    yield from script_warnings(screen, step.for_each, *condition, *given, step.step, step.tool)
    if step.invented:
        names = ", ".join(exact_name(each, screen.encoding) for each in step.invented)
        yield from head_lines(f"{_INDENT}Attention, not in the question: {names}", _ALARM, screen)


def head_lines(text: str, style: str, screen: Screen) -> Iterator[Line]:
    """Yield a line of prose, wrapped."""
    below = text[: len(text) - len(text.lstrip())] + "  "
    return wrapped((Piece(screen.fit(text), style),), screen.width, below=below)


def declares_effects(steps: Sequence[EffectStep]) -> bool:
    """Return whether one of `steps` declares effects; the others are merely undeclared."""
    return any(step.effects is not Effects.UNKNOWN for step in steps)


def value_lines(head: str, value: Value | Json, screen: Screen) -> Iterator[Line]:
    """Yield `value` after `head`, all of it."""
    width, beside = screen.width, len(_INDENT) + text_width(head)
    below = " " * (beside if beside <= min(_WIDEST_HEAD, width - _ROOM) else len(_INDENT) + 2)
    first, rest = (max(width - each, _NARROWEST) for each in (beside, len(below)))
    before = _INDENT + head
    for line in exact_lines(value, first, rest, screen.encoding):
        yield (Piece(screen.fit(before + line).rstrip()),)
        before = below


def default_lines(defaults: Mapping[str, Json], screen: Screen) -> Iterator[Line]:
    """Yield the arguments that a plan leaves out, and that the tool has values for."""
    for name, value in defaults.items():
        head = f"{exact_name(name, screen.encoding)} {BY_DEFAULT} = "
        yield from value_lines(head, value, screen)


def script_warnings(screen: Screen, *values: Value | Json) -> Iterator[Line]:
    """Yield which letters of `values` look like those of another script."""
    found: dict[str, str] = {}
    for value in values:
        found |= {} if value is None else mixed_scripts(value)
    shown = [f"{exact_text(char)[1:-1]} is {name}" for char, name in found.items()]
    if shown:
        more = ", …" if len(shown) > _MOST_NAMED else ""
        listed = ", ".join(shown[:_MOST_NAMED]) + more
        text = f"{_INDENT}Attention, letters that look like others: {listed}"
        yield from head_lines(text, _ALARM, screen)


def approval_json(steps: Sequence[EffectStep], digest: str) -> dict[str, Json]:
    """Return the content of `ApprovalView` as JSON."""
    return {
        "digest": digest,
        "effects": [
            {
                "step": step.step,
                "tool": step.tool,
                "effects": step.effects.value,
                "args": {name: dump_value(value) for name, value in step.args.items()},
                "defaults": dict(step.defaults),
                "invented": list(step.invented),
                "for_each": None if step.for_each is None else dump_value(step.for_each),
                "conditional": step.conditional,
                "when": None
                if step.when is None
                else {"value": dump_value(step.when.value), "is": step.when.schema},
                "calls": step.calls,
                "exact": step.exact,
            }
            for step in steps
        ],
    }


_BELOW = " " * 8
_MOST_OF_A_RESULT = 2_000


class EffectsView(Struct, frozen=True):
    """Calls that wait, as they are printed: every value whole and exact.

    Values with less trust than their place needs are marked with `!`.
    """

    effects: tuple[Effect, ...]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        for step, calls in by_step(self.effects):
            yield from _waiting_lines(step, calls, screen)


def effects_text(effects: Sequence[Effect]) -> str:
    """Return the text of `EffectsView`, each value in one line."""
    return plain(EffectsView(tuple(effects)).lines(Screen(sys.maxsize)))


def by_step(effects: Sequence[Effect]) -> Iterator[tuple[str, tuple[Effect, ...]]]:
    """Yield the calls of each step: a person decides about all of them at once."""
    for step, calls in groupby(effects, key=lambda effect: effect.step):
        yield step, tuple(calls)


def _waiting_lines(step: str, calls: Sequence[Effect], screen: Screen) -> Iterator[Line]:
    what = "waits for you"
    if calls[0].item is not None:
        what = f"{len(calls)} calls wait for you" if len(calls) > 1 else "1 call waits for you"
    names = (exact_name(each, screen.encoding) for each in (step, calls[0].tool))
    yield from head_lines("  ".join((*names, what)), "bold yellow", screen)
    for pointer, origin in calls[0].choices.items():
        mark = "!" if origin.asked else " "
        on = f"  {mark} it depends on {exact_name(pointer, screen.encoding)}"
        yield (Piece(screen.fit(on)),)
        yield from head_lines(*_origin(origin, screen.encoding), screen)
    for call in calls:
        if call.item is not None:
            yield from head_lines(f"  call {call.item}", "bold", screen)
        for name, value in call.args.items():
            origin = call.origins.get(name, Origin(Trust.UNTRUSTED, asked=True))
            mark = "!" if origin.asked else " "
            yield from value_lines(f"{mark} {exact_name(name, screen.encoding)} = ", value, screen)
            yield from head_lines(*_origin(origin, screen.encoding), screen)
        yield from default_lines(call.defaults, screen)
        if not call.args and not call.defaults:
            yield (Piece("    (no arguments)"),)
        names = dict(call.args), dict(call.defaults), call.step, call.tool
        yield from script_warnings(screen, *names)


def _origin(origin: Origin, encoding: str) -> tuple[str, str]:
    """Return the origin and the trust of a value as a line, and its style."""
    style = "red" if origin.asked else "dim"
    if origin.label is Trust.SAID:
        return f"{_BELOW}said", style
    texts = dict.fromkeys((*origin.refs, *map(str, origin.sources)))
    plain_texts = (
        each if each.isascii() and each.isprintable() else exact_text(each, encoding)[1:-1]
        for each in texts
    )
    made_of = ", ".join(plain_texts) or "unknown values"
    needed = f"; {origin.needs} needed" if origin.asked and origin.needs else ""
    return f"{_BELOW}from {made_of}: {origin.label}{needed}", style


def doubt_lines(run: Run) -> Iterator[str]:
    """Yield lines on each call in doubt, with all its arguments, and how a person decides."""
    short = run.run[:SHORT]
    for step in run.steps.values():
        places = [
            printable(each.step) + ("" if each.item is None else f":{each.item}")
            for each in step.doubts
        ]
        for place, each in zip(places, step.doubts, strict=True):
            yield f"{place}: in doubt, it is not known whether this call did its work."
            yield f"  call:   {call_text(each)}"
            yield f"  reason: {printable(each.failure.message)}"
            if each.result is not None:
                yield f"  result: {_result_text(each.result, short)}"
        for first in places[:1]:
            yield f"  make it again:               toolplan resume {short} --retry {first}"
            yield f"  it did, and gave a value:    toolplan resume {short} --resolve {first}=JSON"
            yield f"  it did not, let it fail:     toolplan resume {short} --abort {first}"
        if len(places) > 1:
            yield f"  Decide about all {len(places)} calls; an option can be repeated."


def call_text(doubt: CallInDoubt) -> str:
    """Return a call with its arguments: `send(to="ann")`."""
    listed = "arguments unknown"
    if isinstance(doubt.args, dict):
        pairs = (f"{printable(name)}={_value(value)}" for name, value in doubt.args.items())
        listed = ", ".join(pairs)
    return f"{printable(doubt.tool) or 'call'}({listed})"


def _result_text(result: Json, run: str) -> str:
    """Return the unusable result of a call; a long one is cut, and its place stated."""
    match result:
        case {"json": value}:
            text = _value(value)
        case {"text": str(text)}:
            text = visible(" ".join(text.split("\n")))
        case _:
            text = _value(result)
    if len(text) <= _MOST_OF_A_RESULT:
        return text
    more = len(text) - _MOST_OF_A_RESULT
    return f"{text[:_MOST_OF_A_RESULT]} … {more} more characters: toolplan show {run} --json"


def _value(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


_COLUMNS = ("from", "into", "label", "needs", "verdict")


class FlowsView(Struct, frozen=True):
    """Flows, as they are printed, a row each; where rows are too wide, a list of fields each."""

    flows: Sequence[Flow]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        cells = [_COLUMNS, *(_row(flow) for flow in self.flows)]
        rows = [[Piece(screen.fit(printable(cell))) for cell in row] for row in cells]
        head, *rest = rows
        if sum(grid_widths(rows)) + len(GAP) * (len(_COLUMNS) - 1) <= screen.width:
            yield from grid_lines(rows)
            return
        for row in rest:
            yield from pair_lines([*zip(head, row, strict=True)], screen)
            yield ()


def flow_to_json(flow: Flow) -> dict[str, Json]:
    """Return a flow as JSON."""
    return {
        "step": flow.step,
        "pointer": flow.pointer,
        "kind": flow.kind,
        "needs": str(flow.needs),
        "label": flow.label.trust.word,
        "sources": [
            {"step": source.step, "tool": source.tool, "path": print_path(source.path)}
            for source in _sources(flow)
        ],
        "verdict": flow.verdict.value,
        **({"default": flow.default} if flow.kind == "default" else {}),
    }


def _sources(flow: Flow) -> Sequence[Source]:
    return flow.label.secrets if flow.kind == "secret" else flow.label.sources


def _row(flow: Flow) -> tuple[str, str, str, str, str]:
    into, needs, verdict = f"{flow.step}: {flow.pointer}", str(flow.needs), flow.verdict.value
    if flow.kind == "default":
        return BY_DEFAULT, f"{into} = {exact_text(flow.default)}", "default", needs, verdict
    sources = ", ".join(map(str, _sources(flow))) or "the plan"
    if flow.kind == "secret":
        return sources, into, "secret", "no secret", verdict
    return sources, into, flow.label.trust.word, needs, verdict
