"""The day and the tools of the tests of planners, and where their questions are."""

from datetime import date
from functools import cache
from pathlib import Path

from toolplan.schema.tool import Toolbox
from toolplan_demo import demo_tools
from toolplan_sql import sql_tool

TODAY = "2025-10-12"
QUESTIONS = Path(__file__).parent / "questions"


@cache
def demo() -> Toolbox:
    """Return the demo's tools, and the one that computes."""
    tools = demo_tools(date.fromisoformat(TODAY), rows=50)
    return tools if "sql" in tools else tools.with_tools(sql_tool())
