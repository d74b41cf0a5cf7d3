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
    try:
        with sources.LearnedSchemas(path) as schemas:
            known = {
                tool.name: LearnedOutput(*found)
                for tool in tools.values()
                if _declares_nothing(tool)
                and (found := schemas.schema(sources.tool_digest(tool))) is not None
            }
    except sources.LearnedError as error:
        note(error.with_help)
        return tools
    if not known:
        return tools
    return Toolbox(
        replace(tool, learned=known[name]) if name in known else tool
        for name, tool in tools.items()
    )


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
