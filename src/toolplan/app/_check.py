"""A plan in any form, checked."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any, Final, TypeAlias, cast

from toolplan.app._setup import Setup
from toolplan.app.results import AskResult, CheckResult
from toolplan.compiler import text_of
from toolplan.dialects import known_dialect
from toolplan.errors import ToolplanError
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Plan
from toolplan.plan_json import dump
from toolplan.render.diagnostics import located
from toolplan.render.plan_tree import effect_marks

PlanArgument: TypeAlias = ExecutionPlan | AskResult | CheckResult | Plan | str | dict[str, Any]

_FILE: Final = re.compile(r"""[^\n"'{}()\[\]<>=]{1,300}\.(json|ya?ml|txt|md|plan|toml)""")
"""What is the name of a file, and a plan in no dialect."""


def check(plan: PlanArgument, dialect: str, setup: Setup) -> CheckResult:
    """Check a plan; one that passed the check of this app already is not checked again.

    A plan that another app checked is: its tools, its policy or its rules may be others.

    Raises:
        ToolplanError: `plan` is not a plan, or there is no such dialect.
    """
    if isinstance(plan, CheckResult):
        if plan.plan is None or plan.plan.digest in setup.passed:
            return plan
        plan = plan.plan
    if isinstance(plan, AskResult):
        if plan.plan is None:
            raise ToolplanError("no-plan", f"There is no plan to run: {plan.reason}")
        plan = plan.plan
    if isinstance(plan, ExecutionPlan):
        if plan.digest in setup.passed:
            return CheckResult(
                plan,
                (),
                marks=effect_marks(plan.plan, setup.tools),
                unchecked_references=plan.unchecked_references,
            )
        plan = plan.plan
    if isinstance(plan, Plan):
        plan, dialect = dump(plan), "toolplan"
    text = _text(plan)
    known = known_dialect(dialect)
    compiled = setup.compiled(text, dialect)
    found = compiled.diagnostics
    setup.keep_passed(compiled.plan)
    return CheckResult(
        compiled.plan,
        found,
        located(found, partial(known.locate, text)),
        text,
        unchecked_references=compiled.unchecked_references,
    )


def _text(plan: object) -> str:
    if isinstance(plan, os.PathLike) or (isinstance(plan, str) and _FILE.fullmatch(plan)):
        name = os.fspath(cast("str", plan))
        raise ToolplanError(
            "no-plan",
            f"{name!r} is the name of a file; the text of a plan is needed.",
            "Read the file: `pathlib.Path(…).read_text(encoding='utf-8')`.",
        )
    if not isinstance(plan, str | dict):
        raise ToolplanError(
            "no-plan",
            f"A plan is needed, and this is {'None' if plan is None else type(plan).__name__}.",
            "Give what `await app.plan(…)` returns, an attribute `plan`, a text or JSON document.",
        )
    return text_of(cast("str | dict[str, Any]", plan))
