"""A summary for a rich console, with marks on unsupported claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from toolplan.render.printable import fit_encoding

_MARK = " [?]"


class Summarised(Protocol):
    """A summary, such as `toolplan.summary.summariser.Summary`."""

    @property
    def text(self) -> str:
        """The whole summary, in its format."""
        ...

    @property
    def said(self) -> str:
        """The text of the model, made safe, without marks; may be empty."""
        ...

    @property
    def head(self) -> tuple[str, ...]:
        """Sentences on the steps that did not succeed."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the text."""
        ...

    @property
    def unsupported_spans(self) -> tuple[tuple[int, int], ...]:
        """Places in `said` of claims that are not in the results, in order."""
        ...


@dataclass(frozen=True)
class SummaryView:
    """A summary for a rich console. A mark is never a colour alone."""

    summary: Summarised

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        encoding = options.encoding
        if not self.summary.said:
            yield Text(fit_encoding(self.summary.text, encoding))
            return
        for line in self.summary.head:
            yield Text(fit_encoding(f"• {line}", encoding), style="red")
        if self.summary.head:
            yield Text()
        yield _said(self.summary, encoding)
        if self.summary.notes:
            yield Text()
        for note in self.summary.notes:
            yield Text(fit_encoding(note, encoding), style="dim")


def summary_view(summary: Summarised) -> SummaryView:
    """Return `summary` for a rich console."""
    return SummaryView(summary)


def _said(summary: Summarised, encoding: str) -> Text:
    view = Text()
    at = 0
    for start, end in summary.unsupported_spans:
        view.append(fit_encoding(summary.said[at:start], encoding))
        view.append(fit_encoding(summary.said[start:end], encoding), style="strike")
        view.append(_MARK, style="bold yellow")
        at = end
    view.append(fit_encoding(summary.said[at:], encoding))
    return view
