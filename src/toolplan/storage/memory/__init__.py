"""Memory: the earlier turns of a conversation, as context for the next question.

Everything is kept by session, one for each conversation of each user, and no session sees or
weighs the words of another. `BestEffortMemory` answers without memory if it fails.
"""

from toolplan.storage.memory._base import BestEffortMemory, Episode, Memory, Recollection
from toolplan.storage.memory._database import MemoryFault
from toolplan.storage.memory._sqlite import MemoryLimits, SqliteMemory

__all__ = [
    "BestEffortMemory",
    "Episode",
    "Memory",
    "MemoryFault",
    "MemoryLimits",
    "Recollection",
    "SqliteMemory",
]
