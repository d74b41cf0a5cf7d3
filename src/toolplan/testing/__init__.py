"""Test doubles for programs built on toolplan, and a reference interpreter for plans.

`ScriptedTools` makes fake tools, `ScriptedPlanner` and `ScriptedModel` follow a script,
`scripted_extract` is the tool `extract` without a model, `RecordingSink` keeps events, and
`interpret` runs a plan one step after the other.
"""

from toolplan.testing.interpreter import interpret as interpret
from toolplan.testing.tools import OPEN as OPEN
from toolplan.testing.tools import Asked as Asked
from toolplan.testing.tools import Computes as Computes
from toolplan.testing.tools import Gives as Gives
from toolplan.testing.tools import Hangs as Hangs
from toolplan.testing.tools import Outcome as Outcome
from toolplan.testing.tools import Raises as Raises
from toolplan.testing.tools import RecordingSink as RecordingSink
from toolplan.testing.tools import ScriptedCall as ScriptedCall
from toolplan.testing.tools import ScriptedModel as ScriptedModel
from toolplan.testing.tools import ScriptedPlanner as ScriptedPlanner
from toolplan.testing.tools import ScriptedTools as ScriptedTools
from toolplan.testing.tools import scripted_extract as scripted_extract
