"""`toolplan check` and `toolplan policy`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from cyclopts import Parameter
from msgspec.structs import replace

from toolplan.app.settings import FILE, home, policy_of
from toolplan.base.extras import own_version
from toolplan.cli import options
from toolplan.cli.plan_file import PlanFile, print_diagnostics, read_plan, write_plan
from toolplan.cli.terminal import CommandError, Exit, err, note, out, print_json
from toolplan.compiler import compile_plan, examine, fixed_text, flows_of
from toolplan.compiler.rules import rule_pages
from toolplan.plan.diagnostics import Severity, to_json
from toolplan.plan.model import Plan, step_refs
from toolplan.plan.path import Json
from toolplan.policy import Policy, Vouched, draft_policy
from toolplan.schema.tool import Toolbox
from toolplan.show.approval_view import FlowsView, flow_to_json
from toolplan.show.diagnostics import fix_texts, pointer_text, sarif
from toolplan.show.printable import count_text, printable

_MOST_NAMED: Final = 20
_ADVICE: Final = "--fix saves the corrections"


def check_command(
    file: options.PlanFileArgument,
    *more: options.PlanFileArgument,
    opening: options.ToolOptions = options.ToolOptions(),
    dialect: options.DialectOption = "toolplan",
    policy: options.PolicyOption = None,
    fix: Annotated[bool, Parameter(help="Save the safe fixes in the file.")] = False,
    strict: options.StrictFlag = False,
    format: Annotated[
        Literal["text", "json", "sarif"], Parameter(help="The form of the report.")
    ] = "text",
    as_json: options.JsonFlag = False,
) -> int:
    """Check plans and report every problem.

    Exits 1 on any error in a plan as written; with --fix, on any error that is left. With --fix
    only the values and names with an auto-fix change in the file; everything else stays as it is.
    With --strict it exits 1 too where a list that the plan computes with may be a part.
    Several files are reported as text, one after the other, each below its name.
    """
    form = "json" if as_json else format
    if more and form != "text":
        raise CommandError("usage", f"With {form} as the form of the report, name one file.")
    files = [read_plan(name, dialect) for name in (file, *more)]
    with opening.opened_if_given() as opened:
        if opened is None:
            note("Without --tools only the structure is checked: no tool, argument or output type.")
        known = None if opened is None else opened.tools
        rules = policy_of(policy, home() / FILE)
        valid: list[bool] = []
        for each in files:
            if more:
                (err() if fix and each.name == "-" else out()).print(printable(f"{each.name}:"))
            saved = _saved(each, known) if fix else each
            valid.append(_checked(saved, known, rules, form, fix, strict=strict))
    return (Exit.FINE if all(valid) else Exit.FAILED).value


def _checked(
    file: PlanFile,
    tools: Toolbox | None,
    policy: Policy,
    form: str,
    is_fixed: bool,
    *,
    strict: bool,
) -> bool:
    """Print the report of a file, and return whether its plan is valid.

    With `strict` a plan is not, that computes with a list of which it may have a part only.
    """
    _, diagnostics, plan, unchecked = examine(file.text, file.dialect, tools, policy=policy)
    valid = not any(each.severity is Severity.ERROR for each in diagnostics)
    if form == "json":
        document: dict[str, Json] = {
            "valid": valid,
            "diagnostics": [to_json(each) for each in diagnostics],
            "unchecked_references": unchecked,
        }
        print_json(document)
    elif form == "sarif":
        located, program = file.located(diagnostics), own_version()
        print_json(sarif(located, file.text, file=file.name, pages=rule_pages(), version=program))
    else:
        console = err() if is_fixed and file.name == "-" else out()
        print_diagnostics(console, file, diagnostics, "" if is_fixed else _ADVICE)
        if unchecked and plan is not None and tools is not None:
            note(_unchecked_text(unchecked, plan, tools))
    parts = [each for each in diagnostics if each.code == "part-of-list" and not each.fixed]
    return valid and not (strict and parts)


def _saved(file: PlanFile, tools: Toolbox | None) -> PlanFile:
    """Save the safe fixes in the file, say so, and return the file as it is now."""
    diagnostics = examine(file.text, file.dialect, tools).diagnostics
    found = [each for each in diagnostics if each.fixed and each.fix is not None]  # noise stays
    if not found:
        return file
    many = count_text(len(found), "correction")
    text = fixed_text(file.text, file.dialect, tools)
    if text is None:
        note(
            f"{many} cannot be saved in {file.name} without changing more than that, "
            "so it is left as it is: make the changes marked auto-fix by hand."
        )
        return file
    write_plan(file.name, text)
    note(f"{many} saved in {file.name}." if file.name != "-" else f"{many} made.")
    for each in found[:_MOST_NAMED]:
        for change in fix_texts(each.fix) if each.fix is not None else ():
            note(f"{pointer_text(each.pointer)}: {change}")
    if len(found) > _MOST_NAMED:
        note(f"… and {len(found) - _MOST_NAMED:,} more.")
    return replace(file, text=text)


def _unchecked_text(count: int, plan: Plan, tools: Toolbox) -> str:
    """Return how many references were not type-checked, and the tools that leave it open."""
    called = {step.id: tools.get(step.tool) for step in plan.steps}
    sources = [called.get(ref.step) for step in plan.steps for _, ref in step_refs(step)]
    names = dict.fromkeys(
        tool.name for tool in sources if tool and not tool.output and not tool.compute_output
    )
    reason = "the schemas do not say what they select"
    if names:
        reason = f"no output schema is declared by {', '.join(names)}"
    return f"Not type-checked: {count_text(count, 'reference')}, since {reason}."


_ACTION: Final = "init: print a first policy for the tools. check: show every flow of a plan."


def policy_command(
    action: Annotated[Literal["init", "check"], Parameter(help=_ACTION)],
    plan: options.PlanFileArgument | None = None,
    opening: options.SourceOptions = options.SourceOptions(),
    *,
    policy: options.PolicyOption = None,
    dialect: options.DialectOption = "toolplan",
    as_json: options.JsonFlag = False,
) -> int:
    """Write a policy, or show what one decides about a plan.

    `init` prints a draft, with each line explained, to be saved as
    toolplan.policy.toml. `check PLAN` prints every value that reaches a
    place where it can do harm: where it comes from, how far it is to be
    trusted, what is needed there, and the verdict. It exits 1 where the
    plan does not pass.
    """
    if (action == "init") == (plan is not None):
        problem = "`init` takes no plan." if plan is not None else "PLAN is missing."
        raise CommandError("usage", problem, "See `toolplan policy --help`.")
    rules = policy_of(policy, home() / FILE)
    with opening.opened(opening.base_url, for_plans=plan is not None) as toolset:
        if plan is None:
            text = draft_policy(toolset.tools)
            if as_json:
                print_json({"policy": text})
            else:
                print(text, end="")  # names of tools are escaped in it
            return Exit.FINE.value
        return _check(plan, dialect, toolset.tools, rules, as_json=as_json)


def _check(file: str, dialect: str, tools: Toolbox, policy: Policy, *, as_json: bool) -> int:
    plan_file = read_plan(file, dialect)
    compiled = compile_plan(plan_file.text, dialect, tools=tools, policy=policy)
    flows = () if compiled.draft is None else flows_of(compiled.draft, tools, policy)
    valid, leaks = compiled.plan is not None, Vouched(policy, tools).leaks
    if as_json:
        document: dict[str, Json] = {
            "valid": valid,
            "flows": [flow_to_json(flow) for flow in flows],
            "secrets_could_leave_by": [*leaks],
            **({"unasked": policy.to_json()["unasked"]} if policy.unasked else {}),
            "diagnostics": [to_json(each) for each in compiled.diagnostics],
        }
        print_json(document)
    else:
        print_diagnostics(err(), plan_file, compiled.diagnostics)
        if flows:
            out().print(FlowsView(flows))
        elif valid:
            out().print("Nothing flows into a place where it can do harm.")
        for tool, standing in policy.unasked.items():
            until = f" until {standing.until}" if standing.until else ""
            bounds = ", ".join(standing.args)
            within = f"within the bounds of {bounds}" if bounds else "without arguments"
            out().print(printable(f"Runs unasked{until}: {tool}, {within}."))
        if leaks:
            out().print(printable(f"A secret could leave by: {', '.join(leaks)}."))
    return (Exit.FINE if valid else Exit.FAILED).value
