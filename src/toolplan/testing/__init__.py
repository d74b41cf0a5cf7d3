"""Test doubles for programs built on toolplan, and a reference interpreter for plans.

`ScriptedTools` makes fake tools, `ScriptedPlanner` and `ScriptedModel` follow a script,
`scripted_extract` is the tool `extract` without a model, `RecordingSink` keeps events, and
`interpret` runs a plan one step after the other.
"""

from toolplan.testing.interpreter import interpret
from toolplan.testing.tools import (
    OPEN,
    Asked,
    Computes,
    Gives,
    Hangs,
    Outcome,
    Raises,
    RecordingSink,
    ScriptedCall,
    ScriptedModel,
    ScriptedPlanner,
    ScriptedTools,
    scripted_extract,
)

__all__ = [
    "OPEN",
    "Asked",
    "Computes",
    "Gives",
    "Hangs",
    "Outcome",
    "Raises",
    "RecordingSink",
    "ScriptedCall",
    "ScriptedModel",
    "ScriptedPlanner",
    "ScriptedTools",
    "interpret",
    "scripted_extract",
]
