"""Safe fixes written into the text of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from toolplan.compiler._compile import Tools, examine, parse, to_text
from toolplan.dialects import DIALECTS, known_dialect
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import CannotExpress, renamed
from toolplan.plan.model import Plan, escape_pointer, split_pointer
from toolplan.plan.path import Json
from toolplan.plan.text.loose import Span
from toolplan.plan.text.places import Change, Insert, Rename, Replace, edited, rewritten, spliced


def fixed_text(text: str, dialect: str = "toolplan", tools: Tools | None = None) -> str | None:
    """Return `text` with the safe fixes of its plan, and everything else as it stands.

    Each fix is written at its own place: order, spacing, comments and unknown fields stay. Where
    a dialect has no place for one, it prints the plan anew, if the text says nothing more than the
    plan. None where a fix cannot be written without a loss, or nothing could be read.

    Raises:
        ToolplanError: there is no such dialect.
    """
    written = parse(text, dialect, tools).plan
    _, diagnostics, fixed, _ = examine(text, dialect, tools)
    if written is None or fixed is None:
        return None
    if written == fixed:
        return text
    names = dict(each for found in diagnostics if (each := renamed(found.fix)) is not None)
    changes = list(_changes("", "", dump(written), dump(fixed), names))
    new = _in_place(text, [each for each in changes if each is not None], dialect)
    if new is not None and None not in changes and parse(new, dialect, tools).plan == fixed:
        return new
    new = _printed(text, written, fixed, dialect, tools)
    return new if new is not None and parse(new, dialect, tools).plan == fixed else None


def _in_place(text: str, changes: Sequence[Change], dialect: str) -> str | None:
    """Return `text` with `changes`, each where `dialect` says that its pointer stands."""
    locate = DIALECTS[dialect].locate
    if dialect == "toolplan":
        span = locate(text, "")
        block = None if span is None else edited(text[span.start : span.end], changes)
        return span and block and text[: span.start] + block + text[span.end :]
    parts: list[tuple[Span, str]] = []
    for change in changes:
        match change:
            case Insert():
                return None
            case Rename(pointer, new):
                span, old = locate(text, pointer, key=True), split_pointer(pointer)[-1]
            case Replace(pointer, old, new):
                span = locate(text, pointer)
        part = "" if span is None else text[span.start : span.end]
        token = rewritten(part.strip(), old, new)
        if span is None or token is None:
            return None
        start = span.start + len(part) - len(part.lstrip())
        parts.append((Span(start, start + len(part.strip())), token))
    return spliced(text, parts)


def _changes(
    old_at: str, new_at: str, old: Json, new: Json, names: Mapping[str, str]
) -> Iterator[Change | None]:
    """Yield the changes that turn `old` into `new`; None for one that has no place of its own.

    `old_at` is the pointer as written, `new_at` that after the fixes. `names` are the renamed keys:
    the new pointer by the old one.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        added = dict.fromkeys(name for name in new if name not in old)
        for name, value in old.items():
            pointer, inner = (f"{at}/{escape_pointer(name)}" for at in (old_at, new_at))
            if name in new:
                yield from _changes(pointer, inner, value, new[name], names)
                continue
            target = split_pointer(names.get(inner, ""))[-1:]
            if not target or target[0] not in added:
                yield None
                continue
            del added[target[0]]
            yield Rename(pointer, target[0])
            yield from _changes(pointer, names[inner], value, new[target[0]], names)
        for name in added:
            yield Insert(old_at, name, new[name])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{old_at}/{at}", f"{new_at}/{at}", one, other, names)
    elif type(old) is not type(new) or old != new:
        yield Replace(old_at, old, new)


def _printed(
    text: str, written: Plan, fixed: Plan, dialect: str, tools: Tools | None
) -> str | None:
    """Return `fixed` as `dialect` prints it, if `text` says nothing more than `written` does."""
    try:
        same, new = to_text(written, dialect, tools), to_text(fixed, dialect, tools)
    except CannotExpress:
        return None
    if same.split() == text.split():
        return new
    if not known_dialect(dialect).json:
        return None
    try:
        return new if json.loads(same) == json.loads(text) else None
    except ValueError:
        return None
