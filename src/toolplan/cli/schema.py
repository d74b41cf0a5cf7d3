"""`toolplan schema`."""

from __future__ import annotations

from toolplan.cli._outputs import OUTPUTS, output_schema
from toolplan.cli._tools import opened_if_given
from toolplan.cli.options import JsonFlag, ToolsOption
from toolplan.cli.terminal import CommandError, Exit, print_json
from toolplan.plan_json import json_schema


def schema_command(
    command: str | None = None, *, tools: ToolsOption = (), as_json: JsonFlag = False
) -> int:
    """Print the JSON Schema of plans, or of what COMMAND prints with --json.

    It covers the form of a plan; `toolplan check` covers all of it. With --tools only the names of
    these tools are valid. COMMAND is one with a stable output, or `error`: what any command prints
    on standard error. It is JSON, with --json or without.
    """
    if command is not None:
        if command not in OUTPUTS or tools:
            raise CommandError(
                "usage",
                "--tools is for the schema of plans."
                if command in OUTPUTS
                else f"There is no schema of {command!r}.",
                f"Schemas: {', '.join(OUTPUTS)}; without a name that of plans.",
            )
        print_json(output_schema(command))
        return Exit.FINE.value
    with opened_if_given(tools) as opened:
        print_json(json_schema(None if opened is None else opened.tools))
    return Exit.FINE.value
