"""Parameters that an endpoint refuses: which one its words name, and what is sent instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json

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
SCHEMA: Final = "schema:"
"""Before a keyword of JSON Schema that is left out of the schema of the reply."""

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
_LIMIT_WORDS: Final = (
    r"max_(?:completion_|output_|new_)?tokens|maxOutputTokens|max(?:imum)? tokens\b"
    r"|in the completion"
)
_FORMAT_WORDS: Final = (
    r"\bresponse[ _]?format\b|\bjson[ _]schema\b|\bjson_object\b|\bstructured[ _]outputs?\b"
    r"|\bguided|\bgrammar\b|\boutput_(?:config|format)\b|\bresponse_?(?:json_?)?schema\b"
    r"|\binvalid schema\b|\bjson mode\b"
)
_NAMED: Final = (
    (LIMITS, re.compile(_LIMIT_WORDS, re.IGNORECASE)),
    (("stream_options",), re.compile(r"stream_options|include_usage", re.IGNORECASE)),
    (("temperature",), re.compile(r"\btemperature\b", re.IGNORECASE)),
    (("response_format", "output_config"), re.compile(_FORMAT_WORDS, re.IGNORECASE)),
    (("stream",), re.compile(r"\bstream\b|\bstreaming\b", re.IGNORECASE)),
)
_SYSTEM: Final = re.compile(
    r"\bsystem[\s'\"`]+(?:role|message|prompt|instruction)|\broles?\b.{0,40}\bsystem\b"
    r"|messages\W+0\W+role|developer instruction|roles must alternate|['\"`]system['\"`]",
    re.IGNORECASE,
)
_PLAIN_KEYWORDS: Final = (
    "pattern", "minLength", "maxLength", "minItems", "maxItems", "exclusiveMinimum",
    "exclusiveMaximum", "uniqueItems", "multipleOf",
)  # fmt: skip
"""Keywords that are no ordinary words of an error."""
_QUOTED_KEYWORDS: Final = ("format", "minimum", "maximum", "default", "const", "contains", "not")
_NUMBER: Final = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\b")


class Changes(Struct, frozen=True):
    """What is sent otherwise than usual.

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
            words: what the endpoint said.
            param: the parameter that its error names; may be empty.
            body: what was sent.
        """
        if status in _NOT_ABOUT_PARAMETERS or len(self.left_out) >= _MOST_CHANGES:
            return None
        if status not in _WRONG_REQUEST and not _REFUSING.search(words):
            return None
        sent = _limits_in(body)
        for text in filter(None, (param, words)):
            found: list[tuple[int, str]] = []
            for names, pattern in _NAMED:
                name = next((each for each in names if each in body), None)
                if name is not None and (seen := pattern.search(text)) is not None:
                    found.append((seen.start(), name))
            if isinstance(body.get("system"), list) and "cache_control" in text:
                found.append((text.index("cache_control"), "cache_control"))
            if _has_system(body) and (seen := _SYSTEM.search(text)) is not None:
                found.append((seen.start(), "system"))
            for _, name in sorted(found):
                changes = self._without(name, words, body, sent)
                if changes not in (None, self):  # the same again would never end
                    return changes
        return None

    def _without(
        self, name: str, words: str, body: Mapping[str, Json], sent: int | None
    ) -> Changes | None:
        if name in LIMITS:
            return self._with_other_limit(name, words, sent, required="system" in body)
        if name not in ("response_format", "output_config"):
            return self._and(name)
        wanted = body[name]
        if keyword := _keyword(words, _keywords(wanted)):
            return self._and(f"{SCHEMA}{keyword}")
        if "strict" in words.lower() and "strict" not in self.left_out and _is_strict(wanted):
            return self._and("strict")
        if "json_object" in words and not self.object_only and name == "response_format":
            return replace(self, object_only=True)
        return self._and("response_format")

    def _with_other_limit(
        self, name: str, words: str, sent: int | None, *, required: bool
    ) -> Changes | None:
        if sent is not None and _TOO_LARGE.search(words):
            stated = [int(each.replace(",", "")) for each in _NUMBER.findall(words)]
            fitting = [each for each in stated if 1 < each < sent]
            if fitting and (self.most_tokens is None or required):
                return replace(self, most_tokens=max(fitting))
            return None if required else self._and(*LIMITS)
        return None if required else self._and(name)

    def _and(self, *names: str) -> Changes:
        return replace(self, left_out=self.left_out.union(names))


def without_keywords(schema: Json, left_out: frozenset[str]) -> Json:
    """Return `schema` without the keywords in `left_out`, which only ever widens it.

    >>> without_keywords({"type": "string", "pattern": "^a"}, frozenset({"schema:pattern"}))
    {'type': 'string'}
    """
    dropped = {each.removeprefix(SCHEMA) for each in left_out if each.startswith(SCHEMA)}
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


def _keywords(schema: Json) -> set[str]:
    if isinstance(schema, list):
        return {key for each in schema for key in _keywords(each)}
    if not isinstance(schema, dict):
        return set()
    return {*schema, *(key for each in schema.values() for key in _keywords(each))}


def _keyword(words: str, used: set[str]) -> str | None:
    """Return the keyword of a schema that `words` name, of those that only make it narrower."""
    for keyword in _PLAIN_KEYWORDS:
        if keyword in used and re.search(rf"\b{keyword}\b", words, re.IGNORECASE):
            return keyword
    for keyword in _QUOTED_KEYWORDS:
        if keyword in used and re.search(rf"['\"`]{keyword}['\"`]", words):
            return keyword
    return None


def _is_strict(wanted: Json) -> bool:
    match wanted:
        case {"json_schema": {"strict": True}}:
            return True
        case _:
            return False


def _has_system(body: Mapping[str, Json]) -> bool:
    match body.get("messages"):
        case [{"role": "system"}, *_]:
            return True
        case _:
            return False


def _limits_in(body: Mapping[str, Json]) -> int | None:
    stated = next((body[name] for name in LIMITS if name in body), None)
    return stated if isinstance(stated, int) else None
