"""Answers: the results of a run as sentences, tables and insights."""

from toolplan.show.answer._answer import Answer, Problem, answer
from toolplan.show.answer.insights import Insight, InsightFunction, Thresholds
from toolplan.show.answer.sections import ROWS, Section

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
