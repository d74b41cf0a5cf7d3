"""The canonical JSON form of a plan, versioned: how plans are stored and sent.

`load` reports all that is wrong, each with its JSON pointer, and gives as much of the plan as
could be read, so that the rules can still check it: lists of steps and of arguments stay
complete, with a placeholder for what cannot be read. `dump` writes what is not default.
"""

from toolplan.plan.canonical._form import (
    LONGEST_TIMEOUT_S,
    MOST_RETRIES,
    VERSION,
    IdCheck,
    StepFields,
    dump,
    free_id,
    is_id,
    json_schema,
    load,
    read_metadata,
    read_steps,
)
from toolplan.plan.canonical._report import Parsed, Report, shown
from toolplan.plan.canonical._values import (
    CANONICAL,
    DEEPEST,
    EARLIER,
    MOST_PROBLEMS,
    OPENING,
    STEP_ID,
    Notation,
    ParsedText,
    ReferenceSyntaxError,
    Syntax,
    TextProblem,
    Written,
    check_depth,
    dump_value,
    in_braces,
    parse_text,
    print_text,
)

__all__ = [
    "CANONICAL",
    "DEEPEST",
    "EARLIER",
    "LONGEST_TIMEOUT_S",
    "MOST_PROBLEMS",
    "MOST_RETRIES",
    "OPENING",
    "STEP_ID",
    "VERSION",
    "IdCheck",
    "Notation",
    "Parsed",
    "ParsedText",
    "ReferenceSyntaxError",
    "Report",
    "StepFields",
    "Syntax",
    "TextProblem",
    "Written",
    "check_depth",
    "dump",
    "dump_value",
    "free_id",
    "in_braces",
    "is_id",
    "json_schema",
    "load",
    "parse_text",
    "print_text",
    "read_metadata",
    "read_steps",
    "shown",
]
