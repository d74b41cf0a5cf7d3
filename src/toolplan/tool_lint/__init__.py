"""What makes a catalogue of tools hard to plan over."""

from toolplan.tool_lint._catalogue import Catalogue, Finding
from toolplan.tool_lint._lints import LINTS, finding_to_json, lint_tools

__all__ = ["LINTS", "Catalogue", "Finding", "finding_to_json", "lint_tools"]
