"""`toolplan tools`."""

from __future__ import annotations

from datetime import date

from rich.console import Group
from rich.table import Table
from rich.text import Text

from toolplan.cli._options import EffectsOption, JsonFlag, ToolsOption
from toolplan.cli._terminal import CommandError, Exit, out, print_json
from toolplan.cli._toolbox import open_tools
from toolplan.diagnostics import did_you_mean, near
from toolplan.render.printable import printable
from toolplan.schema import Schema, at, describe, required
from toolplan.tools import Tool


def tools_command(
    name: str | None = None,
    *,
    tools: ToolsOption = None,
    effects: EffectsOption = (),
    as_json: JsonFlag = False,
) -> int:
    """List the tools, or show one of them with its arguments.

    TOOLS is a JSON file with a list of tool objects ({"name", "description", "input_schema",
    "output_schema"}), or MODULE:ATTRIBUTE, where the attribute is a Toolbox, a list of tools, a
    tool, or a function that gives one of these.
    """
    toolbox = open_tools(tools, date.today(), None, effects).tools
    if name is not None and name not in toolbox:
        raise CommandError(
            "unknown-tool", f"There is no tool {name!r}.", did_you_mean(near(name, toolbox))
        )
    shown = list(toolbox.values()) if name is None else [toolbox[name]]
    if as_json:
        print_json([tool.to_json() for tool in shown])
    elif name is None:
        out().print(_list(shown))
    else:
        out().print(_one(shown[0]))
    return Exit.FINE.value


def _list(tools: list[Tool]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for heading in ("tool", "effects", "what it does"):
        table.add_column(heading, no_wrap=heading != "what it does")
    for tool in tools:
        first = printable(tool.description).partition(". ")[0]
        table.add_row(Text(printable(tool.name)), Text(tool.effects.value), Text(first))
    return table


def _one(tool: Tool) -> Group:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for heading in ("argument", "needed", "takes"):
        table.add_column(heading)
    if tool.unusable is None:
        needed = required(tool.input)
        for argument in tool.signature.inputs:
            part = at(tool.input, (argument,))
            takes = describe(part) if isinstance(part, Schema) else "any value"
            sign = "yes" if argument in needed else ""
            table.add_row(Text(printable(argument)), Text(sign), Text(printable(takes)))
    gives = ", ".join(tool.signature.outputs)
    if not gives:
        gives = "not declared" if tool.output is None else describe(tool.output)
    return Group(
        Text(f"{printable(tool.name)}  ({tool.effects.value})", style="bold"),
        Text(printable(tool.description)),
        table if tool.unusable is None else Text(f"It cannot be used: {tool.unusable}."),
        Text(f"gives: {printable(gives)}"),
    )
