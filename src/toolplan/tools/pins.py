"""Pins: the tools as they were when a person accepted them, kept in `toolplan.lock.json`.

A pin is the SHA-256 over RFC 8785 JSON of a tool's object as its source sent it, and of
the source's identity. A tool that has changed since, in any field, cannot be called until it is
accepted again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec
import rfc8785
from msgspec import Struct, field
from msgspec.structs import asdict

from toolplan.plan.comparison import ABSENT, Absent, Change
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json
from toolplan.schema import tool_version, tool_without_words
from toolplan.schema.tool import Arguments, Tool, Toolbox, ToolError, ToolObjectError
from toolplan.storage.shared_file import locked, write_whole
from toolplan.tools.tool_files import read_json_file

FILE_NAME: Final = "toolplan.lock.json"
VERSION: Final = 1
MAX_LOCK_BYTES: Final = 200_000_000

_SAFE_INTEGER: Final = 2**53
_MOST_DIFFERENCES: Final = 12
_LONGEST_VALUE: Final = 120
_RESTORE: Final = "Restore it, or delete it: all tools are then new, and pinned again."

Shown: TypeAlias = "Json | Absent"


class SourcedTool(Tool, frozen=True, dict=True):
    """A tool, with its object as the source sent it.

    Attributes:
        wire: the tool's object as it came, with the fields that nothing here reads.
        identity: of the source: the command or the address, its name and version; no secrets.
    """

    wire: Mapping[str, Json] = field(default_factory=dict[str, Json])
    identity: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @cached_property
    def pin(self) -> str:
        """The digest of the object and the identity."""
        return digest_of(self.wire, self.identity)

    def to_json(self) -> dict[str, Json]:
        """Return the tool object; an approval covers the pin, and so every field and the source."""
        return super().to_json() if self.recorded else {**super().to_json(), "pin": self.pin}

    @cached_property
    def version(self) -> str:
        """The digest of everything that calls depend on, the identity of the source included."""
        pin = digest_of(tool_without_words(self.wire), self.identity)
        return tool_version({**self.to_json(), "pin": pin})


class RefusedTool(SourcedTool, frozen=True, dict=True):
    """A tool that has changed since it was accepted, and may not be called.

    `differences` are from the one that was accepted, with JSON pointers into
    `{"tool": …, "server": …}`. Plans over the tool are not valid.
    """

    differences: tuple[Change, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The changes, a line each, for a person to read."""
        found: list[str] = []
        for each in self.differences[:_MOST_DIFFERENCES]:
            place = each.pointer.lstrip("/").removeprefix("tool/")
            found.append(f"{place}: was {_shown(each.before)}, is {_shown(each.after)}")
        rest = len(self.differences) - len(found)
        return (*found, f"and {rest} more") if rest else tuple(found)

    @cached_property
    def unusable(self) -> str | None:
        """Why it may not be called."""
        what = "; ".join(self.lines[:3])
        return (
            f"it is not the tool that was accepted ({what}); look at it, and accept it with"
            f" `toolplan tools {self.short_name or self.name} --tools FILE --accept`"
        )

    @property
    def remedy(self) -> str:
        """Advice on a tool that has changed."""
        return (
            f"Look at what has changed; `toolplan tools {self.short_name or self.name} --tools FILE"
            " --accept` takes the tool as it is now."
        )


class Pin(Struct, frozen=True, omit_defaults=True):
    """The accepted state of one tool: its object as sent, and the identity of its source.

    `believed` says whether a person accepted the effects that it claims; None: not asked yet.
    """

    tool: Mapping[str, Any]
    server: Mapping[str, Any]
    digest: str = field(name="sha256")
    believed: bool | None = None

    @classmethod
    def of(cls, tool: Tool, believed: bool | None = None) -> Pin:
        """Return the pin of `tool` as it is now."""
        if isinstance(tool, SourcedTool) and tool.wire:
            return cls(tool.wire, tool.identity, tool.pin, believed)
        wire, source = tool.to_json(), {"source": tool.source}
        return cls(wire, source, digest_of(wire, source), believed)


class Pins(Struct, frozen=True):
    """The pins of a lock file, immutable: `accept` returns new ones, and `save` keeps them."""

    path: Path
    pins: Mapping[str, Pin] = field(default_factory=dict[str, Pin])

    @classmethod
    def load(cls, path: Path) -> Pins:
        """Return the pins in the file; none where there is no file.

        Raises:
            ToolObjectError: it is not a lock file, or was changed by hand.
        """
        if not path.exists():
            return cls(path)
        place = str(path)
        try:
            document = read_json_file(path, repr(place), MAX_LOCK_BYTES)
        except ToolObjectError as error:
            raise ToolObjectError(str(error), _RESTORE) from None
        parts = cast("dict[str, Any]", document if isinstance(document, dict) else {})
        version, entries = parts.get("lock"), parts.get("tools")
        if isinstance(version, int) and version > VERSION:
            raise ToolObjectError(
                f"{place!r} was written by a newer toolplan (form {version}).", "Use that toolplan."
            )
        if version != VERSION or not isinstance(entries, dict):
            raise ToolObjectError(f"{place!r} is not a lock file.", _RESTORE)
        found = cast("dict[str, object]", entries)
        return cls(path, {name: _read(name, each, place) for name, each in found.items()})

    def save(self) -> None:
        """Write the file, whole or not at all: sorted, so that changes of it can be read.

        Raises:
            OSError: it cannot be written.
        """
        document = {"lock": VERSION, "tools": msgspec.to_builtins(self.pins)}
        # a line for each value, so that a diff names it; indentation would be half of the file
        text = json.dumps(document, indent=0, sort_keys=True, ensure_ascii=False) + "\n"
        write_whole(self.path, text)

    def changed(self, tools: Mapping[str, Tool]) -> tuple[RefusedTool, ...]:
        """Return the `tools` that differ from their pins, by name."""
        changed: list[RefusedTool] = []
        for name in sorted({*tools} & {*self.pins}):
            pin, now = self.pins[name], Pin.of(tools[name])
            if now.digest != pin.digest:
                changed.append(_refused(tools[name], pin, now))
        return tuple(changed)

    def accept(
        self,
        tools: Mapping[str, Tool],
        names: Collection[str] | None = None,
        *,
        believed: bool | None = True,
    ) -> Pins:
        """Return pins that hold `tools` as they are now, or only those of `names`.

        Of all tools, pins of tools that are not there stay: their server may be away. `believed`
        says whether a person accepted their claims about effects, or was not asked.

        Raises:
            ToolObjectError: there is no tool of one of the names.
        """
        for name in names or ():
            if name not in tools:
                hint = did_you_mean(near(name, tools))
                message = f"There is no tool {name!r} to accept."
                raise ToolObjectError(f"{message} {hint}" if hint else message)
        accepted = tools if names is None else names
        made = {name: Pin.of(tools[name], believed) for name in accepted}
        return Pins(self.path, {**self.pins, **made})

    def claims(self, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """Return the tools, as pinned, whose claims are still to be accepted or refused."""
        return tuple(
            name
            for name, tool in tools.items()
            if tool.claim is not None
            and (pin := self.pins.get(name)) is not None
            and pin.believed is None
            and pin.digest == Pin.of(tool).digest
        )

    @classmethod
    def pin_new(cls, path: Path, tools: Mapping[str, Tool]) -> tuple[Pins, tuple[str, ...]]:
        """Return the pins in the file at `path`, and the names of `tools` added to it.

        Raises:
            ToolObjectError: it is not a lock file.
            OSError: it cannot be written.
        """
        with locked(path):
            pins = cls.load(path)  # another process may have added some
            new = tuple(sorted({*tools} - {*pins.pins}))
            if new:
                pins = pins.accept(tools, new, believed=None)
                pins.save()
            return pins, new

    def guarded(self, tools: Toolbox) -> Toolbox:
        """Return `tools`, with those that have changed refused; new ones are as they come.

        The claims of a tool about its effects count where a person accepted it as it is. This
        toolbox itself comes back where nothing is different.
        """
        now: dict[str, Tool] = {each.name: each for each in self.changed(tools)}
        for name, tool in tools.items():
            pin = self.pins.get(name)
            if name not in now and tool.claim is not None and pin is not None and pin.believed:
                now[name] = tool.believed()
        return Toolbox(now.get(name, tool) for name, tool in tools.items()) if now else tools


def digest_of(tool: Mapping[str, Json], server: Mapping[str, Json]) -> str:
    """Return the SHA-256 (hex) over RFC 8785 JSON of a tool's object and its source's identity.

    RFC 8785 has no whole numbers beyond 2^53, and schemas do; those are listed apart, by pointer.

    Raises:
        ValueError: it holds a value that JSON cannot state, such as half a character.
    """
    large: dict[str, Json] = {}
    tamed = _tamed({"tool": dict(tool), "server": dict(server)}, "", large)
    return hashlib.sha256(rfc8785.dumps({"pinned": tamed, "large": large})).hexdigest()


def differences(before: Shown, after: Shown, pointer: str = "") -> Iterator[Change]:
    """Yield the smallest places in which two values differ, in order of their pointers."""
    match before, after:
        case dict(), dict():
            for key in sorted({*before, *after}):
                place = f"{pointer}/{escape_pointer(key)}"
                yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), place)
        case list(), list() if len(before) == len(after):
            for at, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from differences(one, other, f"{pointer}/{at}")
        case _ if _same(before, after):
            return
        case _:
            yield Change(pointer, before, after)


def _same(before: Shown, after: Shown) -> bool:
    """Return whether the digest takes the two for the same: true is not 1, and 1 is 1.0."""
    if isinstance(before, bool) != isinstance(after, bool) or before != after:
        return False
    is_large = isinstance(before, int | float) and abs(before) >= _SAFE_INTEGER
    return not is_large or type(before) is type(after)


def _tamed(part: Json, pointer: str, large: dict[str, Json]) -> Json:
    match part:
        case bool():
            return part
        case int() if abs(part) >= _SAFE_INTEGER:
            large[pointer] = str(part)
            return None
        case dict():
            return {
                key: _tamed(inner, f"{pointer}/{escape_pointer(key)}", large)
                for key, inner in part.items()
            }
        case list():
            return [_tamed(inner, f"{pointer}/{at}", large) for at, inner in enumerate(part)]
        case _:
            return part


def _refused(tool: Tool, pin: Pin, now: Pin) -> RefusedTool:
    """Return `tool` as one that says why it may not be called, and keeps its object."""

    async def refuse(_: Arguments) -> Json:
        raise ToolError(f"The tool {tool.name!r} was not called: {made.unusable}.")

    before: Json = {"tool": dict(pin.tool), "server": dict(pin.server)}
    after: Json = {"tool": dict(now.tool), "server": dict(now.server)}
    changes = tuple(differences(before, after))
    kept = {"wire": now.tool, "identity": now.server, "differences": changes, "call": refuse}
    fields: dict[str, Any] = asdict(tool) | kept
    made = RefusedTool(**fields)
    return made


def _read(name: str, entry: object, place: str) -> Pin:
    """Return a pin of a lock file."""
    try:
        pin = msgspec.convert(entry, Pin)
        if digest_of(pin.tool, pin.server) == pin.digest:
            return pin
    except (ValueError, RecursionError):  # no object, half a character, too deep …
        pass
    raise ToolObjectError(
        f"{place!r}: the pin of {name!r} was changed by hand.",
        f"Take it out, look at the tool, and accept it: toolplan tools {name} --accept",
    )


def _shown(value: Shown) -> str:
    if isinstance(value, Absent):
        return "nothing"
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
