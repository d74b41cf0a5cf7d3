"""`toolplan hints`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toolplan.app.home import home
from toolplan.app.settings import read_settings
from toolplan.cli._tools import opened
from toolplan.cli.options import BaseUrlOption, EffectsOption, JsonFlag, ModelOption, ToolsOption
from toolplan.cli.terminal import Exit, note, print_json
from toolplan.event_loop import run_bounded
from toolplan.path import Json
from toolplan.providers import UsageTracker
from toolplan.render.printable import printable
from toolplan.tool_lint.hints import ProposedHint, propose_values, propose_words, with_hints
from toolplan.tools import Toolbox

OutputOption = Annotated[
    str | None, Parameter(help="The file to write; by default standard output.")
]


def hints_command(
    tools: ToolsOption = (),
    *,
    model: ModelOption = (),
    base_url: BaseUrlOption = None,
    effects: EffectsOption = (),
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Propose hints for TOOLS, so that questions about them can be planned without a model.

    Lists that only read and require nothing are called once; values that repeat in their rows are
    proposed. A model, if one is named, is asked once for other words. What comes of it are the tool
    objects with hints, as a file to review: use it as --tools, with --on TOOLBOX to run a plan.
    """
    with opened(tools, effects, base_url) as toolset:
        toolbox = toolset.tools
        proposed = run_bounded(_proposed(toolbox, tuple(model)))
    objects = with_hints(toolbox.values(), proposed)
    for hint in proposed:
        note(printable(f"{hint.tool}: {hint.keyword} for {hint.at[-1]} ({hint.reason})"))
    note(f"Hints proposed: {len(proposed)}. Review them before you use them.")
    if output is not None:
        Path(output).write_text(json.dumps(objects, ensure_ascii=False, indent=2) + "\n", "utf-8")
        if as_json:
            print_json([_to_json(hint) for hint in proposed])
    else:
        print_json([*objects])
    return Exit.FINE.value


async def _proposed(tools: Toolbox, specs: tuple[str, ...]) -> list[ProposedHint]:
    found, faults = await propose_values(tools.values())
    for sentence in faults:
        note(printable(sentence))
    if specs:
        model = read_settings(home()).models.opened(specs, UsageTracker())
        found += await propose_words(tools.values(), model)
    return found


def _to_json(hint: ProposedHint) -> Json:
    pointer = "".join(f"/{key}" for key in hint.at)
    return {"tool": hint.tool, "at": pointer, "keyword": hint.keyword, "value": hint.value}
