"""The tools that a command works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path, PurePath
from typing import Final, NamedTuple, TypeAlias, cast

from toolplan.answer import InsightFunction
from toolplan.cli._home import home, labels_of, settings_labels, settings_table
from toolplan.cli._learning import with_learned
from toolplan.cli._terminal import CommandError, Exit, note
from toolplan.path import Json
from toolplan.render.printable import printable
from toolplan.sources._base import SourceContext, ToolSource
from toolplan.sources.named import load_tools, source_of
from toolplan.tools import Effects, Tool, Toolbox, ToolObjectError

DEMO: Final = "toolplan.demo:TOOLS"
SQL: Final = "toolplan.sources.sql:sql_tool"

Insights: TypeAlias = Sequence[InsightFunction]


ADVICE: Final = "run_with"
"""The metadata of a plan that has run: what its tools were opened with."""


class Toolset(NamedTuple):
    """Tools, and the functions that find insights in what they give.

    `advice` says what they were opened with, so that the same tools can be opened again.
    `accept` pins the tools as they are, None where they cannot change by themselves.
    """

    tools: Toolbox
    insights: Insights
    advice: Mapping[str, Json]
    accept: Callable[[str | None], Path] | None = None


@contextmanager
def open_tools(
    spec: str | None,
    today: date,
    rows: int | None = None,
    effects: Sequence[str] = (),
    base_url: str | None = None,
) -> Generator[Toolset]:
    """Yield the tools that `--tools` names; the demo's, and a word about it, where it names none.

    They can be called until they are closed. The built-in tool `sql` is there besides, where its
    extra is installed. `effects` are labels of `--effects`; they come before those of the user's
    settings, and these before the source's. `base_url` is where an OpenAPI document's service is.

    Raises:
        CommandError: there are no such tools.
    """
    if rows is not None and rows < 1:
        raise CommandError("bad-tools", f"--rows {rows} is too few.", "Give 1 or more.")
    if spec is None:
        note("Tools: the demo (waste management, made-up data). Your own: --tools.")
    asked = labels_of(effects)
    labels = {**settings_labels(), **asked}
    with _source(DEMO if spec is None else spec, today, rows, base_url) as source:
        yield source.labelled(labels, asked)


@contextmanager
def open_given(spec: str | None, effects: Sequence[str] = ()) -> Generator[Toolset | None]:
    """Yield the tools that `--tools` names, None where it names none.

    Raises:
        CommandError: there are no such tools.
    """
    if spec is None:
        yield None
    else:
        with open_tools(spec, date.today(), None, effects) as opened:
            yield opened


@contextmanager
def reopen_tools(plan: Json, spec: str | None, effects: Sequence[str]) -> Generator[Toolset]:
    """Yield the tools that the journal's `plan` has run with; what is given says otherwise.

    Raises:
        CommandError: there are no such tools, or the plan does not name them.
    """
    metadata = plan.get("metadata") if isinstance(plan, dict) else None
    advice = metadata.get(ADVICE) if isinstance(metadata, dict) else None
    match advice:
        case {"tools": str(name), "today": str(today), "rows": None | int() as rows, **more}:
            kept = more.get("effects")
            texts = [f"{tool}={label}" for tool, label in _items(kept)]
            labels = {**labels_of(texts), **labels_of(effects)}
            url = more.get("base_url")
            base_url = url if isinstance(url, str) else None
            with _source(spec or name, date.fromisoformat(today), rows, base_url) as source:
                yield source.labelled(labels, ())
        case _ if spec is not None:
            with open_tools(spec, date.today(), None, effects) as opened:
                yield opened
        case _:
            raise CommandError(
                "usage", "--tools is missing: the run does not tell where its tools came from."
            )


def _items(labels: Json) -> list[tuple[str, Json]]:
    return list(labels.items()) if isinstance(labels, dict) else []


def accept_tools(opened: Toolset, name: str | None) -> None:
    """Take the tools as they are now, all of them or the one called `name`.

    Raises:
        CommandError: they are none that may change by themselves, or that cannot be kept.
    """
    if opened.accept is None:
        raise CommandError(
            "usage",
            "--accept is for the tools of MCP servers, which may change by themselves.",
            "Name their configuration: --tools FILE.",
        )
    try:
        lock = opened.accept(name)
    except ToolObjectError as error:
        raise CommandError("unknown-tool", str(error)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CommandError("storage", f"{error.filename}: {reason}.", None, Exit.STORAGE) from None
    note(f"Accepted, and pinned in {lock}.")


class _Source(NamedTuple):
    """Tools as they come from where they were named."""

    tools: Toolbox
    insights: Insights
    advice: Mapping[str, Json]
    accept: Callable[[str | None], Path] | None

    def labelled(self, labels: Mapping[str, Effects], asked: Collection[str]) -> Toolset:
        """Return the tools with `labels`, of which `asked` must be there.

        And with `sql` besides.
        """
        tools, advice = self.tools, dict(self.advice)
        more = _sql()
        if more is not None and more.name not in tools:
            tools = tools.with_tools(more)
        if absent := [tool for tool in asked if tool not in tools]:
            raise CommandError(
                "bad-effects",
                f"--effects: there is no tool {absent[0]!r}.",
                "`toolplan tools` lists the tools that there are.",
            )
        known = {tool: label for tool, label in labels.items() if tool in tools}
        if known:
            tools = tools.labelled(known)
            advice["effects"] = {tool: label.value for tool, label in known.items()}
        return Toolset(with_learned(tools), self.insights, {ADVICE: advice}, self.accept)


@contextmanager
def _source(name: str, today: date, rows: int | None, base_url: str | None) -> Generator[_Source]:
    advice: dict[str, Json] = {"tools": name, "today": today.isoformat(), "rows": rows}
    try:
        _, source = source_of(name)
    except ToolObjectError as error:
        raise CommandError("bad-tools", str(error), _help(name, None)) from None
    if base_url is not None:
        if not source.takes_base_url:
            raise CommandError(
                "usage", "--base-url is for tools that come from an OpenAPI document."
            )
        advice["base_url"] = base_url
    path, services = settings_table("openapi")
    tables = {"openapi": services}
    context = SourceContext(Path.cwd(), os.environ, tables, path, home(), base_url, _note)
    try:
        with source.open(name, context) as opened:
            insights = cast("Insights", opened.insights)
            yield _Source(opened.tools.on_day(today, rows), insights, advice, opened.accept)
    except ToolObjectError as error:
        raise CommandError("bad-tools", str(error), _help(name, source)) from None


def _note(sentence: str) -> None:
    note(printable(sentence))


def _help(spec: str, source: ToolSource | None) -> str:
    if spec.endswith(".py") or ".py:" in spec:
        return f"Name the module without its ending: {PurePath(spec).stem}:ATTRIBUTE."
    if source is not None:
        return source.help
    return (
        "Give a JSON file of tool objects, an MCP configuration, an OpenAPI document, or"
        " MODULE:ATTRIBUTE, as in toolplan.demo:TOOLS."
    )


def _sql() -> Tool | None:
    try:
        return load_tools(SQL)["sql"]
    except (ToolObjectError, KeyError):
        return None  # its extra is not installed; the planner says so where it matters
