"""The same plan from the words to findings, and through a process that is killed."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from packages.adapters.tests.network.killed import CALLS, JOURNAL, RUN, noted
from toolplan import App, Journal, resume
from toolplan.events import RunState, StepState, fold
from toolplan.plan.path import Json
from toolplan_adapters.contract import ContractPlanner, state_of
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS

ROOT = Path(__file__).parents[4]
STATE: dict[str, Json] = {
    "intent": {"intent_class": "cbp_assessment", "entities": [{"type": "site", "value": "HQ"}]}
}
ALWAYS = ContractPlanner(NETWORK_CONTRACTS, knowledge="always")
AGENTS = ("knowledge_agent", "data_query_agent", "config_best_practice_agent")


def test_assessing_hq_against_best_practices_finds_things() -> None:
    """F001-5, F001-13, F001-16, F001-23: words to intent to tasks to findings, and to the STATE."""
    app = App(NETWORK_TOOLS, ContractPlanner(NETWORK_CONTRACTS))
    asked = asyncio.run(app.ask("Assess HQ against best practices", today="2026-11-01"))
    assert asked.run is not None
    assert asked.succeeded
    assert asked.plan is not None
    assert asked.plan.effects == ()
    assert asked.compiled is not None
    assert asked.compiled.diagnostics == ()
    found = _findings(asked.run.steps["T2"].output)
    assert [(each["severity"], each["rule"], each["device"]) for each in found] == [
        ("critical", "CBP-003", "hq-edge-1"),
        ("high", "CBP-004", "hq-access-2"),
        ("high", "CBP-005", "hq-access-2"),
        ("medium", "CBP-007", "hq-edge-1"),
        ("medium", "CBP-009", "hq-access-1"),
        ("low", "CBP-002", "hq-core-1"),
        ("low", "CBP-006", "hq-access-2"),
    ]
    assert asked.run.output == {
        "summary": "7 findings on 4 devices, the worst critical.",
        "findings": [*found],
    }
    assert asked.answer is not None
    assert "7 findings on 4 devices, the worst critical." in asked.answer.text
    assert "SSH is not held to version 2" in asked.answer.text


@pytest.mark.parametrize("killed_at", [1, 2])
def test_a_run_that_is_killed_is_taken_up_again(tmp_path: Path, killed_at: int) -> None:
    """F001-11, F001-13, F001-25: what is done is not done again, and the same is found."""
    arguments = [str(tmp_path), json.dumps(STATE), AGENTS[killed_at]]
    begun = subprocess.run(
        [sys.executable, "-m", "packages.adapters.tests.network.killed", *arguments],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert begun.returncode == -signal.SIGKILL, begun.stderr.decode()
    planned = ALWAYS.plan(STATE)
    journal = Journal(tmp_path / JOURNAL)
    left = fold(journal.events(RUN))
    assert left.status is RunState.RUNNING
    assert [task["status"] for task in _tasks(state_of(planned, left))][:killed_at] == [
        "completed"
    ] * killed_at
    ended = asyncio.run(resume(RUN, noted(tmp_path), journal=journal))
    journal.close()
    assert ended.succeeded
    assert all(step.state is StepState.SUCCEEDED for step in ended.steps.values())
    calls = (tmp_path / CALLS).read_text().split()
    assert calls == [*AGENTS[: killed_at + 1], *AGENTS[killed_at:]]
    done = state_of(planned, ended)
    assert [task["status"] for task in _tasks(done)] == ["completed"] * 3
    app = App(NETWORK_TOOLS, ALWAYS)
    whole = asyncio.run(app.ask("Assess it.", today="2026-11-01", context={"state": STATE}))
    assert whole.run is not None
    assert (ended.digest, ended.output) == (whole.run.digest, whole.run.output)
    assert len(_findings(_tasks(done)[-1]["outputs"])) == 7


def _findings(outputs: Json) -> list[dict[str, Json]]:
    assert isinstance(outputs, dict)
    found = outputs["findings"]
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def _tasks(state: dict[str, Json]) -> list[dict[str, Json]]:
    plan = state["plan"]
    assert isinstance(plan, dict)
    tasks = plan["tasks"]
    assert isinstance(tasks, list)
    return [each for each in tasks if isinstance(each, dict)]
