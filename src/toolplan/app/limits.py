"""How many calls a run makes at once, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from msgspec import Struct, field

from toolplan.app.settings import Settings, SettingsError
from toolplan.diagnostics import did_you_mean, near
from toolplan.engines import RunOptions
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.tools import Toolbox

Concurrency: TypeAlias = int | str | Sequence[str] | Mapping[str, int]
"""The most calls at once: a number for all; `NAME=N` or `{NAME: N}` for a tool or a source."""

TABLE: Final = "limits"
_MOST_CALLS: Final = 100_000
_LONGEST_S: Final = 86_400.0
_EXAMPLE: Final = "Its table [limits] has lines such as `concurrency = 8` and `timeout = 20`."


class LimitOptions(Struct, frozen=True):
    """The limits that were given for one run."""

    concurrency: tuple[str, ...] = ()
    timeout_s: float | None = None

    @classmethod
    def of(cls, concurrency: Concurrency | None, timeout_s: float | None) -> LimitOptions:
        """Return the limits in the form in which the command line gives them."""
        given = cast("object", concurrency)
        match given:
            case None:
                texts: tuple[str, ...] = ()
            case int() | float() | str():
                texts = (str(given),)
            case Mapping():
                table = cast("Mapping[object, object]", given)
                texts = tuple(f"{name}={calls}" for name, calls in table.items())
            case list() | tuple():
                texts = tuple(map(str, cast("Sequence[object]", given)))
            case _:
                texts = (str(given),)  # which is refused
        return cls(texts, timeout_s)

    @classmethod
    def kept(cls, advice: Json) -> LimitOptions:
        """Return the limits in the metadata of a plan that ran with some."""
        match advice:
            case {"limits": {"concurrency": list(texts), "timeout": timeout}}:
                seconds = float(timeout) if isinstance(timeout, int | float) else None
                return cls(tuple(each for each in texts if isinstance(each, str)), seconds)
            case _:
                return cls()

    def to_json(self) -> dict[str, Json]:
        """Return what a resumed run needs to know; nothing where no limit was given."""
        if not self.concurrency and self.timeout_s is None:
            return {}
        return {TABLE: {"concurrency": [*self.concurrency], "timeout": self.timeout_s}}


NO_LIMITS: Final = LimitOptions()


class _Found(Struct):
    concurrency: int = RunOptions().concurrency
    timeout_s: float = RunOptions().timeout_s
    tools: dict[str, int] = field(default_factory=dict[str, int])
    sources: dict[str, int] = field(default_factory=dict[str, int])


def run_options(settings: Settings, tools: Toolbox, *given: LimitOptions) -> RunOptions:
    """Return the options of a run. Later ones of `given` come before earlier, and before settings.

    Raises:
        ToolplanError: a limit is not valid, or names neither a tool nor a source.
    """
    found = _of_settings(settings)
    for options in given:
        for text in options.concurrency:
            _add(found, text, tools)
        if options.timeout_s is not None:
            if not _is_time(options.timeout_s):
                given_s = cast("object", options.timeout_s)
                text = f"{given_s:g}" if isinstance(given_s, int | float) else repr(given_s)
                raise ToolplanError(
                    "usage",
                    f"timeout {text} is not a valid time.",
                    f"Give seconds, more than 0 and at most {_LONGEST_S:g}.",
                )
            found.timeout_s = options.timeout_s
    return RunOptions(
        concurrency=found.concurrency,
        timeout_s=found.timeout_s,
        tool_concurrency=found.tools,
        source_concurrency=found.sources,
    )


def _add(found: _Found, text: str, tools: Toolbox) -> None:
    name, _, number = text.rpartition("=")
    if not _is_limit(number):
        raise ToolplanError(
            "usage",
            f"concurrency {text!r} is not a valid limit.",
            f"Write a number from 1 to {_MOST_CALLS:,}, or NAME=NUMBER for a tool or a source.",
        )
    sources = {tool.source for tool in tools.values()}
    if not name:
        found.concurrency = int(number)
    elif name in tools:
        found.tools[name] = int(number)
    elif name in sources:
        found.sources[name] = int(number)
    else:
        known = ", ".join(sorted(map(repr, sources - {""})))
        raise ToolplanError(
            "usage",
            f"concurrency: there is no tool and no source {name!r}.",
            did_you_mean(near(name, [*tools, *sources]))
            or f"`toolplan tools` lists the tools. Sources: {known}.",
        )


def _of_settings(settings: Settings) -> _Found:
    found = _Found()
    for name, value in settings.table(TABLE).items():
        match name, value:
            case "concurrency", int(calls) if _is_limit(str(calls)):
                found.concurrency = calls
            case "timeout", (int() | float()) as seconds if _is_time(seconds):
                found.timeout_s = float(seconds)
            case "everywhere", dict():
                pass  # of all machines, not of a run
            case (("tools" | "sources"), dict()):
                calls = _calls(cast("dict[str, object]", value), name, settings)
                (found.tools if name == "tools" else found.sources).update(calls)
            case _:
                raise SettingsError(
                    f"{settings.place}: {name!r} in [{TABLE}] cannot be used.", _EXAMPLE
                )
    return found


def limits_everywhere(settings: Settings, tools: Toolbox) -> dict[str, int]:
    """Return the most calls at once over all machines, by the names of tools and sources.

    Raises:
        SettingsError: a limit is not valid. A name that these tools do not have is left out.
    """
    table = settings.table(TABLE).get("everywhere", {})
    if not isinstance(table, dict):
        raise SettingsError(
            f"{settings.place}: 'everywhere' in [{TABLE}] cannot be used.",
            "The table [limits.everywhere] has lines such as `github = 2`.",
        )
    found = _calls(cast("dict[str, object]", table), "everywhere", settings)
    names = {*tools, *(tool.source for tool in tools.values())}
    return {name: most for name, most in found.items() if name in names}


def _calls(table: Mapping[str, object], name: str, settings: Settings) -> dict[str, int]:
    for each, calls in table.items():
        if not (isinstance(calls, int) and _is_limit(str(calls))):
            raise SettingsError(
                f"{settings.place}: {each!r} in [{TABLE}.{name}] is not a valid limit.", _EXAMPLE
            )
    return cast("dict[str, int]", table)


def _is_limit(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8 and 1 <= int(text) <= _MOST_CALLS


def _is_time(seconds: object) -> bool:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return is_number and 0 < cast("float", seconds) <= _LONGEST_S
