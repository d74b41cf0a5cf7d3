"""The record of a conversation: which entities it is about, and how often each was named."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dialogue.entities import read_entities
from toolplan.planners.grounded.dialogue.reading import known
from toolplan.storage.memory import Episode
from toolplan.tools import Toolbox


class EntityCount(Struct, frozen=True):
    """An entity, and the number of messages that name it.

    `first` and `last` are the times of the first and the latest of them, or empty; `kind` is what
    stands before its colon: `location` of `location:Oslo`, and `order` of `order`.
    """

    entity: str
    count: int
    first: str = ""
    last: str = ""

    @property
    def kind(self) -> str:
        """What it is one of."""
        return self.entity.partition(":")[0]


def entity_record(
    messages: Iterable[str | Episode], tools: Toolbox | Catalogue
) -> tuple[EntityCount, ...]:
    """Return the entities of `messages`, oldest message first, most frequent entity first.

    A message is a text, whose entities are read with `tools`, or a turn from memory. Entities that
    are named equally often are in the order in which they were first named.
    """
    catalogue = known(tools)
    record: dict[str, EntityCount] = {}
    for message in messages:
        is_text = isinstance(message, str)
        when = "" if is_text else message.timestamp
        named = read_entities(message, catalogue) if is_text else message.entities
        for entity in dict.fromkeys(named):
            before = record.get(entity)
            if before is None:
                record[entity] = EntityCount(entity, 1, when, when)
            else:
                record[entity] = replace(before, count=before.count + 1, last=when)
    return tuple(sorted(record.values(), key=lambda each: -each.count))
