"""Planning with a model: one request, one plan, and precise feedback on its faults."""

from toolplan.planners.llm._planner import LLMPlanner, Style
from toolplan.planners.llm._prompt import PROMPT_VERSION, kirha_messages
from toolplan.planners.llm._reply import read_reply
from toolplan.planners.llm._signature import argument_lines, signature_text, signatures_text

__all__ = [
    "PROMPT_VERSION",
    "LLMPlanner",
    "Style",
    "argument_lines",
    "kirha_messages",
    "read_reply",
    "signature_text",
    "signatures_text",
]
