"""Errors of the MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json


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
