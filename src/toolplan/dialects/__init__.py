"""Ways to write plans: one module each, listed here by hand."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolplan.dialects._base import Dialect
from toolplan.dialects.clear import ClearDialect
from toolplan.dialects.llmcompiler import LlmCompilerDialect
from toolplan.dialects.rewoo import RewooDialect
from toolplan.dialects.toolplan import ToolplanDialect

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "toolplan": ToolplanDialect(),
        "clear": ClearDialect(),
        "llmcompiler": LlmCompilerDialect(),
        "rewoo": RewooDialect(),
    }
)
"""Every dialect by its name."""

__all__ = [
    "DIALECTS",
    "ClearDialect",
    "Dialect",
    "LlmCompilerDialect",
    "RewooDialect",
    "ToolplanDialect",
]
