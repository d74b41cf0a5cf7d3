"""What a plan is expected to take, from what the calls of its tools have taken before."""

from __future__ import annotations

from toolplan.cli._terminal import note
from toolplan.events import Run
from toolplan.forecast import Forecast
from toolplan.render.forecast_view import compared_text, forecast_text


def report_forecast(expected: Forecast, *, as_json: bool) -> None:
    """Tell what a run will take, where anything is known of it."""
    if expected.p90_s > 0 and not as_json:
        note(f"Expected: {forecast_text(expected)}.")


def report_comparison(expected: Forecast, run: Run, *, as_json: bool) -> None:
    """Tell what a run took beside what was expected, where anything was."""
    if expected.p90_s > 0 and not as_json and run.took_s is not None:
        note(f"It {compared_text(expected, run.took_s)}.")
