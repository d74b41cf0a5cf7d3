"""Memory: what was said in a conversation, for the questions that come after.

Everything is kept by session, and nothing that one session said is ever seen, counted or weighed
in another. A session is named by whoever asks: one name for each conversation of each user.

What memory gives is advice for planners (`recall` gives a question's context). Nobody needs it to
answer, so it must never be the reason why there is no answer: wrap it in `BestEffortMemory`.
"""

from toolplan.memory._base import Episode, Memory, Recollection
from toolplan.memory._best_effort import BestEffortMemory
from toolplan.memory._faults import MemoryFault
from toolplan.memory._sqlite import Bounds, SqliteMemory

__all__ = [
    "BestEffortMemory",
    "Bounds",
    "Episode",
    "Memory",
    "MemoryFault",
    "Recollection",
    "SqliteMemory",
]
