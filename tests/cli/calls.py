"""What a command says when it is called."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed on standard output, read as JSON."""
        return json.loads(self.out)


Call = Callable[..., Said]
"""Calls a command, whose exit code has to be `code` where that is given."""
