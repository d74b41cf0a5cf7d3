"""Doubles for tests of what is built on toolplan, and a reference interpreter for plans.

`ScriptedTools` makes fake tools, `ScriptedPlanner` and `ScriptedModel` return what a script says,
`scripted_extract` is the tool `extract` without a model, `RecordingSink` keeps events, and
`interpret` runs a plan one step after the other.
"""

from toolplan.testing.extract import scripted_extract
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
    "scripted_extract",
]
