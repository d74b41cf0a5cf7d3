"""Whether a fixed plan still says what was written.

A fix may change how a value is spelt, and may change what a step says to what the gold plan says.
Any other change is one of meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolplan.plan.canonical import dump_value
from toolplan.plan.model import Plan, Ref, Step, Value, map_refs
from toolplan.plan.path import EVERY, Json


@dataclass(frozen=True, slots=True)
class Change:
    """One change that a fix made, as `before` and `after`, in the step `step`."""

    step: str
    before: str
    after: str


def changes_of_meaning(written: Plan, fixed: Plan, gold: Plan | None) -> list[Change]:
    """Return every change from `written` to `fixed` that neither keeps the meaning nor is gold's.

    Without a gold plan only the changes of spelling are no change of meaning.
    """
    found: list[Change] = []
    for old, new in zip(written.steps, fixed.steps, strict=True):
        if old.tool != new.tool and not _is_tool_kept(old.tool, new.tool, gold):
            found.append(Change(old.id, old.tool, new.tool))
        found += _argument_changes(old, new, gold)
    return found


def _is_tool_kept(old: str, new: str, gold: Plan | None) -> bool:
    return _folded(old) == _folded(new) or any(step.tool == new for step in gold_steps(gold))


def _argument_changes(old: Step, new: Step, gold: Plan | None) -> list[Change]:
    before = [_plain(value) for value in old.args.values()]
    over = None if new.for_each is None else _plain(new.for_each)
    found: list[Change] = []
    for name, value in new.args.items():
        after = over if value == Ref("item") else _plain(value)
        if name in old.args and _plain(old.args[name]) == after:
            continue
        if name not in old.args and after in before:  # under another name, but there
            continue
        if any(_plain(each) == after for each in _of_gold(new.tool, name, gold)):
            continue
        was = old.args.get(name)
        found.append(Change(old.id, str(was and dump_value(was)), str(dump_value(value))))
    return found


def _of_gold(tool: str, name: str, gold: Plan | None) -> list[Value]:
    return [s.args[name] for s in gold_steps(gold) if s.tool == tool and name in s.args]


def gold_steps(gold: Plan | None) -> tuple[Step, ...]:
    """Return the steps of `gold`, none where there is none."""
    return () if gold is None else gold.steps


def _plain(value: Value | None) -> Json:
    """Return `value` so that two spellings of the same are equal; `[*]` is no change of meaning."""
    if value is None:
        return None
    spread = map_refs(
        value, lambda ref: Ref(ref.step, tuple(each for each in ref.path if each is not EVERY))
    )
    return _spelt_plainly(dump_value(spread))


def _spelt_plainly(value: Json) -> Json:
    """Return `value` so that two spellings of the same are equal."""
    match value:
        case bool() | None:
            return value
        case int() | float():
            return float(value)
        case str():
            return _number(value)
        case [single]:
            return _spelt_plainly(single)
        case list():
            return [_spelt_plainly(each) for each in value]
        case dict():
            return {key: _spelt_plainly(each) for key, each in value.items()}


def _number(text: str) -> Json:
    try:
        return float(text)
    except ValueError:
        return text if "${" in text else _folded(text)


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
