r"""Values of a plan, whole and exactly, for the person who approves them.

A fixed value is shown as JSON that reads back as the same value. What cannot be seen, or looks like
something else, is a JSON escape: `\u200b` for a zero-width space, `\u0430` for a Cyrillic letter in
a Latin word. A text that is longer than a line continues on the next one as a further string:
`"one "` above `"two"` is `"one two"`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Final, TypeAlias

from toolplan.plan.model import Ref, Value
from toolplan.plan.path import Json
from toolplan.show.printable import Mark, Text, fit_encoding, ref_text, text_width, tokens

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]+")
_PIECE: Final = re.compile(r"[^\s\"'<>(),;]+")
_ADDRESS_SIGN: Final = re.compile(r"[@./:\\＠．／：＼。｡]")
_ADDRESS_LIKE: Final = frozenset("ıȷ。．｡ノﾉ丿")
_WORD: Final = re.compile(r"\w+")
_SPACES: Final = re.compile(" {9,}")
_MOST_MARKS: Final = 3  # above and below one letter, in any language

_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# cannot be seen, whatever their category
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
_STACKED: Final = frozenset({"Mn", "Me"})
# look like a sign of ASCII: hyphens, dots, slashes, colons, bars
_SIGNS: Final = frozenset("‐‑−﹣․·‧∙⋅⁄∕⧸⼃∖⧵꞉∶ː˸։׃܃܄ǀ∣ǃ‚ʼʹˈ՚＇ʺ‛᜵꞊℮")
# words of these beside Latin ones are not mistaken for them
_DISTINCT_SCRIPTS: Final = frozenset(
    {"", "LATIN", "MICRO", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA",
     "HALFWIDTH", "FULLWIDTH", "HANGUL", "BOPOMOFO"}
)  # fmt: skip
_PHONETIC: Final = re.compile("[\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff\uab30-\uab6fƄƅƖƧƨƷƼƽȜȝȢȣ]")
# letters that look like a Latin one by themselves
_LOOK_LATIN: Final = frozenset(
    "АВЕЗКМНОРСТУХаеорсухѕіјԁԛԝһӏӀЅІЈҮүѴѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧνορՕՏՍօոսցհզոΚϲϳᎪᏴᏟᎠᎬᎻᎥᎫᏦᏞᎷᏀᏢᎡᏚᎢᏙᏔᎩᏃ"
)

Atom: TypeAlias = tuple[str, bool]
"""A piece of shown text that is not divided, and whether it stands inside a string."""


def exact_lines(value: Value | Json, first: int, rest: int, encoding: str = "utf-8") -> list[str]:
    """Return `value` in lines of at most `first` columns, then `rest` columns.

    `encoding` is that of the terminal: what it cannot show is escaped.
    """
    return _wrapped(_atoms(value, encoding), first, rest)


def exact_text(value: Value | Json, encoding: str = "utf-8") -> str:
    r"""Return `value` as one line.

    >>> exact_text("a\u200bb"), exact_text(99999.99999), exact_text(-0.0)
    ('"a\\u200bb"', '99999.99999', '-0.0')
    """
    return "".join(text for text, _ in _atoms(value, encoding))


def exact_name(name: str, encoding: str = "utf-8") -> str:
    """Return the name of a step, a tool or an argument; in quotes unless it is a plain one."""
    return name if _PLAIN_NAME.fullmatch(name) else exact_text(name, encoding)


def mixed_scripts(value: Value | Json) -> dict[str, str]:
    """Return the letters in `value` that look like those of another script, with their names."""
    found: dict[str, str] = {}
    for token in tokens(value):
        text = ref_text(token) if isinstance(token, Ref) else ""
        text = token.text if isinstance(token, Text) else text
        for at in sorted(_disguised(text)):
            found.setdefault(text[at], unicodedata.name(text[at], "a character without a name"))
    return found


def _atoms(value: Value | Json, encoding: str) -> Iterator[Atom]:
    """Yield the pieces of `value`."""
    is_inside = False
    for each in tokens(value):
        match each:
            case Mark():
                is_inside = is_inside != (each == '"')
                yield each, False
            case Text(text=text):
                yield from _characters(text, encoding)
            case Ref():
                yield _reference(each, encoding), is_inside
            case _:  # digit by digit: a number is broken only where it is wider than a line
                # Python refuses to print an integer of thousands of digits, and not a decimal
                digits = str(Decimal(each)) if isinstance(each, int) else json.dumps(each)
                yield from ((digit, False) for digit in digits)


def _characters(text: str, encoding: str) -> Iterator[Atom]:
    """Yield the characters of `text` as they stand in a JSON string."""
    if text.isascii() and text.isprintable() and "  " not in text:
        for char in text:
            yield ("\\" + char if char in '"\\' else char), True
        return
    escaped = _disguised(text)
    for found in _SPACES.finditer(text):
        escaped.update(range(found.start(), found.end()))
    before, marks = "", 0
    for at, char in enumerate(text):
        marks = marks + 1 if unicodedata.category(char) in _STACKED else 0
        hidden = at in escaped or marks > _MOST_MARKS or _is_hidden(char, before)
        if hidden or not _fits(char, encoding):
            yield _escape(char), True
            before = "\\"  # a mark would stand on the escape
        else:
            yield ("\\" + char if char in '"\\' else char), True
            before = char


def _escape(char: str) -> str:
    if char < " " or char > "\uffff":
        return json.dumps(char)[1:-1]
    return f"\\u{ord(char):04x}"


def _fits(char: str, encoding: str) -> bool:
    return char.isascii() or fit_encoding(char, encoding) == char


def _is_hidden(char: str, before: str) -> bool:
    """Return whether a person would not see `char`, or not as the character that it is."""
    if " " <= char <= "~":
        return False
    category = unicodedata.category(char)
    if _INVISIBLE.match(char) or char in _SIGNS or category in _INVISIBLE_CATEGORIES:
        return True
    if category[0] == "M":
        return (
            category == "Me"
            or unicodedata.category(before or " ")[0] not in "LM"
            or before.isascii()
            or len(unicodedata.normalize("NFC", before + char)) == 1
        )
    if unicodedata.normalize("NFC", char) != char:
        return True
    looks = unicodedata.normalize("NFKC", char)
    return looks.isascii() and looks.isalnum() and not "\uff00" <= char <= "\uffef"


def _disguised(text: str) -> set[int]:
    """Return where letters of `text` stand among those of a script that they look like."""
    if text.isascii():
        return set()
    found: set[int] = set()
    # one pattern for pieces with a sign would look at a long piece without one again and again
    for pattern, is_address in ((_PIECE, True), (_WORD, False)):
        for unit in pattern.finditer(text):
            if not unit[0].isascii() and (not is_address or _ADDRESS_SIGN.search(unit[0])):
                found.update(_foreign(unit[0], unit.start(), is_address=is_address))
    latin = {at for at, char in enumerate(text) if _looks_latin(char)}
    others = (char for at, char in enumerate(text) if at not in latin)
    if not found and all(_script(char) in _DISTINCT_SCRIPTS for char in others):
        return latin
    return found


def _looks_latin(char: str) -> bool:
    return char in _LOOK_LATIN or "\ua4d0" <= char <= "\ua4f7"  # all letters of Lisu


def _foreign(unit: str, start: int, *, is_address: bool) -> Iterator[int]:
    scripts = {_script(char) for char in unit}
    confusable = scripts - _DISTINCT_SCRIPTS
    is_mixed = "LATIN" in scripts or len(confusable) > 1
    is_latin = any(char.isascii() and char.isalnum() for char in unit)
    for at, char in enumerate(unit, start):
        if not char.isascii() and (
            (_script(char) in confusable and (is_mixed or (is_latin and char.isdecimal())))
            or (is_latin and (_PHONETIC.match(char) or "\uff00" <= char <= "\uff5e"))
            or (is_address and char in _ADDRESS_LIKE)
        ):
            yield at


def _script(char: str) -> str:
    if char.isascii():
        return "LATIN" if char.isalpha() else ""
    if not char.isalpha() and not char.isdecimal():
        return ""
    return unicodedata.name(char, "UNNAMED").split(" ", 1)[0].removesuffix("-INDIC")


def _reference(ref: Ref, encoding: str) -> str:
    text = ref_text(ref)
    if text.isascii() and text.isprintable():
        return text
    hidden = _disguised(text)
    return "".join(
        _escape(char) if at in hidden or _is_hidden(char, "") or not _fits(char, encoding) else char
        for at, char in enumerate(text)
    )


def _wrapped(atoms: Iterable[Atom], first: int, rest: int) -> list[str]:
    """Return lines of `atoms`; a string that is broken is closed and opened again.

    The first line is empty where the first word has room on the next one only.
    """
    lines: list[str] = []
    line: list[Atom] = []
    used, room = 0, first - 3  # for quotes and a comma
    for part, is_new in _parts(atoms, rest - 3):
        size = sum(text_width(text) for text, _ in part)
        if is_new or (used + size > room and (line or (not lines and first < rest))):
            is_broken = bool(line) and line[-1][1] and part[0][1]
            text = "".join(text for text, _ in line)
            lines.append(text + '"' if is_broken else text.rstrip())
            line = [('"', False)] * is_broken
            used, room = len(line), rest - 3
        line += part
        used += size
    return [*lines, "".join(text for text, _ in line).rstrip()]


def _parts(atoms: Iterable[Atom], room: int) -> Iterator[tuple[list[Atom], bool]]:
    """Yield unbreakable pieces, and whether each begins a line, after a line break in a text.

    That are words, and pieces of a word that is wider than `room`.
    """
    word: list[Atom] = []
    is_new = False
    for atom in (*atoms, None):
        before = word[-1] if word else ("", False)
        breaks = before == ("\\n", True) and atom is not None and atom[1] and atom[0] != "\\n"
        ends = atom is None or (before[0].endswith(" ") and before[1] == atom[1])
        if word and (breaks or (ends and (atom is None or _may_break(before, atom)))):
            if sum(text_width(text) for text, _ in word) > room:
                ends_at = [at for at in range(1, len(word)) if _may_break(word[at - 1], word[at])]
                for start, end in pairwise((0, *ends_at, len(word))):
                    yield word[start:end], is_new and not start
            else:
                yield word, is_new
            word, is_new = [], breaks
        if atom is not None:
            word.append(atom)


def _may_break(before: Atom, atom: Atom) -> bool:
    if before == ('"', False):
        return False  # after a quote: the string has just begun, or a comma follows
    return atom != ('"', False) or not before[1]
