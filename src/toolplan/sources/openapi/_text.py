"""The text of a document as JSON: it is JSON, or YAML where the YAML library is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from toolplan.path import Json
from toolplan.tools import ToolObjectError

_read_yaml: Callable[[str], Json] | None
try:
    from toolplan.sources.openapi._yaml import read_yaml
except ImportError:  # the library comes with the extra `openapi`
    _read_yaml = None
else:
    _read_yaml = read_yaml

MAX_TEXT: Final = 50_000_000


def read_document(text: str) -> Json:
    """Return the JSON value that `text` writes, in JSON or in YAML.

    YAML is read as version 1.2 has it: `yes` and `on` are text, and so are dates. Keys become text.

    Raises:
        ToolObjectError: it is neither, or too large, or YAML and the library is not installed.
    """
    if len(text) > MAX_TEXT:
        raise ToolObjectError(f"The document is longer than {MAX_TEXT} characters.")
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            raise ToolObjectError(f"The document is not JSON: {error}.") from None
    if _read_yaml is None:
        raise ToolObjectError(
            "The document is not JSON. To read YAML, install 'toolplan[openapi]', or convert it."
        )
    return _read_yaml(text)
