"""What one rule says about a plan."""

from toolplan import Diagnostic, Toolbox, check
from toolplan.plan.canonical import load
from toolplan.plan.path import Json


def problems(code: str, steps: Json, tools: Toolbox, **plan: Json) -> list[Diagnostic]:
    """Return the problems of this code in a plan of `steps`."""
    parsed = load({"toolplan": 1, "steps": steps, **plan})
    assert parsed.plan is not None, parsed.diagnostics
    return [each for each in check(parsed.plan, tools) if each.code == code]
