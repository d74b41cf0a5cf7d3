"""Files of contracts: YAML, or Markdown with YAML between two lines of `---` at its head.

Tags, aliases and repeated keys are refused; `yes` and `2026-01-01` are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json, json_type
from toolplan.plan import escape_pointer
from toolplan.yaml_text import YamlError, read_yaml
from toolplan_adapters.contract.contracts import (
    Contract,
    ContractError,
    Contracts,
    Evidence,
    Need,
    Priority,
    Role,
    Skill,
)
from toolplan_adapters.contract.state import unknown_places

_T = TypeVar("_T")

CONTRACT_FIELDS: Final = (
    "agent", "tool", "role", "about", "description", "produces", "skills", "data_dependencies",
    "arguments", "entities",
)  # fmt: skip
SKILL_FIELDS: Final = (
    "name", "intent_classes", "aliases", "about", "description", "data_dependencies",
    "enriched_by", "upstream", "evidence", "answer",
)  # fmt: skip
ENTITY_TYPES: Final = (
    "site", "device", "device_type", "asset_target", "environment", "timeframe",
    "assessment_type", "assessment_id", "severity", "ip_address", "vlan", "output_format",
    "priority",
)  # fmt: skip
"""The thirteen types of entities of an intent."""

_PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_MOST_COUNT: Final = 1_000_000


class Document(Struct, frozen=True):
    """The content of a file, and the line of each JSON pointer in it, counted from 1."""

    name: str
    value: Json
    lines: Mapping[str, int]

    def fault(self, pointer: str, message: str) -> ContractError:
        """Return the error `message`, with its place: the nearest line that is known."""
        near = pointer
        while near and near not in self.lines:
            near = near.rpartition("/")[0]
        place = f"{self.name}:{self.lines.get(near, 1)}"
        return ContractError(f"{place}: {pointer or 'contract'}: {message}")


def read_contract(document: Document) -> Contract:
    """Return the contract in a file.

    Raises:
        ContractError: a field is missing, unknown or invalid.
    """
    top = _Fields(document, document.value, "")
    top.only(CONTRACT_FIELDS)
    role = top.one_of("role", tuple(Role))
    contract = Contract(
        agent=top.text("agent"),
        tool=top.text("tool"),
        role=role,
        description=top.wording("description", "Work on {scope}"),
        produces=top.each("produces", _data_path),
        skills=top.each("skills", _skill),
        dependencies=top.each("data_dependencies", _dependency),
        arguments=top.mapping("arguments"),
        entities={
            kind: inner.each(kind, _text)
            for inner in [top.inner("entities")]
            for kind in inner.named(ENTITY_TYPES)
        },
        place=document.name,
    )
    if role is Role.DOMAIN and not contract.skills:
        raise document.fault("/skills", "A domain agent needs at least one skill.")
    if role is not Role.DOMAIN and contract.skills:
        message = f"Only domain agents have skills; a {role} agent has 'produces'."
        raise document.fault("/skills", message)
    if role is not Role.DOMAIN and not contract.produces:
        raise document.fault(
            "/produces", f"A {role} agent needs at least one data path in 'produces'."
        )
    return contract


def _skill(document: Document, value: Json, pointer: str) -> Skill:
    fields = _Fields(document, value, pointer)
    fields.only(SKILL_FIELDS)
    name = fields.text("name")
    upstream = fields.inner("upstream")
    evidence = fields.inner("evidence")
    evidence.only(("words", "entities"))
    named = evidence.inner("entities")
    return Skill(
        name=name,
        intent_classes=(
            *(fields.each("intent_classes", _text) or (name,)),
            *fields.each("aliases", _text),
        ),
        description=fields.wording("description", "Work on {scope}"),
        dependencies=fields.each("data_dependencies", _dependency),
        enriched_by=fields.each("enriched_by", _data_path),
        upstream={path: upstream.wording(path, "") for path in upstream.value},
        evidence=Evidence(
            words=_weights(evidence.inner("words")),
            entities={kind: named.count(kind, 0) for kind in named.named(ENTITY_TYPES)},
        ),
        answer=fields.each("answer", _data_path),
    )


def _weights(fields: _Fields) -> dict[str, int]:
    return {words.casefold(): fields.count(words, 0) for words in fields.value}


def _dependency(document: Document, value: Json, pointer: str) -> Need:
    fields = _Fields(document, value, pointer)
    fields.only(("data_path", "min_count", "priority"))
    path = _data_path(document, fields.value.get("data_path"), f"{pointer}/data_path")
    priority = Priority.REQUIRED
    if "priority" in fields.value:
        priority = fields.one_of("priority", tuple(Priority))
    default = 1 if priority is Priority.REQUIRED else 0
    least = fields.count("min_count", default)
    if least < 0:
        raise document.fault(f"{pointer}/min_count", "It must be 0 or more.")
    return Need(path, least, priority)


def _data_path(document: Document, value: Json, pointer: str) -> str:
    text = _text(document, value, pointer)
    if not _PATH.fullmatch(text):
        message = f"{text!r} is not a data path: names with dots between them, as in 'a.b'."
        raise document.fault(pointer, message)
    return text


def _text(document: Document, value: Json, pointer: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    found = "empty text" if isinstance(value, str) else json_type(value)
    raise document.fault(pointer, f"It must be text, not {found}.")


class _Fields:
    """The fields of one object of a file."""

    def __init__(self, document: Document, value: Json, pointer: str) -> None:
        if not isinstance(value, dict):
            raise document.fault(pointer, f"It must be an object, not {json_type(value)}.")
        self.value: Mapping[str, Json] = value
        self._document = document
        self._pointer = pointer

    def only(self, names: Collection[str]) -> None:
        """Refuse fields of other names."""
        for name in self.value:
            if name not in names:
                said = did_you_mean(near(name, names)) or f"Known fields: {', '.join(names)}."
                raise self._fault(name, f"Unknown field {name!r}. {said}")

    def named(self, names: Collection[str]) -> Mapping[str, Json]:
        """Return the fields, all of them of `names`."""
        self.only(names)
        return self.value

    def text(self, name: str) -> str:
        if name not in self.value:
            raise self._fault("", f"The field {name!r} is missing.")
        return _text(self._document, self.value[name], self._at(name))

    def wording(self, name: str, default: str) -> str:
        """Return a text with no placeholders but `{scope}` and `{place}`."""
        text = self.text(name) if name in self.value else default
        if unknown := unknown_places(text):
            message = f"Unknown placeholder '{{{unknown[0]}}}'; known are '{{scope}}', '{{place}}'."
            raise self._fault(name, message)
        return text

    def one_of(self, name: str, values: tuple[_Choice, ...]) -> _Choice:
        text = self.text(name)
        for value in values:
            if value == text:
                return value
        raise self._fault(name, f"It must be one of {', '.join(values)}, not {text!r}.")

    def count(self, name: str, default: int) -> int:
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._fault(name, f"It must be an integer, not {json_type(value)}.")
        if abs(value) > _MOST_COUNT:
            raise self._fault(name, f"It must be at most {_MOST_COUNT:,}.")
        return value

    def mapping(self, name: str) -> Mapping[str, Json]:
        return self.inner(name).value

    def inner(self, name: str) -> _Fields:
        """Return the object in a field, empty where it is missing."""
        return _Fields(self._document, self.value.get(name, {}), self._at(name))

    def each(self, name: str, read: Callable[[Document, Json, str], _T]) -> tuple[_T, ...]:
        """Return each element of a list, read by `read`; empty where it is missing."""
        value = self.value.get(name, [])
        if not isinstance(value, list):
            raise self._fault(name, f"It must be a list, not {json_type(value)}.")
        return tuple(
            read(self._document, inner, f"{self._at(name)}/{at}") for at, inner in enumerate(value)
        )

    def _at(self, name: str) -> str:
        return f"{self._pointer}/{escape_pointer(name)}" if name else self._pointer

    def _fault(self, name: str, message: str) -> ContractError:
        return self._document.fault(self._at(name), message)


_Choice = TypeVar("_Choice", Role, Priority)


SUFFIXES: Final = (".yaml", ".yml", ".md")
_SUFFIXES: Final = ", ".join(SUFFIXES)
MOST_BYTES: Final = 256_000
MOST_DEPTH: Final = 16

_FENCE: Final = "---"

Place: TypeAlias = Path | Traversable


def load_contracts(*places: str | Place) -> Contracts:
    """Return the contracts of files, and of all files with contracts in folders, sorted by name.

    Raises:
        ContractError: a file cannot be read or used, or the contracts do not fit together.
    """
    found = [Path(place) if isinstance(place, str) else place for place in places]
    return Contracts(
        read_text(file.name, _content(file)) for place in found for file in _files(place)
    )


def read_text(name: str, text: str) -> Contract:
    """Return the contract in the text of a file called `name`; its suffix is the format.

    Raises:
        ContractError: the text cannot be used; the message has the name and the line.
    """
    return read_contract(read_document(name, text))


def read_document(name: str, text: str) -> Document:
    """Return the document in a YAML text, or in the head of a Markdown text.

    Raises:
        ContractError: too large, too deep, not YAML, or with a tag, an alias or a repeated key.
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ContractError(f"{name}: The file has more than {MOST_BYTES:,} bytes.")
    source, first = _front_matter(name, text) if name.endswith(".md") else (text, 1)
    try:
        value, lines = read_yaml(source, max_depth=MOST_DEPTH, strict=True)
    except YamlError as error:
        raise ContractError(f"{name}:{error.line + first - 1}: {error}") from None
    return Document(name, value, {pointer: line + first - 1 for pointer, line in lines.items()})


def _files(place: Place) -> Iterable[Place]:
    if not place.is_dir():
        return [place]
    inside = [each for each in place.iterdir() if each.name.endswith(SUFFIXES)]
    if not inside:
        raise ContractError(
            f"{place.name}: The folder has no contract (a file that ends in {_SUFFIXES})."
        )
    return sorted(inside, key=lambda each: each.name)


def _content(file: Place) -> str:
    if not file.name.endswith(SUFFIXES):
        raise ContractError(f"{file.name}: The name of a contract must end in {_SUFFIXES}.")
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ContractError(f"{file.name}: The file cannot be read: {reason}.") from None


def _front_matter(name: str, text: str) -> tuple[str, int]:
    """Return the YAML at the head of a Markdown text, and the line that it starts in."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise ContractError(f"{name}:1: A contract in Markdown must start with a line '---'.")
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:at]), 2
    raise ContractError(f"{name}:1: The head of the contract must end with a line '---'.")
