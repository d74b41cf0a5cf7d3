"""Keywords of a condition or a bound that every value passes, whatever they were meant to say.

In a tool's schema they are harmless: it only describes. A guard that has one stands open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.plan.diagnostics import suggest
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json
from toolplan.schema._document import KEYWORDS, held
from toolplan.schema._schema import Schema

_FORMATS: Final = frozenset(
    ("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname",
     "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template",
     "json-pointer", "relative-json-pointer", "regex")
)  # fmt: skip
_NEEDS: Final = {
    "minContains": "contains", "maxContains": "contains", "then": "if", "else": "if"
}  # fmt: skip
"""Keywords that say nothing without another one."""
_EVERY_TEXT: Final = frozenset(("$", ".*$", "^.*$", r"[\s\S]*$", r"^[\s\S]*$"))
_EXAMPLE: Final = 'Write a schema that the value must fit: {"const": true}, {"minItems": 1} …'


def idle_keywords(schema: Json) -> Iterator[tuple[str, str, str]]:
    """Yield the keywords in a usable schema, at any depth, that every value passes.

    Each is its pointer, the end of a sentence about it, and a help.
    """
    pending: list[tuple[str, Json]] = [("", schema)]
    for pointer, node in pending:  # it grows meanwhile
        if not isinstance(node, dict):
            continue
        for keyword, value in node.items():
            if (fault := _fault(keyword, value, node)) is not None:
                yield f"{pointer}/{escape_pointer(keyword)}", *fault
        pending.extend((pointer + way, part) for way, part in held(node))


def _fault(keyword: str, value: Json, node: dict[str, Json]) -> tuple[str, str] | None:
    needed = _NEEDS.get(keyword)
    if needed is not None and needed not in node:
        return f"has {keyword!r}, which says nothing without {needed!r}", _EXAMPLE
    if keyword == "$schema" and "/draft/2020-12/" not in str(value):
        help_ = "Leave '$schema' out: keywords are those of 2020-12."
        return f"is of another draft, which knows other keywords: {value!r}", help_
    if keyword == "format" and value not in _FORMATS:
        help_ = "Every value would pass. Write a `pattern`."
        return f"has a format that is not checked: {value!r}", help_
    if keyword == "pattern" and isinstance(value, str):
        # one without anchors is tried on the empty text
        needs_place = any(each in value for each in ("$", "\\b", "\\B", "\\z", "\\Z"))
        every: Json = {"type": "string", "pattern": value}
        if value in _EVERY_TEXT or (not needs_place and Schema.load(every).is_valid("")):
            return f"has a pattern that every text fits: {value!r}", _EXAMPLE
    if keyword in KEYWORDS or keyword.startswith("x-"):
        return None
    near = suggest(keyword, sorted(KEYWORDS)).near
    help_ = f"Did you mean {near[0]!r}?" if near else _EXAMPLE
    return f"has an unknown keyword, which every value passes: {keyword!r}", help_
