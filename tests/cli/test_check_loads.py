"""What commands load: only what their work needs."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from toolplan.cli import main

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
    sys.stdout.flush()
    print("\\n" + "loaded: " + " ".join(sys.modules), file=sys.stderr)
"""
QUESTION = "Get contaminated shipments from last week"


def loaded(program: str, *words: str) -> set[str]:
    """Return the names of the modules that a process of its own has loaded at its end."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    line = ran.stderr.splitlines()[-1]
    assert line.startswith("loaded: "), ran.stderr
    return set(line.split()[1:])


def test_check_loads_no_planner_and_no_database(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    step: dict[str, object] = {"id": "a", "tool": "facilities_list", "args": {}}
    plan.write_text(json.dumps({"toolplan": 1, "steps": [step]}), "utf-8")
    found = loaded(PROGRAM, "check", str(plan), "--tools", "toolplan_demo:TOOLS")
    assert not [name for name in found if name.startswith("toolplan.planners")]
    assert found.isdisjoint({"duckdb", "psycopg", "fastapi", "langgraph"})


def test_a_question_without_sql_loads_no_library_of_an_extra() -> None:
    found = loaded(PROGRAM, "ask", QUESTION)
    assert "toolplan_sql" in found
    assert found.isdisjoint({"duckdb", "psycopg", "fastapi", "langgraph"})


def test_the_tool_sql_is_made_without_its_library() -> None:
    program = (
        "import sys, toolplan_sql as sql\n"
        "sql.sql_tool()\n"
        "print('loaded: ' + ' '.join(sys.modules), file=sys.stderr)"
    )
    assert "duckdb" not in loaded(program)
