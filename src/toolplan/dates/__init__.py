"""The times in a question: *last week*, *since Monday*, *in October*, *Q3 2025*, *March to May*.

Pure functions of words and of today; docs/dates.md shows what is read and what is asked.
"""

from toolplan.dates._reading import find_dates, read_dates, times_in, vocabulary
from toolplan.dates._table import MONTHS, NUMBERS, ORDINALS, WEEKDAYS
from toolplan.dates._values import DateRange, FoundDate, Times, Weeks

__all__ = [
    "MONTHS",
    "NUMBERS",
    "ORDINALS",
    "WEEKDAYS",
    "DateRange",
    "FoundDate",
    "Times",
    "Weeks",
    "find_dates",
    "read_dates",
    "times_in",
    "vocabulary",
]
