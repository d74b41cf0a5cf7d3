"""Whether values of one schema fit another.

Only this module uses the library's canonical form of schemas, which is experimental; what it does
not know is never an error.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import jsonschema_rs

from toolplan.schema._document import ALL_TYPES, JsonType
from toolplan.schema._schema import Schema
from toolplan.schema._types import MOST_REMEMBERED, elements, types_of


class Verdict(Enum):
    """YES: every value fits. NO: none does. UNKNOWN: some may, or the schemas do not say."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@lru_cache(MOST_REMEMBERED)
def assignable(producer: Schema | None, consumer: Schema | None) -> Verdict:
    """Return whether values of `producer` fit `consumer`; None is an unknown schema."""
    if producer is None or consumer is None:
        return Verdict.UNKNOWN
    given, taken = types_of(producer), types_of(consumer)
    if given == ALL_TYPES and not _is_bare(consumer):
        return Verdict.UNKNOWN
    if not given & taken:
        return Verdict.NO
    if given <= taken and _is_bare(consumer):
        return Verdict.YES
    if given == taken == frozenset[JsonType](("array",)):
        one, other = elements(producer), elements(consumer)
        inner = (
            assignable(one, other)
            if isinstance(one, Schema) and isinstance(other, Schema)
            else Verdict.UNKNOWN
        )
        # an empty list would fit, but the list was not declared to be empty
        if inner is Verdict.NO:
            return Verdict.NO
    return _by_canonical_form(producer, consumer)


def _is_bare(schema: Schema) -> bool:
    """Return whether the schema restricts nothing but the JSON type."""
    node = schema.node
    if isinstance(node, bool):
        return node
    restricting = node.keys() - {"type", "description", "title", "default", "examples"}
    return all(name.startswith("x-") for name in restricting)


def _by_canonical_form(producer: Schema, consumer: Schema) -> Verdict:
    try:
        given = _canonical(producer)
        taken = _canonical(consumer)
        if _says(taken.covers(given), "yes"):
            return Verdict.YES
        if _says(taken.intersect(given).satisfiability(), "no"):
            return Verdict.NO
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return Verdict.UNKNOWN
    return Verdict.UNKNOWN


def _canonical(schema: Schema) -> jsonschema_rs.CanonicalSchema:
    return jsonschema_rs.canonicalize(schema.document, validate_formats=True, offline=True)


def _says(answer: object, word: str) -> bool:
    return str(answer).lower().rpartition(".")[2] == word
