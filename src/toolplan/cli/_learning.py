"""What tools have given so far, where they do not say what they give."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolplan.cli._home import home
from toolplan.cli._terminal import note
from toolplan.events import Run
from toolplan.plan import Plan
from toolplan.render.printable import printable
from toolplan.sources.learned import LearnedError, LearnedSchemas, learn, tool_digest
from toolplan.tools import LearnedOutput, Tool, Toolbox

FILE: Final = "learned.sqlite"


def with_learned(tools: Toolbox) -> Toolbox:
    """Return `tools` with what was learned of those that do not say what they give."""
    path = home() / FILE
    if not any(_says_nothing(tool) for tool in tools.values()) or not path.exists():
        return tools
    try:
        with LearnedSchemas(path) as schemas:
            known = {
                tool.name: LearnedOutput(*found)
                for tool in tools.values()
                if _says_nothing(tool) and (found := schemas.schema(tool_digest(tool))) is not None
            }
    except LearnedError as error:
        note(f"{error} {error.help}")
        return tools
    if not known:
        return tools
    return Toolbox(
        replace(tool, learned=known[name]) if name in known else tool
        for name, tool in tools.items()
    )


def learn_from(plan: Plan, run: Run, tools: Toolbox) -> None:
    """Learn from what the steps of `run` gave, and tell what was not as before."""
    if not any(step.tool in tools and _says_nothing(tools[step.tool]) for step in plan.steps):
        return
    try:
        with LearnedSchemas(home() / FILE) as schemas:
            drifts = learn(schemas, plan, run, tools)
    except LearnedError as error:
        note(f"{error} {error.help}")
        return
    for drift in drifts:
        for sentence in drift.sentences:
            note(printable(f"{drift.tool} gave what it had not given before: {sentence}"))


def _says_nothing(tool: Tool) -> bool:
    return tool.raw_output is None and tool.compute_output is None
