"""Commands, called in this process, and files for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call, Said
from toolplan.cli import main


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        code = ended.value.code
        return Said(code if isinstance(code, int) else 1, captured.out, captured.err)

    return run


@pytest.fixture
def plan_file(tmp_path: Path) -> Callable[[object], str]:
    def write(document: object) -> str:
        path = tmp_path / "plan.json"
        text = document if isinstance(document, str) else json.dumps(document, indent=1)
        path.write_text(text, "utf-8")
        return str(path)

    return write
