"""Plans, runs, errors and tools for clients, as JSON or text with limited sizes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.settings import VARIABLE
from toolplan.base.errors import ToolplanError
from toolplan.compiler import output_schemas
from toolplan.events import Run, RunState, StepState
from toolplan.events import to_json as run_to_json
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json
from toolplan.planners.llm import argument_lines, signatures_text
from toolplan.policy.approval import effect_steps
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan.show.answer import Thresholds, answer
from toolplan.show.answer.shape import reported_failure
from toolplan.show.approval_view import approval_json, call_text
from toolplan.show.printable import cut, printable, visible
from toolplan.show.runs_view import SHORT
from toolplan.tools.search import index_of

_MADE: Final = re.compile("[0-9a-f]{32}")
MOST_OUTPUT: Final = 20_000
"""The maximum size of all values of one answer, in characters of JSON; `runs` has the others."""

MOST_PROBLEMS: Final = 2_400
"""The maximum size of the problems of a plan, in characters; errors come before warnings."""

MOST_PROBLEM: Final = 600
_MOST_SHOWN: Final = 4_000
_MOST_STEPS: Final = 20
_MOST_NAME: Final = 64
_BEGINNING: Final = 500
_BRIEF: Final = frozenset(("state", "error", "reason", "calls_waiting", "calls_in_doubt"))
"""Fields of a step in a report without `detail`."""
MOST_FOUND: Final = 10
"""Maximum number of tools in one answer."""
MOST_TEXT: Final = 6_000
"""Maximum number of characters of an answer with several tools; twice with `detail`."""
_MOST_NAMES: Final = 60
_MOST_SAID: Final = 240
_MOST_FAULTS: Final = 8
_MOST_FAULT: Final = 300


class CallRefused(ToolplanError):
    """A tool call was refused. `more` is reported beside the error: diagnostics, or effects."""

    def __init__(
        self,
        code: str,
        message: str,
        help: str | None = None,
        more: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        super().__init__(code, message, help)
        self.more = dict(more)


def error_report(error: ToolplanError) -> dict[str, Json]:
    """Return the content of the result that a client gets."""
    report: Json = {"code": error.code, "message": error.message, "help": error.help or None}
    return {"error": report, **(error.more if isinstance(error, CallRefused) else {})}


def effects_report(plan: ExecutionPlan, tools: Toolbox) -> Json:
    """Return the steps with effects, with all their arguments."""
    return approval_json(effect_steps(plan, tools), plan.digest)["effects"]


def plan_report(plan: ExecutionPlan) -> dict[str, Json]:
    """Return a plan that may run, and the assumptions of its planner."""
    report: dict[str, Json] = {"plan": dump(replace(plan.plan, metadata={}))}
    notes = plan.plan.metadata.get("notes")
    return report | {"notes": notes} if notes else report


def problems_report(diagnostics: Sequence[Diagnostic]) -> dict[str, Json]:
    """Return the problems of a plan, a line each: the code, the place, the fix."""
    left = MOST_PROBLEMS
    lines: list[Json] = []
    for each in sorted(diagnostics, key=lambda each: (not each.blocks, each.severity != "error")):
        kind = "fixed " if each.fixed else "" if each.severity == "error" else "warning "
        line = f"{kind}{each.code} at {each.pointer or '/'}: {each.message} {each.help or ''}"
        line = cut(line.strip(), MOST_PROBLEM)
        left -= len(line)
        if left < 0 and lines:
            lines.append(f"and {len(diagnostics) - len(lines)} more")
            break
        lines.append(line)
    return {"problems": lines} if lines else {}


def run_report(
    run: Run,
    plan: ExecutionPlan | None,
    app: App,
    *,
    detail: bool,
    most: int | None = MOST_OUTPUT,
) -> dict[str, Json]:
    """Return a run: its output, and the steps that failed or whose results report a failure.

    With `detail` it is as `toolplan run --json` gives it, with all steps, their outputs and times,
    and the answer (without `plan` there is none). All values together have at most `most`
    characters of JSON (None: any number); one that does not fit is null, and described in
    `omitted`.
    """
    document, room = run_to_json(run), _Room(most)
    document["output"] = room.limited("/output", document["output"])
    if detail and plan is not None and run.status is not RunState.RUNNING:
        answered = answer(
            plan,
            run,
            schemas=output_schemas(plan.plan, app.tools),
            insights=app.insights,
            thresholds=app.thresholds or Thresholds(),
        )
        document["answer"] = room.limited("/answer", answered.to_json())
    parts = ("calls_waiting", "output") if detail else ("calls_waiting",)
    shown: dict[str, Json] = {}
    fans = {each.id for each in (plan.plan.steps if plan else ()) if each.for_each is not None}
    acting = frozenset[str]() if plan is None else plan.effects
    for name, step in cast("dict[str, dict[str, Json]]", document.pop("steps")).items():
        for part in parts:
            if part in step:
                step[part] = room.limited(f"/steps/{name}/{part}", step[part])
        ended = run.steps[name]
        if detail:
            shown[name] = step
        elif ended.state is not StepState.SUCCEEDED or ended.error is not None:
            shown[name] = {key: part for key, part in step.items() if key in _BRIEF}
        elif words := reported_failure(ended.output, each=name in fans, acts=name in acting):
            shown[name] = {"state": step["state"], "reported_failure": words}
    if shown:
        document["steps"] = shown
    if detail:
        document["digest"] = run.digest
    elif run.status is RunState.SUCCEEDED:
        document["run"] = short_name(run.run)  # a third of the tokens
    if (help := help_(run)) is not None:
        document["help"] = help
    return {**document, "omitted": room.omitted} if room.omitted else document


def short_name(run: str) -> str:
    """Shorten a generated run id to its first letters; return any other name whole.

    Given names begin alike: `nightly-1` and `nightly-2`.
    """
    return run[:SHORT] if _MADE.fullmatch(run) else run


class _Room:
    """The remaining characters for values; larger values are described in `omitted`."""

    def __init__(self, left: int | None) -> None:
        self._left = left
        self.omitted: list[Json] = []

    def limited(self, pointer: str, value: Json) -> Json:
        """Return `value`, or None where it does not fit."""
        if self._left is None:
            return value
        text = json.dumps(value, ensure_ascii=False)
        if len(text) <= self._left:
            self._left -= len(text)
            return value
        described: dict[str, Json] = {"path": pointer, "characters": len(text)}
        described |= {"shape": shape(value), "beginning": text[:_BEGINNING]}
        self.omitted.append(described)
        return None


def page_report(report: Json, path: str, offset: int) -> dict[str, Json]:
    """Return a page of the JSON text of the value at the pointer `path` of a whole `report`.

    Raises:
        CallRefused: there is no such value, or its text ends before `offset`.
    """
    value, place = report, ""
    for key in split_pointer(path):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise CallRefused(
                "unknown-path",
                f"The run has nothing at {path!r}.",
                f"At {place!r} there is: {shape(value)}.",
            )
        place = f"{place}/{escape_pointer(key)}"
    text = json.dumps(value, ensure_ascii=False)
    if offset >= len(text):
        raise CallRefused("bad-offset", f"The value at {path!r} has {len(text)} characters.")
    end = offset + MOST_OUTPUT
    return {
        "path": path,
        "characters": len(text),
        "offset": offset,
        "text": text[offset:end],
        "next_offset": end if end < len(text) else None,
    }


def shape(value: Json, depth: int = 2) -> str:
    """Return the kind of a value in words, with counts, and that of its parts down to `depth`."""
    match value:
        case list():
            first = f" of {shape(value[0], depth - 1)}" if value and depth else ""
            return f"list, {len(value)}{first}"
        case dict():
            parts: list[str] = []
            for key, inner in list(value.items())[:_MOST_STEPS]:
                name = cut(printable(key), _MOST_NAME)
                parts.append(f"{name}: {shape(inner, depth - 1)}" if depth else name)
            more = ["…"] if len(value) > len(parts) else []
            return f"object {{{', '.join(parts + more)}}}"
        case str():
            return f"text, {len(value)} characters"
        case bool():
            return "boolean"
        case None:
            return "null"
        case _:
            return "number"


def help_(run: Run) -> str | None:
    """Return the next action for a run that is not over; None without one."""
    short = short_name(run.run)
    match run.status:
        case RunState.RUNNING:
            return f"`runs` with run {short!r} shows its progress."
        case RunState.CANCELLED:
            return f"`runs` with run {short!r} and action resume continues it."
        case RunState.WAITING:
            return person_help(short, [*dict.fromkeys(each.step for each in run.waiting)])
        case RunState.IN_DOUBT:
            return _doubt_help(run, short)
        case RunState.FAILED:
            return _failed_help(run)
        case RunState.SUCCEEDED:
            return None


def person_help(run: str, steps: Sequence[str] = ()) -> str:
    """Return how a person approves the waiting `run`, or the calls of `steps` with their values."""
    said, shown = "A model cannot approve.", "the effects"
    if steps:
        said = (
            f"Calls of {', '.join(steps[:_MOST_STEPS])} wait with their values (`calls_waiting` of"
            " each step), and a model cannot approve them."
        )
        shown = "each call"
    return (
        f"{said} A person decides in the studio, or in a terminal, where this command shows"
        f" {shown}, and asks: {terminal_command('resume', run)}\nThen `runs` with run {run!r} has"
        " the result; with `wait_s` it waits for the person."
    )


def _failed_help(run: Run) -> str:
    """Name the failed and the completed steps, and say how another plan goes on from there."""
    failed, done = (
        ", ".join([name for name, step in run.steps.items() if step.state is state][:_MOST_STEPS])
        for state in (StepState.FAILED, StepState.SUCCEEDED)
    )
    cause = f"Failed: {failed}." if failed else "No step failed."
    if any(
        each.error is not None and each.state is StepState.SUCCEEDED for each in run.steps.values()
    ):
        cause += " Items that failed are null: `${STEP}` has them, `sql` over it leaves them out."
    known = f" Done: {done} (`detail` returns their results)." if done else ""
    short = short_name(run.run)
    return (
        f"{cause}{known} Send the corrected plan with `use` {short!r}: equal steps and items that"
        f" are done are not done again. ${{run:{short}.STEP.path}} in any plan reads a result."
    )


def _doubt_help(run: Run, short: str) -> str:
    calls = [
        (name if each.item is None else f"{name}:{each.item}", call_text(each))
        for name, step in run.steps.items()
        for each in step.doubts
    ]
    shown = ", ".join(f"{place} {text}" for place, text in calls)
    if len(shown) > _MOST_SHOWN:
        shown = ", ".join(place for place, _ in calls) + " (`calls_in_doubt` of each step)"
    first = calls[0][0] if calls else "STEP"
    return (
        f"It is unknown whether these calls had their effects: {shown}. A person decides, in a "
        f"terminal: {terminal_command('resume', short)} --retry {first} (repeat it), "
        f"--resolve {first}=JSON (it succeeded, with this result) or --abort {first} (it failed)."
    )


def found_text(toolbox: Toolbox, query: str, faults: Sequence[str], *, detail: bool) -> str:
    """Return the tools that match `query`, the best first, and unusable sources.

    Names of tools give just these. Where there is no query: the sources, and how many tools each
    has. What a provider wrote is in quotes.
    """
    names = [toolbox.alias(name) or name for name in re.split(r"[,\s]+", query.strip()) if name]
    if not names:
        text = f"{sources_line(toolbox, _MOST_NAMES)}\n{_names(list(toolbox.values()))}"
    else:
        named = [toolbox[name] for name in names if name in toolbox]
        if len(named) < len(names):
            named = [each.tool for each in index_of(toolbox).search(query, len(toolbox))]
        text = _listed(named, detail=detail)
    return f"{text}{left_out(faults, _MOST_FAULTS, _MOST_FAULT)}"


def left_out(faults: Sequence[str], most: int = 2, longest: int = 100) -> str:
    """Name the sources that cannot be used, whose tools are missing."""
    shown = [json.dumps(cut(printable(each), longest)) for each in faults[:most]]
    more = f" and {len(faults) - len(shown)} more" if len(faults) > len(shown) else ""
    return f"\nNot available (tell the user): {', '.join(shown)}{more}." if shown else ""


def sources_line(toolbox: Toolbox, most: int) -> str:
    """Return the sources with the numbers of their tools, the largest first."""
    counts = Counter(tool.source or "here" for tool in toolbox.values()).most_common()
    shown = [f"{cut(printable(name), _MOST_NAME)} ({count})" for name, count in counts[:most]]
    more = f" and {len(counts) - most} more" if len(counts) > most else ""
    return f"{len(toolbox)} tools: {', '.join(shown)}{more}."


def _listed(found: Sequence[Tool], *, detail: bool) -> str:
    """Return as many of `found` as fit, and the names of others."""
    if not found:
        return "No tool matches. Use other words; without words you get the servers and names."
    most, count = MOST_TEXT * (1 + detail), min(len(found), MOST_FOUND)
    while len(text := _described(found[:count], detail=detail)) > most and count > 1:
        count -= 1
    return "\n".join(filter(None, (text, _names(found[count:]))))


def _described(tools: Sequence[Tool], *, detail: bool) -> str:
    types, signatures = signatures_text(tools)
    about = argument_lines(tools)
    lines = [f"{name} = {text}" for name, text in types.items()]
    for tool in tools:
        changes = "" if tool.effects is Effects.READ else f"  [{tool.effects.value}]"
        lines.append(f"{signatures[tool.name]}{changes}")
        if tool.unusable is not None:
            lines.append(f"  cannot be used: {json.dumps(tool.unusable)}")
        if tool.description:
            said = cut(printable(tool.description), _MOST_SAID * (1 + 9 * detail))
            lines.append(f"  {json.dumps(said, ensure_ascii=False)}")
        lines += [f"  {line}" for line in about[tool.name]]
        if detail:
            lines.append(f"  input {json.dumps(tool.raw_input, ensure_ascii=False)}")
            lines.append(f"  output {json.dumps(tool.raw_output, ensure_ascii=False)}")
    return "\n".join(map(visible, lines))


def _names(tools: Sequence[Tool]) -> str:
    names = [cut(printable(tool.name), _MOST_NAME) for tool in tools[:_MOST_NAMES]]
    more = f" and {len(tools) - len(names)} more" if len(tools) > len(names) else ""
    return f"Others: {', '.join(names)}{more}." if names else ""


def own_command() -> list[str]:
    """Return the words that start this toolplan from anywhere."""
    script = Path(sys.executable).with_name("toolplan.exe" if os.name == "nt" else "toolplan")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "toolplan"]


def terminal_command(*arguments: str) -> str:
    """Return a command line that runs this toolplan as this process would.

    A client starts the server in a folder and with variables of its own, and its `toolplan` need
    not be on the person's PATH. So the line names the executable, the data folder, and the folder
    from which the names of tools are read.
    """
    called = own_command()
    named = os.environ.get(VARIABLE)
    home = None if named is None else str(Path(named).absolute())
    folder = str(Path.cwd())
    if os.name == "nt":
        at = "" if home is None else f'set "{VARIABLE}={home}" && '
        return f'cd /d "{folder}" && {at}{subprocess.list2cmdline([*called, *arguments])}'
    at = "" if home is None else f"{VARIABLE}={shlex.quote(home)} "
    return f"cd {shlex.quote(folder)} && {at}{shlex.join([*called, *arguments])}"
