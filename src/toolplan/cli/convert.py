"""`toolplan convert FILE`."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._options import JsonFlag, PlanFileArgument, ToolsOption, known_dialect
from toolplan.cli._plan_file import (
    plan_document,
    plan_text,
    print_diagnostics,
    read_plan,
    whole_plan,
)
from toolplan.cli._terminal import CommandError, Exit, err
from toolplan.cli._toolbox import open_given
from toolplan.compiler import parse
from toolplan.dialects import DIALECTS

_NAMES = ", ".join(DIALECTS)
FromOption = Annotated[str, Parameter(name="--from", help=f"How it is written: {_NAMES}.")]
ToOption = Annotated[str, Parameter(name="--to", help="How it shall be written.")]


def convert_command(
    file: PlanFileArgument,
    *,
    from_: FromOption = "toolplan",
    to: ToOption = "toolplan",
    tools: ToolsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Write a plan in another dialect, on standard output.

    What the other dialect cannot say is named, never lost.
    """
    plan_file = read_plan(file, known_dialect(from_))
    known_dialect(to)
    with open_given(tools) as opened:
        known = None if opened is None else opened.tools
        parsed = parse(plan_file.text, from_, known)
        if parsed.diagnostics:
            print_diagnostics(err(), plan_file, parsed.diagnostics)
        if parsed.plan is None or not whole_plan(parsed.plan, parsed.diagnostics):
            raise CommandError(
                "unreadable-plan",
                f"{file} is no whole plan in the dialect {from_!r}.",
                "Mend what is told above, or say how it is written: --from.",
                Exit.FAILED,
                parsed.diagnostics,
            )
        write = plan_document if as_json else plan_text
        text = write(parsed.plan, to, known)
        sys.stdout.write(text)
        return Exit.FINE.value
