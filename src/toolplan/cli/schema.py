"""`toolplan schema`."""

from __future__ import annotations

from toolplan.cli._options import JsonFlag, ToolsOption
from toolplan.cli._terminal import Exit, print_json
from toolplan.cli._tools import opened_if_given
from toolplan.plan_json import json_schema


def schema_command(*, tools: ToolsOption = (), as_json: JsonFlag = False) -> int:
    """Print the JSON Schema of plans, for editors and other programs.

    It covers the form of a plan; `toolplan check` covers all of it. With --tools only the names of
    these tools are valid. It is JSON, with --json or without.
    """
    with opened_if_given(tools) as opened:
        print_json(json_schema(None if opened is None else opened.tools))
    return Exit.FINE.value
