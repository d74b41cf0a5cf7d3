"""Summaries of answers, written by a model and checked against the results."""

from toolplan.summary.form import Format
from toolplan.summary.summariser import Summariser, Summary

__all__ = ["Format", "Summariser", "Summary"]
