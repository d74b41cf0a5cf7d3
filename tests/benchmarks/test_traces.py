"""`python -m benchmarks.traces`: that it measures each way of tracing, and prints it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from benchmarks import traces

ROOT = Path(__file__).parents[2]
SHORT = [sys.executable, "-m", "benchmarks.traces", "--turns", "1", "--rounds", "1"]
FIGURES = [*(f"{mode}, µs a step" for mode in traces.MODES), "off, share of a step"]


def test_each_way_of_tracing_is_a_figure() -> None:
    done = subprocess.run([*SHORT, "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: the goal is not met on this machine
    figures = json.loads(done.stdout)
    assert list(figures) == FIGURES
    assert all(figure > 0 for figure in figures.values())
    is_met = figures["off, share of a step"] <= traces.GOAL
    assert done.returncode == (0 if is_met else 1)


def test_what_is_printed_is_what_the_page_quotes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(turns: int, rounds: int) -> dict[str, float]:
        assert (turns, rounds) == (8, 3)
        return dict(zip(FIGURES, (32.04, 105.4, 151.0, 0.004), strict=True))

    monkeypatch.setattr(traces, "measure", measured)
    monkeypatch.setattr(sys, "argv", ["benchmarks.traces"])
    assert traces.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["32.0", "105.4", "151.0", "0.0040"]
    page = (ROOT / "docs/traces.md").read_text("utf-8").partition("## What traces cost")[2]
    assert re.search(r"`python -m benchmarks\.traces` runs 1,000 steps", page)
    assert traces.STEPS == 1_000
    for said in ("traces off", "0.4 %", "a sampler takes no span", "the SDK makes each span"):
        assert said in " ".join(page.split())


def test_a_goal_that_is_missed_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(turns: int, rounds: int) -> dict[str, float]:
        assert turns > 0
        assert rounds > 0
        return dict.fromkeys(FIGURES, 0.021)

    monkeypatch.setattr(traces, "measure", measured)
    monkeypatch.setattr(sys, "argv", ["benchmarks.traces", "--json"])
    assert traces.main() == 1
    assert json.loads(capsys.readouterr().out)["off, share of a step"] == 0.021
