"""Errors of engines, approvals and storage: one base, a code, and what to do."""

import asyncio
from contextlib import closing
from typing import Any

import pytest

from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan import ApprovalRequired, ApprovalUsed, JournalError, Plan, ToolplanError
from toolplan.engine import CannotRun, StreamRefused, resume, run
from toolplan.schema.tool import OutcomeUnknown, Toolbox, ToolError, ToolObjectError
from toolplan.storage.memory import MemoryFault


@pytest.mark.parametrize("plan", [None, {"steps": []}, Plan(())])
def test_what_is_no_execution_plan_is_refused_with_help(plan: Any, stores: Stores) -> None:
    with pytest.raises(ToolplanError) as refused:
        asyncio.run(run(plan, Toolbox([])))
    assert refused.value.code == "cannot-run"
    assert "look at" in (refused.value.help or "")
    with closing(stores.open()) as journal, pytest.raises(ToolplanError, match=str(refused.value)):
        asyncio.run(resume(plan, Toolbox([]), "r", journal=journal))


def test_a_module_in_place_of_tools_is_refused_with_help() -> None:
    plan = execution_plan(Plan(()))
    with pytest.raises(ToolplanError, match="not 'module'") as refused:
        asyncio.run(run(plan, asyncio))  # pyright: ignore[reportArgumentType]
    assert "toolbox_of" in (refused.value.help or "")


def test_every_public_error_is_a_toolplan_error() -> None:
    errors = (
        ApprovalRequired, ApprovalUsed, CannotRun, StreamRefused, JournalError, MemoryFault,
        ToolError, OutcomeUnknown, ToolObjectError,
    )  # fmt: skip
    assert all(issubclass(each, ToolplanError) for each in errors)
    assert str(ToolError("It is closed.")) == "It is closed."
    assert OutcomeUnknown("The line broke.").code == "outcome-unknown"
