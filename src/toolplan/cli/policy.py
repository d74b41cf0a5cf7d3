"""`toolplan policy init` and `toolplan policy check PLAN`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from toolplan.app.home import home, policy_of
from toolplan.app.settings import FILE
from toolplan.cli import options
from toolplan.cli._tools import opened
from toolplan.cli.plan_file import print_diagnostics, read_plan
from toolplan.cli.terminal import CommandError, Exit, err, out, print_json
from toolplan.compiler import compile_plan, flows_of
from toolplan.diagnostics import to_json
from toolplan.flows import Policy, Vouched, draft_policy
from toolplan.path import Json
from toolplan.render.flow_view import FlowsView, flow_to_json
from toolplan.render.printable import printable
from toolplan.tools import Toolbox

Action = Annotated[
    Literal["init", "check"],
    Parameter(help="init: print a first policy for the tools. check: show every flow of a plan."),
]
PlanArgument = Annotated[
    str | None,
    Parameter(
        allow_leading_hyphen=True,
        validator=options.refuse_options,
        help="The file of the plan; - is standard input.",
    ),
]


def policy_command(
    action: Action,
    plan: PlanArgument = None,
    *,
    policy: options.PolicyOption = None,
    dialect: options.DialectOption = "toolplan",
    tools: options.ToolsOption = (),
    base_url: options.BaseUrlOption = None,
    effects: options.EffectsOption = (),
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
    with opened(tools, effects, base_url, for_plans=plan is not None) as toolset:
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
            "diagnostics": [to_json(each) for each in compiled.diagnostics],
        }
        print_json(document)
    else:
        print_diagnostics(err(), plan_file, compiled.diagnostics)
        if flows:
            out().print(FlowsView(flows))
        elif valid:
            out().print("Nothing flows into a place where it can do harm.")
        if leaks:
            out().print(printable(f"A secret could leave by: {', '.join(leaks)}."))
    return (Exit.FINE if valid else Exit.FAILED).value
