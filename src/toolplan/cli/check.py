"""`toolplan check FILE`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Literal

from cyclopts import Parameter

from toolplan.cli._options import (
    DialectOption,
    EffectsOption,
    JsonFlag,
    PlanFileArgument,
    ToolsOption,
    known_dialect,
)
from toolplan.cli._plan_file import print_diagnostics, read_plan, write_plan
from toolplan.cli._proposal import plan_text
from toolplan.cli._terminal import Exit, err, note, out, print_json
from toolplan.cli._toolbox import open_given
from toolplan.compiler import examine
from toolplan.diagnostics import Severity, to_json
from toolplan.path import Json
from toolplan.render.sarif import sarif
from toolplan.rules import rule_pages

FixFlag = Annotated[
    bool, Parameter(name="--fix", negative="", help="Write the safe fixes into the file.")
]
FormatOption = Annotated[
    Literal["text", "json", "sarif"], Parameter(name="--format", help="How problems are printed.")
]


def check_command(
    file: PlanFileArgument,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    effects: EffectsOption = (),
    fix: FixFlag = False,
    format: FormatOption = "text",
    as_json: JsonFlag = False,
) -> int:
    """Say all that is wrong with a plan, in one go.

    Exits 1 on any error as the plan is written; with --fix, on
    any that is left.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    with open_given(tools, effects) as opened:
        if opened is None:
            note("Without --tools only the structure is checked: no tool, argument or output type.")
        known = None if opened is None else opened.tools
        plan, diagnostics, unchecked = examine(plan_file.text, dialect, known)
        mended = any(each.fixed or each.code == "noise" for each in diagnostics)
        if fix and plan is not None and mended:
            write_plan(file, plan_text(plan, dialect, known))
        errors = [each for each in diagnostics if each.severity is Severity.ERROR]
        valid = not any(each.blocks for each in errors) if fix else not errors
        if as_json or format == "json":
            document: dict[str, Json] = {
                "valid": valid,
                "diagnostics": [to_json(each) for each in diagnostics],
                "unchecked_references": unchecked,
            }
            print_json(document)
        elif format == "sarif":
            located = plan_file.located(diagnostics)
            log = sarif(
                located, plan_file.text, file=file, pages=rule_pages(), version=version("toolplan")
            )
            print_json(log)
        else:
            print_diagnostics(err() if fix and file == "-" else out(), plan_file, diagnostics)
            if any(each.fixed for each in diagnostics) and not fix:
                note("What is marked as fixed is mended before a plan runs; --fix writes it down.")
            if unchecked and opened is not None:
                note(f"{unchecked} reference(s) could not be checked: no schema speaks for them.")
        return (Exit.FINE if valid else Exit.FAILED).value
