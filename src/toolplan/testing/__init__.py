"""Doubles for tests of what is built on toolplan, and a reference interpreter for plans.

`ScriptedTools` makes fake tools, `ScriptedPlanner` returns scripted proposals, `ScriptedModel`
returns scripted replies, `RecordingSink` keeps events, and `interpret` runs a plan step by step, so
that the results of an engine can be compared with it.
"""

from toolplan.testing.interpreter import interpret
from toolplan.testing.model import ScriptedModel
from toolplan.testing.planner import Asked, ScriptedPlanner
from toolplan.testing.sink import RecordingSink
from toolplan.testing.tools import (
    OPEN,
    Computes,
    Gives,
    Hangs,
    Outcome,
    Raises,
    ScriptedCall,
    ScriptedTools,
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
]
