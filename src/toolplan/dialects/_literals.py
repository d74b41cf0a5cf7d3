"""Values as Python programs write them: text in either quote, numbers, constants, lists, dicts.

JSON's constants are read too, and a reference may stand bare where a value may. Nothing is ever
evaluated: this reader of the arguments of a call takes each character once, limits depth, and has
no names, operators or calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolplan.dialects._numbered import References
from toolplan.dialects.characters import not_text, replaced
from toolplan.dialects.json_text import LARGEST_INTEGER, bad_number, is_bad_number
from toolplan.plan.canonical import Report, TextProblem, shown
from toolplan.plan.model import Literal, Value, array, escape_pointer, object_
from toolplan.plan.path import Json
from toolplan.plan.text import ELLIPSIS, Span, begins_with_ellipsis

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
_TEXT_STARTS: Final = frozenset("\"'rR")
# brackets with neither text nor other brackets inside are passed over together
_BRACKET_OR_PASSED = re.compile(
    rf"(?:{_STRING})|\#[^\n]*+|(?P<flat>[\[{{][^()\[\]{{}}\"'#]{{0,80}}+[\]}}])"
    r"|(?P<opens>[(\[{])|(?P<closes>[)\]}])",
    re.DOTALL,
)
_SPACE = re.compile(r"(?:[ \t\r\n\f]++|\#[^\n]*+)*+")
_SPACE_STARTS: Final = frozenset(" \t\r\n\f#")
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
_NO_NUMBERS: Final = ("NaN", "nan", "Infinity", "inf")
_CLOSERS: Final = {"[": "]", "(": ")", "{": "}"}

Way: TypeAlias = "list[str | int]"


class LiteralError(ValueError):
    """The text at `offset` is not a value, or not a list of arguments; `str(error)` says why."""

    def __init__(self, message: str, offset: int, code: str = "syntax") -> None:
        super().__init__(message)
        self.offset = offset
        self.code = code


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


class ArgumentReader(Struct):
    """Reads the arguments of one call: `text` from `at` to `end`.

    `named` are those that were read, `nameless` counts those by position that have no name.
    References stand in quoted texts and, where they have a pattern `bare`, without quotes. `way` is
    the place of what is read, below `steps`. `noise` collects what was spelled loosely. `most`
    lists, tuples and dicts may stand in one another.
    `spans` collects the place of each value, where it is asked for.
    """

    text: str
    at: int
    end: int
    report: Report
    way: Way
    most: int
    references: References
    noise: dict[str, None]
    spans: dict[tuple[str | int, ...], Span] | None = None
    named: dict[str, Value] = field(default_factory=dict[str, Value])
    nameless: int = 0
    depth: int = 0

    def read(self, names: Sequence[str]) -> None:
        """Read all arguments; those given by position have `names` in order.

        Raises:
            LiteralError: the text at its offset is not an argument. What was read before is kept.
        """
        position = 0
        has_names = False
        while self._next():
            if self.text.startswith("**", self.at, self.end):
                has_names = True
                self.at += 2
                self._expect("{")
                self._members(self._argument)
            elif keyword := _KEYWORD.match(self.text, self.at, self.end):
                has_names = True
                self.at = keyword.end()
                self._argument(keyword["name"])
            elif has_names:
                what = "An argument without a name stands behind one with a name"
                raise LiteralError(what, self.at)
            elif position < len(names):
                self._argument(names[position])
                position += 1
            else:
                self._value()
                self.nameless += 1
            if self._next():
                self._expect(",", "',' or ')'")

    def _argument(self, name: str) -> None:
        value = self._inner(name)
        if name in self.named:
            self._complain_twice(name, f"The argument {shown(name)} is given twice.")
        else:
            self.named[name] = value

    def _complain_twice(self, key: str, message: str) -> None:
        self.way.append(key)
        self.complain(TextProblem("duplicate-key", message, "Keep one of the two."))
        self.way.pop()

    def _inner(self, label: str | int) -> Value:
        self.way.append(label)
        self._next()
        start = self.at
        value = self._value()
        if self.spans is not None:
            self.spans.setdefault(tuple(self.way), Span(start, self.at))
        self.way.pop()
        return value

    def _value(self) -> Value:
        char = self._next()
        if char in _CLOSERS:
            return self._nested(char)
        if char in _TEXT_STARTS and _TEXT_START.match(self.text, self.at, self.end):
            return self.references.read(self._string(), self.complain)
        marks = self.references.marks
        if char == marks.mark and marks.bare and marks.bare.match(self.text, self.at, self.end):
            at = self.at
            ref, end = self.references.mention(self.text, at + 1, self.complain, is_bare=True)
            if at + 1 < end <= self.end:
                self.at = end
                return Literal(self.text[at:end]) if ref is None else ref
        return Literal(self._scalar())

    def _nested(self, opening: str) -> Value:
        if self.depth >= self.most:
            raise LiteralError("Lists and objects are nested too deep", self.at, "too-deep")
        self.depth += 1
        self.at += 1
        value = self._dict() if opening == "{" else self._list(opening)
        self.depth -= 1
        return value

    def _list(self, opening: str) -> Value:
        closing = _CLOSERS[opening]
        items: list[Value] = []
        goes_on = True
        while goes_on and self._next() != closing:
            items.append(self._inner(len(items)))
            goes_on = self._goes_on(closing)
        if goes_on:
            self.at += 1
        if opening == "(":
            if len(items) == 1 and not goes_on:
                return items[0]  # as in Python: brackets round a value, no tuple
            self.noise["a tuple for a list"] = None
        return array(tuple(items)) if items else Literal([])

    def _dict(self) -> Value:
        fields: dict[str, Value] = {}

        def add(key: str) -> None:
            if key in fields:
                self._complain_twice(key, f"The key {shown(key)} stands twice.")
            fields[key] = self._inner(key)

        self._members(add)
        return object_(tuple(fields.items()))

    def _members(self, add: Callable[[str], None]) -> None:
        """Read the members of a dict up to its end; `add` reads the value of a key."""
        while self._next() != "}":
            add(self._key())
            if not self._goes_on("}"):
                return
        self.at += 1

    def _key(self) -> str:
        """Read a key and the colon behind it; keys are what they say, never references."""
        self._next()
        if not _TEXT_START.match(self.text, self.at, self.end):
            raise self._unexpected("a key in quotes")
        key = self._string()
        self._expect(":")
        return key

    def _string(self) -> str:
        """Read text in quotes.

        Python joins texts side by side; a model may have forgotten a comma, or to escape a quote.
        Only an empty text behind a space is certain to mean nothing.
        """
        text = self._one_string()
        end = self.at
        while self._next() in _TEXT_STARTS and _TEXT_START.match(self.text, self.at, self.end):
            start = self.at
            if self._one_string() or start == end:
                what = "Two texts stand side by side: is a comma missing, or a quote not escaped?"
                raise LiteralError(what, start)
            self.noise["an empty text beside another"] = None
        return text

    def _one_string(self) -> str:
        token = _TEXT.match(self.text, self.at, self.end)
        if token is None or not (token["tdq"] or token["tsq"] or token["dq"] or token["sq"]):
            raise LiteralError("The text in quotes does not end", self.at)
        self.at = token.end()
        body = token["double"] if token["dq"] else token["single"] if token["sq"] else None
        if body is None:
            body = token["triple_double"] if token["tdq"] else token["triple_single"]
        elif "\n" in body:
            self.noise["line ends inside of text"] = None
        if token["raw"] or "\\" not in body:
            return body
        text = _PAIR.sub(_joined, _ESCAPE.sub(_unescaped, body))
        wrong = not_text(text)
        if wrong is not None:
            self.complain(TextProblem("bad-encoding", f"The text holds {wrong}."))
        return replaced(text)

    def _scalar(self) -> bool | int | float | None:
        number = _NUMBER.match(self.text, self.at, self.end)
        if number is None and begins_with_ellipsis(self.text[self.at : self.at + 3]):
            raise LiteralError(ELLIPSIS, self.at, "ellipsis")
        found = number or _WORD.match(self.text, self.at, self.end)
        if found is None:
            raise self._unexpected("a value")
        word = found[0]
        is_none = word.lstrip("+-") in _NO_NUMBERS
        if number is None and not is_none and word not in _CONSTANTS:
            raise LiteralError(f"{shown(word)} is not a value: text stands in quotes", self.at)
        self.at = found.end()
        if is_none or is_bad_number(word):
            self.complain(bad_number(word))
            return 0.0
        if number is None:
            return _CONSTANTS[word]
        return int(word) if word.lstrip("+-").isdecimal() else float(word)

    def complain(self, problem: TextProblem) -> None:
        """Report a problem of the value that is being read."""
        if not self.report.is_full(problem.severity):
            place = "".join(f"/{escape_pointer(str(token))}" for token in self.way)
            self.report.add(problem.at(place, f"s{self.way[1]}"))

    def _next(self) -> str:
        """Move to the next token; return its first character, "" at the end."""
        at = self.at
        if at < self.end and self.text[at] not in _SPACE_STARTS:
            return self.text[at]
        space = _SPACE.match(self.text, at, self.end)
        self.at = at = self.end if space is None else space.end()
        return self.text[at] if at < self.end else ""

    def _goes_on(self, closing: str) -> bool:
        """Read a comma, and give True, or the `closing` bracket, and give False."""
        if self._next() == ",":
            self.at += 1
            return True
        self._expect(closing, f"',' or {closing!r}")
        return False

    def _expect(self, mark: str, wanted: str | None = None) -> None:
        if self._next() != mark:
            raise self._unexpected(wanted or repr(mark))
        self.at += 1

    def _unexpected(self, wanted: str) -> LiteralError:
        if self.at >= self.end:
            return LiteralError(f"The arguments end where {wanted} was expected", self.at)
        run = _RUN.match(self.text, self.at, self.end)
        found = shown(self.text[self.at] if run is None else run[0])
        return LiteralError(f"{found} stands where {wanted} was expected", self.at)


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
