"""Files of tool objects: enough to plan and check with, not to call."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolplan.plan.exact_json import InexactJson, read_json
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.tools._base import OpenedTools, SourceContext, ToolSource

_SHAPE: Final = (
    'The file is a list of tool objects: {"name": …, "description": …, "input_schema": {…}}.'
)
MAX_FILE_BYTES: Final = 20_000_000


class ToolFileSource:
    """JSON files of tool objects: a list, or an answer of MCP's `tools/list`."""

    takes_base_url = False
    help = (
        "Give a JSON file of tool objects, an MCP configuration, an OpenAPI document, or"
        " MODULE:ATTRIBUTE, as in toolplan_demo:TOOLS."
    )

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` is a JSON file that holds a list, or an object with `tools`."""
        document = json_in(spec, folder)
        return isinstance(document, list) or (isinstance(document, dict) and "tools" in document)

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        """Yield the tools of the file.

        Raises:
            ToolObjectError: the file cannot be read, or is not a list of tool objects.
        """
        items = read_json_file(path_of(spec, context.folder), repr(spec))
        try:
            tools = Toolbox.from_json(items)
        except ToolObjectError as error:
            raise ToolObjectError(f"{spec!r}: {error}", error.help or _SHAPE) from error
        yield OpenedTools(tools)


def read_json_file(path: Path, shown: str, most_bytes: int = MAX_FILE_BYTES) -> object:
    """Return the JSON value in a file, which messages call `shown`.

    Raises:
        ToolObjectError: it is too large, cannot be read, is not JSON, or has a key twice.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise ToolObjectError(
                f"{shown} is larger than {most_bytes} bytes.", "Leave out what no plan needs."
            )
        return parse_json(path.read_text(encoding="utf-8-sig"), shown)
    except OSError as error:
        reason, help_ = error.strerror or error, "Check the path, and that you may read the file."
        raise ToolObjectError(f"{shown} cannot be read: {reason}.", help_) from error
    except UnicodeDecodeError as error:
        fault = f"{shown} is not UTF-8 text (byte {error.start})."
        raise ToolObjectError(fault, "Save it as UTF-8.") from error


def parse_json(text: str, shown: str) -> object:
    """Return the value of a JSON text, which messages call `shown`.

    Raises:
        ToolObjectError: it is not JSON, or holds what nothing can keep, such as a key twice.
    """
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise ToolObjectError(f"{shown} is not JSON: {place}.", "Fix it there.") from error
    except RecursionError as error:
        raise ToolObjectError(f"{shown} is nested too deeply.", "Fix it.") from error
    except ValueError as error:  # a key twice, or a number that nothing can keep
        why = error if isinstance(error, InexactJson) else f"not JSON that can be read: {error}"
        raise ToolObjectError(f"{shown} is {why}.", "Fix it.") from error


def path_of(spec: str, folder: Path) -> Path:
    """Return the path that `spec` is, relative to `folder`."""
    return folder / Path(spec).expanduser()


def json_in(spec: str, folder: Path) -> object:
    """Return the JSON value in the file `spec`, or None if it cannot be read."""
    path = path_of(spec, folder)
    with suppress(ToolObjectError, OSError):
        return read_json_file(path, spec) if path.is_file() else None
    return None


SOURCE: Final[ToolSource] = ToolFileSource()
