"""JSON as text: one tolerant reader that gives values and places, or text piece by piece.

It reads JSON and what people and models write instead of it: comments, single quotes, bare keys,
trailing commas, Python's constants. It is linear in the length of the text, and refuses what is
nested too deep. Plans keep JSON pointers only: the place of one is looked up when a diagnostic is
shown.
"""

from toolplan.plan.text._elements import Elements
from toolplan.plan.text._loose import (
    DEEPEST,
    ELLIPSIS,
    LARGEST_INTEGER,
    REPLACEMENT,
    Flaw,
    Reader,
    Refused,
    Span,
    Way,
    begins_with_ellipsis,
    is_bad_number,
    is_ellipsis,
    nearest,
    not_text,
    replaced,
)
from toolplan.plan.text._places import (
    Change,
    Insert,
    Rename,
    Replace,
    edited,
    line_and_column,
    locate,
    rewritten,
    spliced,
)
from toolplan.plan.text._tokens import LINE_TOKEN, TOKEN

__all__ = [
    "DEEPEST",
    "ELLIPSIS",
    "LARGEST_INTEGER",
    "LINE_TOKEN",
    "REPLACEMENT",
    "TOKEN",
    "Change",
    "Elements",
    "Flaw",
    "Insert",
    "Reader",
    "Refused",
    "Rename",
    "Replace",
    "Span",
    "Way",
    "begins_with_ellipsis",
    "edited",
    "is_bad_number",
    "is_ellipsis",
    "line_and_column",
    "locate",
    "nearest",
    "not_text",
    "replaced",
    "rewritten",
    "spliced",
]
