"""Limits of a run: concurrent calls, and the time of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from msgspec import Struct, ValidationError, convert

from toolplan.app.settings import Calls, Seconds, Settings
from toolplan.base.errors import ToolplanError
from toolplan.engine import RunOptions
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

ADVICE: Final = "run_with"
"""The key, in the metadata of a plan that has run, for how its tools were opened."""
Concurrency: TypeAlias = int | str | Sequence[str] | Mapping[str, int]
"""Maximum number of concurrent calls: in all; `NAME=N` or `{NAME: N}` of a tool or a source."""


class LimitOptions(Struct, frozen=True):
    """The limits that were given for one run."""

    concurrency: tuple[str, ...] = ()
    timeout_s: float | None = None

    @classmethod
    def of(cls, concurrency: Concurrency | None, timeout_s: float | None) -> LimitOptions:
        """Return the limits in the form in which the command line gives them."""
        if isinstance(concurrency, Mapping):
            concurrency = [f"{name}={calls}" for name, calls in concurrency.items()]
        elif not isinstance(concurrency, list | tuple):  # other types are rejected below
            concurrency = [] if concurrency is None else [str(concurrency)]
        return cls(tuple(map(str, concurrency)), timeout_s)

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
        """Return the limits for a resumed run; empty where no limit was given."""
        if self == NO_LIMITS:
            return {}
        return {"limits": {"concurrency": [*self.concurrency], "timeout": self.timeout_s}}


NO_LIMITS: Final = LimitOptions()


def run_options(settings: Settings, tools: Toolbox, *given: LimitOptions) -> RunOptions:
    """Return the options of a run; later ones of `given` replace earlier ones, and settings."""
    limits, default = settings.limits, RunOptions()
    in_all, seconds = limits.concurrency or default.concurrency, limits.timeout or default.timeout_s
    of_tools, of_sources = {**limits.tools}, {**limits.sources}
    sources = {tool.source for tool in tools.values()}
    for options in given:
        for text in options.concurrency:
            name, _, number = text.rpartition("=")
            calls = _calls(text, number)
            if not name:
                in_all = calls
            elif name in tools:
                of_tools[name] = calls
            elif name in sources:
                of_sources[name] = calls
            else:
                known = ", ".join(sorted(map(repr, sources - {""})))
                help_ = f"`toolplan tools` lists the tools. Sources: {known}."
                message = f"concurrency: there is no tool and no source {name!r}."
                meant = did_you_mean(near(name, [*tools, *sources]))
                raise ToolplanError("usage", message, meant or help_)
        if (asked := options.timeout_s) is not None:
            try:
                seconds = convert(asked, Seconds)
            except ValidationError:
                shown = f"{asked:g}" if isinstance(cast("object", asked), float) else repr(asked)
                help_ = "Give seconds, more than 0 and at most 86400."
                said = f"timeout {shown} is not a valid time."
                raise ToolplanError("usage", said, help_) from None
    return RunOptions(
        concurrency=in_all,
        timeout_s=seconds,
        tool_concurrency=of_tools,
        source_concurrency=of_sources,
    )


def _calls(text: str, number: str) -> int:
    try:
        if number.isascii() and number.isdecimal():
            return convert(number, Calls, strict=False)
    except ValidationError:
        pass
    help_ = "Write a number from 1 to 100,000, or NAME=NUMBER for a tool or a source."
    raise ToolplanError("usage", f"concurrency {text!r} is not a valid limit.", help_)


def limits_everywhere(settings: Settings, tools: Toolbox) -> dict[str, int]:
    """Return the limits over all machines of `tools` and their sources."""
    names = {*tools, *(tool.source for tool in tools.values())}
    return {name: most for name, most in settings.limits.everywhere.items() if name in names}
