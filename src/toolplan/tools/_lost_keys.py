"""Whether reading a result by its type hint loses a value: two keys that become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from pydantic_core import from_json, to_json

_SCALARS: Final = (str, int, float, bool, type(None))
_FOLDS: Final = ("to_lower", "to_upper", "strip_whitespace")


def changes_text_keys(core_schema: object) -> bool:
    """Return whether a type hint may write a key of an object in another way.

    Args:
        core_schema: What pydantic makes of the hint. A key that is a text stays what it is,
            unless its hint folds its case, strips it, or gives it to a function or an enum.
    """
    if isinstance(core_schema, list | tuple):
        return any(map(changes_text_keys, cast("list[object]", core_schema)))
    if not isinstance(core_schema, Mapping):
        return False
    part = cast("Mapping[str, object]", core_schema)
    if part.get("type") == "dict" and not _keeps_texts(part.get("keys_schema")):
        return True
    if any(part.get(f"str_{name}") for name in _FOLDS):  # the settings of a model
        return True
    return any(changes_text_keys(each) for name, each in part.items() if name != "metadata")


def _keeps_texts(keys: object) -> bool:
    if not isinstance(keys, Mapping):
        return True  # any key, as it is
    hint = cast("Mapping[str, object]", keys)
    if hint.get("type") == "str":
        return not any(hint.get(name) for name in _FOLDS)
    return hint.get("type") in {"any", "literal"}


def loses_keys(result: object, valid: object, *, changes_texts: bool) -> bool:
    """Return whether an object in `result` has keys that are one key in `valid`, or one as text.

    `valid` is `result` as its type hint reads it: `{1: …, "1": …}` has one key under
    `dict[int, …]`, and two that are the same in JSON under others. Where `changes_texts`, no
    object may have fewer keys than were given: nothing shows which of them were merged.
    """
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(result, Mapping):
        given = cast("Mapping[object, object]", result)
        if _are_merged(given, valid, changes_texts):
            return True
        pairs = _members(given, valid)
    elif isinstance(result, list | tuple) and isinstance(valid, list | tuple):
        pairs = zip(cast("list[object]", result), cast("list[object]", valid), strict=False)
    return any(
        loses_keys(raw, read, changes_texts=changes_texts)
        for raw, read in pairs
        if not isinstance(raw, _SCALARS)
    )


def _are_merged(raw: Mapping[object, object], read: object, changes_texts: bool) -> bool:
    has_texts = all(isinstance(key, str) for key in raw)
    if not has_texts:
        names = from_json(to_json(dict.fromkeys(raw), serialize_unknown=True))
        if len(names) < len(raw):
            return True
    if not isinstance(read, dict) or len(taken := cast("dict[object, object]", read)) >= len(raw):
        return False
    # a TypedDict leaves out what it does not declare: its keys are texts before and after
    return changes_texts or not has_texts or not all(isinstance(key, str) for key in taken)


def _members(raw: Mapping[object, object], read: object) -> Iterator[tuple[object, object]]:
    if not isinstance(read, dict):  # a model or a dataclass: its fields are attributes
        texts = ((key, item) for key, item in raw.items() if isinstance(key, str))
        yield from ((item, getattr(read, key, item)) for key, item in texts)
        return
    taken = cast("dict[object, object]", read)
    by_place = [*taken.values()] if len(taken) == len(raw) else []
    for at, (key, item) in enumerate(raw.items()):
        if key in taken:
            yield item, taken[key]
        elif by_place:
            yield item, by_place[at]
