"""Sources of tools, and tools, of other packages: what they raise or return wrongly names them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, described
from toolplan.schema.tool import Tool, Toolbox, ToolObjectError
from toolplan.tools._base import OpenedTools, SourceContext, ToolSource


def guarded_source(entry: EntryPoint, offered: object) -> ToolSource:
    """Return the source that a package offers, with a guard around it."""
    entry.instance(offered, "recognises open", texts="help", flags="takes_base_url")
    return _Guarded(entry, cast("ToolSource", offered))


def guarded_tool(entry: EntryPoint, offered: object) -> Tool:
    """Return the tool that a package adds to every toolbox; `offered` may be its function."""
    if isinstance(offered, Tool):
        found = offered
    elif callable(offered):
        found = entry.returned(entry.call(offered), Tool, by=entry.value)
    else:
        raise entry.wrong(f"is {described(offered)}, not a Tool")
    if found.name != entry.name:
        raise entry.wrong(f"has another name: {found.name!r}")
    if found.has_effects:
        raise entry.wrong("may change something, and a tool that every toolbox has only reads")
    return replace(found, source="builtin")


class _Guarded:
    def __init__(self, entry: EntryPoint, inner: ToolSource) -> None:
        self._entry = entry
        self._inner = inner
        self.takes_base_url = inner.takes_base_url
        self.help = inner.help

    def recognises(self, spec: str, folder: Path) -> bool:
        found = self._entry.call(self._inner.recognises, spec, folder)
        return self._entry.returned(found, bool, by="recognises")

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        raised: list[BaseException] = []
        try:
            with self._opening(spec, context) as opened:
                found = self._checked(opened)
                try:
                    yield found
                except BaseException as error:
                    raised.append(error)
                    raise
        except ToolplanError:
            raise
        except Exception as error:
            if any(error is each for each in raised):
                raise  # it is of what uses the tools
            if isinstance(error, FileNotFoundError) and error.filename is not None:
                name = str(error.filename)
                fault = f"There is no file {name!r}, which the {self._entry.label} opens."
                raise ToolObjectError(fault, self.help or None) from error
            raise self._entry.fault(error) from error

    def _opening(self, spec: str, context: SourceContext) -> AbstractContextManager[object]:
        manager = cast("object", self._inner.open(spec, context))
        if isinstance(manager, AbstractContextManager):
            return cast("AbstractContextManager[object]", manager)
        raise self._entry.wrong(
            "returned from `open` what is no context manager",
            "Decorate its `open` with `@contextlib.contextmanager`.",
        )

    def _checked(self, opened: object) -> OpenedTools:
        found = self._entry.returned(opened, OpenedTools, by="open")
        self._entry.returned(found.tools, Toolbox, by="open")
        return found
