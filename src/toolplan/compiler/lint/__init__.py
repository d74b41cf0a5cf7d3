"""Lints: faults of a catalogue of tools that make it hard to plan over."""

from toolplan.compiler.lint._lints import LINTS, Catalogue, Finding, finding_to_json, lint_tools

__all__ = ["LINTS", "Catalogue", "Finding", "finding_to_json", "lint_tools"]
