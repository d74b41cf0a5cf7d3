"""What `toolplan check` loads: nothing that proposes plans."""

from __future__ import annotations

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
print(*(name for name in sys.modules if name.startswith("toolplan.planners")), file=sys.stderr)
"""


def test_check_loads_no_planner(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    step = '{"id": "a", "tool": "facilities_list", "args": {}}'
    plan.write_text(f'{{"toolplan": 1, "steps": [{step}]}}', "utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, "check", str(plan), "--tools", "toolplan.demo:TOOLS"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.strip() == ""
