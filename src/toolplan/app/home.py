"""The user's data folder, and the files in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import platformdirs

VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
MEMORY: Final = "memory.sqlite"
LEARNED: Final = "learned.sqlite"


def home() -> Path:
    """Return the folder of `TOOLPLAN_HOME`, else the platform's folder for a user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)
