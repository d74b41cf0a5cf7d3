"""`toolplan convert FILE`."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._tools import opened_if_given
from toolplan.cli.options import JsonFlag, PlanFileArgument, ToolsOption
from toolplan.cli.plan_file import parsed_whole, plan_document, plan_text, read_plan
from toolplan.cli.terminal import Exit
from toolplan.dialects import DIALECTS, known_dialect

_NAMES = ", ".join(DIALECTS)
FromOption = Annotated[str, Parameter(name="--from", help=f"The dialect of the file: {_NAMES}.")]
ToOption = Annotated[str, Parameter(help="The dialect to write.")]


def convert_command(
    file: PlanFileArgument,
    *,
    from_: FromOption = "toolplan",
    to: ToOption = "toolplan",
    tools: ToolsOption = (),
    as_json: JsonFlag = False,
) -> int:
    """Convert a plan to another dialect, on standard output.

    A plan that the dialect cannot express is an error; nothing is left out silently.
    """
    plan_file = read_plan(file, from_)
    known_dialect(to)
    with opened_if_given(tools) as opened:
        known = None if opened is None else opened.tools
        plan = parsed_whole(plan_file, known, "--from")
        write = plan_document if as_json else plan_text
        sys.stdout.write(write(plan, to, known, "--to"))
        return Exit.FINE.value
