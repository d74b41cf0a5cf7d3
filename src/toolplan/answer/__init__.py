"""Answers: the results of a run as sentences, tables and insights."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.answer._answer import ROWS, Answer, Problem, answer
    from toolplan.answer.insights import Insight, InsightFunction
    from toolplan.answer.sections import Section
    from toolplan.answer.thresholds import Thresholds
else:
    __getattr__ = names_of(
        __name__,
        _answer="ROWS Answer Problem answer",
        insights="Insight InsightFunction",
        sections="Section",
        thresholds="Thresholds",
    )

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
