"""The build hook of the package: it builds the studio's page into the archive and the wheel.

Where node or its packages are missing, a sentence says so, and the package has no page. An archive
contains the built page, so a wheel that is made of it needs no node. `TOOLPLAN_PAGE=0` builds none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Builds the page before files are collected; an editable installation does not need it."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page in a clone."""
        del build_data
        script = Path(self.root).parents[1] / "tools" / "page.py"
        if version == "editable" or os.environ.get("TOOLPLAN_PAGE") == "0" or not script.is_file():
            return
        subprocess.run([sys.executable, script, "build", "--if-possible"], check=True)  # noqa: S603
