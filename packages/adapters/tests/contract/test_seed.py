"""The STATE of the orchestrator's specification, planned as it is written there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import toolplan_adapters.network as network
from packages.adapters.tests.contract.planning import planner, state, tasks
from tests.seeds.seeds import code
from toolplan import parse
from toolplan.cli import main
from toolplan.plan.path import Json

CONTRACTS = str(Path(network.__file__).parent / "contracts")
EXAMPLES = [(5, 6), (7, 8)]


@pytest.mark.parametrize(("given", "planned"), EXAMPLES)
def test_a_state_gives_the_plan_of_the_document(
    given: int, planned: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """F001-16, F001-17, with `knowledge="always"`; the command line asks for it for a reason."""
    expected: dict[str, Any] = json.loads(code("001", planned))["plan"]
    assert planner("always").plan(json.loads(code("001", given)))["plan"] == expected
    file = tmp_path / "STATE.json"
    file.write_text(code("001", given), "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--state", str(file), "--contracts", CONTRACTS])
    assert ended.value.code == 0
    (_, data, domain), routing = expected["tasks"], expected["routing"][1:]
    without: list[dict[str, Any]] = [
        {**data, "id": "T1", "depends_on": []},
        {**domain, "id": "T2", "depends_on": ["T1"]},
    ]
    printed = json.loads(capsys.readouterr().out)
    assert printed["plan"] == {"tasks": without, "routing": routing}


@pytest.mark.parametrize(("number", "position"), [(1, 2), (2, 0), (3, 2)])
def test_a_task_of_the_document_is_read_and_planned(number: int, position: int) -> None:
    """F001-11, F001-12: its words are those of the contract, and `outputs` is there."""
    written = json.loads(re.sub(r" //.*", "", code("001", number)))
    owner = written["owner"]
    text = f'{{"plan": {{"tasks": [{code("001", number)}], "routing": ["{owner}"]}}}}'
    parsed = parse(text, "state")
    assert parsed.plan is not None
    assert not any(each.blocks for each in parsed.diagnostics)
    (step,) = parsed.plan.steps
    assert (step.id, step.tool, [*step.after]) == (written["id"], owner, written["depends_on"])
    assert step.thought == written["description"]
    task: dict[str, Json] = tasks(
        planner("never" if position == 0 else "always").plan(state("cbp_assessment"))
    )[position]
    assert {**task, "description": ""} == {"outputs": {}, **written, "description": ""}
