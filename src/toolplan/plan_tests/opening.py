"""The app that plan tests ask: the user's own, without remembered plans and without a journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.home import home
from toolplan.app.settings import read_settings
from toolplan.plan_tests.cases import CaseFile

_NOT_REMEMBERED: Mapping[str, str] = {"PLANNER_ENABLE_CACHING": "false"}


def open_for(
    file: CaseFile,
    *,
    tools: Sequence[str] = (),
    planner: str | None = None,
    model: Sequence[str] = (),
    contracts: Sequence[str] = (),
    instructions: str = "",
    on_note: Callable[[str], None] | None = None,
) -> App:
    """Open the tools and the planner of a file of plan tests; what is given here wins.

    The planner is asked each time: a plan that it remembers would hide what has changed.

    Raises:
        ToolplanError: the tools or the planner cannot be opened.
    """
    named = tuple(model) or ((file.model,) if file.model else ())
    told = {"PLANNER_INSTRUCTIONS": instructions} if instructions else {}
    return open(
        tools or file.tools,
        planner=planner or file.planner or "auto",
        model=named or None,
        contracts=contracts,
        settings=read_settings(home(), {**os.environ, **_NOT_REMEMBERED, **told}),
        on_note=on_note,
    )
