"""Model endpoints: what is asked of a model, and what comes back.

Nothing here knows of plans. A reply that was cut off is never given as a whole one.
"""

from toolplan.providers._base import (
    Ended,
    Message,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Reply,
    Restarted,
    Text,
    Usage,
    complete,
)
from toolplan.providers._open import open_model
from toolplan.providers._usage import UsageTracker

__all__ = [
    "Ended",
    "Message",
    "Model",
    "ModelError",
    "ModelRequest",
    "Piece",
    "Reply",
    "Restarted",
    "Text",
    "Usage",
    "UsageTracker",
    "complete",
    "open_model",
]
