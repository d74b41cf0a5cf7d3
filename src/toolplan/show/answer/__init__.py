"""Answers: the results of a run as sentences, tables and insights."""

from toolplan.show.answer._answer import Answer as Answer
from toolplan.show.answer._answer import Problem as Problem
from toolplan.show.answer._answer import answer as answer
from toolplan.show.answer.insights import Insight as Insight
from toolplan.show.answer.insights import InsightFunction as InsightFunction
from toolplan.show.answer.insights import Thresholds as Thresholds
from toolplan.show.answer.sections import ROWS as ROWS
from toolplan.show.answer.sections import Section as Section
