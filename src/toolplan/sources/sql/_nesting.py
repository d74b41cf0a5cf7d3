"""How deep a statement nests, read from its text: a parser could run out of stack finding out."""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 100
"""How many brackets and CASEs may be open at one place of a statement."""

MAX_WITHS: Final = 3
"""How many WITHs may stand inside each other: the parser takes five times as long for each more."""
MAX_JOINS: Final = 100
"""How many JOINs a statement may have: the time to bind it grows with their square and more."""

TOO_DEEP: Final = (
    f"The statement nests more than {MAX_DEPTH} levels deep; name parts of it by WITH."
)
TOO_MANY_WITHS: Final = (
    f"More than {MAX_WITHS} WITHs stand inside each other; put them one after another in one WITH."
)
TOO_MANY_JOINS: Final = f"The statement has more than {MAX_JOINS} JOINs."

_TOKEN: Final = re.compile(
    r"""
    '(?:[^']|'')*'                # text
    | "(?:[^"]|"")*"              # a name
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]*
    | /\*.*?\*/
    | (?P<join>\bjoin\b)
    | (?P<with>\bwith\b)
    | (?P<opens>[(\[{]|\bcase\b)
    | (?P<closes>[)\]}]|\bend\b)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def too_deep(text: str) -> str | None:
    """Return why `text` cannot be parsed safely, or None."""
    depth = joins = 0
    withs: list[int] = []  # the depths at which a WITH stands
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            depth += 1
            if depth > MAX_DEPTH:
                return TOO_DEEP
        elif token["join"]:
            joins += 1
            if joins > MAX_JOINS:
                return TOO_MANY_JOINS
        elif token["with"]:
            if not withs or withs[-1] < depth:
                withs.append(depth)
            if len(withs) > MAX_WITHS:
                return TOO_MANY_WITHS
        elif token["closes"]:
            depth -= 1
            while withs and withs[-1] > depth:
                withs.pop()
    return None
