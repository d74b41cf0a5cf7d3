"""The times in a question: *last week*, *since Monday*, *in October*, *Q3 2025*, *March to May*.

Pure functions of words and of today; docs/dates.md shows what is read and what is asked.
"""

from toolplan.dates._reading import find_dates as find_dates
from toolplan.dates._reading import read_dates as read_dates
from toolplan.dates._reading import times_in as times_in
from toolplan.dates._reading import vocabulary as vocabulary
from toolplan.dates._table import MONTHS as MONTHS
from toolplan.dates._table import NUMBERS as NUMBERS
from toolplan.dates._table import ORDINALS as ORDINALS
from toolplan.dates._table import WEEKDAYS as WEEKDAYS
from toolplan.dates._values import DateRange as DateRange
from toolplan.dates._values import FoundDate as FoundDate
from toolplan.dates._values import Times as Times
from toolplan.dates._values import Weeks as Weeks
