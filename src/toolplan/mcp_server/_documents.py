"""Edits of clients' files that keep every other byte: JSON, with comments or without, and TOML.

After an edit the text is read again: it must say what was meant, or it is not written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from toolplan.path import Json

_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_SPACE: Final = re.compile(r"\s*")
_OWN_LINE: Final = re.compile(r"\r?\n[ \t]*\Z")
_STEP: Final = "  "


class BrokenFile(Exception):
    """The file cannot be read, or cannot be changed safely; the text says why."""


class Added(Struct, frozen=True):
    """A server to add. `source` is how another document of the same format has it."""

    value: Json
    source: str = ""


class JsonDocument:
    """A JSON file whose object `table` has the servers."""

    def __init__(self, text: str, table: str) -> None:
        """Read `text`.

        Raises:
            BrokenFile: it cannot be read.
        """
        self._objects = _Objects(text)
        self._table = table
        try:
            root = json.loads(self._objects.plain, object_pairs_hook=_pairs)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise BrokenFile(f"it is not JSON: {error.msg} at {place}") from None
        except RecursionError:
            raise BrokenFile("it is nested too deep") from None
        self.data = _object(root, "the file")
        self.servers = _object(self.data.get(table, {}), repr(table))

    def source_of(self, name: str) -> str:
        """Return the text of the server `name`."""
        objects = self._objects
        return objects.value(objects.members(objects.start(self._table))[name])

    def edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool = False
    ) -> str:
        """Return the text without the servers `remove` and with those of `add`, which come first.

        With `drop_empty` the table goes, too, if no server remains.

        Raises:
            BrokenFile: the text would not say that.
        """
        objects, table = self._objects, self._table
        written = {
            name: each.source or json.dumps(each.value, ensure_ascii=False)
            for name, each in add.items()
        }
        if table in self.data:
            objects = _Objects(objects.inserted(objects.start(table), written))
        elif written:
            line = ", ".join(f"{json.dumps(name)}: {text}" for name, text in written.items())
            objects = _Objects(objects.inserted(objects.root, {table: f"{{{line}}}"}))
        if remove:
            objects = _Objects(objects.without(objects.start(table), remove))
        if drop_empty and table in self.data and not objects.members(objects.start(table)):
            objects = _Objects(objects.without(objects.root, {table}))
        document = JsonDocument(objects.text, table)
        _check(self, document.data, table, remove, add)
        return objects.text


class TomlDocument:
    """A TOML file whose table `table` has a table for each server."""

    def __init__(self, text: str, table: str) -> None:
        """Read `text`.

        Raises:
            BrokenFile: it cannot be read.
        """
        self._lines = text.splitlines(keepends=True)
        self._table = table
        self.data = _toml(text)
        self.servers = _object(self.data.get(table, {}), repr(table))

    def source_of(self, name: str) -> str:
        """Return the lines of the server `name`."""
        return "".join(self._lines[at] for at in self._places({name}))

    def edited(
        self, remove: Collection[str], add: Mapping[str, Added], *, drop_empty: bool = False
    ) -> str:
        """Return the text as `JsonDocument.edited` does; servers that are added come last.

        Tables exist by their entries only, so `drop_empty` has nothing to do.

        Raises:
            BrokenFile: the text would not say that.
        """
        cut = set(self._places(remove))
        text = "".join(line for at, line in enumerate(self._lines) if at not in cut)
        newline = "\r\n" if "\r\n" in text else "\n"
        for name, each in add.items():
            if text:
                text += newline if text.endswith("\n") else newline * 2
            text += each.source or self._written(name, each.value, newline)
        _check(self, _toml(text), self._table, remove, add)
        return text

    def _places(self, names: Collection[str]) -> Iterator[int]:
        """Yield the numbers of the lines of servers; comments behind a table are not its own."""
        block: list[int] = []
        ours = False
        for at, line in enumerate(self._lines):
            start = line.strip()[:1]
            if start == "[" and (named := _header(line)):
                ours = named[0] == self._table and named[1:2] != [] and named[1] in names
                block = []
            if ours:
                block.append(at)
                if start not in ("", "#"):
                    yield from block
                    block = []

    def _written(self, name: str, value: Json, newline: str) -> str:
        lines = [f"[{self._table}.{json.dumps(name) if not name.isidentifier() else name}]"]
        for key, part in _object(value, name).items():
            lines.append(f"{key} = {_toml_value(part)}")
        return "".join(line + newline for line in lines)


Document = JsonDocument | TomlDocument


class _Member(Struct, frozen=True):
    """Where a member of an object stands: its name, its value and the comma behind it."""

    start: int
    value: int
    end: int
    comma: int | None


class _Objects:
    """The objects of a JSON text, by place.

    `plain` has spaces for comments and trailing commas, so that each place stays what it is.
    """

    def __init__(self, text: str) -> None:
        self.text = text or "{}\n"
        self._commas = _TOKEN.sub(_blank, self.text.replace("\ufeff", " ", 1))
        self.plain = _LAST_COMMA.sub(lambda found: found[1] or " ", self._commas)

    @property
    def root(self) -> int:
        """Where the outermost object starts."""
        return self.plain.index("{")

    def start(self, name: str) -> int:
        """Return where the object that the root has as `name` starts."""
        return self.members(self.root)[name].value

    def value(self, member: _Member) -> str:
        """Return the text of the value of `member`."""
        return self.text[member.value : member.end]

    def members(self, start: int) -> dict[str, _Member]:
        """Return the members of the object that starts at `start`."""
        return dict(self._members(start))

    def _members(self, start: int) -> Iterator[tuple[str, _Member]]:
        at = self._after_space(start + 1)
        while self.plain[at] != "}":
            name, end_of_name = json.JSONDecoder().raw_decode(self.plain, at)
            value = self._after_space(self.plain.index(":", end_of_name) + 1)
            _, end = json.JSONDecoder().raw_decode(self.plain, value)
            next_ = self._after_space(end)
            comma = self._commas.find(",", end, next_ + 1)
            yield name, _Member(at, value, end, None if comma < 0 else comma)
            at = self._after_space(next_ + (self.plain[next_] == ","))

    def inserted(self, start: int, members: Mapping[str, str]) -> str:
        """Return the text with `members` as the first of the object that starts at `start`."""
        text, found = self.text, self.members(start)
        newline = "\r\n" if "\r\n" in text else "\n"
        line = text[text.rfind("\n", 0, start) + 1 : start]
        outer = newline + line[: len(line) - len(line.lstrip())]
        lead, tail = outer + _STEP, ""
        if found:
            own_line = _OWN_LINE.search(text[: next(iter(found.values())).start])
            lead, tail = own_line[0] if own_line else "", ","
        elif "\n" not in text[start : self.plain.index("}", start)]:
            tail = outer
        lines = [f"{lead}{json.dumps(name)}: {value}" for name, value in members.items()]
        if not lines:
            return text
        return f"{text[: start + 1]}{','.join(lines)}{tail}{text[start + 1 :]}"

    def without(self, start: int, names: Collection[str]) -> str:
        """Return the text without the members `names` of the object that starts at `start`."""
        text, found = self.text, self.members(start)
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
        return text

    def _after_space(self, at: int) -> int:
        found = _SPACE.match(self.plain, at)
        return at if found is None else found.end()


def _blank(token: re.Match[str]) -> str:
    return token[0] if token[0].startswith('"') else re.sub(r"[^\r\n]", " ", token[0])


def _toml(text: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenFile(f"it is not TOML: {error}") from None
    except RecursionError:
        raise BrokenFile("it is nested too deep") from None


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
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BrokenFile(f"it has the name {twice!r} twice in one object")
    return found


def _object(value: object, what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BrokenFile(f"{what} is not an object")
    return cast("dict[str, Json]", value)


def _check(
    before: Document,
    data: Mapping[str, Json],
    table: str,
    remove: Collection[str],
    add: Mapping[str, Added],
) -> None:
    """Compare what an edited text says with what was meant."""
    kept = {name: each for name, each in before.servers.items() if name not in remove}
    servers: Json = {**kept, **{name: each.value for name, each in add.items()}}
    meant = {**before.data, table: servers}
    if {table: {}, **data} != meant:
        raise BrokenFile("the change would not say what is meant")
