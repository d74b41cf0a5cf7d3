"""Success criteria of Arazzo, as schemas that the response of a step must fit."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from toolplan.plan.canonical import shown
from toolplan.plan.path import Json, Path, parse_path
from toolplan.tools.replies import read_json
from toolplan_openapi.arazzo._expressions import body_path

_OPERATOR: Final = r"\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
_SIMPLE = re.compile(
    rf"\s*(?P<left>\$[^\s=!<>&|]+){_OPERATOR}(?P<right>'(?:[^']|'')*'|[^\s'&|]+)\s*"
)
_QUOTED: Final = r"""'[^'\\]*'|"[^"\\\x00-\x1f]*\""""
_SEGMENTS: Final = rf"(?:\.[^\W\d][\w-]*|\[(?:0|[1-9][0-9]{{0,8}})\]|\[(?:{_QUOTED})\])*"
_TEST: Final = rf"(?P<path>{_SEGMENTS})(?:{_OPERATOR}(?P<right>{_QUOTED}|[^\s'\"&|()\[\]]+))?\s*"
_JSON_PATH = re.compile(rf"\s*\${_TEST}")
_FILTER = re.compile(rf"\s*\$(?P<path>{_SEGMENTS})\[\s*\?\s*\(?(?P<tests>@[^?]*?)\)?\s*\]\s*")
_FILTER_TEST = re.compile(rf"\s*@{_TEST}")
_STATUS_PATTERN = re.compile(r"\^?(?:[0-9.]|\\d|\[[0-9-]+\])+\$?")
"""The patterns that a status is compared with: nothing repeats in them."""
_LONGEST_STATUS_PATTERN: Final = 40
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_BOUNDS: Final = {
    "<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum",
}  # fmt: skip
_SUCCESSES: Final = range(200, 300)
_NO_OTHER_STATUS: Final = "A call succeeds with a status of 2xx, and with no other."


class Unsayable(Exception):
    """A criterion has no counterpart in a plan; the message gives the reason."""


class Condition(Struct, frozen=True):
    """A success criterion: what is looked at in the step's response, and the schema it must fit."""

    path: Path
    schema: Json


def criterion(fields: Mapping[str, Json]) -> list[Condition]:
    """Return what a criterion asks of the response (Arazzo 1.0.1, 4.6.12).

    A status of 2xx is what makes a call succeed: it asks nothing more.
    """
    kind, text = fields.get("type", "simple"), fields.get("condition")
    if isinstance(kind, dict):
        kind = kind.get("type")
    if not isinstance(text, str):
        raise Unsayable("A criterion has a text as its 'condition'.")
    if kind == "simple":
        return _simple(text)
    if kind not in ("regex", "jsonpath"):
        raise Unsayable(f"A plan has no criteria of the type {shown(str(kind))}.")
    context = fields.get("context")
    if not isinstance(context, str):
        raise Unsayable(f"A criterion of the type '{kind}' has an expression as its 'context'.")
    if kind == "regex" and context == "$statusCode":
        return _status_pattern(text)
    path = _in_body(context)
    if kind == "regex":
        return [Condition(path, {"type": "string", "pattern": text})]
    return [_json_path(path, text)]


def _simple(text: str) -> list[Condition]:
    alternatives = text.split("||")
    if len(alternatives) > 1:
        if not all(_is_success(_SIMPLE.fullmatch(each)) for each in alternatives):
            raise Unsayable("A plan has no '||' in a condition.")
        return []
    asked: list[Condition] = []
    for part in text.split("&&"):
        found = _SIMPLE.fullmatch(part)
        if found is None:
            raise _unsayable(part)
        if found["left"] != "$statusCode":
            right = found["right"]
            value = right[1:-1].replace("''", "'") if right[0] == "'" else _plain(right)
            path = _in_body(found["left"])
            asked.append(Condition(path, _compared(found["operator"], value)))
        elif not _is_success(found):
            raise Unsayable(_NO_OTHER_STATUS)
    return asked


def _json_path(context: Path, text: str) -> Condition:
    """Return what a JSONPath (RFC 9535) asks of what is at `context`: that it finds something.

    `$.a == 1`, which is none, is read as the comparison of `$.a`, as published workflows mean it.
    """
    if found := _JSON_PATH.fullmatch(text):
        path = parse_path(found["path"])
        if not found["operator"]:
            return Condition(context, _at(path, True))
        schema = _compared(found["operator"], _quoted_or_plain(found["right"]))
        return Condition((*context, *path), schema)
    found = _FILTER.fullmatch(text)
    if found is None:
        raise _unsayable(text)
    child: Json = {"allOf": [_filter_test(each) for each in found["tests"].split("&&")]}
    some: Json = {
        "anyOf": [
            {"type": "array", "contains": child},
            {"type": "object", "not": {"additionalProperties": {"not": child}}},
        ]
    }
    return Condition((*context, *parse_path(found["path"])), some)


def _filter_test(text: str) -> Json:
    """Return the schema of a child that passes one test of a filter."""
    found = _FILTER_TEST.fullmatch(text)
    if found is None:
        raise _unsayable(text)
    path = parse_path(found["path"])
    if not found["operator"]:
        return _at(path, True)
    value = _quoted_or_plain(found["right"])
    if found["operator"] in _BOUNDS:
        return _at(path, _compared(found["operator"], value))
    equal = _at(path, {"const": value})
    # what is not there is unequal to every value (RFC 9535, 2.3.5.2.2)
    return equal if found["operator"] == "==" else {"not": equal}


def _at(path: Path, schema: Json) -> Json:
    """Return the schema of what has something that fits `schema` at `path`."""
    for each in reversed(path):
        if isinstance(each, int):
            items: Json = [*([True] * each), schema]
            schema = {"type": "array", "minItems": each + 1, "prefixItems": items}
        else:
            schema = {"type": "object", "required": [str(each)], "properties": {str(each): schema}}
    return schema


def _compared(comparison: str, value: Json) -> Json:
    """Return the schema of what fulfils a comparison; texts are equal whatever their case."""
    if comparison in _BOUNDS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _unsayable(f"{comparison} {value}")
        return {"type": "number", _BOUNDS[comparison]: value}
    equal: Json = {"const": value}
    if isinstance(value, str):
        equal = {"type": "string", "pattern": f"^{''.join(map(_either_case, value))}$"}
    return equal if comparison == "==" else {"not": equal}


def _either_case(letter: str) -> str:
    if letter.lower() != letter.upper() and len(letter.lower()) == len(letter.upper()) == 1:
        return f"[{letter.lower()}{letter.upper()}]"
    return re.escape(letter) if letter in r"\.^$*+?()[]{}|/" else letter


def _is_success(found: re.Match[str] | None) -> bool:
    """Return whether a comparison holds for a status that every successful call may have."""
    if found is None or found["left"] != "$statusCode" or not found["right"].isdecimal():
        return False
    compare, number = _COMPARISONS[found["operator"]], int(found["right"][:9])
    holds = [compare(status, number) for status in _SUCCESSES]
    return any(holds) if found["operator"] == "==" else all(holds)


def _status_pattern(pattern: str) -> list[Condition]:
    if len(pattern) <= _LONGEST_STATUS_PATTERN and _STATUS_PATTERN.fullmatch(pattern):
        try:
            if any(re.search(pattern, str(status)) for status in _SUCCESSES):
                return []
        except re.error:
            pass
    raise Unsayable(_NO_OTHER_STATUS)


def _in_body(expression: str) -> Path:
    path = body_path(expression)
    if path is None:
        raise Unsayable(f"A criterion looks at $response.body, not at {shown(expression)}.")
    return path


def _quoted_or_plain(text: str) -> Json:
    return text[1:-1] if text[0] in "'\"" else _plain(text)


def _plain(text: str) -> Json:
    """Return the number or word that `text` is, in the range in which JSON keeps it exact."""
    if text not in ("true", "false", "null") and _NUMBER.fullmatch(text) is None:
        raise _unsayable(text)
    return read_json(text)


def _unsayable(text: str) -> Unsayable:
    return Unsayable(f"The condition {shown(text.strip())} cannot be said.")
