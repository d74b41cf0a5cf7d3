"""The grounded planner: offline, from the tools' schemas and hints alone.

The rooms, each of which knows only those before it:

- `language`: general English; `dates`: the times in a text; `catalogue`: the words of a toolbox.
- `parse`: a question becomes mentions, and mentions become requests and a computation.
- `build`: requests and a computation become steps.
- `planner`: tries the readings of a question until one of them is a plan.
- `dialogue`: follow-up questions.
"""

from toolplan.planners.grounded.planner import GroundedPlanner

__all__ = ["GroundedPlanner"]
