"""Conversations: a message is planned with what was said before.

`DialoguePlanner` wraps another planner. `episode_of` returns what memory stores of a turn; memory's
`recall` returns the context of the next one.
"""

from toolplan.planners.grounded.dialogue.actions import Act
from toolplan.planners.grounded.dialogue.entities import read_entities
from toolplan.planners.grounded.dialogue.intent import Intent, Kind, read_intent
from toolplan.planners.grounded.dialogue.planner import DialoguePlanner
from toolplan.planners.grounded.dialogue.record import EntityCount, entity_record
from toolplan.planners.grounded.dialogue.references import read_references
from toolplan.planners.grounded.dialogue.turns import (
    FOLLOW_UP_OF,
    AskedBack,
    Pending,
    episode_of,
    pending_of,
)

__all__ = [
    "FOLLOW_UP_OF",
    "Act",
    "AskedBack",
    "DialoguePlanner",
    "EntityCount",
    "Intent",
    "Kind",
    "Pending",
    "entity_record",
    "episode_of",
    "pending_of",
    "read_entities",
    "read_intent",
    "read_references",
]
