"""Flows of a plan: the label of each reference, followed through the steps, and the verdicts.

Nothing runs here. A label assumes the worst that can happen: whatever the outputs of untrusted
tools contain, a value with a better label does not come from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.model import (
    INDEX,
    ITEM,
    Array,
    Literal,
    Object,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
    object_,
)
from toolplan.plan.path import EVERY, Json, Path
from toolplan.policy.defaults import defaults_of, is_worded
from toolplan.policy.labels import (
    SAID,
    Decide,
    Flow,
    FlowKind,
    Label,
    Need,
    Source,
    Trust,
    Verdict,
    least,
    picked,
)
from toolplan.policy.vouched import Vouched
from toolplan.schema import Schema
from toolplan.schema.tool import Lineage, Tool

CallShape: TypeAlias = Callable[[Step], tuple[Mapping[str, Json], Mapping[str, Schema | None]]]
"""Returns the literal arguments of a step, and the schemas of its references by JSON Pointer."""

_PARTS: Final = re.compile(r"[.\[\]]+")
_MOST_FOLLOWED: Final = 40
"""Maximum length of a followed chain of steps; beyond it the worst label is taken."""

_DEFAULT: Final = Need()
_DECIDE: Final = Decide()
_NO_SECRET: Final = Need(otherwise=Verdict.REFUSE)
_UNKNOWN: Final = Label(Trust.UNTRUSTED)
_BY_THE_TOOL: Final = Label(Trust.TRUSTED)
"""The label of a default that JSON cannot say: `x-default` has words for it."""


class _Choice(Struct, frozen=True):
    """The label of a decision about calls; `pointer` leads to its worst part."""

    label: Label
    pointer: str


class _Known(Struct, frozen=True):
    """The labels of a step, for the steps that read it.

    `args` is the label of all of its arguments together, `number` that of the list of its items,
    `choices` are what decides whether, and how often, it is made, and `missing` is the label of
    what may make all of its output null: a step that fails and continues.
    """

    step: Step
    args: Label
    number: Label
    choices: Mapping[FlowKind, _Choice]
    missing: Label
    lineage: Callable[[Path], Lineage] | None
    follows: bool


class PlanFlows:
    """The labels of a plan's references, and its flows."""

    def __init__(
        self,
        steps: Sequence[Step],
        order: Sequence[str],
        tools: Mapping[str, Tool | None],
        vouched: Vouched,
        shape: CallShape,
    ) -> None:
        """Follow the values of `steps`.

        `order` are the ids of the steps, each behind what it needs; a step that is not among them
        is not known. `tools` are the tools by name, None where one cannot be used.
        """
        self._positions = {step.id: position for position, step in enumerate(steps)}
        self._steps = {step.id: step for step in steps}
        self._tools = tools
        self._vouched = vouched
        self._shape = shape
        self._known: dict[str, _Known] = {}
        self._arguments_of: dict[str, dict[str, Label]] = {}
        self._met: dict[str, None] = {}  # the steps that the current step refers to
        self._labels: dict[tuple[str, Path], Label] = {}
        self._depth = 0
        self._has_secrets = any(vouched.outputs(name).secrets for name in tools)
        for name in order:
            self._known[name] = self._look_at(self._steps[name])

    def label(self, step: Step | None, value: Value, path: Path = ()) -> Label:
        """Return the label of the part of `value`, which stands in `step`, at `path`.

        `step` is None for the list of a `for_each`, in which there is no item yet.
        """
        if type(value) is Ref:  # by far the most frequent
            return self._reference(step, value, path)
        match value:
            case Literal():
                return SAID
            case Ref():
                return self._reference(step, value, path)
            case Template(parts):
                return least(self._reference(step, p, ()) for p in parts if isinstance(p, Ref))
            case Array(items):
                if path and isinstance(path[0], int) and path[0] < len(items):
                    return self.label(step, items[path[0]], path[1:])
                rest = path[1:] if path and path[0] is EVERY else ()
                return least(self.label(step, item, rest) for item in items)
            case Object(fields):
                if path and isinstance(path[0], str):
                    inner = [value for key, value in fields if key == path[0]]
                    if self._depth:  # `sql` reads names in any letter case
                        folded = path[0].casefold()
                        inner = [value for key, value in fields if key.casefold() == folded]
                    return least(self.label(step, each, path[1:]) for each in inner)
                return least(self.label(step, inner) for _, inner in fields)

    def flows(self) -> Iterator[Flow]:
        """Yield every flow into a place where it can do harm, in the order of the plan."""
        for step in self._steps.values():
            tool, known = self._tools.get(step.tool), self._known.get(step.id)
            if tool is None or known is None:
                continue
            needs = self._vouched.needs(tool)
            default = None if needs is None else _DECIDE
            decide = self._vouched.policy.decide.get(tool.name, default)
            if needs is not None:
                for name, label in self._arguments_of[step.id].items():
                    need = needs.get(name, _DEFAULT)
                    pointer = self._pointer(step, f"args/{escape_pointer(name)}")
                    yield Flow(step.id, pointer, need, label, need.verdict(label))
                for name, value in defaults_of(tool, step.args).items():
                    inside = [each for each in _PARTS.split(name) if each]
                    path = inside if inside and inside[0] in step.args else [name]
                    pointer = self._pointer(step, f"args/{'/'.join(map(escape_pointer, path))}")
                    need = needs.get(path[0], _DEFAULT)
                    label = _BY_THE_TOOL if is_worded(tool, path[0]) else SAID
                    yield Flow(step.id, pointer, need, label, Verdict.ALLOW, "default", value)
            if decide is not None:
                for kind, choice in known.choices.items():
                    need, label = decide.of(kind), choice.label
                    yield Flow(step.id, choice.pointer, need, label, need.verdict(label), kind)
            if self._has_secrets and self._vouched.is_egress(tool):
                yield from self._secrets(known)

    def _secrets(self, known: _Known) -> Iterator[Flow]:
        step = known.step
        places = [
            (self._pointer(step, f"args/{escape_pointer(name)}"), label)
            for name, label in self._arguments_of[step.id].items()
        ]
        # whether it is made says something about the secret
        places += ((choice.pointer, choice.label) for choice in known.choices.values())
        for pointer, label in places:
            if label.secrets:
                yield Flow(step.id, pointer, _NO_SECRET, label, Verdict.REFUSE, "secret")

    def _pointer(self, step: Step, inside: str) -> str:
        return f"/steps/{self._positions[step.id]}/{inside}"

    # Following values

    def _look_at(self, step: Step) -> _Known:
        tool = self._tools.get(step.tool)
        self._met.clear()
        count = SAID if step.for_each is None else self.label(step, step.for_each)
        labels = {
            name: SAID if type(value) is Literal else self.label(step, value)
            for name, value in step.args.items()
        }
        self._arguments_of[step.id] = labels
        args = least(labels.values())
        choices: dict[FlowKind, _Choice] = {}
        if step.for_each is not None:
            _choose(choices, "count", _Choice(count, self._pointer(step, "for_each")))
        if step.when is not None:
            label = self.label(step, step.when.value)
            _choose(choices, "condition", _Choice(label, self._pointer(step, "when/value")))
        for name in self._met:
            behind = self._known.get(name)
            for kind, choice in behind.choices.items() if behind is not None else ():
                if choice.label is not SAID:
                    _choose(choices, kind, choice)
        missing = self._missing(step, args)
        flow = None if tool is None else tool.compute_flow
        lineage = None if flow is None else flow(*self._shape(step))
        return _Known(step, args, count, choices, missing, lineage, flow is not None)

    def _missing(self, step: Step, args: Label) -> Label:
        """Return the label of what may make the output of `step` null, but for its items.

        It is null where the step fails and continues: a tool may fail for its arguments, and a
        condition or an argument where a reference to it finds nothing. References to a step that
        is null for such a reason find nothing either.
        """
        if step.on_error != "continue":
            return SAID  # the steps that refer to it do not run
        when = SAID if step.when is None else self.label(step, step.when.value)
        behind = (self._known[name].missing for name in self._met if name in self._known)
        return least((args, when, *behind))

    def _reference(self, step: Step | None, ref: Ref, path: Path) -> Label:
        if step is not None and step.for_each is not None:
            if ref.step == INDEX:
                return SAID  # a position, counted by the engine
            if ref.step == ITEM:
                return self.label(None, step.for_each, (EVERY, *ref.path, *path))
        if EVERY in ref.path and path:
            # such a reference gives a flat list: what comes first leads to one of its elements
            path = () if isinstance(path[0], str) else path[1:]
        return self._output(ref.step, (*ref.path, *path))

    def _output(self, name: str, path: Path) -> Label:
        """Return the label of the part of a step's output at `path`."""
        known = self._known.get(name)
        if known is None:
            return _UNKNOWN
        if self._depth == 0:
            self._met[name] = None
        if known.step.for_each is not None:
            # a list with the result of each call; what is not an element of it is all of it
            path = () if path and isinstance(path[0], str) else path[1:]
        found = self._labels.get((name, path))
        if found is None:
            found = self._labels[name, path] = self._result(known, path)
        return found

    def _result(self, known: _Known, path: Path) -> Label:
        if known.follows:
            label = self._followed(known, path)
        else:
            tool = known.step.tool
            label = self._vouched.outputs(tool).label(known.step.id, tool, path)
            label = picked(label, known.args)
        label = picked(label, known.number)
        return label if path else picked(label, known.missing)

    def _followed(self, known: _Known, path: Path) -> Label:
        if known.lineage is None or self._depth >= _MOST_FOLLOWED:
            return known.args
        found = known.lineage(path)
        arguments = object_(tuple(known.step.args.items()))
        self._depth += 1
        try:
            made_of = least(
                self.label(known.step, arguments, each) for each in _sorted(found.values)
            )
            by = least(self.label(known.step, arguments, each) for each in _sorted(found.picks))
        finally:
            self._depth -= 1
        label = picked(made_of, by)
        if found.is_new and label.trust is Trust.LISTED:
            return replace(label, trust=Trust.UNTRUSTED)
        if found.is_made and label.trust is Trust.SAID:
            return Label(
                Trust.TRUSTED, (Source(known.step.id, known.step.tool, path),), label.secrets
            )
        return label


def _sorted(paths: frozenset[Path]) -> list[Path]:
    return sorted(paths, key=repr)


def _choose(choices: dict[FlowKind, _Choice], kind: FlowKind, more: _Choice) -> None:
    """Add what decides about a step to `choices`, the worse of two at its place."""
    known = choices.get(kind)
    if known is None:
        choices[kind] = more
        return
    worse = more if more.label.trust < known.label.trust else known
    choices[kind] = _Choice(least((known.label, more.label)), worse.pointer)
