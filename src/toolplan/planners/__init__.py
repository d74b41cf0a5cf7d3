"""Planners: they propose drafts of plans, and never parse, check or run them."""

from toolplan.planners._base import Attempt as Attempt
from toolplan.planners._base import Clarification as Clarification
from toolplan.planners._base import Draft as Draft
from toolplan.planners._base import DraftText as DraftText
from toolplan.planners._base import OnText as OnText
from toolplan.planners._base import Planner as Planner
from toolplan.planners._base import Proposal as Proposal
from toolplan.planners._base import Question as Question
from toolplan.planners._base import Refusal as Refusal
from toolplan.planners._base import Remembering as Remembering
from toolplan.planners.llm import LLMPlanner as LLMPlanner
