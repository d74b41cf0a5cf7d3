"""Ways to write plans: one module each, listed here by hand."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolplan.dialects._base import Dialect
from toolplan.dialects.clear import ClearDialect
from toolplan.dialects.kirha import KirhaDialect
from toolplan.dialects.llmcompiler import LlmCompilerDialect
from toolplan.dialects.nestful import NestfulDialect
from toolplan.dialects.rewoo import RewooDialect
from toolplan.dialects.sealtools import SealtoolsDialect
from toolplan.dialects.state import StateDialect
from toolplan.dialects.taskbench import TaskbenchDialect
from toolplan.dialects.toolplan import ToolplanDialect

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "toolplan": ToolplanDialect(),
        "clear": ClearDialect(),
        "llmcompiler": LlmCompilerDialect(),
        "rewoo": RewooDialect(),
        "kirha": KirhaDialect(),
        "nestful": NestfulDialect(),
        "sealtools": SealtoolsDialect(),
        "state": StateDialect(),
        "taskbench": TaskbenchDialect(),
    }
)
"""Every dialect by its name."""

__all__ = [
    "DIALECTS",
    "ClearDialect",
    "Dialect",
    "KirhaDialect",
    "LlmCompilerDialect",
    "NestfulDialect",
    "RewooDialect",
    "SealtoolsDialect",
    "StateDialect",
    "TaskbenchDialect",
    "ToolplanDialect",
]
