"""Views of plans, runs, diagnostics and answers, in a terminal or as plain text."""
