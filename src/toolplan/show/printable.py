"""Text that is safe to show: one line, no control characters, numbers without noise.

Text from tools and plans passes through here before it reaches a terminal, so that it can neither
move the cursor nor change the reading direction.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.plan.model import Array, Literal, Object, Ref, Template, Value
from toolplan.plan.path import Json, print_path

NOTHING: Final = "–"
"""Shown for a value that is null, missing or not a finite number."""

ELLIPSIS: Final = "…"
CELL_WIDTH: Final = 40
WIDEST_WORD: Final = 120
"""The columns of the widest identifier that is never cut."""

_CHUNK: Final = 1_000
_NOISE: Final = 1e-12
_SHOWN_BESIDE_WHOLE: Final = 13
"""Significant digits of a number that four decimals would show as a whole one."""
_GROUPED_FROM: Final = 10_000  # below, a number may be a year
_JOINERS: Final = frozenset("\u200c\u200d")  # many scripts, and emoji, cannot do without them
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_ASCII: Final = re.compile(r"[^ -~\n\r\t]")
_ASCII_SIGNS: Final = {
    **str.maketrans("–•─│├└✓✗·↓", "-*-||`+x-v"),
    **str.maketrans({"…": "...", "→": "->"}),
}


def printable(text: str) -> str:
    r"""Return `text` as one line without control characters.

    White space becomes single spaces; control, bidirectional and zero-width characters and lone
    surrogates become visible escapes.

    >>> printable("a\n\x1b[31mred")
    'a \\x1b[31mred'
    """
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Return `text` with control characters escaped; spaces stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` terminal columns, cut between words.

    An ellipsis stands for what is left out. Only a first word that is too wide is cut itself.
    """
    if text_width(text) <= width:
        return text
    at = fitting(text, width - 1)
    if " " not in text[at - 1 : at + 1]:  # inside a word
        space = text.rfind(" ", 0, max(fitting(text, width - 2) + 1, 0))
        if text[: max(space, 0)].strip():
            return text[:space].rstrip() + " " + ELLIPSIS
    return text[:at].rstrip() + ELLIPSIS


def cut_whole(text: str, width: int) -> str:
    """Return `text` cut between words, to `width` columns or to the first word where it is wider.

    Only a word that is wider than any identifier is cut itself.
    """
    first = text.lstrip()[: WIDEST_WORD + 1].split(" ", 1)[0]
    size = text_width(first)
    if size <= WIDEST_WORD:
        width = max(width, size if size == text_width(text) else size + 2)
    return cut(text, width)


def fitting(text: str, width: int) -> int:
    """Return how many characters of `text` fit in `width` columns."""
    kept = 0
    for at, char in enumerate(text):
        kept += _char_width(char)
        if kept > width:
            return at
    return len(text)


def text_width(text: str) -> int:
    """Return the number of terminal columns that `text` takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` filled up with spaces to `width` columns; on the left where `right` is set."""
    spaces = " " * (width - text_width(text))
    return spaces + text if right else text + spaces


def number_text(number: float, *, grouped: bool = False) -> str:
    """Return `number` without float noise: four decimals at most, or four significant digits.

    `grouped` separates thousands with commas, from 10,000 on. Whole numbers stay exact, and what is
    not whole is not shown as if it were.

    >>> number_text(0.1 + 0.2), number_text(12345678, grouped=True), number_text(2.5e-7)
    ('0.3', '12,345,678', '2.5e-07')
    >>> number_text(18446744073709551616.0), number_text(1e300)
    ('18446744073709551616', '1e+300')
    >>> number_text(0.999999), number_text(12345.00001), number_text(2.9999999999999996)
    ('0.999999', '12345.00001', '3')
    """
    comma = "," if grouped and abs(number) >= _GROUPED_FROM else ""
    if isinstance(number, int):
        try:
            return f"{number:{comma}}"
        except ValueError:  # Python refuses to print thousands of digits
            return f"a number of {number.bit_length()} bits"
    if not math.isfinite(number):
        return NOTHING
    size = abs(number)
    if size == 0:
        return "0"
    if size >= 1e15:  # whole, or nearly
        whole = number.is_integer() and size < 1e22
        return f"{int(number):{comma}}" if whole else repr(number)
    if size < 1e-4:
        return f"{number:.4g}"
    decimals = 4 if size >= 1 else 3 - math.floor(math.log10(size))
    text = f"{number:{comma}.{decimals}f}".rstrip("0").rstrip(".")
    if "." not in text and abs(number - round(number)) > size * _NOISE:
        return f"{number:{comma}.{_SHOWN_BESIDE_WHOLE}g}"
    return text


def count_text(count: int, what: str) -> str:
    """Return a count of things for people.

    >>> count_text(1, "step"), count_text(81700, "call")
    ('1 step', '81,700 calls')
    """
    return f"{number_text(count, grouped=True)} {what}{'' if count == 1 else 's'}"


def cell(value: Json, width: int = CELL_WIDTH) -> str:
    """Return any JSON value as one short line: text as it is, lists by commas, objects compact."""
    match value:
        case None:
            return NOTHING
        case bool():
            return "true" if value else "false"
        case int() | float():
            return cut_whole(number_text(value), width)
        case str():
            # cut first: the text may be megabytes
            return cut_whole(printable(value[: 4 * max(width, WIDEST_WORD)]), width)
        case list() if not any(isinstance(item, list | dict) for item in value):
            pieces = (("" if at == 0 else ", ") + cell(item) for at, item in enumerate(value))
        case _:
            pieces = _written(value)
    return cut_whole(_take(pieces, width), width)


def value_text(value: Value | Json, width: int) -> str:
    """Return a value as compact JSON in one line of `width` columns, or one word.

    A bare reference stands without quotes: `${s0.data[*].id}`.
    """
    return cut_whole(_take(_written(value), width), width)


def ref_text(ref: Ref) -> str:
    """Return `ref` as it is written in a plan."""
    return "${" + ref.step + print_path(ref.path) + "}"


def fit_encoding(text: str, encoding: str) -> str:
    r"""Return `text` so that a terminal of `encoding` can show it; lines stay lines.

    Symbols of this package become ASCII, any other character an escape.

    >>> fit_encoding("├ Köln …", "ascii")
    '| K\\xf6ln ...'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(_ASCII_SIGNS)
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # an encoding that Python does not know
        return fit_encoding(text, "ascii")
    return text


def _take(pieces: Iterator[str], width: int) -> str:
    # pieces are made on demand: a value of 100 MB costs no more than its first line
    taken: list[str] = []
    size = 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size > 2 * max(width, WIDEST_WORD):
            break
    return visible("".join(taken))


def _written(value: Value | Json) -> Iterator[str]:
    """Yield `value` as compact JSON."""
    for token in tokens(value):
        match token:
            case Mark():
                yield token
            case Text(text=text):
                for at in range(0, len(text), _CHUNK):
                    yield json.dumps(text[at : at + _CHUNK], ensure_ascii=False)[1:-1]
            case Ref():
                yield ref_text(token)
            case _:
                yield number_text(token)


def _is_safe(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char) not in _UNSAFE


def _visible(char: str) -> str:
    if _is_safe(char):
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or char in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def harmless_json(text: str) -> str:
    r"""Return JSON `text` with escapes for what would steer a terminal; it reads as before.

    >>> harmless_json('"a\x9b31m\u202e"')
    '"a\\u009b31m\\u202e"'
    """
    return _NOT_ASCII.sub(lambda found: found[0] if _is_safe(found[0]) else _json(found[0]), text)


def _json(char: str) -> str:
    return f"\\u{ord(char):04x}" if char == "\x7f" else json.dumps(char)[1:-1]


class Mark(str):
    """A quote, a bracket, a comma, a colon, or a constant."""

    __slots__ = ()


class Text(Struct, frozen=True):
    """What stands between two quotes, or a part of it."""

    text: str


Token: TypeAlias = Mark | Text | Ref | int | float

_Part: TypeAlias = "Token | Value | Json"


def tokens(value: Value | Json) -> Iterator[Token]:
    """Yield the tokens of `value` on demand, and without recursion: it may be large, and deep."""
    # inside a value with references, text that looks like one is written with a doubled dollar
    doubled = isinstance(value, Template | Array | Object)
    parts: list[Iterator[_Part]] = [iter((value,))]
    while parts:
        for part in parts[-1]:
            match part:
                case Mark() | Text() | Ref():
                    yield part
                case bool() | None:
                    yield Mark("null" if part is None else str(part).lower())
                case int() | float():
                    yield part
                case _:
                    parts.append(_inner(part, doubled))
                    break
        else:
            parts.pop()


def _inner(value: Value | Json, doubled: bool) -> Iterator[_Part]:
    match value:
        case Literal(inner):
            yield inner
        case str() | Template():
            yield Mark('"')
            for part in value.parts if isinstance(value, Template) else (value,):
                if isinstance(part, Ref):
                    yield part
                else:
                    yield Text(part.replace("${", "$${") if doubled else part)
            yield Mark('"')
        case list() | Array():
            yield Mark("[")
            for at, item in enumerate(value.items if isinstance(value, Array) else value):
                if at:
                    yield Mark(", ")
                yield item
            yield Mark("]")
        case dict() | Object():
            yield Mark("{")
            pairs = value.fields if isinstance(value, Object) else value.items()
            for at, (key, inner) in enumerate(pairs):
                if at:
                    yield Mark(", ")
                yield from (Mark('"'), Text(key), Mark('"'), Mark(": "), inner)
            yield Mark("}")
        case _:
            raise TypeError(f"not a value: {value!r}")
