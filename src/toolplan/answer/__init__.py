"""Results → what the user reads: found what, how many, a table, and insights that hold for it."""

from toolplan.answer._answer import ROWS, Answer, Problem, answer
from toolplan.answer.insights import Insight, InsightFunction
from toolplan.answer.sections import Section

__all__ = ["ROWS", "Answer", "Insight", "InsightFunction", "Problem", "Section", "answer"]
