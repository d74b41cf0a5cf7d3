"""Summaries of answers, written by a model and checked against the results."""

from toolplan.show.summary.summariser import Summariser, Summary
from toolplan.show.summary.text import Format

__all__ = ["Format", "Summariser", "Summary"]
