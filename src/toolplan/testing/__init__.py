"""Doubles for tests of what is built on toolplan, and the meaning of plans as a program.

`ScriptedTools` makes fake tools, `ScriptedPlanner` proposes what it is told to, `ScriptedModel` and
`ScriptedModelServer` (over real HTTP) reply what they are told to, `RecordingSink` keeps events,
and `interpret` runs a plan step by step, so that an engine can be held to it.
"""

from toolplan.testing.interpreter import interpret
from toolplan.testing.model import ScriptedModel
from toolplan.testing.model_server import ScriptedModelServer
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
    "ScriptedModelServer",
    "ScriptedPlanner",
    "ScriptedTools",
    "interpret",
]
