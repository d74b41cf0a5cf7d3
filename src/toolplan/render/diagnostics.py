"""Diagnostics as text, with the place in the source underlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from toolplan.diagnostics import Diagnostic, Severity
from toolplan.path import print_path
from toolplan.plan import split_pointer
from toolplan.render.printable import ELLIPSIS, fit_encoding, number_text, printable, text_width
from toolplan.source import Span, line_and_column

WIDTH: Final = 100
_TAB: Final = "    "
_NARROWEST: Final = 40
_BEFORE: Final = 24  # columns of a wide line that are kept in front of the place
_LARGEST_INDEX: Final = 9  # digits; a longer number is a key


class _Piece(NamedTuple):
    text: str
    style: str = ""


_Line = tuple[_Piece, ...]


class Located(NamedTuple):
    """A diagnostic and where its text stands; `span` None where the place is not known."""

    diagnostic: Diagnostic
    span: Span | None = None


@dataclass(frozen=True)
class DiagnosticView:
    """Diagnostics for a rich console, the same words as `diagnostics_text` gives."""

    located: tuple[Located, ...]
    source_text: str | None = None
    name: str = "plan"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, WIDTH)
        for line in _all_lines(self.located, self.source_text, self.name, width):
            yield Text.assemble(*((fit_encoding(p.text, options.encoding), p.style) for p in line))


def diagnostic_text(
    diagnostic: Diagnostic,
    source_text: str | None = None,
    span: Span | None = None,
    *,
    name: str = "plan",
    width: int = WIDTH,
) -> str:
    """Return `diagnostic` as lines of plain text, with the place in the source underlined.

    `name` is what the source is called, and source lines are cut to `width` columns round the
    place. The text is plain: a console must not read markup into it.
    """
    return _joined(_lines(Located(diagnostic, span), source_text, name, width))


def diagnostics_text(
    located: Iterable[Located],
    source_text: str | None = None,
    *,
    name: str = "plan",
    width: int = WIDTH,
) -> str:
    """Return all diagnostics, one after another, and a line that counts them."""
    return _joined(_all_lines(tuple(located), source_text, name, width))


def count_text(diagnostics: Sequence[Diagnostic]) -> str:
    """Return how many problems there are: `3 errors (1 auto-fix), 1 warning`."""
    parts: list[str] = []
    for severity in Severity:
        these = [each for each in diagnostics if each.severity is severity]
        if these:
            fixed = sum(each.fixed for each in these)
            many = "" if len(these) == 1 else "s"
            parts.append(f"{number_text(len(these), grouped=True)} {severity.value}{many}")
            parts[-1] += f" ({number_text(fixed, grouped=True)} auto-fix)" if fixed else ""
    return ", ".join(parts) or "no problems"


def pointer_text(pointer: str) -> str:
    """Return a JSON pointer as people write places in a plan.

    >>> pointer_text("/steps/0/args/full name")
    'steps[0].args["full name"]'
    """
    path = tuple(
        int(token) if token.isdecimal() and len(token) <= _LARGEST_INDEX else token
        for token in split_pointer(pointer)
    )
    return printable(print_path(path)).removeprefix(".")


def _joined(lines: Iterable[_Line]) -> str:
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def _all_lines(
    located: Sequence[Located], source_text: str | None, name: str, width: int
) -> Iterator[_Line]:
    for each in located:
        yield from _lines(each, source_text, name, width)
        yield ()
    yield (_Piece(f"{count_text([each.diagnostic for each in located])}.", "bold"),)


def _lines(located: Located, source_text: str | None, name: str, width: int) -> Iterator[_Line]:
    diagnostic, span = located
    colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
    colour = "green" if diagnostic.fixed else colour
    place = pointer_text(diagnostic.pointer)
    yield (
        _Piece(f"{diagnostic.severity.value}[{printable(diagnostic.code)}]", f"bold {colour}"),
        _Piece(f" {place}" if place else "", "cyan"),
        _Piece(f": {printable(diagnostic.message)}", "bold"),
        _Piece(" (auto-fix)" if diagnostic.fixed else "", "bold green"),
    )
    if source_text is not None and span is not None:
        yield from _source_lines(source_text, span, name, max(width, _NARROWEST), colour)
    if diagnostic.help:
        yield _Piece("  help: ", "bold"), _Piece(printable(diagnostic.help))


def _source_lines(text: str, span: Span, name: str, width: int, colour: str) -> Iterator[_Line]:
    start = min(max(span.start, 0), len(text))
    line, column = line_and_column(text, start)
    margin = " " * len(str(line))
    yield _Piece(f"{margin}--> ", "blue"), _Piece(f"{printable(name)}:{line}:{column}")
    shown, caret, length = _underlined(text, start, span.end, width - len(margin) - 4)
    yield (_Piece(f"{margin} |", "blue"),)
    yield _Piece(f"{line} | ", "blue"), _Piece(shown)
    yield _Piece(f"{margin} | ", "blue"), _Piece(" " * caret + "^" * length, f"bold {colour}")


def _underlined(text: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """Return the source line at `start`, cut to `width`, with the underline's column and length.

    A place that goes over several lines is underlined to the end of its first line.
    """
    first = text.rfind("\n", 0, start) + 1
    until = text.find("\n", start)
    until = len(text) if until < 0 else until
    # a line of megabytes is cut before it is looked at
    far = max(first, start - 2 * width)
    before = _shown(text[far:start])
    marked = _shown(text[start : min(max(end, start + 1), until, start + 2 * width)])
    after = _shown(text[min(max(end, start), until) : min(until, end + 2 * width)])
    if text_width(before + marked + after) <= width and far == first:
        return before + marked + after, text_width(before), max(text_width(marked), 1)
    # the widest part of a wide line that still has the place in it
    keep = max(width - len(ELLIPSIS) * 2 - text_width(marked) - _BEFORE // 2, _BEFORE // 2)
    if text_width(before) > keep or far > first:
        before = ELLIPSIS + _last(before, keep)
    caret = text_width(before)
    line = before + marked + after
    if text_width(line) > width:
        line = _first(line, width - len(ELLIPSIS)) + ELLIPSIS
    return line, caret, max(min(text_width(marked), width - caret - len(ELLIPSIS)), 1)


def _shown(text: str) -> str:
    # white space inside of a source line stays as wide as it is, for the underline must fit
    return "".join(
        _TAB if char == "\t" else char if char == " " else printable(char) or " " for char in text
    )


def _last(text: str, width: int) -> str:
    while text_width(text) > width:
        text = text[max(1, (text_width(text) - width) // 2) :]
    return text


def _first(text: str, width: int) -> str:
    while text_width(text) > width:
        text = text[: -max(1, (text_width(text) - width) // 2)]
    return text
