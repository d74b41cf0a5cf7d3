"""The tools of commands that make no plan."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

from toolplan.app._home import home
from toolplan.app._toolset import Toolset, open_tools
from toolplan.app.settings import read_settings
from toolplan.cli._terminal import note
from toolplan.render.printable import printable


def opened(
    tools: str | None, effects: Sequence[str] = (), base_url: str | None = None
) -> AbstractContextManager[Toolset]:
    """Open the tools of `--tools`, by default the demo's."""
    return open_tools(
        tools,
        read_settings(home()),
        lambda sentence: note(printable(sentence)),
        effects=effects,
        base_url=base_url,
    )


@contextmanager
def opened_if_given(tools: str | None, effects: Sequence[str] = ()) -> Generator[Toolset | None]:
    """Open the tools of `--tools`; yield None where there are none."""
    if tools is None:
        yield None
    else:
        with opened(tools, effects) as toolset:
            yield toolset
