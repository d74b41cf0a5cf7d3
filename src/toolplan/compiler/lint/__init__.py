"""What makes a catalogue of tools hard to plan over."""

from toolplan.compiler.lint._catalogue import Catalogue, Finding
from toolplan.compiler.lint._lints import LINTS, finding_to_json, lint_tools

__all__ = ["LINTS", "Catalogue", "Finding", "finding_to_json", "lint_tools"]
