"""A plugin of pytest: files named `*.plans.yaml` are tests, one for each question.

`--plan-times N` asks each question N times; `--plan-model` and `--plan-planner` choose who is
asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

import pytest

from toolplan.app.app import App
from toolplan.base.errors import ToolplanError
from toolplan.testing.plans.cases import Case, Recorded, read_cases
from toolplan.testing.plans.runner import open_for, run_case

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
    file: Any = PlanFile  # pytest does not say what its `from_parent` takes
    return file.from_parent(parent, path=file_path)


class PlanFile(pytest.File):
    """A file of plan tests; its tools are opened once."""

    app: App

    def collect(self) -> Iterable[pytest.Item]:
        """Yield a test for each question."""
        try:
            file, recorded = read_cases(self.path), Recorded(self.path)
        except ToolplanError as error:
            raise pytest.Collector.CollectError(error.with_help) from None
        for case in file.cases:
            item: PlanItem = cast("Any", PlanItem).from_parent(self, name=case.question)
            item.case, item.recorded = case, recorded
            yield item

    def setup(self) -> None:
        """Open the tools."""
        try:
            self.app = open_for(
                read_cases(self.path),
                planner=self.config.getoption("--plan-planner"),
                model=self.config.getoption("--plan-model") or (),
            )
        except ToolplanError as error:
            pytest.fail(error.with_help, pytrace=False)
        self.addfinalizer(self.app.close)


class PlanItem(pytest.Item):
    """One question."""

    case: Case
    recorded: Recorded

    def runtest(self) -> None:
        """Ask the question, and fail where a plan is not as expected."""
        times = int(self.config.getoption("--plan-times") or 1)
        app = cast("PlanFile", self.parent).app
        result = asyncio.run(run_case(app, self.case, self.recorded, times))
        if not result.succeeded:
            said = "\n".join(next(each for each in result.problems if each))
            pytest.fail(f"{result.passed} of {times} plans as expected\n{said}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the question stands."""
        return self.path, None, self.case.question
