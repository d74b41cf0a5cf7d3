"""Success criteria of Arazzo, as schemas that the response of a step must fit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from toolplan.path import Json, Path
from toolplan.plan import Literal, Ref
from toolplan.plan_json import shown
from toolplan_openapi.arazzo._expressions import body_path, refusal

_COMPARISON = re.compile(
    r"\s*(?P<left>\$[^\s=!<>&|]+)\s*(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>'(?:[^']|'')*'|[^\s'&|]+)\s*"
)
_NO_OTHER_STATUS: Final = "A call succeeds with a status of 2xx, and with no other."
_LOWER_BOUNDS: Final = {">": "exclusiveMinimum", ">=": "minimum"}
_UPPER_BOUNDS: Final = {"<": "exclusiveMaximum", "<=": "maximum"}
_STATUS_PATTERN = re.compile(r"\^?(?:[0-9.]|\\d|\[[0-9-]+\])+\$?")
"""The patterns that a status is compared with: nothing repeats in them."""
_LONGEST_STATUS_PATTERN: Final = 40
_QUOTED: Final = r"""'[^'\\]*'|"[^"\\]*\""""
_NAME: Final = r"[^\W\d][\w-]*"
_SEGMENT = re.compile(rf"\.({_NAME})|\[([0-9]{{1,9}})\]|\[({_QUOTED})\]")
_SEGMENTS: Final = rf"(?:\.{_NAME}|\[[0-9]{{1,9}}\]|\[(?:{_QUOTED})\])*"
_TEST: Final = (
    rf"(?P<path>{_SEGMENTS})"
    rf"(?:\s*(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>{_QUOTED}|[^\s'\"&|()\[\]]+))?"
)
_JSON_PATH = re.compile(rf"\s*\${_TEST}\s*")
_FILTER = re.compile(rf"\s*\$(?P<path>{_SEGMENTS})\[\s*\?\s*\(?(?P<test>@[^?]*?)\)?\s*\]\s*")
_FILTER_TEST = re.compile(rf"\s*@{_TEST}\s*")


class Condition(Struct, frozen=True):
    """A success criterion: what is looked at in the step's response, and the schema it must fit."""

    path: Path
    schema: Json


def criterion(fields: Mapping[str, Json]) -> list[Condition] | str:
    """Return what a criterion asks of the response, or why a plan cannot ask it.

    Its kinds are those of the specification of Arazzo, 1.0.1, 4.6.12: `simple`, `regex`,
    `jsonpath` and `xpath`.
    """
    kind, text, context = (
        fields.get("type", "simple"),
        fields.get("condition"),
        fields.get("context"),
    )
    if isinstance(kind, dict):
        kind = kind.get("type")
    if not isinstance(text, str):
        return "A criterion has a text as its 'condition'."
    if kind == "simple":
        return conditions(text)
    if kind not in ("regex", "jsonpath"):
        return f"A plan has no criteria of the type {shown(str(kind))}."
    if not isinstance(context, str):
        return f"A criterion of the type '{kind}' has an expression as its 'context'."
    if kind == "regex" and context == "$statusCode":
        return [] if _is_pattern_of_success(text) else _NO_OTHER_STATUS
    path = body_path(context)
    if path is None or refusal(Ref("x", path)) is not None:
        return f"A criterion looks at $response.body, not at {shown(context)}."
    if kind == "regex":
        return [Condition(path, {"type": "string", "pattern": text})]
    return _json_path(path, text)


def conditions(text: str) -> list[Condition] | str:
    """Return what a condition asks of the response, or why a plan cannot ask it.

    A status of 2xx is what makes a call succeed: it asks nothing more.
    """
    alternatives = text.split("||")
    if len(alternatives) > 1:
        if all(_is_success(each) for each in alternatives):
            return []
        return "A plan has no '||' in a condition."
    found: list[Condition] = []
    for part in text.split("&&"):
        if _is_success(part):
            continue
        read = _condition(part)
        if isinstance(read, str):
            return read
        found.append(read)
    return found


def _condition(text: str) -> Condition | str:
    found = _COMPARISON.fullmatch(text)
    if found is None:
        return f"The condition {shown(text.strip())} cannot be said."
    if found["left"] == "$statusCode":
        return _NO_OTHER_STATUS
    path = body_path(found["left"])
    if path is None:
        return f"A condition looks at $response.body, not at {shown(found['left'])}."
    if refusal(Ref("x", path)) is not None:
        return f"The condition {shown(text.strip())} cannot be said."
    literal = _literal(found["right"])
    if isinstance(literal, Literal):
        schema = _schema(found["operator"], literal.value)
        if schema is not None:
            return Condition(path, schema)
    return f"The condition {shown(text.strip())} cannot be said."


def _json_path(context: Path, text: str) -> list[Condition] | str:
    """Return what a JSONPath (RFC 9535) asks of what is at `context`: that it finds something.

    `$.a == 1`, which is none, is read as the comparison of `$.a`, as published workflows mean it.
    """
    found = _JSON_PATH.fullmatch(text)
    if found is not None and found["operator"]:
        schema = _compared(found["operator"], found["right"])
        path = (*context, *_segments(found["path"]))
        if schema is not None and refusal(Ref("x", path)) is None:
            return [Condition(path, schema)]
    elif found is not None:
        return [Condition(context, _at(_segments(found["path"]), True))]
    found = _FILTER.fullmatch(text)
    path = () if found is None else (*context, *_segments(found["path"]))
    tests = [] if found is None else [_filter_test(each) for each in found["test"].split("&&")]
    asked = [each for each in tests if each is not None]
    if not asked or len(asked) < len(tests) or refusal(Ref("x", path)) is not None:
        return f"The JSONPath {shown(text.strip())} cannot be said."
    child: Json = {"allOf": [*asked]}
    some: Json = {
        "anyOf": [
            {"type": "array", "contains": child},
            {"type": "object", "not": {"additionalProperties": {"not": child}}},
        ]
    }
    return [Condition(path, some)]


def _filter_test(text: str) -> Json:
    """Return the schema of a child that passes one test of a filter, None where there is none."""
    found = _FILTER_TEST.fullmatch(text)
    if found is None:
        return None
    path = _segments(found["path"])
    if not found["operator"]:
        return _at(path, True)
    is_not = found["operator"] == "!="
    schema = _compared("==" if is_not else found["operator"], found["right"], is_exact=True)
    if schema is None:
        return None
    # what is not there is unequal to every value (RFC 9535, 2.3.5.2.2)
    return {"not": _at(path, schema)} if is_not else _at(path, schema)


def _segments(text: str) -> Path:
    found = [each.groups() for each in _SEGMENT.finditer(text)]
    return tuple(name or (int(index) if index else quoted[1:-1]) for name, index, quoted in found)


def _at(path: Path, schema: Json) -> Json:
    """Return the schema of what has something that fits `schema` at `path`."""
    for each in reversed(path):
        if isinstance(each, int):
            items: Json = [*([True] * each), schema]
            schema = {"type": "array", "minItems": each + 1, "prefixItems": items}
        else:
            schema = {"type": "object", "required": [str(each)], "properties": {str(each): schema}}
    return schema


def _compared(operator: str, right: str, *, is_exact: bool = False) -> Json:
    """Return the schema of what fulfils a comparison with a literal of JSONPath; None without."""
    literal = Literal(right[1:-1]) if right[0] in "'\"" else _literal(right)
    if literal is None:
        return None
    if is_exact and operator == "==":
        return {"const": literal.value}
    return _schema(operator, literal.value)


def _is_pattern_of_success(pattern: str) -> bool:
    """Return whether a status that a successful call may have fits `pattern`."""
    if len(pattern) > _LONGEST_STATUS_PATTERN or _STATUS_PATTERN.fullmatch(pattern) is None:
        return False
    try:
        return any(re.search(pattern, str(status)) for status in range(200, 300))
    except re.error:
        return False


def _schema(operator: str, value: Json) -> Json:
    """Return the schema of what fulfils a comparison, None where there is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if operator in ("==", "!="):
        # texts are compared without regard to case
        equal: Json = {"const": value}
        if isinstance(value, str):
            equal = {"type": "string", "pattern": f"^{''.join(map(_either_case, value))}$"}
        return equal if operator == "==" else {"not": equal}
    bound = {**_LOWER_BOUNDS, **_UPPER_BOUNDS}[operator]
    return {"type": "number", bound: value} if is_number else None


def _either_case(letter: str) -> str:
    if letter.lower() != letter.upper() and len(letter.lower()) == len(letter.upper()) == 1:
        return f"[{letter.lower()}{letter.upper()}]"
    return re.escape(letter) if letter in r"\.^$*+?()[]{}|/" else letter


def _is_success(text: str) -> bool:
    """Return whether a condition is a status that every successful call may have."""
    found = _COMPARISON.fullmatch(text)
    if found is None or found["left"] != "$statusCode" or not found["right"].isdecimal():
        return False
    number, operator = int(found["right"][:9]), found["operator"]
    match operator:
        case "==":
            return 200 <= number < 300
        case ">=":
            return number <= 200
        case ">":
            return number < 200
        case "<":
            return number >= 300
        case "<=":
            return number >= 299
        case _:
            return not 200 <= number < 300


def _literal(text: str) -> Literal | None:
    if text.startswith("'"):
        return Literal(text[1:-1].replace("''", "'"))
    if text in ("true", "false", "null") or re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", text):
        return Literal(json.loads(text)) if not re.fullmatch(r"-?0[0-9]+.*", text) else None
    return None
