"""Commands, called in this process, and files for them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call, Said
from tests.cli.outputs import hold
from toolplan.cli import main


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: str, code: int | None = None) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        exited = ended.value.code if isinstance(ended.value.code, int) else 1
        said = Said(exited, captured.out, captured.err)
        if "--json" in words:
            hold(words, *said)
        assert code in (None, said.code), said.err
        return said

    return run


@pytest.fixture
def tools_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a module of tools and a plan, for commands here and in processes of their own."""

    def write(module: str, tools: str, plan: object) -> Path:
        (tmp_path / f"{module}.py").write_text(tools)
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        sys.modules.pop(module, None)
        return tmp_path

    return write


@pytest.fixture
def plan_file(tmp_path: Path) -> Callable[[object], str]:
    def write(document: object) -> str:
        path = tmp_path / "plan.json"
        text = document if isinstance(document, str) else json.dumps(document, indent=1)
        path.write_text(text, "utf-8")
        return str(path)

    return write
