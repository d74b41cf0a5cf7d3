"""Contracts: what agents can do, what they require and what they produce, as data.

A contract is read from a file: YAML, or Markdown with YAML between two lines of `---` at its head;
tags, aliases and repeated keys are refused; `yes` and `2026-01-01` are text. The contracts define
which agent answers which class of intent, and, since each data path has one producer, which agents
work before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.plan.yaml_text import YamlError, read_yaml

T = TypeVar("T")

_NOT_EMPTY: Final = r"\S"
_DATA_PATH: Final = r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z"
Text: TypeAlias = Annotated[str, Meta(pattern=_NOT_EMPTY)]
DataPath: TypeAlias = Annotated[str, Meta(pattern=_DATA_PATH)]

_CLEARER: Final = {
    f"`str` matching regex {_NOT_EMPTY!r}": "text that is not empty",
    f"`str` matching regex {_DATA_PATH!r}": "a data path: names with dots between, as in 'a.b'",
}


class ConversionError(ValueError):
    """A value that does not fit its type. `pointer` is its place."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer


def convert(value: Json, kind: type[T]) -> T:
    """Return `value` as a struct of type `kind`.

    Raises:
        ConversionError: a field is missing, unknown or of the wrong type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, place = f"{error}".rpartition(" - at `")
        if not message:
            message, place = place, ""
        for theirs, ours in _CLEARER.items():
            message = message.replace(theirs, ours)
        known = place.partition("$")[2].partition("[...]")[0]  # keys of mappings are not known
        tokens = re.findall(r"[^.\[\]`]+", known)
        tokens += re.findall(r"unknown field `(.*)`", message)
        raise ConversionError("".join(f"/{token}" for token in tokens), f"{message}.") from None


_PLACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_COUNT: Final = 1_000_000
Weight = Annotated[int, Meta(ge=-_MOST_COUNT, le=_MOST_COUNT)]


class ContractError(ToolplanError, ValueError):
    """A contract cannot be used; the message has the file and the line. Code: `bad-contracts`."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-contracts", message, "docs/contracts.md says what a contract holds.")


EntityType: TypeAlias = Literal[
    "site", "device", "device_type", "asset_target", "environment", "timeframe",
    "assessment_type", "assessment_id", "severity", "ip_address", "vlan", "output_format",
    "priority",
]  # fmt: skip
ENTITY_TYPES: Final[tuple[EntityType, ...]] = get_args(EntityType)
"""The thirteen types of entities of an intent."""


class Role(StrEnum):
    """The role of an agent; tasks are ordered by it: knowledge, data, domain."""

    KNOWLEDGE = "knowledge"
    DATA = "data"
    DOMAIN = "domain"


class Priority(StrEnum):
    """Whether an agent requires a piece of data."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of data that a skill uses.

    `data_path` is dotted: `assessment_context.assets.configs`. `min_count` is the least number of
    items of a list there (of fields, for an object); by default 1 if it is required, otherwise 0.
    """

    data_path: DataPath
    min_count: Annotated[int, Meta(ge=0, le=_MOST_COUNT)] | None = None
    priority: Priority = Priority.REQUIRED

    def __post_init__(self) -> None:
        if self.min_count is None:
            force_setattr(self, "min_count", int(self.is_required))

    @property
    def is_required(self) -> bool:
        """Whether the agent cannot work without it."""
        return self.priority is Priority.REQUIRED

    def to_json(self, skill: str) -> dict[str, Json]:
        """Return the item of `required_data` in a task."""
        return {
            "data_path": self.data_path,
            "skill": skill,
            "min_count": self.min_count,
            "priority": self.priority.value,
        }


class Evidence(Struct, frozen=True, forbid_unknown_fields=True):
    """The evidence in a question for a skill, or, below zero, against it.

    `words` are weights of words and phrases, `entities` weights of types of entities.
    """

    words: Mapping[str, Weight] = field(default_factory=dict[str, int])
    entities: Mapping[EntityType, Weight] = field(default_factory=dict[Any, int])


class Skill(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that a domain agent can do.

    Attributes:
        name: its name in `required_data`.
        intent_classes: the classes of intent that it answers; its name if empty.
        description: of its task; `{scope}` and `{place}` are replaced by what the intent names.
        dependencies: the data that it uses, in the order of tasks.
        enriched_by: data paths that it uses where another agent provides them anyway.
        upstream: by data path, the description of the task of its producer.
        evidence: how the offline reader recognises it in a question.
        answer: the data paths of its outputs that are shown to the user; none means all.
        aliases: other names of its classes of intent.
        about: a note for people.
    """

    name: Text
    intent_classes: tuple[Text, ...] = ()
    description: Text = "Work on {scope}"
    dependencies: tuple[Need, ...] = field(default=(), name="data_dependencies")
    enriched_by: tuple[DataPath, ...] = ()
    upstream: Mapping[str, Text] = field(default_factory=dict[str, str])
    evidence: Evidence = field(default_factory=Evidence)
    answer: tuple[DataPath, ...] = ()
    aliases: tuple[Text, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        for text in (self.description, *self.upstream.values()):
            _check_places(text)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of intent that it answers, by all their names."""
        return (*(self.intent_classes or (self.name,)), *self.aliases)


class Contract(Struct, frozen=True, forbid_unknown_fields=True):
    """One agent.

    Attributes:
        agent: its name in tasks: `Config Best Practice Agent`.
        tool: the tool that does its work.
        role: its role.
        description: of its task, where the skill that uses it has none.
        produces: the data paths in its outputs.
        skills: of a domain agent.
        dependencies: the data that an agent of another role uses.
        arguments: fixed arguments of its tool.
        entities: the names that it knows, by type: `{"site": ("HQ", …)}`.
        about: a note for people.
        place: the file, for messages.
    """

    agent: Text
    tool: Text
    role: Role
    description: Text = "Work on {scope}"
    produces: tuple[DataPath, ...] = ()
    skills: tuple[Skill, ...] = ()
    dependencies: tuple[Need, ...] = field(default=(), name="data_dependencies")
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    entities: Mapping[EntityType, tuple[Text, ...]] = field(
        default_factory=dict[Any, tuple[str, ...]]
    )
    about: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        _check_places(self.description)
        if self.role is Role.DOMAIN and not self.skills:
            raise ValueError("A domain agent needs at least one skill in 'skills'")
        if self.role is not Role.DOMAIN and (self.skills or not self.produces):
            raise ValueError(
                f"A {self.role} agent needs at least one data path in 'produces', and no 'skills'"
            )

    def needs(self, skill: Skill | None) -> tuple[Need, ...]:
        """Return the dependencies of its task: those of the skill, or its own without one."""
        return self.dependencies if skill is None else skill.dependencies

    def uses(self, skill: Skill | None) -> tuple[Need, ...]:
        """Return the dependencies of its task, and the data that only enriches it."""
        paths = () if skill is None else skill.enriched_by
        return (*self.needs(skill), *(Need(path, 0, Priority.OPTIONAL) for path in paths))


def described(text: str, scope: str, place: str) -> str:
    """Return `text` with `scope` for `{scope}` and `place` for `{place}`, and no more.

    >>> described("Fetch configurations for {place}", "HQ", "HQ site")
    'Fetch configurations for HQ site'
    """
    named = {"scope": scope, "place": place}
    return _PLACES.sub(lambda found: named.get(found[1], found[0]), text)


def _check_places(text: str) -> None:
    for name in _PLACES.findall(text):
        if name not in ("scope", "place"):
            known = "known are '{scope}', '{place}'"
            raise ValueError(f"Unknown placeholder '{{{name}}}'; {known}")


class Contracts(Iterable[Contract]):
    """Contracts that fit together, in their order."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        """Check that `contracts` fit together.

        Raises:
            ContractError: an agent has two contracts, two agents that others use share a tool, no
                agent produces what another one requires, or agents depend on each other in a cycle.
        """
        self._contracts = tuple(contracts)
        self._check_names()
        self._check_producers()

    def __iter__(self) -> Iterator[Contract]:
        return iter(self._contracts)

    def __len__(self) -> int:
        return len(self._contracts)

    @property
    def intent_classes(self) -> tuple[str, ...]:
        """The classes of intent that agents answer, each once, in order."""
        skills = (skill for contract in self for skill in contract.skills)
        return tuple(dict.fromkeys(name for skill in skills for name in skill.classes))

    def producer(self, data_path: str, but: Contract) -> Contract | None:
        """Return the producer of `data_path`, other than `but`, or None.

        The agent with the longest matching path wins, so an agent may take over a part of what
        another one produces; of two with the same path, the first.
        """
        found = [
            (len(produced), contract)
            for contract in self
            for produced in contract.produces
            if contract.agent != but.agent and f"{data_path}.".startswith(f"{produced}.")
        ]
        return max(found, key=lambda each: each[0])[1] if found else None

    def known(self, kind: EntityType) -> tuple[str, ...]:
        """Return the names of type `kind` that agents know, each once."""
        return tuple(dict.fromkeys(name for each in self for name in each.entities.get(kind, ())))

    def _check_names(self) -> None:
        agents: dict[str, Contract] = {}
        tools: dict[str, Contract] = {}
        for contract in self:
            other = agents.setdefault(contract.agent, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The agent {contract.agent!r} already has a contract, in"
                    f" {other.place}. Give it another name, or remove one of them."
                )
            if contract.role is Role.DOMAIN:
                continue
            # outputs are passed on by the name of their tool, so these names must differ
            other = tools.setdefault(contract.tool, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The tool {contract.tool!r} is already that of"
                    f" {other.agent!r}, in {other.place}. Give one of them another tool."
                )

    def _check_producers(self) -> None:
        before: dict[str, set[str]] = {each.agent: set() for each in self}
        for contract in self:
            for needed in (
                each for skill in (None, *contract.skills) for each in contract.uses(skill)
            ):
                producer = self.producer(needed.data_path, contract)
                if producer is not None:
                    before[contract.agent].add(producer.agent)
                elif needed.is_required:
                    produced = sorted(path for each in self for path in each.produces)
                    raise ContractError(
                        f"{contract.place}: The agent {contract.agent!r} requires"
                        f" {needed.data_path!r}, which no agent produces."
                        f" Agents produce: {', '.join(produced) or 'nothing'}."
                    )
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            raise ContractError(
                f"Agents depend on each other in a cycle: {' → '.join(cycle)}."
                " Remove one of these dependencies, or make it optional in another agent."
            ) from None


SUFFIXES: Final = (".yaml", ".yml", ".md")
MOST_BYTES: Final = 256_000
MOST_DEPTH: Final = 16

_SUFFIXES: Final = ", ".join(SUFFIXES)
_FENCE: Final = "---"

Place: TypeAlias = Path | Traversable


def load_contracts(*places: str | Place) -> Contracts:
    """Return the contracts of files, and of all files with contracts in folders, sorted by name.

    Raises:
        ContractError: a file cannot be read or used, or the contracts do not fit together.
    """
    contracts: list[Contract] = []
    for named in places:
        place = Path(named) if isinstance(named, str) else named
        files: list[Place] = [place]
        if place.is_dir():
            files = [each for each in place.iterdir() if each.name.endswith(SUFFIXES)]
        if not files:
            raise ContractError(
                f"{place.name}: The folder has no contract (a file that ends in {_SUFFIXES})."
            )
        files.sort(key=lambda each: each.name)
        contracts += (read_text(file.name, _content(file)) for file in files)
    return Contracts(contracts)


def read_text(name: str, text: str) -> Contract:
    """Return the contract in the text of a file called `name`; its suffix is the format.

    Raises:
        ContractError: the text cannot be used; the message has the name and the line.
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ContractError(f"{name}: The file has more than {MOST_BYTES:,} bytes.")
    source, first = text, 1
    if name.endswith(".md"):
        opening, *lines = text.splitlines() or [""]
        ends = [at for at, line in enumerate(lines) if line.rstrip() == _FENCE]
        if opening.rstrip() != _FENCE or not ends:
            raise ContractError(
                f"{name}:1: A contract in Markdown must start with YAML between two lines '---'."
            )
        source, first = "\n".join(lines[: ends[0]]), 2
    try:
        value, lines = read_yaml(source, max_depth=MOST_DEPTH, strict=True)
    except YamlError as error:
        raise ContractError(f"{name}:{error.line + first - 1}: {error}") from None
    try:
        if not isinstance(value, dict):
            return convert(value, Contract)
        if "place" in value:  # a field of the struct that is no field of a file
            raise ConversionError("/place", "Object contains unknown field `place`.")
        return convert({**value, "place": name}, Contract)
    except ConversionError as error:
        near = error.pointer
        while near and near not in lines:
            near = near.rpartition("/")[0]
        place = f"{name}:{lines.get(near, 1) + first - 1}"
        raise ContractError(f"{place}: {error.pointer or 'contract'}: {error}") from None


def _content(file: Place) -> str:
    if not file.name.endswith(SUFFIXES):
        raise ContractError(f"{file.name}: The name of a contract must end in {_SUFFIXES}.")
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ContractError(f"{file.name}: The file cannot be read: {reason}.") from None
