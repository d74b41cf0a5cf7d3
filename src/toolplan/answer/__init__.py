"""Results → what the user reads: found what, how many, a table, and facts that hold for it."""

from toolplan.answer._answer import ROWS, Answer, Problem, answer
from toolplan.answer.insights import Fact, FactFunction
from toolplan.answer.sections import Section

__all__ = ["ROWS", "Answer", "Fact", "FactFunction", "Problem", "Section", "answer"]
