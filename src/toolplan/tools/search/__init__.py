"""Search among many tools: ranked by words, without a model."""

from toolplan.tools.search._index import Found, ToolIndex, index_of, search_tools
from toolplan.tools.search._relevant import FEW, relevant
from toolplan.tools.search._terms import stem, terms

__all__ = [
    "FEW",
    "Found",
    "ToolIndex",
    "index_of",
    "relevant",
    "search_tools",
    "stem",
    "terms",
]
