"""Files of contracts: YAML, or Markdown with YAML between two lines of `---` at its head.

This is the home of the YAML library. It is asked for nodes only, never for objects: tags, aliases
and doubled keys are refused, and `yes` or `2026-01-01` is the text that it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias

import yaml

from toolplan.path import Json
from toolplan.plan import escape_pointer
from toolplan.planners.contract.contracts import Contract, ContractError, Contracts
from toolplan.planners.contract.fields import read_contract

SUFFIXES: Final = (".yaml", ".yml", ".md")
MOST_BYTES: Final = 256_000
MOST_DEPTH: Final = 16

_FENCE: Final = "---"
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None, "~": None}
_PLAIN_TAGS: Final = frozenset(("!",))

Place: TypeAlias = Path | Traversable


class _Parser(Protocol):
    """The part of the library's loader that its own types do not describe."""

    def check_event(self) -> bool: ...

    def get_event(self) -> yaml.Event: ...


class Document(NamedTuple):
    """What a file says, and in which line, counted from 1, each JSON pointer stands."""

    name: str
    value: Json
    lines: Mapping[str, int]

    def fault(self, pointer: str, message: str) -> ContractError:
        """Return the error that `message` is, at its place; the nearest line that is known."""
        near = pointer
        while near and near not in self.lines:
            near = near.rpartition("/")[0]
        place = f"{self.name}:{self.lines.get(near, 1)}"
        return ContractError(f"{place}: {pointer or 'contract'}: {message}")


def load_contracts(*places: str | Place) -> Contracts:
    """Return the contracts of files, and of all files with contracts in folders, sorted by name.

    Raises:
        ContractError: a file cannot be read or used, or the contracts do not fit together.
    """
    found = [Path(place) if isinstance(place, str) else place for place in places]
    return Contracts(read_text(file.name, _text(file)) for place in found for file in _files(place))


def read_text(name: str, text: str) -> Contract:
    """Return the contract in the text of a file called `name`; its suffix says how to read it.

    Raises:
        ContractError: the text cannot be used; the message has the name and the line.
    """
    return read_contract(read_document(name, text))


def read_document(name: str, text: str) -> Document:
    """Return what a YAML text, or the head of a Markdown text, says.

    Raises:
        ContractError: it is too large or too deep, no YAML, or has a tag, an alias or a key twice.
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ContractError(f"{name}: It has more than {MOST_BYTES:,} bytes.")
    source, first = _front_matter(name, text) if name.endswith(".md") else (text, 1)
    try:
        _refuse_unsafe(name, source, first)
        root = yaml.SafeLoader(source).get_single_node()
    except yaml.YAMLError as error:
        raise _unreadable(name, error, first) from None
    if root is None:
        raise ContractError(f"{name}:{first}: There is nothing in it.")
    lines: dict[str, int] = {}
    value = _value(name, root, "", lines, first)
    return Document(name, value, lines)


def _files(place: Place) -> Iterable[Place]:
    if not place.is_dir():
        return [place]
    inside = [each for each in place.iterdir() if each.name.endswith(SUFFIXES)]
    if not inside:
        raise ContractError(f"{place.name}: There is no contract in this folder ({SUFFIXES}).")
    return sorted(inside, key=lambda each: each.name)


def _text(file: Place) -> str:
    if not file.name.endswith(SUFFIXES):
        raise ContractError(f"{file.name}: A contract is a file that ends in {SUFFIXES}.")
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ContractError(f"{file.name}: It cannot be read: {reason}.") from None


def _front_matter(name: str, text: str) -> tuple[str, int]:
    """Return the YAML at the head of a Markdown text, and the line that it starts in."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise ContractError(f"{name}:1: A contract in Markdown starts with a line of '---'.")
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:at]), 2
    raise ContractError(f"{name}:1: The head of the contract has no line of '---' at its end.")


def _refuse_unsafe(name: str, text: str, first: int) -> None:
    """Refuse what could make objects, or much of little, before anything is built of the text."""
    depth = documents = 0
    for event in _events(yaml.SafeLoader(text)):
        line = event.start_mark.line + first
        match event:
            case yaml.AliasEvent():
                reason = "An alias ('*name') is not read; write it out."
                raise ContractError(f"{name}:{line}: {reason}")
            case yaml.DocumentStartEvent():
                documents += 1
            case yaml.ScalarEvent() | yaml.CollectionStartEvent():
                tag = event.tag
                if tag is not None and tag not in _PLAIN_TAGS:
                    raise ContractError(f"{name}:{line}: A tag ({tag!r}) is not read; drop it.")
            case _:
                pass
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise ContractError(f"{name}:{line}: It is nested deeper than {MOST_DEPTH}.")
        if documents > 1:
            raise ContractError(f"{name}:{line}: A file holds one contract; here a second starts.")


def _events(loader: _Parser) -> Iterator[yaml.Event]:
    while loader.check_event():
        yield loader.get_event()


def _unreadable(name: str, error: yaml.YAMLError, first: int) -> ContractError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = error.problem_mark.line + first
        return ContractError(f"{name}:{line}: It is no YAML: {error.problem}.")
    return ContractError(f"{name}: It is no YAML: {str(error).partition(chr(10))[0]}.")


def _value(name: str, node: yaml.Node, pointer: str, lines: dict[str, int], first: int) -> Json:
    lines[pointer] = node.start_mark.line + first
    match node:
        case yaml.MappingNode():
            fields: dict[str, Json] = {}
            for key_node, inner in node.value:
                line = key_node.start_mark.line + first
                if not isinstance(key_node, yaml.ScalarNode):
                    raise ContractError(f"{name}:{line}: A key must be text.")
                key = str(key_node.value)
                if key in fields:
                    raise ContractError(f"{name}:{line}: The key {key!r} is there twice.")
                at = f"{pointer}/{escape_pointer(key)}"
                fields[key] = _value(name, inner, at, lines, first)
            return fields
        case yaml.SequenceNode():
            return [
                _value(name, inner, f"{pointer}/{at}", lines, first)
                for at, inner in enumerate(node.value)
            ]
        case yaml.ScalarNode():
            return _scalar(str(node.value), plain=node.style is None)
        case _:
            return None


def _scalar(text: str, *, plain: bool) -> Json:
    """Return what a scalar says: text, unless it is written plainly as a number or a constant."""
    if not plain:
        return text
    if text in _WORDS or not text:
        return _WORDS.get(text)
    return int(text) if _INTEGER.fullmatch(text) else text
