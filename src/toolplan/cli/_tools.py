"""What commands open that make no plan: tools, the journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from toolplan.app._toolset import Toolset, open_tools
from toolplan.app.home import home, user_journal
from toolplan.app.settings import read_settings
from toolplan.cli.terminal import ask_claim, note
from toolplan.providers import Model, ModelError
from toolplan.show.printable import printable
from toolplan.storage.journal import Store, open_journal


def opened(
    tools: Sequence[str],
    effects: Sequence[str] = (),
    base_url: str | None = None,
    *,
    for_plans: bool = False,
    accepts: bool = False,
) -> AbstractContextManager[Toolset]:
    """Open the tools of `--tools`, by default the demo's.

    The built-in `extract` is among them where a model is named, or `for_plans`: to check a plan, or
    to show it, no model is needed.
    """
    settings = read_settings(home())
    return open_tools(
        tools or None,
        settings,
        lambda sentence: note(printable(sentence)),
        effects=effects,
        base_url=base_url,
        reading=_no_model if for_plans or settings.names_model else None,
        ask=ask_claim,
        accepts=accepts,
    )


def _no_model() -> Model:
    raise ModelError("llm-spec", "No model is named.", "Name one: --model MODEL.")


def opened_if_given(
    tools: Sequence[str], effects: Sequence[str] = ()
) -> AbstractContextManager[Toolset | None]:
    """Open the tools of `--tools`; None where there are none."""
    return opened(tools, effects, for_plans=True) if tools else nullcontext()


def opened_journal(place: str | None = None) -> Store:
    """Open the journal at `place`, by default the user's own, and print its notes.

    Raises:
        ToolplanError: it cannot be opened.
    """
    journal = open_journal(user_journal(place))
    for sentence in journal.notes:
        note(printable(sentence))
    return journal
