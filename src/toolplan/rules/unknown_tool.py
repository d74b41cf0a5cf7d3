"""The rule `unknown-tool`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from toolplan.diagnostics import Edit, Fix, available, did_you_mean
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def unknown_tool(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool that is not in the toolbox.

    Planners that see many tools invent names that are like existing ones, so near names are
    offered. Where one name was surely meant and its tool only reads, the name is corrected; a tool
    that may change something is only offered. A name that tools of several sources have, as `send`
    of `mail.send` and `chat.send`, is ambiguous, and none of them is called.

        {"id": "a", "tool": "shipment_list"}     There is no tool 'shipment_list'.

    How to fix: use a name that `toolplan tools` prints, or load the tools with `--tools`. For `sql`
    install the extra `sql` (`toolplan doctor` prints the command), for `extract` name a model with
    `--model`.
    """
    if context.tools is None or context.has_only_sound_tools:
        return
    for position, step in enumerate(context.plan.steps):
        if (
            step.tool == ""
            or step.tool in context.tools
            or context.tools.alias(step.tool) is not None
        ):
            continue
        pointer = f"/steps/{position}/tool"
        if (ambiguity := context.tools.ambiguity(step.tool)) is not None:
            yield Problem(ambiguity, pointer, step.id, "Write one of these names.")
            continue
        offers = context.suggest(step.tool, context.tools)
        fix = None
        if offers.sure is not None:
            is_safe = not context.tools[offers.sure].has_effects
            fix = Fix(is_safe, (Edit(pointer, offers.sure),))
        yield Problem(
            f"There is no tool {_visible(step.tool)}.",
            pointer,
            step.id,
            _missing(step.tool) or did_you_mean(offers.near) or available("tools", context.tools),
            fix,
        )


def _missing(name: str) -> str | None:
    """Return what the built-in tool `name` needs; None where it is there, and for other names."""
    if name == "extract":
        return "It is built in, and needs a model, and none is named."
    if name != "sql" or find_spec("duckdb") is not None:
        return None
    return f"It is built in, and what it needs is not installed: the extra {name!r}."


def _visible(name: str) -> str:
    """Return the name with characters that are invisible or ambiguous as code points."""
    return ascii(name) if not name.isascii() else repr(name)
