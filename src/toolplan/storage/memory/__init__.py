"""Memory: what was said in a conversation, for the questions that come after.

Everything is kept by session, and nothing that one session said is ever seen, counted or weighed
in another. A session is named by whoever asks: one name for each conversation of each user.

What memory gives is advice for planners (`recall` gives a question's context). Nobody needs it to
answer, so it must never be the reason why there is no answer: wrap it in `BestEffortMemory`.
"""

from toolplan.storage.memory._base import Episode, Memory, Recollection
from toolplan.storage.memory._best_effort import BestEffortMemory
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
