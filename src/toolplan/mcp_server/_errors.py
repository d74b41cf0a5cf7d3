"""Errors of the MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from toolplan.errors import ToolplanError
from toolplan.path import Json


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

    @classmethod
    def of(cls, error: ToolplanError) -> CallRefused:
        """Return the error for a client."""
        return cls(error.code, error.message, error.help)

    def to_json(self) -> dict[str, Json]:
        """Return the content of the result that a client gets."""
        error: Json = {"code": self.code, "message": self.message, "help": self.help or None}
        return {"error": error, **self.more}
