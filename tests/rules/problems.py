"""What one rule says about a plan."""

from __future__ import annotations

from toolplan.compiler import check
from toolplan.diagnostics import Diagnostic
from toolplan.path import Json
from toolplan.plan_json import load
from toolplan.tools import Toolbox


def problems(code: str, steps: Json, tools: Toolbox, **plan: Json) -> list[Diagnostic]:
    """Return the problems of this code in a plan of `steps`."""
    parsed = load({"toolplan": 1, "steps": steps, **plan})
    assert parsed.plan is not None, parsed.diagnostics
    return [each for each in check(parsed.plan, tools) if each.code == code]
