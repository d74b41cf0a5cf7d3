"""Summaries of results in words, each figure traced to the results."""
