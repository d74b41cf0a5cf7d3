"""Diagnostics as text, with the place in the source underlined, and as SARIF 2.1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.diagnostics import ABOUT_KEYS, Diagnostic, Fix, Removed, Severity, renamed
from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json, print_path
from toolplan.plan.text.loose import Span
from toolplan.plan.text.places import line_and_column
from toolplan.show.document import WIDTH, Line, Piece, Screen, plain, wrapped
from toolplan.show.printable import ELLIPSIS, cut, fitting, number_text, printable, text_width

_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
MOST_LOCATED: Final = 30
"""Maximum number of diagnostics shown with their text."""
MOST_SHOWN: Final = 200
"""Maximum number of diagnostics printed one by one; the others are counted."""
_MOST_CHANGES: Final = 10
_LONGEST_VALUE: Final = 500
_WORD: Final = re.compile(r"""(?:[^\s"',\[\]{}()]|(?<=\d),(?=\d))+|.""")
_TAB: Final = "    "
_NARROWEST: Final = 40
_BEFORE: Final = 24  # columns of a wide line that are kept in front of the place
_LARGEST_INDEX: Final = 9  # digits; a longer number is a key


class Located(NamedTuple):
    """A diagnostic and its place in the text; `span` None where the place is unknown."""

    diagnostic: Diagnostic
    span: Span | None = None


def located(
    diagnostics: Sequence[Diagnostic], locate: Callable[..., Span | None]
) -> tuple[Located, ...]:
    """Return `diagnostics`, the first ones with their places in the text.

    `locate` is `Dialect.locate` for the text: of a pointer, and whether its key is meant.
    The place is the key where the key is wrong, else the value. A key that a fix renamed has the
    place of its old name. Each place takes a scan of its own; other diagnostics have pointers.
    """
    first = diagnostics[:MOST_LOCATED]
    renames = [names for each in first if (names := renamed(each.fix)) is not None]
    old_names = {new: old for old, new in renames}
    found: list[Located] = []
    for each in first:
        is_key = each.code in ABOUT_KEYS or renamed(each.fix) is not None
        pointer = old_names.get(each.pointer, each.pointer)
        found.append(Located(each, locate(pointer, key=is_key)))
    return (*found, *map(Located, diagnostics[MOST_LOCATED:]))


class DiagnosticView(Struct, frozen=True):
    """Diagnostics, as they are printed, each with its place in `source_text`, and their number.

    `name` is that of the source; `advice` is the help for errors with an auto-fix.
    """

    located: tuple[Located, ...]
    source_text: str | None = None
    name: str = "plan"
    advice: str = ""

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        screen = replace(screen, width=min(screen.width, WIDTH))
        shown = self.located
        if len(shown) > MOST_SHOWN:  # errors, which keep the plan from running, come first
            shown = tuple(sorted(shown, key=lambda each: not each.diagnostic.blocks)[:MOST_SHOWN])
        for each in shown:
            yield from _lines(each, self.source_text, self.name, screen)
            yield ()
        if more := len(self.located) - len(shown):
            yield (Piece(f"… and {number_text(more, grouped=True)} more."),)
            yield ()
        text = count_text([each.diagnostic for each in self.located])
        if self.advice and any(each.diagnostic.fixed for each in self.located):
            text += f"; {self.advice}"
        yield from wrapped((Piece(f"{text}.", "bold"),), screen.prose, below="")


def diagnostic_text(
    diagnostic: Diagnostic, source_text: str | None = None, span: Span | None = None
) -> str:
    """Return `diagnostic` as lines of plain text, with the place in the source underlined."""
    return plain(_lines(Located(diagnostic, span), source_text, "plan", Screen()))


def diagnostics_text(located: Iterable[Located], source_text: str | None = None) -> str:
    """Return all diagnostics as plain text, one after another, and a line that counts them."""
    return plain(DiagnosticView(tuple(located), source_text).lines(Screen()))


def count_text(diagnostics: Sequence[Diagnostic]) -> str:
    """Return how many problems there are, and how many of them a fix corrects.

    `2 errors, 1 of them with an auto-fix; 1 warning`. Where no other error is left, the plan runs.
    """
    runs = not any(each.blocks for each in diagnostics)
    parts: list[str] = []
    for severity in Severity:
        these = [each for each in diagnostics if each.severity is severity]
        if not these:
            continue
        fixed = sum(each.fixed for each in these)
        many = "" if len(these) == 1 else "s"
        parts.append(f"{number_text(len(these), grouped=True)} {severity.value}{many}")
        if fixed:
            what = "corrected when the plan runs" if runs else "with an auto-fix"
            parts[-1] += f", {number_text(fixed, grouped=True)} of them {what}"
    return "; ".join(parts) or "no problems"


def pointer_text(pointer: str) -> str:
    """Return a JSON pointer as a path in a plan.

    >>> pointer_text("/steps/0/args/full name")
    'steps[0].args["full name"]'
    """
    path = tuple(
        int(token) if token.isdecimal() and len(token) <= _LARGEST_INDEX else token
        for token in split_pointer(pointer)
    )
    return printable(print_path(path)).removeprefix(".")


def _lines(located: Located, source_text: str | None, name: str, screen: Screen) -> Iterator[Line]:
    diagnostic, span = located
    colour = "green" if diagnostic.fixed else _COLOURS[diagnostic.severity]
    place = pointer_text(diagnostic.pointer)

    def prose(*pieces: Piece) -> Iterator[Line]:
        fitting = tuple(Piece(screen.fit(text), style) for text, style in pieces)
        return wrapped(fitting, screen.prose, below="    ")

    yield from prose(
        Piece(f"{diagnostic.severity.value}[{printable(diagnostic.code)}]", f"bold {colour}"),
        Piece(f" {place}" if place else "", "cyan"),
        Piece(f": {printable(diagnostic.message)}", "bold"),
        Piece(" (auto-fix)" if diagnostic.fixed else "", "bold green"),
    )
    if source_text is not None and span is not None:
        yield from _source_lines(source_text, span, name, screen, colour)
    elif source_text is not None and name:
        yield Piece(" --> ", "blue"), Piece(screen.fit(printable(name)))
    if diagnostic.fixed and diagnostic.fix is not None:
        for change in fix_texts(diagnostic.fix):
            yield from prose(Piece("  auto-fix: ", "bold green"), Piece(change))
    if diagnostic.help:
        yield from prose(Piece("  help: ", "bold"), Piece(printable(diagnostic.help)))


def fix_texts(fix: Fix) -> list[str]:
    """Describe the changes of `fix`: `"Pro" -> "pro"`, with places where there are several.

    A renamed key is one change: `"limt" -> "limit"`.
    """
    names = renamed(fix)
    if names is not None:
        old, new = (_json_text(split_pointer(each)[-1]) for each in names)
        return [f"{old} -> {new}"]
    changes = [
        (each.pointer, f"{_json_text(each.old)} -> {_json_text(each.value)}") for each in fix.edits
    ]
    if len(changes) == 1:
        return [changes[0][1]]
    shown = [f"{pointer_text(pointer)}: {change}" for pointer, change in changes[:_MOST_CHANGES]]
    more = len(changes) - len(shown)
    return [*shown, f"… and {more} more"] if more else shown


def _json_text(value: Json | Removed) -> str:
    if isinstance(value, Removed):
        return "(nothing)"
    text = printable(json.dumps(value, ensure_ascii=False))
    return cut(text, _LONGEST_VALUE)


def _source_lines(text: str, span: Span, name: str, screen: Screen, colour: str) -> Iterator[Line]:
    start = min(max(span.start, 0), len(text))
    line, column = line_and_column(text, start)
    margin = " " * len(str(line))
    yield Piece(f"{margin}--> ", "blue"), Piece(screen.fit(f"{printable(name)}:{line}:{column}"))
    room = max(screen.width, _NARROWEST) - len(margin) - 3
    shown, caret, length = _underlined(text, start, span.end, room)
    yield (Piece(f"{margin} |", "blue"),)
    yield Piece(f"{line} | ", "blue"), Piece(screen.fit(shown))
    yield Piece(f"{margin} | ", "blue"), Piece(" " * caret + "^" * length, f"bold {colour}")


def _underlined(text: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """Return the source line at `start`, cut to `width`, and the underline's column and length.

    A place on several lines is underlined to the end of its first line. A wide line is cut between
    words on both sides of the place.
    """
    first = text.rfind("\n", 0, start) + 1
    until = text.find("\n", start)
    until = len(text) if until < 0 else until
    # cut a line of megabytes before reading it
    far = max(first, start - 2 * width)
    before = _shown(text[far:start])
    marked = _shown(text[start : min(max(end, start + 1), until, start + 2 * width)])
    after = _shown(text[min(max(end, start), until) : min(until, end + 2 * width)])
    if text_width(before + marked + after) > width or far > first:
        room = width - 2 * len(ELLIPSIS)
        is_cut = text_width(marked) > room
        if is_cut:
            words = _words(marked, room)
            marked = words if len(words) > 1 else marked[: fitting(marked, room)]
        room -= text_width(marked)
        keep = max(room - _BEFORE // 2, min(room, _BEFORE // 2))
        if text_width(before) > keep or far > first:
            before = ELLIPSIS + _words(before, keep, last=True)
        room += len(ELLIPSIS) - text_width(before)
        if is_cut or text_width(after) > room + len(ELLIPSIS):
            after = ("" if is_cut else _words(after, room)) + ELLIPSIS
    return before + marked + after, text_width(before), max(text_width(marked), 1)


def _words(text: str, room: int, *, last: bool = False) -> str:
    """Return the first words of `text`, or the `last` ones, that have room."""
    words = _WORD.findall(text)
    kept: list[str] = []
    for word in reversed(words) if last else words:
        room -= text_width(word)
        if room < 0:
            break
        kept.append(word)
    return "".join(reversed(kept) if last else kept)


def _shown(text: str) -> str:
    # white space in a source line keeps its width, so that the underline fits
    return "".join(
        _TAB if char == "\t" else char if char == " " else printable(char) or " " for char in text
    )


def sarif(
    located: Iterable[Located], text: str, *, file: str, pages: Mapping[str, str], version: str
) -> dict[str, Json]:
    """Return the SARIF log of the diagnostics `located` in `text`, the content of `file`.

    `pages` are the pages of the codes, by code; `version` is that of this program.
    """
    found = list(located)
    codes = list(dict.fromkeys(each.diagnostic.code for each in found))
    rules: list[Json] = [
        {
            "id": code,
            "shortDescription": {"text": pages.get(code, code).partition("\n")[0]},
            "fullDescription": {"text": pages.get(code, code)},
        }
        for code in codes
    ]
    results: list[Json] = [
        {
            "ruleId": each.code,
            "ruleIndex": codes.index(each.code),
            "level": each.severity.value,
            "message": {"text": f"{each.message} {each.help or ''}".rstrip()},
            "locations": [{"physicalLocation": _place(text, file, span)}],
            "properties": {"pointer": each.pointer, "fixed": each.fixed},
        }
        for each, span in found
    ]
    driver: dict[str, Json] = {"name": "toolplan", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _place(text: str, file: str, span: Span | None) -> dict[str, Json]:
    place: dict[str, Json] = {"artifactLocation": {"uri": file}}
    if span is not None:
        line, column = line_and_column(text, span.start)
        end_line, end_column = line_and_column(text, span.end)
        start: dict[str, Json] = {"startLine": line, "startColumn": column}
        place["region"] = {**start, "endLine": end_line, "endColumn": end_column}
    return place
