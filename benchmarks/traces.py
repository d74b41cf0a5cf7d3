"""`python -m benchmarks.traces [--turns N] [--rounds N] [--json]`: what traces cost a step.

A plan of 1,000 no-op steps in layers (see `benchmarks.engine`) runs with traces off, on, and on
with a sampler that takes no span. Each way runs in processes of its own, in turns; the least CPU of
a step counts. On, spans are made by OpenTelemetry's SDK, and batches of them go to an exporter that
drops them: what an exporter does with them is not measured.

Off, a call pays one look at whether calls are traced. Its share of a step is that look, timed
alone, over the CPU of a step; the goal is 2 % at the most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from timeit import repeat
from types import SimpleNamespace
from typing import Any, Final

from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, toolbox

STEPS: Final = 1_000
MODES: Final = ("off", "sampled out", "on")
GOAL: Final = 0.02
_LOOKS: Final = 100_000


class _Drop:
    """An exporter that drops what it gets."""

    def export(self, spans: Sequence[object]) -> object:
        """Take spans."""
        del spans
        result: Any = import_module("opentelemetry.sdk.trace.export")
        return result.SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self, timeout_millis: int = 0) -> bool:
        """Do nothing."""
        del timeout_millis
        return True


def trace(*, sampled: bool) -> None:
    """Set the provider of tracers of this process."""
    api: Any = import_module("opentelemetry.trace")
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    sampling: Any = import_module("opentelemetry.sdk.trace.sampling")
    provider = sdk.TracerProvider(sampler=sampling.ALWAYS_ON if sampled else sampling.ALWAYS_OFF)
    provider.add_span_processor(export.BatchSpanProcessor(_Drop()))
    api.set_tracer_provider(provider)


def step_seconds(mode: str, turns: int, steps: int = STEPS) -> float:
    """Return the least CPU seconds that a step took in this process, traced as `mode` says."""
    if mode != "off":
        trace(sampled=mode == "on")
    tools = toolbox(nothing)
    plan = execution_plan(layered(steps), tools)
    found: list[float] = []
    for _ in range(turns + 1):
        began = time.process_time()
        asyncio.run(ours(plan, tools))
        found.append((time.process_time() - began) / steps)
    return min(found[1:])


def look_seconds() -> float:
    """Return what a look at whether calls are traced takes, with the loop around it."""
    call = SimpleNamespace(owner=SimpleNamespace(traced=False))
    timed = repeat("call.owner.traced", globals={"call": call}, number=_LOOKS, repeat=7)
    return min(timed) / _LOOKS


def measure(turns: int, rounds: int) -> dict[str, float]:
    """Return the microseconds of a step in each mode, and the share of the look when off."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        for mode in MODES:
            words = [sys.executable, "-m", "benchmarks.traces", "--mode", mode]
            ended = subprocess.run(
                [*words, "--turns", str(turns)], check=True, capture_output=True, text=True
            )
            least[mode] = min(float(ended.stdout), least.get(mode, float("inf")))
    figures = {f"{mode}, µs a step": least[mode] * 1e6 for mode in MODES}
    return {**figures, "off, share of a step": look_seconds() / least["off"]}


def main() -> int:
    """Measure, print, and return 1 where the goal is not met."""
    parser = argparse.ArgumentParser(prog="benchmarks.traces", description=__doc__)
    parser.add_argument("--turns", type=int, default=8, help="runs in each process")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each mode")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--mode", choices=MODES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mode is not None:
        print(step_seconds(given.mode, given.turns))
        return 0
    figures = measure(given.turns, given.rounds)
    if given.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:<26}{figure:.4f}" if "share" in name else f"{name:<26}{figure:.1f}")
    return int(figures["off, share of a step"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
