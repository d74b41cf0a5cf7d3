"""Planning with a model: one request, one plan, and precise feedback on its faults."""

from toolplan.planners.llm._planner import LLMPlanner as LLMPlanner
from toolplan.planners.llm._planner import Style as Style
from toolplan.planners.llm._prompt import PROMPT_VERSION as PROMPT_VERSION
from toolplan.planners.llm._prompt import kirha_messages as kirha_messages
from toolplan.planners.llm._reply import read_reply as read_reply
from toolplan.planners.llm._signature import argument_lines as argument_lines
from toolplan.planners.llm._signature import signature_text as signature_text
from toolplan.planners.llm._signature import signatures_text as signatures_text
