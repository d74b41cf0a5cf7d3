"""The rules of the tools that steps call: their names and their schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolplan.base import extras
from toolplan.compiler.rules._context import PlanContext
from toolplan.compiler.rules._rule import Problem, rule
from toolplan.plan.diagnostics import Edit, Fix, Severity, available, did_you_mean
from toolplan.plan.model import Step
from toolplan.schema.tool import Tool


@rule()
def unknown_tool(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool that is not in the toolbox.

    Planners that see many tools invent names that are like existing ones, so near names are
    offered. Where one name was surely meant and its tool only reads, the name is corrected; a tool
    that may change something is only offered. A name that tools of several sources have, as `send`
    of `mail.send` and `chat.send`, is ambiguous, and none of them is called.

        {"id": "a", "tool": "shipment_list"}     There is no tool 'shipment_list'.

    How to fix: use a name that `toolplan tools` prints, or load the tools with `--tools`. For `sql`
    install the extra `sql`, for `extract` name a model with `--model`.
    """
    tools = context.tools
    for position, step in enumerate(context.plan.steps if tools is not None else ()):
        name = step.tool
        if tools is None or not name or name in tools or tools.alias(name) is not None:
            continue
        pointer = f"/steps/{position}/tool"
        if (ambiguity := tools.ambiguity(name)) is not None:
            yield Problem(ambiguity, pointer, step.id, "Write one of these names.")
            continue
        offers = context.suggest(name, tools)
        fix = None
        if offers.sure is not None:
            fix = Fix(not tools[offers.sure].has_effects, (Edit(pointer, offers.sure),))
        yield Problem(
            # with invisible and ambiguous characters as code points
            f"There is no tool {name!a}.",
            pointer,
            step.id,
            _missing(name) or did_you_mean(offers.near) or available("tools", tools),
            fix,
        )


def _missing(name: str) -> str | None:
    """Return what the tool `name` needs; None where it is there, and for other names."""
    if name == "extract":
        return "It is built in, and needs a model, and none is named."
    command = extras.missing(name) if name == "sql" else None
    return command and f"It comes with the package toolplan-sql. {command}"


@rule(Severity.WARNING)
def tool_alias(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool by one of its other names.

    A tool may keep its former names (`x-aliases` at the root of its input schema). They are
    replaced by the current name before anything else is checked, so that a plan is approved and run
    under that name.

        {"id": "a", "tool": "shipments"}     'shipments' is another name of 'shipments_list'.

    How to fix: nothing; the name is corrected.
    """
    tools = context.tools
    for position, step in enumerate(context.plan.steps if tools is not None else ()):
        name = None if tools is None or step.tool in tools else tools.alias(step.tool)
        if name is not None:
            pointer = f"/steps/{position}/tool"
            yield Problem(
                f"{step.tool!r} is another name of the tool {name!r}.",
                pointer,
                step.id,
                f"Write {name!r}.",
                Fix(True, (Edit(pointer, name),)),
            )


@rule()
def tool_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose input schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere or to itself without end, or
    would take exponential work. Nothing outside of the schema is ever fetched. Other tools of the
    same source stay usable. A tool that differs from the one that was accepted
    (`toolplan.lock.json`) is not used either.

    How to fix: correct the tool where it is defined, accept its change, or use another tool.
    """
    for pointer, step, tool in _called(context):
        if tool.unusable is not None:
            message = f"The tool {tool.name!r} cannot be used: {tool.unusable}."
            yield Problem(message, pointer, step.id, tool.remedy)


@rule(Severity.WARNING)
def output_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose output schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere, or would take too much work.
    The tool can still be called. References to its output are not checked before the run, and its
    results are not checked during the run.

    How to fix: correct the schema where the tool is defined.
    """
    for pointer, step, tool in _called(context):
        if tool.output_fault is not None:
            yield Problem(
                f"The output schema of {tool.name!r} cannot be used: {tool.output_fault}.",
                pointer,
                step.id,
                "Correct the schema where the tool is defined.",
            )


def _called(context: PlanContext) -> Iterator[tuple[str, Step, Tool]]:
    """Yield each step with a known tool, usable or not, and the pointer of its name."""
    tools: Mapping[str, Tool] = {} if context.tools is None else context.tools
    for position, step in enumerate(context.plan.steps):
        if (tool := tools.get(step.tool)) is not None:
            yield f"/steps/{position}/tool", step, tool
