"""Lints: faults of a catalogue of tools that make it hard to plan over."""

from toolplan.compiler.lint._lints import LINTS, Catalogue, Finding, lint_tools

__all__ = ["LINTS", "Catalogue", "Finding", "lint_tools"]
