"""The text of a document as JSON: it is JSON or YAML."""

from __future__ import annotations

import json
from typing import Final

from toolplan.path import Json
from toolplan.sources.openapi._scalars import KEPT, Settling
from toolplan.tools import ToolObjectError
from toolplan.yaml_text import YamlError, read_yaml

MAX_TEXT: Final = 50_000_000
_MAX_DEPTH: Final = 200


def read_document(text: str) -> Json:
    """Return the JSON value that `text` writes, in JSON or in YAML 1.2. Keys become text.

    In YAML, scalars without quotes take the type that their schema states.

    Raises:
        ToolObjectError: it is neither, or too large.
    """
    return read_with_faults(text)[0]


def read_with_faults(text: str) -> tuple[Json, tuple[str, ...]]:
    """Return what `read_document` does, and sentences on scalars that fit no type stated.

    Raises:
        ToolObjectError: as `read_document`.
    """
    if len(text) > MAX_TEXT:
        raise ToolObjectError(f"The document is longer than {MAX_TEXT} characters.")
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text), ()
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            raise ToolObjectError(f"The document is not JSON: {error}.") from None
    try:
        read = read_yaml(text, max_depth=_MAX_DEPTH, plain_under=KEPT).value
    except YamlError as error:
        raise ToolObjectError(f"The document, line {error.line}: {error}") from None
    settling = Settling()
    return settling.settle(read), tuple(settling.faults)
