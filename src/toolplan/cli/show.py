"""`toolplan show FILE`."""

from __future__ import annotations

import sys
from datetime import date
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._options import (
    DialectOption,
    JsonFlag,
    PlanFileArgument,
    ToolsOption,
    known_dialect,
)
from toolplan.cli._plan_file import print_diagnostics, read_plan, whole_plan
from toolplan.cli._terminal import CommandError, Exit, err, out, print_json
from toolplan.cli._toolbox import open_tools
from toolplan.compiler import parse
from toolplan.plan_json import dump
from toolplan.render.mermaid import mermaid as as_mermaid
from toolplan.render.plan_tree import WRITES, plan_tree
from toolplan.render.svg import svg as as_svg

MermaidFlag = Annotated[
    bool, Parameter(name="--mermaid", negative="", help="Print a Mermaid flowchart.")
]
SvgFlag = Annotated[bool, Parameter(name="--svg", negative="", help="Print an SVG drawing.")]


def show_command(
    file: PlanFileArgument,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    mermaid: MermaidFlag = False,
    svg: SvgFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """Show a plan as a tree: each step, and what it needs.

    With --json the plan is printed in its canonical form. With
    --tools, steps that may change something are marked.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    known = None if tools is None else open_tools(tools, date.today()).tools
    parsed = parse(plan_file.text, dialect, known)
    if parsed.diagnostics:
        print_diagnostics(err(), plan_file, parsed.diagnostics)
    if parsed.plan is None or not whole_plan(parsed.plan, parsed.diagnostics):
        raise CommandError(
            "unreadable-plan",
            f"{file} is no whole plan in the dialect {dialect!r}; nothing is drawn by guess.",
            "Mend what is told above, or say how it is written: --dialect.",
            Exit.FAILED,
            parsed.diagnostics,
        )
    marks = {
        step.id: WRITES
        for step in parsed.plan.steps
        if known is not None and step.tool in known and known[step.tool].has_effects
    }
    if as_json:
        print_json(dump(parsed.plan))
    elif mermaid:
        sys.stdout.write(as_mermaid(parsed.plan, marks=marks))
    elif svg:
        sys.stdout.write(as_svg(parsed.plan, marks=marks))
    else:
        out().print(plan_tree(parsed.plan, marks=marks))
    return Exit.FINE.value
