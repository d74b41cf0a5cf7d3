"""The canonical JSON form of a plan, versioned: how plans are stored and sent.

`load` reports all problems, each with its JSON pointer, and gives as much of the plan as
could be read, so that the rules can still check it: lists of steps and of arguments stay
complete, with a default in place of each unreadable part. `dump` omits defaults.
"""

from toolplan.plan.canonical._form import MOST_RETRIES as MOST_RETRIES
from toolplan.plan.canonical._form import IdCheck as IdCheck
from toolplan.plan.canonical._form import StepFields as StepFields
from toolplan.plan.canonical._form import dump as dump
from toolplan.plan.canonical._form import free_id as free_id
from toolplan.plan.canonical._form import is_id as is_id
from toolplan.plan.canonical._form import load as load
from toolplan.plan.canonical._form import read_ids as read_ids
from toolplan.plan.canonical._form import read_metadata as read_metadata
from toolplan.plan.canonical._form import read_steps as read_steps
from toolplan.plan.canonical._schema import json_schema as json_schema
from toolplan.plan.canonical._values import DEEPEST as DEEPEST
from toolplan.plan.canonical._values import EARLIER as EARLIER
from toolplan.plan.canonical._values import MOST_PROBLEMS as MOST_PROBLEMS
from toolplan.plan.canonical._values import OPENING as OPENING
from toolplan.plan.canonical._values import STEP_ID as STEP_ID
from toolplan.plan.canonical._values import Notation as Notation
from toolplan.plan.canonical._values import Parsed as Parsed
from toolplan.plan.canonical._values import ParsedText as ParsedText
from toolplan.plan.canonical._values import ReferenceSyntaxError as ReferenceSyntaxError
from toolplan.plan.canonical._values import Report as Report
from toolplan.plan.canonical._values import Syntax as Syntax
from toolplan.plan.canonical._values import TextProblem as TextProblem
from toolplan.plan.canonical._values import Written as Written
from toolplan.plan.canonical._values import check_depth as check_depth
from toolplan.plan.canonical._values import dump_value as dump_value
from toolplan.plan.canonical._values import in_braces as in_braces
from toolplan.plan.canonical._values import parse_text as parse_text
from toolplan.plan.canonical._values import print_text as print_text
from toolplan.plan.canonical._values import shown as shown
