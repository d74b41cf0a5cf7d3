"""Models: requests to them and their replies. A truncated reply is never taken as whole."""

from toolplan.providers._base import (
    Ended,
    Message,
    Model,
    ModelCall,
    ModelError,
    ModelRequest,
    Piece,
    Reply,
    Restarted,
    Text,
    Usage,
    UsageTracker,
    complete,
    total,
)
from toolplan.providers._chain import ConfiguredModel, configured_models, open_model
from toolplan.providers._endpoint import (
    Answered,
    CallFailed,
    Endpoint,
    Failure,
    Manner,
    OpensEndpoint,
    Part,
    Spec,
)
from toolplan.providers._requests import SETTABLE

__all__ = [
    "SETTABLE",
    "Answered",
    "CallFailed",
    "ConfiguredModel",
    "Ended",
    "Endpoint",
    "Failure",
    "Manner",
    "Message",
    "Model",
    "ModelCall",
    "ModelError",
    "ModelRequest",
    "OpensEndpoint",
    "Part",
    "Piece",
    "Reply",
    "Restarted",
    "Spec",
    "Text",
    "Usage",
    "UsageTracker",
    "complete",
    "configured_models",
    "open_model",
    "total",
]
