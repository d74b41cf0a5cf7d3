"""Answers: the results of a run as sentences, tables and insights."""

from toolplan.answer._answer import ROWS, Answer, Problem, answer
from toolplan.answer.insights import Insight, InsightFunction
from toolplan.answer.sections import Section
from toolplan.answer.trend import Thresholds

__all__ = [
    "ROWS",
    "Answer",
    "Insight",
    "InsightFunction",
    "Problem",
    "Section",
    "Thresholds",
    "answer",
]
