"""The lines of docs/install.md install toolplan in a fresh environment, and it works there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/install.md").read_text("utf-8")
LINES = [line.strip() for line in re.findall(r"^ {4}\S.*$", PAGE, re.MULTILINE)]
TRIED = 'toolplan doctor --json && toolplan ask "How many shipments are there?" --today 2025-10-12'


def test_the_page_has_the_lines_that_are_tried() -> None:
    assert LINES[0] == "python3 -m venv .venv"
    assert any("pip wheel" in line for line in LINES)
    assert any(re.search(r"pip install '?(dist|--find-links)", line) for line in LINES)


@pytest.mark.timeout(600)
def test_the_lines_of_the_page_install_and_run(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    kept = ("src", "packages", "docs", "tools", "web", "tests", "examples")
    for name in kept:
        if (ROOT / name).is_dir():
            left_out = shutil.ignore_patterns("node_modules", "__pycache__", ".venv*")
            shutil.copytree(ROOT / name, clone / name, ignore=left_out)
    for file in ROOT.glob("*"):
        if file.is_file():
            shutil.copy(file, clone)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_", "PYTHON"))}
    environment |= {"PATH": path, "HOME": str(tmp_path), "TOOLPLAN_HOME": str(tmp_path / "home")}
    script = "set -e\n"
    for line in LINES:
        if "--install-completion" in line:  # changes the files of a shell
            line = TRIED
        script += f"{line.replace('python3 -m venv', f'{sys.executable} -m venv')}\n"
    found = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = found.stdout + found.stderr
    if found.returncode and re.search(r"No matching distribution|Could not find a version", said):
        pytest.skip(f"no package index can be reached: {said[-300:]}")
    assert found.returncode == 0, said[-3_000:]
    assert '"faults":0' in said.replace(" ", "")
