"""Parameters that an endpoint refuses: recognised in its words, omitted or replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json

SETTABLE: Final = (
    "cache_control",
    "max_completion_tokens",
    "max_tokens",
    "response_format",
    "stream",
    "stream_options",
    "strict",
    "system",
    "temperature",
)
"""The parameters that a setting may leave out; `system` moves into the user's message."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The two names of the limit of tokens."""

_KEYWORD: Final = "schema:"
"""Prefix of a JSON Schema keyword to drop from the schema of the reply."""
_NOT_ABOUT_PARAMETERS: Final = frozenset((401, 402, 403, 404, 408, 413, 429))
_WRONG_REQUEST: Final = frozenset((400, 422))
_MOST_CHANGES: Final = 16
_REFUSING: Final = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|permitted|allowed|invalid|deprecated"
    r"|available|implemented|must|only|incompatible|forbidden|too (?:large|high|many)",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(
    r"too (?:large|high|many|big)|exceed|less than|at most|maximum|<=|\d ?> ?\d|in the completion",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\b")
_LIMIT: Final = (
    r"max_(?:completion_|output_|new_)?tokens|maxOutputTokens|max(?:imum)? tokens\b"
    r"|in the completion"
)
_FORMAT: Final = (
    r"\bresponse[ _]?format\b|\bjson[ _]schema\b|\bjson_object\b|\bstructured[ _]outputs?\b"
    r"|\bguided|\bgrammar\b|\boutput_(?:config|format)\b|\bresponse_?(?:json_?)?schema\b"
    r"|\binvalid schema\b|\bjson mode\b"
)
_NAMES: Final = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "max_tokens": _LIMIT,
        "max_completion_tokens": _LIMIT,
        "stream_options": r"stream_options|include_usage",
        "temperature": r"\btemperature\b",
        "response_format": _FORMAT,
        "output_config": _FORMAT,
        "stream": r"\bstream\b|\bstreaming\b",
        "cache_control": r"cache_control",
        "system": r"\bsystem[\s'\"`]+(?:role|message|prompt|instruction)|['\"`]system['\"`]"
        r"|\broles?\b.{0,40}\bsystem\b|messages\W+0\W+role|developer instruction"
        r"|roles must alternate",
    }.items()
}
"""How endpoints name each parameter."""
_NARROWING: Final = {
    keyword: re.compile(rf"\b{keyword}\b", re.IGNORECASE)
    for keyword in (
        "pattern", "minLength", "maxLength", "minItems", "maxItems", "exclusiveMinimum",
        "exclusiveMaximum", "uniqueItems", "multipleOf",
    )
} | {
    keyword: re.compile(rf"['\"`]{keyword}['\"`]")  # unquoted, they are ordinary words
    for keyword in ("format", "minimum", "maximum", "default", "const", "contains", "not")
}  # fmt: skip
"""How endpoints name the keywords of JSON Schema without which a schema only gets wider."""


class Changes(Struct, frozen=True):
    """Changes to the usual request.

    Attributes:
        left_out: names of `SETTABLE`, and keywords of the schema behind `schema:`.
        most_tokens: the largest limit of tokens that the endpoint takes, where it said so.
        object_only: whether any JSON object is asked for in place of one of a schema.
    """

    left_out: frozenset[str] = frozenset()
    most_tokens: int | None = None
    object_only: bool = False

    def after(
        self, status: int | None, words: str, param: str, body: Mapping[str, Json]
    ) -> Changes | None:
        """Return the changes for the next request, None where none can help.

        Each one leaves something out of `body` or lowers a number in it, so that they come to an
        end. Only what `words` or `param` name is changed.

        Args:
            status: of HTTP; None for an error inside of a reply.
            words: the message of the endpoint.
            param: the parameter that its error names; may be empty.
            body: the request that was sent.
        """
        if status in _NOT_ABOUT_PARAMETERS or len(self.left_out) >= _MOST_CHANGES:
            return None
        if status not in _WRONG_REQUEST and not _REFUSING.search(words):
            return None
        sent = list(_parameters(body))
        for text in (param, words):
            named = [(seen.start(), name) for name in sent if (seen := _NAMES[name].search(text))]
            for _, name in sorted(named):
                changes = self._without(name, words, body)
                if changes not in (None, self):  # the same again would never end
                    return changes
        return None

    def _without(self, name: str, words: str, body: Mapping[str, Json]) -> Changes | None:
        if name in LIMITS:
            required = "system" in body  # by Anthropic
            sent = body[name]
            if isinstance(sent, int) and _TOO_LARGE.search(words):
                stated = [int(each.replace(",", "")) for each in _NUMBER.findall(words)]
                fitting = [each for each in stated if 1 < each < sent]
                if fitting and (self.most_tokens is None or required):
                    return replace(self, most_tokens=max(fitting))
                return None if required else self._and(*LIMITS)
            return None if required else self._and(name)
        if name not in ("response_format", "output_config"):
            return self._and(name)
        form = json.dumps(body[name])
        for keyword, pattern in _NARROWING.items():
            if f'"{keyword}": ' in form and pattern.search(words):
                return self._and(f"{_KEYWORD}{keyword}")
        if "strict" in words.lower() and '"strict": true' in form:
            return self._and("strict")
        if "json_object" in words and not self.object_only and name == "response_format":
            return replace(self, object_only=True)
        return self._and("response_format")

    def _and(self, *names: str) -> Changes:
        return replace(self, left_out=self.left_out.union(names))


def _parameters(body: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of the parameters in `body` that can be left out."""
    yield from (name for name in _NAMES if name in body and name != "system")
    if isinstance(body.get("system"), list):
        yield "cache_control"
    match body.get("messages"):
        case [{"role": "system"}, *_]:
            yield "system"
        case _:
            pass


def without_keywords(schema: Json, left_out: frozenset[str]) -> Json:
    """Return `schema` without the keywords in `left_out`, which only ever widens it.

    >>> without_keywords({"type": "string", "pattern": "^a"}, frozenset({"schema:pattern"}))
    {'type': 'string'}
    """
    dropped = {each.removeprefix(_KEYWORD) for each in left_out if each.startswith(_KEYWORD)}
    return _dropped(schema, dropped) if dropped else schema


def _dropped(schema: Json, dropped: set[str]) -> Json:
    if isinstance(schema, list):
        return [_dropped(each, dropped) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Json] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs") and isinstance(value, dict):
            kept[key] = {name: _dropped(each, dropped) for name, each in value.items()}
        elif key == "const" and key in dropped:
            kept["enum"] = [value]
        elif key not in dropped:
            kept[key] = value if key in ("enum", "const", "required") else _dropped(value, dropped)
    return kept
