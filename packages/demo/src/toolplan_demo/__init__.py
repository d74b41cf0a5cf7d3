"""The demo domain: two years of generated waste management data behind real tools.

Shipments go to facilities, some of them contaminated; inspections look at them. `TOOLS` ends today;
`demo_tools` ends on any day and scales to any number of rows. Importing does no work: the database
is built when a tool is first called.
"""

from toolplan_demo.database import open_database
from toolplan_demo.tools import TOOLS, demo_tools

__all__ = ["TOOLS", "demo_tools", "open_database"]
