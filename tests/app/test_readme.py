"""README: its Python example runs as it is written."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_runs() -> None:
    section = README.read_text("utf-8").partition("## In Python")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    code = found[1]
    assert "toolplan.open(" in code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Highest rate:" in done.stdout
    assert "succeeded" in done.stdout
