"""`toolplan convert FILE`."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._tools import opened_if_given
from toolplan.cli.options import JsonFlag, PlanFileArgument, ToolsOption
from toolplan.cli.plan_file import (
    plan_document,
    plan_text,
    print_diagnostics,
    read_plan,
    whole_plan,
)
from toolplan.cli.terminal import CommandError, Exit, err
from toolplan.compiler import parse
from toolplan.diagnostics import to_json
from toolplan.dialects import DIALECTS, known_dialect

_NAMES = ", ".join(DIALECTS)
FromOption = Annotated[str, Parameter(name="--from", help=f"The dialect of the file: {_NAMES}.")]
ToOption = Annotated[str, Parameter(name="--to", help="The dialect to write.")]


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
        parsed = parse(plan_file.text, from_, known)
        if parsed.diagnostics:
            print_diagnostics(err(), plan_file, parsed.diagnostics)
        if parsed.plan is None or not whole_plan(parsed.plan, parsed.diagnostics):
            raise CommandError(
                "unreadable-plan",
                f"{file} is not a complete plan in the dialect {from_!r}.",
                "Fix the errors above, or name its dialect: --from.",
                diagnostics=[to_json(each) for each in parsed.diagnostics],
            )
        write = plan_document if as_json else plan_text
        text = write(parsed.plan, to, known, "--to")
        sys.stdout.write(text)
        return Exit.FINE.value
