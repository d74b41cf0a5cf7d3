"""What makes a catalogue of tools hard to plan over."""

from toolplan.tool_lint._catalogue import Catalogue, Finding
from toolplan.tool_lint._lints import LINT_PAGES, LINTS, Lint, finding_to_json, lint_tools

__all__ = ["LINTS", "LINT_PAGES", "Catalogue", "Finding", "Lint", "finding_to_json", "lint_tools"]
