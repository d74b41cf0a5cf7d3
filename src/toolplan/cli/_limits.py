"""How much a run does at once, and how long a call may take: options and `[limits]` of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from cyclopts import Parameter

from toolplan.cli._home import bad_settings, settings_table
from toolplan.cli._terminal import CommandError
from toolplan.cli._toolbox import ADVICE, Toolset
from toolplan.diagnostics import did_you_mean, near
from toolplan.engines import RunOptions
from toolplan.path import Json
from toolplan.tools import Toolbox

ConcurrencyOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        name="--concurrency",
        negative="",
        help="N: the most calls at once (32). NAME=N: of one tool, or of all of one source "
        "(repeatable).",
    ),
]
TimeoutOption: TypeAlias = Annotated[
    float | None,
    Parameter(name="--timeout", help="The most seconds of each try of a call (60)."),
]

_MOST_AT_ONCE: Final = 100_000
_LONGEST_S: Final = 86_400.0
_TABLE: Final = "limits"
_EXAMPLE: Final = "Its table [limits] has lines such as `at_once = 8`, `timeout = 20`."


class LimitOptions(NamedTuple):
    """What was asked for on the command line."""

    at_once: Sequence[str] = ()
    timeout_s: float | None = None

    def run_options(self, opened: Toolset, plan: Json = None) -> RunOptions:
        """Return the run options for the tools of `opened`; `plan` is the plan of a resumed run.

        What is asked for here goes before what such a run was started with, and that before the
        user's settings.

        Raises:
            CommandError: a limit is none, or names neither a tool nor a source.
        """
        found = _of_settings()
        for options in (_kept(plan), self):
            options.add_to(found, opened.tools)
        return RunOptions(
            concurrency=found.concurrency,
            timeout_s=found.timeout_s,
            tool_concurrency=found.tools,
            source_concurrency=found.sources,
        )

    def for_run(self, opened: Toolset) -> tuple[RunOptions, Toolset]:
        """Return the run options, and `opened` with these options in its advice.

        Whoever resumes the run need not repeat them.

        Raises:
            CommandError: as `run_options` does.
        """
        run_options = self.run_options(opened)
        if not self.at_once and self.timeout_s is None:
            return run_options, opened
        advice = opened.advice.get(ADVICE)
        limits: Json = {"at_once": [*self.at_once], "timeout": self.timeout_s}
        noted = {**(advice if isinstance(advice, dict) else {}), _TABLE: limits}
        return run_options, opened._replace(advice={**opened.advice, ADVICE: noted})

    def add_to(self, found: _Limits, tools: Toolbox) -> None:
        """Put these in the place of what `found` has.

        Raises:
            CommandError: as `run_options` does.
        """
        for option in self.at_once:
            name, _, number = option.rpartition("=")
            if not _is_limit(number):
                raise CommandError(
                    "usage",
                    f"--concurrency {option!r} is no limit.",
                    "Write a number from 1 on, or NAME=NUMBER with the name of a tool or a source.",
                )
            found.set(name, int(number), tools)
        if self.timeout_s is not None:
            if not _is_time(self.timeout_s):
                raise CommandError(
                    "usage",
                    f"--timeout {self.timeout_s:g} is no time for a call.",
                    f"Give seconds, more than 0 and at most {_LONGEST_S:g}.",
                )
            found.timeout_s = self.timeout_s


@dataclass
class _Limits:
    """Limits while they are put together."""

    concurrency: int = RunOptions().concurrency
    timeout_s: float = RunOptions().timeout_s
    tools: dict[str, int] = field(default_factory=dict[str, int])
    sources: dict[str, int] = field(default_factory=dict[str, int])

    def set(self, name: str, calls: int, tools: Toolbox) -> None:
        """Limit the calls of a tool or a source; of all tools where there is no name.

        Raises:
            CommandError: there is none of that name.
        """
        sources = {tool.source for tool in tools.values()}
        if not name:
            self.concurrency = calls
        elif name in tools:
            self.tools[name] = calls
        elif name in sources:
            self.sources[name] = calls
        else:
            known = ", ".join(sorted(map(repr, sources - {""})))
            raise CommandError(
                "usage",
                f"--concurrency: there is no tool and no source {name!r}.",
                did_you_mean(near(name, [*tools, *sources]))
                or f"`toolplan tools` lists the tools. Sources: {known}.",
            )


def _of_settings() -> _Limits:
    """Return the limits of `[limits]`, `[limits.tools]` and `[limits.sources]`.

    Raises:
        CommandError: the settings cannot be read.
    """
    path, table = settings_table(_TABLE)
    found = _Limits()
    for name, value in table.items():
        match name, value:
            case "at_once", int(calls) if _is_limit(str(calls)):
                found.concurrency = calls
            case "timeout", (int() | float()) as seconds if _is_time(seconds):
                found.timeout_s = float(seconds)
            case "tools", dict():
                found.tools = _calls_of(cast("dict[str, object]", value), name, path)
            case "sources", dict():
                found.sources = _calls_of(cast("dict[str, object]", value), name, path)
            case _:
                raise bad_settings(path, f"{name!r} in [{_TABLE}] cannot be used", _EXAMPLE)
    return found


def _calls_of(table: Mapping[str, object], name: str, path: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for each, calls in table.items():
        if not (isinstance(calls, int) and _is_limit(str(calls))):
            raise bad_settings(path, f"{each!r} in [{_TABLE}.{name}] is no limit", _EXAMPLE)
        found[each] = calls
    return found


def _kept(plan: Json) -> LimitOptions:
    """Return what the run of `plan` was started with."""
    match plan:
        case {"metadata": {"run_with": {"limits": {"at_once": list(at_once), "timeout": timeout}}}}:
            texts = [each for each in at_once if isinstance(each, str)]
            seconds = float(timeout) if isinstance(timeout, int | float) else None
            return LimitOptions(texts, seconds)
        case _:
            return LimitOptions()


def _is_limit(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8 and 1 <= int(text) <= _MOST_AT_ONCE


def _is_time(seconds: float) -> bool:
    return not isinstance(seconds, bool) and 0 < seconds <= _LONGEST_S
