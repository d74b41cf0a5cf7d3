"""Arguments as the SDK writes them: references are objects with `$fromStep`, or templates.

    {"$fromStep": "0", "$outputKey": "coins.0.id"}
    {"$fromTemplateString": "Weather in {0}", "$values": [{"$fromStep": …, "$outputKey": …}]}

A text that is only one reference is written in the first form, so it keeps the type of the value.
In a template `{{0}}` is the text `{0}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolplan.errors import ToolplanError
from toolplan.path import Json, Path, PathSyntaxError, copied, parse_path, print_path
from toolplan.plan import Array, Literal, Object, Ref, Template, Value, array, object_, template

_PLACE: Final = re.compile(r"\{\{(?P<text>[0-9]+)\}\}|\{(?P<at>[0-9]+)\}")
_LOOKS_LIKE_A_PLACE: Final = re.compile(r"\{([0-9]+)\}")
_REF: Final = frozenset({"$fromStep", "$outputKey"})
_TEMPLATE: Final = frozenset({"$fromTemplateString", "$values"})


class ValueSyntaxError(ToolplanError):
    """Not a valid structured reference."""

    def __init__(self, message: str) -> None:
        super().__init__("reference-syntax", message)


def shown(value: Value) -> Json:
    """Return `value` as the SDK writes it."""
    match value:
        case Literal(constant):
            return copied(constant)
        case Ref() as ref:
            return _shown_ref(ref)
        case Template(parts):
            return _shown_template(parts)
        case Array(items):
            return [shown(item) for item in items]
        case Object(fields):
            return {key: shown(inner) for key, inner in fields}


def read(value: Json) -> Value:
    """Return the value that the SDK writes as `value`.

    Raises:
        ValueSyntaxError: an object that looks like a reference is not valid.
    """
    match value:
        case dict() if "$fromStep" in value:
            return _read_ref(value)
        case dict() if "$fromTemplateString" in value:
            return _read_template(value)
        case dict():
            return object_(tuple((key, read(inner)) for key, inner in value.items()))
        case list():
            return array(tuple(map(read, value)))
        case _:
            return Literal(value)


def output_key(path: Path) -> str:
    """Return a path as an `$outputKey`: `items[0].name`; the whole output is the empty text."""
    return print_path(path).removeprefix(".")


def _shown_ref(ref: Ref) -> dict[str, Json]:
    return {"$fromStep": ref.step, "$outputKey": output_key(ref.path)}


def _shown_template(parts: tuple[str | Ref, ...]) -> Json:
    text, values = "", list[Json]()
    for part in parts:
        if isinstance(part, Ref):
            text += f"{{{len(values)}}}"
            values.append(_shown_ref(part))
        else:
            text += _LOOKS_LIKE_A_PLACE.sub(r"{{\1}}", part)
    return {"$fromTemplateString": text, "$values": values}


def _read_ref(fields: Mapping[str, Json]) -> Ref:
    step, key = fields["$fromStep"], fields.get("$outputKey", "")
    if isinstance(step, int) and not isinstance(step, bool):
        step = str(step)
    if not isinstance(step, str) or not isinstance(key, str) or not fields.keys() <= _REF:
        raise ValueSyntaxError("a reference is {'$fromStep': id, '$outputKey': path}")
    dotted = key if key[:1] in ("", ".", "[") else f".{key}"
    try:
        return Ref(step, parse_path(dotted))
    except PathSyntaxError as error:
        raise ValueSyntaxError(f"{key!r} is not a path: {error}") from None


def _read_template(fields: Mapping[str, Json]) -> Value:
    text, values = fields["$fromTemplateString"], fields.get("$values", [])
    if not isinstance(text, str) or not isinstance(values, list) or not fields.keys() <= _TEMPLATE:
        raise ValueSyntaxError("a template is {'$fromTemplateString': text, '$values': [...]}")
    refs = [_read_ref(each) for each in values if isinstance(each, dict) and "$fromStep" in each]
    if len(refs) != len(values):
        raise ValueSyntaxError("'$values' holds something other than references")
    parts: list[str | Ref] = []
    end = 0
    for place in _PLACE.finditer(text):
        parts.append(text[end : place.start()])
        at = place["at"]
        if at is None:
            parts.append(f"{{{place['text']}}}")
        else:
            parts.append(refs[int(at)] if int(at) < len(refs) else place[0])
        end = place.end()
    return template((*parts, text[end:]))
