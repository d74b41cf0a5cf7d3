"""The JSON that servers send: read exactly, or refused."""

from __future__ import annotations

import json
from typing import NoReturn

from toolplan.path import Json


class InexactJson(ValueError):
    """The text is JSON but for a value that nothing can keep: NaN, an infinity, a key twice."""


def read_json(text: str | bytes) -> Json:
    """Return the value of a JSON text, in any encoding of Unicode.

    Raises:
        InexactJson: it has NaN or an infinity in it, or a key twice in an object.
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)


def _refuse_constant(name: str) -> NoReturn:
    raise InexactJson(f"JSON with {name} in it, and JSON has neither NaN nor infinities")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InexactJson(f"JSON with the key {twice[:60]!r} twice in an object")
    return found
