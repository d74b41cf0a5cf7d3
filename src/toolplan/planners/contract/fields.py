"""Reading of contracts, field by field; each error has its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from msgspec import Struct

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json, json_type
from toolplan.plan import escape_pointer
from toolplan.planners.contract.contracts import (
    Contract,
    ContractError,
    Evidence,
    Need,
    Priority,
    Role,
    Skill,
)
from toolplan.planners.contract.wording import unknown_places

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
"""The thirteen types of entities of an intent (F001-21)."""

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
