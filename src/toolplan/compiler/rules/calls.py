"""The rules of calls: the tools that are called, calls made twice, and rows that decide them."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from itertools import product

from toolplan.base import extras
from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import Edit, Fix, Severity, available, did_you_mean
from toolplan.plan.model import Literal, Step


@rule(Severity.WARNING)
def duplicate_call(context: PlanContext) -> Iterator[Problem]:
    """Two steps make the same call, and the tool only reads.

    The second call returns what the first returned. Planners sometimes write dozens of such steps.

    How to fix: refer to the first step, or make the calls differ.
    """
    first: dict[Hashable, Step] = {}
    for call in context.calls:
        step, tool = call.step, call.tool
        if not step.tool or (tool is not None and tool.has_effects):
            continue
        earlier = first.setdefault(_call(step), step)
        if earlier is not step:
            message = f"{step.id!r} makes the same call as {earlier.id!r}."
            yield call.problem(message, "", f"Refer to {earlier.id!r} instead.")


def _call(step: Step) -> Hashable:
    """Return a key that is equal exactly for the same call."""
    when = step.when and (step.when.value, json.dumps(step.when.schema, sort_keys=True))
    return step.tool, frozenset(step.args.items()), step.for_each, when, frozenset(step.after)


@rule(Severity.WARNING)
def ratio_over_filtered(context: PlanContext) -> Iterator[Problem]:
    """A rate is computed over rows that were filtered by the very thing that is rated.

    Of rows that are all contaminated, the share that is contaminated is always 100 %: the rows for
    the denominator were never fetched. There is no error, but the figure is wrong.

        shipments_list(has_contaminants: true), then avg(has_contaminants)

    How to fix: fetch all rows, and filter in the statement.
    """
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        if source is None:
            continue
        tool = context.tool(use.step) if use.in_arguments else None
        # its literal-only arguments state the computation
        stated = [use.step.args.get(n) for n in (() if tool is None else tool.input.literal_only)]
        constants = [(name, v.value) for name, v in source.args.items() if isinstance(v, Literal)]
        for statement, (name, constant) in product(stated, constants):
            text = statement.value if isinstance(statement, Literal) else None
            column = rf"\b{re.escape(name)}\b"
            rated = rf"(?i)\bavg\s*\([^()]*{column}|/[^/]*{column}"  # an average, or a share
            if (
                isinstance(text, str)
                and isinstance(constant, bool | str)
                and re.search(rated, text)
            ):
                yield use.problem(
                    f"{use.step.id!r} computes over {name!r}, but {source.id!r} fetches"
                    f" only rows where it is {json.dumps(constant)}.",
                    f"Fetch all rows: remove {name!r} from {source.id!r}.",
                )


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
    for call in context.calls if tools is not None else ():
        name = call.step.tool
        if tools is None or not name or name in tools or tools.alias(name) is not None:
            continue
        if (ambiguity := tools.ambiguity(name)) is not None:
            yield call.problem(ambiguity, "/tool", "Write one of these names.")
            continue
        offers, fix = context.suggest(name, tools), None
        if offers.sure is not None:
            edit = Edit(f"{call.pointer}/tool", offers.sure)
            fix = Fix(not tools[offers.sure].has_effects, (edit,))
        help = _missing(name) or did_you_mean(offers.near) or available("tools", tools)
        # with invisible and ambiguous characters as code points
        yield call.problem(f"There is no tool {name!a}.", "/tool", help, fix)


def _missing(name: str) -> str | None:
    """Return how to get the missing tool `name`; None if it is installed, and for other names."""
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
    for call in context.calls:
        said = call.step.tool
        name = None if tools is None or said in tools else tools.alias(said)
        if name is not None:
            message = f"{said!r} is another name of the tool {name!r}."
            fix = Fix(True, (Edit(f"{call.pointer}/tool", name),))
            yield call.problem(message, "/tool", f"Write {name!r}.", fix)


@rule()
def tool_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose input schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere or to itself without end, or
    would take exponential work. Nothing outside of the schema is ever fetched. Other tools of the
    same source stay usable. A tool that differs from the one that was accepted
    (`toolplan.lock.json`) is not used either.

    How to fix: correct the tool where it is defined, accept its change, or use another tool.
    """
    for call in context.calls:
        tool = context.known.get(call.step.tool)
        if tool is not None and tool.unusable is not None:
            message = f"The tool {tool.name!r} cannot be used: {tool.unusable}."
            yield call.problem(message, "/tool", tool.remedy)


@rule(Severity.WARNING)
def output_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose output schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere, or would take too much work.
    The tool can still be called. References to its output are not checked before the run, and its
    results are not checked during the run.

    How to fix: correct the schema where the tool is defined.
    """
    for call in context.calls:
        tool = context.known.get(call.step.tool)
        if tool is not None and tool.output_fault is not None:
            message = f"The output schema of {tool.name!r} cannot be used: {tool.output_fault}."
            yield call.problem(message, "/tool", "Correct the schema where the tool is defined.")
