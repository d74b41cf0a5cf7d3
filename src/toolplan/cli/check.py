"""`toolplan check FILE`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from toolplan.cli._options import (
    DialectOption,
    EffectsOption,
    JsonFlag,
    PlanFileArgument,
    ToolsOption,
    known_dialect,
)
from toolplan.cli._plan_file import plan_text, print_diagnostics, read_plan, write_plan
from toolplan.cli._terminal import Exit, err, note, out, print_json
from toolplan.cli._tools import opened_if_given
from toolplan.compiler import examine
from toolplan.diagnostics import Severity, to_json
from toolplan.path import Json
from toolplan.plan import Plan, step_refs
from toolplan.render.sarif import sarif
from toolplan.rules import rule_pages
from toolplan.tools import Toolbox

FixFlag = Annotated[
    bool, Parameter(name="--fix", negative="", help="Save the safe fixes in the file.")
]
FormatOption = Annotated[
    Literal["text", "json", "sarif"], Parameter(name="--format", help="The form of the report.")
]

_AUTO_FIX: Final = (
    'Errors marked "auto-fix" are corrected when the plan runs; --fix saves the corrections.'
)


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
    """Check a plan and report every problem.

    Exits 1 on any error in the plan as written; with --fix, on any error that is left.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    with opened_if_given(tools, effects) as opened:
        if opened is None:
            note("Without --tools only the structure is checked: no tool, argument or output type.")
        known = None if opened is None else opened.tools
        plan, diagnostics, unchecked = examine(plan_file.text, dialect, known)
        corrected = any(each.fixed or each.code == "noise" for each in diagnostics)
        if fix and plan is not None and corrected:
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
                note(
                    'Errors marked "auto-fix" are corrected when the plan runs; '
                    "--fix saves the corrections."
                )
            if unchecked and plan is not None and known is not None:
                note(_unchecked_text(unchecked, plan, known))
        return (Exit.FINE if valid else Exit.FAILED).value


def _unchecked_text(count: int, plan: Plan, tools: Toolbox) -> str:
    """Return how many references were not type-checked, and the tools that leave it open."""
    called = {step.id: tools.get(step.tool) for step in plan.steps}
    sources = [called.get(ref.step) for step in plan.steps for _, ref in step_refs(step)]
    names = dict.fromkeys(
        tool.name for tool in sources if tool and not tool.output and not tool.compute_output
    )
    were = "1 reference was" if count == 1 else f"{count} references were"
    reason = (
        f"tool {', '.join(names)} declares no output schema"
        if len(names) == 1
        else f"tools {', '.join(names)} declare no output schemas"
        if names
        else "the schemas do not say what they select"
    )
    return f"{were} not type-checked: {reason}."
