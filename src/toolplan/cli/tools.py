"""`toolplan tools` and `toolplan hints`."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app._toolset import Toolset
from toolplan.app.settings import home, read_settings
from toolplan.base.event_loop import run_bounded
from toolplan.cli.options import JsonFlag, ModelOption, SourceOptions, ToolsOption
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.compiler.lint import Finding, lint_tools
from toolplan.compiler.lint.hints import ProposedHint, propose_values, propose_words, with_hints
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan.providers import UsageTracker
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.show.printable import count_text, printable
from toolplan.show.tools_view import ToolsView, ToolView
from toolplan.tools._base import claim_lines
from toolplan.tools.search import index_of

_LEFT_OUT: Final = "Correct it where the tool or its server is defined."


AcceptFlag = Annotated[
    bool, Parameter(help="Accept the tools as they are now, all of them or the one named.")
]
LintFlag = Annotated[bool, Parameter(help="Report what makes tools hard to plan with.")]


def tools_command(
    query: str | None = None,
    opening: SourceOptions = SourceOptions(),
    *,
    accept: AcceptFlag = False,
    lint: LintFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """List the tools, show the one named, or those that match QUERY.

    TOOLS is a JSON file with a list of tool objects ({"name", "description", "input_schema",
    "output_schema"}), an MCP configuration, an OpenAPI document, or MODULE:ATTRIBUTE, where the
    attribute is a Toolbox, a list of tools, a tool, or a function that gives one of these.
    """
    with opening.opened(opening.base_url, accepts=accept) as toolset:
        toolbox = toolset.tools
        if accept:
            return _accept(toolset, query)
        if lint:
            return _lint(toolset, as_json=as_json)
        _note_servers(toolset)
    name = query if query is None or query in toolbox else toolbox.alias(query)
    if query is None:
        shown = list(toolbox.values())
    elif name is not None:
        shown = [toolbox[name]]
    else:
        if (ambiguity := toolbox.ambiguity(query)) is not None:
            note(ambiguity)
        shown = [found.tool for found in index_of(toolbox).search(query)]
        meant = None if " " in query else did_you_mean(near(query, toolbox))
        if shown and meant is not None:
            note(f"There is no tool {query!r}. {meant}")
    if not shown:
        meant = did_you_mean(near(query or "", toolbox))
        raise CommandError("unknown-tool", f"No tool matches {query!r}.", meant)
    if as_json:
        print_json([tool.to_json() for tool in shown])
    elif query is not None and len(shown) == 1:
        out().print(ToolView(shown[0]))
    else:
        out().print(ToolsView(shown))
    return Exit.FINE.value


def _note_servers(toolset: Toolset) -> None:
    for server in toolset.servers:
        if server.text not in toolset.faults:  # these were said when the tools were opened
            note(printable(f"{server.name}: {server.text}"))
    if toolset.pins:
        note(printable(f"Tools: {toolset.pins}."))


def _accept(toolset: Toolset, name: str | None) -> int:
    if toolset.pin is None:
        message = "--accept is for the tools of MCP servers, which may change by themselves."
        raise CommandError("usage", message, "Name their configuration: --tools FILE.")
    claims = [tool for tool in toolset.tools.values() if name in (None, tool.name)]
    try:
        locks = toolset.pin(name)
    except ToolObjectError as error:
        code = "unknown-tool" if error.help is None else "not-shown"
        raise CommandError(code, str(error), error.help) from None
    for line in claim_lines(claims):
        note(printable(f"{line}. This counts now."))
    note(f"Accepted, and pinned in {' and '.join(map(str, locks))}.")
    return Exit.FINE.value


def _lint(toolset: Toolset, *, as_json: bool) -> int:
    left_out = [Finding("left-out", "", "", fault, _LEFT_OUT) for fault in toolset.faults]
    findings = [*left_out, *lint_tools(toolset.tools)]
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        console = out()
        for finding in findings:
            place = f"{finding.tool}{finding.pointer}: " if finding.tool else ""
            console.print(printable(f"{finding.code}  {place}{finding.message}"))
            console.print(f"  help: {printable(finding.help)}", style="dim")
        note(f"{count_text(len(findings), 'finding')}.")
    return (Exit.FAILED if findings else Exit.FINE).value


@dataclass(frozen=True)
class HintsOptions(SourceOptions):
    """The options of `toolplan hints`.

    Attributes:
        output: The file to write; by default standard output.
    """

    tools: ToolsOption = None
    _: KW_ONLY
    model: ModelOption = None
    output: str | None = None
    as_json: JsonFlag = False


def hints_command(options: HintsOptions = HintsOptions()) -> None:
    """Propose hints for TOOLS, so that questions about them can be planned without a model.

    Lists that only read and require nothing are called once; values that repeat in their rows are
    proposed. A model, if one is named, is asked once for other words. What comes of it are the tool
    objects with hints, as a file to review: use it as --tools, with --on TOOLBOX to run a plan.
    """
    with options.opened(options.base_url) as toolset:
        toolbox = toolset.tools
        proposed = run_bounded(_proposed(toolbox, options.model or ()))
    objects = with_hints(toolbox.values(), proposed)
    for hint in proposed:
        note(printable(f"{hint.tool}: {hint.keyword} for {hint.at[-1]} ({hint.reason})"))
    note(f"Hints proposed: {len(proposed)}. Review them before you use them.")
    if options.output is not None:
        Path(options.output).write_text(
            json.dumps(objects, ensure_ascii=False, indent=2) + "\n", "utf-8"
        )
        if options.as_json:
            print_json([_to_json(hint) for hint in proposed])
    else:
        print_json([*objects])


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
