"""Recorded plans: a file beside the file of tests, which itself is never written."""

from __future__ import annotations

import json
from pathlib import Path

from toolplan.app.settings import file_fault
from toolplan.plan.canonical import dump, load
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.storage.shared_file import write_whole
from toolplan.testing.plans.cases import Case, CaseError
from toolplan.tools.replies import read_json


class Recorded:
    """The plans recorded for the questions of one file; None: the planner made no plan."""

    def __init__(self, path: Path) -> None:
        """Read the plans recorded for the file of tests at `path`, if there are any.

        Raises:
            CaseError: the file of plans cannot be read.
        """
        self.path = path.with_name(f"{path.name}.plans.json")
        self._plans: dict[tuple[str, str | None], Plan | None] = {}
        try:
            document = read_json(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError):
            raise self._unreadable() from None
        listed = document.get("plans") if isinstance(document, dict) else None
        for each in listed if isinstance(listed, list) else [None]:
            match each:
                case {"question": str(question), "today": None | str() as today, "plan": plan}:
                    parsed = None if plan is None else load(plan).plan
                    if plan is not None and parsed is None:
                        raise self._unreadable()
                    self._plans[question, today] = parsed
                case _:
                    raise self._unreadable()

    def __contains__(self, case: Case) -> bool:
        return (case.question, case.today) in self._plans

    def __getitem__(self, case: Case) -> Plan | None:
        return self._plans[case.question, case.today]

    def __setitem__(self, case: Case, plan: Plan | None) -> None:
        self._plans[case.question, case.today] = plan

    def save(self) -> None:
        """Write the plans to their file: all of them, or the file stays as it was.

        Raises:
            CaseError: it cannot be written.
        """
        plans: Json = [
            {"question": question, "today": today, "plan": None if plan is None else dump(plan)}
            for (question, today), plan in self._plans.items()
        ]
        text = json.dumps({"plans": plans}, indent=2, ensure_ascii=False) + "\n"
        try:
            write_whole(self.path, text, mode=0o644)
        except OSError as error:
            raise CaseError(f"{self.path}: {file_fault(error)}.") from None

    def _unreadable(self) -> CaseError:
        return CaseError(
            f"{self.path}: it is not a file of recorded plans.",
            "Delete it, and record again: toolplan test --record.",
        )
