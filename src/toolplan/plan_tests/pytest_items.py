"""Plan tests as pytest runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from toolplan.app.app import App
from toolplan.errors import ToolplanError
from toolplan.plan_tests.cases import Case, read_cases
from toolplan.plan_tests.recorded import Recorded
from toolplan.plan_tests.runner import open_for, run_case


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
