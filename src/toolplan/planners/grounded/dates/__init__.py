"""Times in a question: *last week*, *since Monday*, *in October*, *Q3 2025*, *from May to July*.

Pure functions of the text and of today.
"""

from toolplan.planners.grounded.dates.calendar import Weeks
from toolplan.planners.grounded.dates.mentions import (
    DateRange,
    TimeMention,
    find_bad_dates,
    find_times,
)

__all__ = ["DateRange", "TimeMention", "Weeks", "find_bad_dates", "find_times"]
