"""Summaries of answers, written by a model and checked against the results."""
