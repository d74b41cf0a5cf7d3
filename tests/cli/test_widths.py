"""What commands print line by line breaks no identifier, date or amount, at any width."""

import contextlib
import io
import os
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.test_widths import SENTENCES, VALUES, WIDTHS, assert_whole
from tests.sizes import share_of
from toolplan.app.checkup import Finding, State
from toolplan.cli import init, show, test
from toolplan.cli.terminal import CommandError, note, out, report
from toolplan.engine.forecast import Forecast
from toolplan.events import Run, RunState
from toolplan.show.runs_view import compared_text, forecast_text
from toolplan.testing.plans.cases import Case
from toolplan.testing.plans.runner import CaseResult

DRAW = st.DataObject


def printed(show: Callable[[], object], width: int) -> str:
    """Return what `show` prints on a terminal that is `width` columns wide."""
    lines = io.StringIO()
    with (
        patch.dict(os.environ, {"COLUMNS": str(width)}),
        contextlib.redirect_stdout(lines),
        contextlib.redirect_stderr(lines),
    ):
        show()
    return lines.getvalue()


def finding(data: DRAW) -> Callable[[], object]:
    state, text = data.draw(st.sampled_from(State)), data.draw(SENTENCES)
    made = Finding(data.draw(VALUES), state, text, data.draw(st.none() | SENTENCES))
    return lambda: init.print_finding(made)


def case(data: DRAW) -> Callable[[], object]:
    problems = data.draw(st.lists(st.lists(SENTENCES, max_size=2).map(tuple), min_size=1))
    made = CaseResult(Case(data.draw(SENTENCES), None, None), tuple(problems), None, 1.0)
    return lambda: test.print_result(made)


def forecast(data: DRAW) -> Callable[[], object]:
    names = st.lists(VALUES, max_size=4).map(tuple)
    made = Forecast(
        1.5, 2.5, data.draw(names), 1, 2, 1, data.draw(names), data.draw(names), past_calls=3
    )
    return lambda: note(f"Expected: {forecast_text(made)}. It {compared_text(made, 3.0)}.")


def error(data: DRAW) -> Callable[[], object]:
    made = CommandError("usage", data.draw(SENTENCES), data.draw(SENTENCES))
    return lambda: report(made, as_json=False)


def heading(data: DRAW) -> Callable[[], object]:
    run = Run(data.draw(VALUES), status=RunState.SUCCEEDED, started_at=1.0)
    return lambda: out().print(show.heading(run, False, 1500))


@pytest.mark.parametrize("made", [finding, case, forecast, error, heading])
@settings(max_examples=share_of(20), deadline=None)
@given(data=st.data())
def test_no_line_of_a_command_breaks_a_value(
    made: Callable[[DRAW], Callable[[], object]], data: DRAW
) -> None:
    show_it = made(data)
    for width in WIDTHS:
        assert_whole(printed(show_it, width), width)
