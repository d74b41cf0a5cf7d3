"""JSON as text: one tolerant reader that finds places and reads text piece by piece.

It reads JSON and what people and models write instead of it: comments, single quotes, bare keys,
trailing commas, Python's constants. It never fails, is linear in the length of the text, and keeps
its own stack, so that no nesting makes it fail. Plans keep JSON pointers only: the place of one is
looked up when a diagnostic is shown.
"""

from toolplan.plan.text._elements import Elements
from toolplan.plan.text._places import (
    Change,
    Insert,
    Place,
    Rename,
    Replace,
    Span,
    duplicate_keys,
    edited,
    find_words,
    line_and_column,
    locate,
    rewritten,
    spliced,
)
from toolplan.plan.text._strict import (
    ELLIPSIS,
    Broken,
    Strict,
    begins_with_ellipsis,
    is_ellipsis,
    strict_json,
)
from toolplan.plan.text._tokens import LINE_TOKEN, TOKEN

__all__ = [
    "ELLIPSIS",
    "LINE_TOKEN",
    "TOKEN",
    "Broken",
    "Change",
    "Elements",
    "Insert",
    "Place",
    "Rename",
    "Replace",
    "Span",
    "Strict",
    "begins_with_ellipsis",
    "duplicate_keys",
    "edited",
    "find_words",
    "is_ellipsis",
    "line_and_column",
    "locate",
    "rewritten",
    "spliced",
    "strict_json",
]
