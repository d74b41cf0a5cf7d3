"""Edits of clients' files that keep every other byte: JSON, with comments or without, and TOML.

After an edit the text is read again: it must say what was meant, or it is not written.
"""

from __future__ import annotations

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from toolplan.plan.path import Json

_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_SPACE: Final = re.compile(r"\s*")
_OWN_LINE: Final = re.compile(r"\r?\n[ \t]*\Z")
_STEP: Final = "  "


class BrokenFile(Exception):
    """The file cannot be read, or cannot be changed safely; `help` says what to do."""

    def __init__(self, said: str, help: str = "") -> None:
        super().__init__(said)
        self.help = help


class Added(Struct, frozen=True):
    """A server to add. `source` is how another document of the same format has it."""

    value: Json
    source: str = ""


class Document(ABC):
    """A file whose table `table` has the servers.

    Attributes:
        data: the whole file.
        servers: the servers by name.
    """

    def __init__(self, text: str, table: str) -> None:
        """Read `text`.

        Raises:
            BrokenFile: it cannot be read.
        """
        self._text = text
        self._table = table
        try:
            self.data = _object(self._read(), "the file")
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise BrokenFile(f"it is not JSON: {error.msg} at {place}") from None
        except tomllib.TOMLDecodeError as error:
            raise BrokenFile(f"it is not TOML: {error}") from None
        except RecursionError:
            raise BrokenFile("it is nested too deep") from None
        self.servers = _object(self.data.get(table, {}), repr(table))

    def edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool = False
    ) -> str:
        """Return the text without the servers `remove` and with those of `add`.

        With `drop_empty` the table goes, too, if no server remains.

        Raises:
            BrokenFile: the text would not say that.
        """
        text = self._edited(remove, add, drop_empty=drop_empty)
        kept = {name: each for name, each in self.servers.items() if name not in remove}
        servers: Json = {**kept, **{name: each.value for name, each in add.items()}}
        data = type(self)(text, self._table).data
        if {self._table: {}, **data} != {**self.data, self._table: servers}:
            raise BrokenFile("the change would not say what is meant")
        return text

    @abstractmethod
    def source_of(self, name: str) -> str:
        """Return the text of the server `name`."""

    @abstractmethod
    def _read(self) -> object:
        """Return the parsed document."""

    @abstractmethod
    def _edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool
    ) -> str: ...


class _Member(Struct, frozen=True):
    """Where a member of an object stands: its name, its value and the comma behind it."""

    start: int
    value: int
    end: int
    comma: int | None


class JsonDocument(Document):
    """A JSON file whose object `table` has the servers; those that are added come first."""

    def _read(self) -> object:
        self._text = self._text or "{}\n"
        # spaces stand for comments and trailing commas, so that each place stays what it is
        self._commas = _TOKEN.sub(_blank, self._text.replace("\ufeff", " ", 1))
        self._plain = _LAST_COMMA.sub(lambda found: found[1] or " ", self._commas)
        return json.loads(self._plain, object_pairs_hook=_pairs)

    def source_of(self, name: str) -> str:
        """Return the text of the server `name`."""
        member = self._members(self._start())[name]
        return self._text[member.value : member.end]

    def _edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool
    ) -> str:
        written = {
            name: each.source or json.dumps(each.value, ensure_ascii=False)
            for name, each in add.items()
        }
        document, root = self, self._plain.index("{")
        if self._table in self.data:
            document = document._with(self._start(), written)
        elif written:
            line = ", ".join(f"{json.dumps(name)}: {text}" for name, text in written.items())
            document = document._with(root, {self._table: f"{{{line}}}"})
        if remove:
            document = document._without(document._start(), remove)
        if drop_empty and self._table in self.data and not document.servers:
            document = document._without(root, {self._table})
        return document._text

    def _start(self) -> int:
        """Return where the object with the servers starts."""
        return self._members(self._plain.index("{"))[self._table].value

    def _members(self, start: int) -> dict[str, _Member]:
        """Return the members of the object that starts at `start`."""
        found: dict[str, _Member] = {}
        decoder = json.JSONDecoder()
        at = self._after_space(start + 1)
        while self._plain[at] != "}":
            name, end_of_name = decoder.raw_decode(self._plain, at)
            value = self._after_space(self._plain.index(":", end_of_name) + 1)
            _, end = decoder.raw_decode(self._plain, value)
            behind = self._after_space(end)
            comma = self._commas.find(",", end, behind + 1)
            found[name] = _Member(at, value, end, None if comma < 0 else comma)
            at = self._after_space(behind + (self._plain[behind] == ","))
        return found

    def _after_space(self, at: int) -> int:
        found = _SPACE.match(self._plain, at)
        return at if found is None else found.end()

    def _with(self, start: int, members: Mapping[str, str]) -> JsonDocument:
        """Return the document with `members` as the first of the object that starts at `start`."""
        text, found = self._text, self._members(start)
        newline = "\r\n" if "\r\n" in text else "\n"
        line = text[text.rfind("\n", 0, start) + 1 : start]
        outer = newline + line[: len(line) - len(line.lstrip())]
        lead, tail = outer + _STEP, ""
        if found:
            own_line = _OWN_LINE.search(text[: next(iter(found.values())).start])
            lead, tail = own_line[0] if own_line else "", ","
        elif "\n" not in text[start : self._plain.index("}", start)]:
            tail = outer
        lines = [f"{lead}{json.dumps(name)}: {value}" for name, value in members.items()]
        if not lines:
            return self
        text = f"{text[: start + 1]}{','.join(lines)}{tail}{text[start + 1 :]}"
        return JsonDocument(text, self._table)

    def _without(self, start: int, names: Collection[str]) -> JsonDocument:
        """Return the document without the members `names` of the object at `start`."""
        text, found = self._text, self._members(start)
        kept = [each for name, each in found.items() if name not in names]
        last = [*found.values()][-1]
        cuts: list[tuple[int, int]] = []
        if kept and kept[-1] is not last and last.comma is None and kept[-1].comma is not None:
            cuts.append((kept[-1].comma, kept[-1].comma + 1))
        for name in names:
            member = found[name]
            own_line = _OWN_LINE.search(text[: member.start])
            begin = own_line.start() if own_line else member.start
            cuts.append((begin, member.end if member.comma is None else member.comma + 1))
        for begin, end in sorted(cuts, reverse=True):
            text = text[:begin] + text[end:]
        return JsonDocument(text, self._table)


class TomlDocument(Document):
    """A TOML file whose table `table` has a table for each server; added ones come last."""

    def _read(self) -> object:
        self._lines = self._text.splitlines(keepends=True)
        return tomllib.loads(self._text)

    def source_of(self, name: str) -> str:
        """Return the lines of the server `name`."""
        return "".join(self._lines[at] for at in self._places({name}))

    def _edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool
    ) -> str:
        cut = set(self._places(remove))
        text = "".join(line for at, line in enumerate(self._lines) if at not in cut)
        newline = "\r\n" if "\r\n" in text else "\n"
        for name, each in add.items():
            if text:
                text += newline if text.endswith("\n") else newline * 2
            text += each.source or self._written(name, each.value, newline)
        return text

    def _places(self, names: Collection[str]) -> Iterator[int]:
        """Yield the numbers of the lines of servers; comments behind a table are not its own."""
        block: list[int] = []
        ours = False
        for at, line in enumerate(self._lines):
            start = line.strip()[:1]
            if start == "[" and (named := _header(line)):
                ours = named[0] == self._table and len(named) > 1 and named[1] in names
                block = []
            if ours:
                block.append(at)
                if start not in ("", "#"):
                    yield from block
                    block = []

    def _written(self, name: str, value: Json, newline: str) -> str:
        lines = [f"[{self._table}.{name if name.isidentifier() else json.dumps(name)}]"]
        lines += [f"{key} = {_toml_value(part)}" for key, part in _object(value, name).items()]
        return "".join(line + newline for line in lines)


def _blank(token: re.Match[str]) -> str:
    return token[0] if token[0].startswith('"') else re.sub(r"[^\r\n]", " ", token[0])


def _header(line: str) -> list[str]:
    """Return the keys of a table's header, none if `line` is no header."""
    keys: list[str] = []
    try:
        found: Json = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return keys
    while isinstance(found, dict) and found:
        [(key, found)] = found.items()
        keys.append(key)
    return keys


def _toml_value(value: Json) -> str:
    """Return texts, lists and objects of texts as TOML, whose strings are those of JSON."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = ", ".join(f"{json.dumps(key)} = {_toml_value(part)}" for key, part in value.items())
    return f"{{ {inner} }}"


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return an object; one with the same name twice has no clear meaning."""
    found: dict[str, Json] = {}
    for name, value in pairs:
        if name in found:
            raise BrokenFile(f"it has the name {name!r} twice in one object")
        found[name] = value
    return found


def _object(value: object, what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BrokenFile(f"{what} is not an object")
    return cast("dict[str, Json]", value)
