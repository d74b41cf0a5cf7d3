"""Output schemas learned from results, for tools that declare none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from toolplan import tools as sources
from toolplan.events import Run
from toolplan.plan.model import Plan
from toolplan.schema.tool import LearnedOutput, Tool, Toolbox


def with_learned(tools: Toolbox, path: Path, note: Callable[[str], None]) -> Toolbox:
    """Return `tools` with the schemas learned so far, kept at `path`."""
    if not path.exists() or not any(map(_declares_nothing, tools.values())):
        return tools
    found = {**tools}
    try:
        with sources.LearnedSchemas(path) as schemas:
            for tool in filter(_declares_nothing, tools.values()):
                if (known := schemas.schema(sources.tool_digest(tool))) is not None:
                    found[tool.name] = replace(tool, learned=LearnedOutput(*known))
    except sources.LearnedError as error:
        note(error.with_help)
        return tools
    return Toolbox(found.values())


def learn_from(
    plan: Plan, run: Run, tools: Toolbox, path: Path, note: Callable[[str], None]
) -> None:
    """Learn from the results of `run`."""
    if not any(step.tool in tools and _declares_nothing(tools[step.tool]) for step in plan.steps):
        return
    try:
        with sources.LearnedSchemas(path) as schemas:
            sources.learn(schemas, plan, run, tools)
    except sources.LearnedError as error:
        note(error.with_help)


def _declares_nothing(tool: Tool) -> bool:
    return tool.raw_output is None and tool.compute_output is None
