"""What a question asks to see of what the plan gives: a column, or who, where, when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolplan.planners.grounded.build.drafts import Source
from toolplan.planners.grounded.catalogue.connections import shows_column
from toolplan.planners.grounded.catalogue.kinds import Catalogue, Kind
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.parse.mentions import Mention

_PERSONS: Final = frozenset({"person"})


def shows(
    asked: Mention, mentions: Sequence[Mention], sources: Sequence[Source], catalogue: Catalogue
) -> bool:
    """Return whether `sources`, the results of the plan, show what is asked in `mentions`.

    A column is shown by one record. Who, where and when are also shown by the rows of a plan that
    lists one kind of thing, where they have one such column.
    """
    records = [source for source in sources if not source.many]
    if asked.columns:
        kinds = [catalogue.kinds[source.entity] for source in records]
        return any(shows_column(each, asked.columns, asked.text) for each in kinds)
    # what a row says of a thing is not where or when it came to its state: "when was it rejected"
    if records or len(sources) != 1 or any(map(_is_state, mentions)):
        return bool(records)
    kind = catalogue.kinds[sources[0].entity]
    match words.fold(asked.text):
        case "when":
            return kind.date_column is not None
        case "who":
            return len(_columns(kind, _PERSONS)) == 1
        case "where":
            return bool(_columns(kind, frozenset({"place"}))) or _is_at_a_place(kind, catalogue)
        case _:
            return False


def _is_state(mention: Mention) -> bool:
    said = (words.fold(mention.text), *(str(each.value) for each in mention.values))
    return bool(mention.values) and any(each.endswith("ed") for each in said)


def _columns(kind: Kind, kinds: frozenset[str]) -> Mapping[str, str]:
    """Return the columns of `kind` that are of one of these kinds."""
    return {
        attribute.column: attribute.shape.kind
        for attribute in kind.attributes.values()
        if attribute.column is not None and attribute.shape.kind in kinds
    }


def _is_at_a_place(kind: Kind, catalogue: Catalogue) -> bool:
    """Return whether rows name a thing that has a place."""
    placed = {
        each.identity for each in catalogue.kinds.values() if _columns(each, frozenset({"place"}))
    }
    return any(
        attribute.shape.ref in placed - {kind.identity}
        for attribute in kind.attributes.values()
        if attribute.column is not None
    )
