"""The arguments of calls: values as Python programs write them, and references by number.

Text stands in either quote, and there are numbers, constants, lists and dicts. JSON's constants are
read too, and a reference may stand bare where a value may. Nothing is ever evaluated: this reader
takes each character once, limits depth, and has no names, operators or calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.plan.canonical import Notation, ReferenceSyntaxError, TextProblem, shown
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Ref
from toolplan.plan.path import Json, Path, PathSyntaxError
from toolplan.plan.text.loose import (
    LARGEST_INTEGER,
    Reader,
    Refused,
    Span,
    Way,
    is_bad_number,
    refuse_ellipsis,
    replaced,
)
from toolplan.plan.text.tokens import DEEPEST

# Possessive, and complete even where the closing quotes are missing, so that no text makes a scan
# go over a character twice. A group `…q` takes part only where the text ends well.
_STRING: Final = (
    r'"""(?P<triple_double>(?:[^"\\]|\\.|"(?!""))*+)(?:(?P<tdq>""")|\\?+)'
    r"|'''(?P<triple_single>(?:[^'\\]|\\.|'(?!''))*+)(?:(?P<tsq>''')|\\?+)"
    r'|"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:(?P<dq>")|\\?+)'
    r"|'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)(?:(?P<sq>')|\\?+)"
)
_TEXT = re.compile(rf"(?P<raw>[rR])?(?:{_STRING})", re.DOTALL)
_TEXT_START = re.compile(r"""[rR]?["']""")
# brackets with neither text nor other brackets inside are passed over together
_BRACKET_OR_PASSED = re.compile(
    rf"(?:{_STRING})|\#[^\n]*+|(?P<flat>[\[{{][^()\[\]{{}}\"'#]{{0,80}}+[\]}}])"
    r"|(?P<opens>[(\[{])|(?P<closes>[)\]}])",
    re.DOTALL,
)
_SPACE = re.compile(r"(?:[ \t\r\n\f]++|\#[^\n]*+)*+")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?![\w.])"
)
_RUN = re.compile(r"[\w.+-]++")
_WORD = re.compile(r"[-+]?[^\W\d]\w*+")
_KEYWORD = re.compile(r"(?P<name>[^\W\d]\w*+)\s*+=(?!=)")
_ESCAPE = re.compile(
    r"\\(?:(?P<line>\r?\n)|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-7]{1,3})|(?P<char>.))",
    re.DOTALL,
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NAMED_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v",
    "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
_CONSTANTS: Final[Mapping[str, bool | None]] = {
    "True": True, "true": True, "False": False, "false": False, "None": None, "null": None,
}  # fmt: skip


def call_end(text: str, start: int, end: int) -> int | None:
    """Return the offset of the bracket that closes the one before `start`.

    None if none by `end`.
    """
    depth = 1
    for token in _BRACKET_OR_PASSED.finditer(text, start, end):
        if token["opens"]:
            depth += 1
        elif token["closes"]:
            depth -= 1
            if depth == 0:
                return token.start()
    return None


def print_quoted(text: str) -> str:
    """Return `text` in double quotes, on one line, as this reader, Python and JSON read it."""
    return '"' + _TO_ESCAPE.sub(_escaped, text) + '"'


def print_literal(value: Json) -> str:
    """Return `value` as it is read here."""
    match value:
        case str():
            return print_quoted(value)
        case dict():
            members = (f"{print_quoted(k)}: {print_literal(each)}" for k, each in value.items())
            return "{" + ", ".join(members) + "}"
        case list():
            return "[" + ", ".join(map(print_literal, value)) + "]"
        case int() if not isinstance(value, bool) and abs(value) > LARGEST_INTEGER:
            return "inf"  # no reader takes it, and Python refuses to print the longest ones
        case _:
            return repr(value)


NUMBER: Final = re.compile(r"[0-9]++")
"""Pattern of the number of a step; `number_of` refuses some that fit."""

_LONGEST_NUMBER: Final = 9


class Mention(Struct, frozen=True):
    """A reference as it was read: the number of a step, the path in its output, where it ends.

    `is_sure` says that it can be nothing else: a number without a step is then a mistake, not text.
    """

    number: int
    path: Path
    end: int
    is_sure: bool


class Marks(Struct, frozen=True):
    """How a dialect refers to steps by number: `$1` or `#E1`; `$$1` is the text `$1`.

    The number is read whole, so that `$10` is step 10 and never step 1 with a `0` behind it.
    `mark`, `opening` and `closing` are those of `Notation`. `read(text, at)` reads what follows the
    mark: None where that is text after all; it raises ReferenceSyntaxError or PathSyntaxError.
    `write(number, path, behind)` is its inverse. `bare` matches what may be a reference outside of
    quotes.
    """

    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    read: Callable[[str, int], Mention | None]
    write: Callable[[int, Path, str], str]
    help: str
    bare: re.Pattern[str] | None = None

    def notation(self, ids: Mapping[int, str], closers: Collection[int] = ()) -> Notation:
        """Return the notation of a plan whose steps have `ids` by their numbers.

        `closers` are numbers that stand in the plan, and are not steps.
        """
        numbers = {name: number for number, name in ids.items()}

        def read(text: str, at: int) -> tuple[Ref | TextProblem | None, int]:
            try:
                mention = self.read(text, at)
            except (ReferenceSyntaxError, PathSyntaxError) as error:
                shown = text[at - 1 : at + 40].partition("\n")[0]
                message = f"The reference {shown!r} cannot be read: {error}."
                return TextProblem("reference-syntax", message, self.help), at
            if mention is None:
                return None, at
            if mention.number in ids:
                return Ref(ids[mention.number], mention.path), mention.end
            return self._unknown(text, at, mention, ids, closers), mention.end

        return Notation(
            self.mark,
            self.opening,
            self.closing,
            read,
            lambda ref, behind: self.write(numbers[ref.step], ref.path, behind),
        )

    def bare_end(self, text: str, at: int) -> int | None:
        """Return where the reference ends that begins at `at` outside of quotes, if one does."""
        if self.bare is None or not self.bare.match(text, at):
            return None
        try:
            mention = self.read(text, at + 1)
        except (ReferenceSyntaxError, PathSyntaxError):
            return None
        return None if mention is None else mention.end

    def _unknown(
        self,
        text: str,
        at: int,
        mention: Mention,
        ids: Mapping[int, str],
        closers: Collection[int],
    ) -> TextProblem:
        """Return the problem of a number that no step has."""
        number, written = mention.number, text[at - 1 : mention.end]
        severity, help_ = Severity.ERROR, self.help
        if number in closers:
            message = f"{written!r} refers to the call that ends the plan, which gives nothing."
        elif mention.is_sure or written == text:
            message = f"There is no step {number} for {written!r} to refer to."
            first, last = min(ids, default=number), max(ids, default=number)
            help_ = f"The steps are {first} to {last}. {help_}"
        else:  # a price inside of a text; one that is all of an argument has no sign
            severity = Severity.WARNING
            message = f"There is no step {number}, so {written!r} is text."
            help_ = f"Where text is meant, `{self.mark}{written}` says so for certain."
        return TextProblem("unknown-step", message, help_, severity)


def number_of(digits: str) -> int | None:
    """Return the number that `digits` spell, None where no plan would number a step so."""
    if len(digits) > _LONGEST_NUMBER or (digits[0] == "0" and digits != "0"):
        return None
    return int(digits)


class CallReader(Reader):
    """Reads the arguments of one call, from `at` to `end` of `text`.

    `named` are those that were read, `nameless` counts those by position that have no name.
    `reference_end(text, at)` returns where a reference ends that stands outside of quotes; it is
    read as the text that it is.
    """

    def __init__(
        self,
        text: str,
        span: Span,
        reference_end: Callable[[str, int], int | None],
        *,
        most: int = DEEPEST,
        wanted: Collection[Way] = (),
    ) -> None:
        super().__init__(text, *span, most=most, wanted=wanted)
        self.named: dict[str, Json] = {}
        self.nameless = 0
        self._reference_end = reference_end
        self._trails = False  # a comma stands before the last closing bracket

    def read_arguments(self, names: Sequence[str]) -> None:
        """Read all arguments; those given by position have `names` in order.

        Raises:
            Refused: the text is not a list of arguments. What was read before is kept.
        """
        position = 0
        has_names = False
        while self.next():
            if self.text.startswith("**", self.at, self.end):
                has_names = True
                self._take(2)
                self._unpacked()
            elif keyword := _KEYWORD.match(self.text, self.at, self.end):
                has_names = True
                self._take(len(keyword[0]))
                self._argument(keyword["name"])
            elif has_names:
                what = "An argument without a name stands behind one with a name"
                raise Refused(what, self.at)
            elif position < len(names):
                self._argument(names[position])
                position += 1
            else:
                self._value()
                self.nameless += 1
            if self.next():
                self._expect(",", "',' or ')'")

    def _argument(self, name: str) -> None:
        value = self._member(name)
        if name in self.named:
            what = f"The argument {shown(name)} is given twice."
            self.complain("duplicate-key", what, "Keep one of the two.", name)
        self.named[name] = value

    def _unpacked(self) -> None:
        """Read the members of a dict as arguments; it is no level of its own."""
        self._expect("{")
        self.closers.append("}")
        self._most += 1
        goes_on = not self._ends()
        while goes_on:
            key, _ = self._key()
            self._argument(key)
            goes_on = self._goes_on()
        self._most -= 1
        self.closers.pop()

    def _leaf(self, char: str) -> Json:
        if char == "(":
            self._begin(char)
            items = self._list()
            self.closers.pop()
            if len(items) == 1 and not self._trails:
                return items[0]  # as in Python: brackets round a value, no tuple
            self.noise["a tuple for a list"] = None
            return items
        if self._is_text():
            return self.clean(self._text())
        end = self._reference_end(self.text, self.at)
        if end is not None and end <= self.end:
            start = self.at
            self._take(end - start)
            return self.text[start:end]
        return self._scalar()

    def _key(self) -> tuple[str, Span]:
        """Read a key and the colon behind it; keys are what they say, never references."""
        self.next()
        start = self.at
        if not self._is_text():
            raise self._unexpected("a key in quotes")
        key = self._text()
        key, span = self.clean(key, replaced(key)), Span(start, self.at)
        self._expect(":")
        return key, span

    def _repeated(self, key: str) -> None:
        what = f"The key {shown(key)} stands twice."
        self.complain("duplicate-key", what, "Keep one of the two.", key)

    def _is_text(self) -> bool:
        return _TEXT_START.match(self.text, self.at, self.end) is not None

    def _text(self) -> str:
        """Read text in quotes.

        Python joins texts side by side; a model may have forgotten a comma, or to escape a quote.
        Only an empty text behind a space is certain to mean nothing.
        """
        text = self._one_text()
        end = self.at
        while self.next() and self._is_text():
            start = self.at
            if self._one_text() or start == end:
                what = "Two texts stand side by side: is a comma missing, or a quote not escaped?"
                raise Refused(what, start)
            self.noise["an empty text beside another"] = None
        return text

    def _one_text(self) -> str:
        token = _TEXT.match(self.text, self.at, self.end)
        if token is None or not (token["tdq"] or token["tsq"] or token["dq"] or token["sq"]):
            raise Refused("The text in quotes does not end", self.at)
        self._take(len(token[0]))
        body = token["double"] if token["dq"] else token["single"] if token["sq"] else None
        if body is None:
            body = token["triple_double"] if token["tdq"] else token["triple_single"]
        elif "\n" in body:
            self.noise["line ends inside of text"] = None
        if token["raw"] or "\\" not in body:
            return body
        return _PAIR.sub(_joined, _ESCAPE.sub(_unescaped, body))

    def _scalar(self) -> bool | int | float | None:
        number = _NUMBER.match(self.text, self.at, self.end)
        if number is None:
            refuse_ellipsis(self.text[self.at : self.at + 3], self.at)
        found = number or _WORD.match(self.text, self.at, self.end)
        if found is None:
            raise self._unexpected("a value")
        word = found[0]
        if number is None and not is_bad_number(word) and word not in _CONSTANTS:
            raise Refused(f"{shown(word)} is not a value: text stands in quotes", self.at)
        self._take(len(word))
        return _CONSTANTS[word] if word in _CONSTANTS else self.number(word)

    def next(self) -> str:
        """Move to the next token; return its first character, "" at the end."""
        space = _SPACE.match(self.text, self.at, self.end)
        self.at = self.end if space is None else space.end()
        return self.text[self.at] if self.at < self.end else ""

    def _goes_on(self) -> bool:
        if self._ends():
            self._trails = False
            return False
        self._expect(",", f"',' or {self.closers[-1]!r}")
        self._trails = self._ends()
        return not self._trails

    def _expect(self, mark: str, wanted: str | None = None) -> None:
        if self.next() != mark:
            raise self._unexpected(wanted or repr(mark))
        self._take(1)

    def _unexpected(self, wanted: str) -> Refused:
        if self.at >= self.end:
            return Refused(f"The arguments end where {wanted} was expected", self.at)
        run = _RUN.match(self.text, self.at, self.end)
        found = shown(self.text[self.at] if run is None else run[0])
        return Refused(f"{found} stands where {wanted} was expected", self.at)


_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_SHORT_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escaped(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _unescaped(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "line":
            return ""
        case "x" | "u" | "U":
            code = int(found[found.lastgroup], 16)
            return chr(code) if code < 0x110000 else found[0]
        case "octal":
            return chr(int(found["octal"], 8))
        case _:
            return _NAMED_ESCAPES.get(found["char"], found[0])


def _joined(found: re.Match[str]) -> str:
    high, low = found[0]
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))
