"""Summaries of answers, written by a model and checked against the results."""

from toolplan.show.summary.summariser import Format, Summariser, Summary

__all__ = ["Format", "Summariser", "Summary"]
