"""Planning with a model: one request, one plan, and precise words about what is wrong with it."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.planners.llm._planner import LLMPlanner, Style
    from toolplan.planners.llm._prompt import PROMPT_VERSION
    from toolplan.planners.llm._reply import read_reply
    from toolplan.planners.llm._signature import signature_text
else:
    __getattr__ = names_of(
        __name__,
        _planner="LLMPlanner Style",
        _prompt="PROMPT_VERSION",
        _reply="read_reply",
        _signature="signature_text",
    )

__all__ = ["PROMPT_VERSION", "LLMPlanner", "Style", "read_reply", "signature_text"]
