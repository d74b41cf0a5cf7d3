"""A plugin of pytest: files named `*.plans.yaml` are tests, one for each question.

`--plan-times N` asks each question N times; `--plan-model` and `--plan-planner` choose who is
asked. pytest loads this module in every session, so it loads the rest only for such files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from toolplan.plan_tests import pytest_items

SUFFIXES: Final = (".plans.yaml", ".plans.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of plan tests."""
    group = parser.getgroup("toolplan", "plan tests")
    group.addoption("--plan-times", type=int, default=1, help="Ask each question so many times.")
    group.addoption("--plan-model", action="append", default=[], help="A model to ask.")
    group.addoption("--plan-planner", default=None, help="A planner to ask.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the tests of a file of plan tests."""
    if not file_path.name.endswith(SUFFIXES):
        return None
    file: Any = pytest_items.PlanFile  # pytest does not say what its `from_parent` takes
    return file.from_parent(parent, path=file_path)
