"""Contracts: what an agent can do, what it needs and what it gives, as data.

A contract is read from a file (`files.load_contracts`). Together they say all that planning knows:
which agent answers which class of intent, and, since each data path has one producer, which agents
must work before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from toolplan.errors import ToolplanError
from toolplan.path import Json


class ContractError(ToolplanError, ValueError):
    """A contract, or several together, cannot be used; the message names the file and the place."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-contracts", message, "docs/contracts.md says what a contract holds.")


class Role(StrEnum):
    """What an agent is there for; tasks are ordered by it: knowledge, data, domain."""

    KNOWLEDGE = "knowledge"
    DATA = "data"
    DOMAIN = "domain"


class Priority(StrEnum):
    """Whether an agent can work without a piece of data."""

    REQUIRED = "required"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Need:
    """A piece of data that a skill needs.

    `data_path` is dotted: `assessment_context.assets.configs`. `min_count` is the least number of
    items that a list there must have (of fields, where it is an object); 0 asks for none.
    """

    data_path: str
    min_count: int = 1
    priority: Priority = Priority.REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether the agent must not work without it."""
        return self.priority is Priority.REQUIRED

    def to_json(self, skill: str) -> dict[str, Json]:
        """Return the item of `required_data`, as it stands in a task (F001-12)."""
        return {
            "data_path": self.data_path,
            "skill": skill,
            "min_count": self.min_count,
            "priority": self.priority.value,
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """What in a question speaks for a skill, or, below zero, against it.

    `words` weighs words and phrases, `entities` weighs types of entities that are named.
    """

    words: Mapping[str, int] = field(default_factory=dict[str, int])
    entities: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Skill:
    """One thing that a domain agent can do.

    Attributes:
        name: as it stands in `required_data`.
        intent_classes: the classes of intent that it answers.
        description: what its task does; `{scope}` and `{place}` stand for what the intent names.
        dependencies: what it needs, in the order in which tasks declare it.
        enriched_by: data paths that make its work better where somebody fetches them anyway.
        upstream: by data path, what the task of the agent that produces it does.
        evidence: how the offline reader knows it from a question.
        answer: the data paths of its outputs that the user is shown; none means all of them.
    """

    name: str
    intent_classes: tuple[str, ...]
    description: str
    dependencies: tuple[Need, ...] = ()
    enriched_by: tuple[str, ...] = ()
    upstream: Mapping[str, str] = field(default_factory=dict[str, str])
    evidence: Evidence = field(default_factory=Evidence)
    answer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """One agent.

    Attributes:
        agent: its name, as it stands in tasks: `Config Best Practice Agent`.
        tool: the tool that does its work.
        role: what it is there for.
        description: what its task does, where the skill that needs it does not say.
        produces: the data paths that its outputs hold.
        skills: what a domain agent can do.
        dependencies: what an agent of another role needs itself.
        arguments: arguments that its tool is always given, as they are.
        entities: names that it knows, by type of entity: `{"site": ("HQ", …)}`.
        place: the file, for messages.
    """

    agent: str
    tool: str
    role: Role
    description: str = "Work on {scope}"
    produces: tuple[str, ...] = ()
    skills: tuple[Skill, ...] = ()
    dependencies: tuple[Need, ...] = ()
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    entities: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    place: str = ""

    def needs(self, skill: Skill | None) -> tuple[Need, ...]:
        """Return what its task needs: the skill's dependencies, or its own where it has none."""
        return self.dependencies if skill is None else skill.dependencies


class Competence(NamedTuple):
    """An agent and the skill with which it answers a class of intent."""

    contract: Contract
    skill: Skill


class Contracts(Iterable[Contract]):
    """Contracts that fit together, in the order given."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        """Hold `contracts`.

        Raises:
            ContractError: two are of one agent, two that others need share a tool, nobody produces
                what one requires, or agents need each other in a circle.
        """
        self._contracts = tuple(contracts)
        self._refuse_doubles()
        self._refuse_gaps()
        self._refuse_circles()

    def __iter__(self) -> Iterator[Contract]:
        return iter(self._contracts)

    def __len__(self) -> int:
        return len(self._contracts)

    def __repr__(self) -> str:
        return f"Contracts({', '.join(each.agent for each in self._contracts)})"

    @property
    def intent_classes(self) -> tuple[str, ...]:
        """The classes of intent that some agent answers, each once, in order."""
        named = [
            name
            for contract in self._contracts
            for skill in contract.skills
            for name in skill.intent_classes
        ]
        return tuple(dict.fromkeys(named))

    def competent(self, intent_class: str) -> tuple[Competence, ...]:
        """Return the agents that answer `intent_class`, each with the skill that does."""
        return tuple(
            Competence(contract, skill)
            for contract in self._contracts
            for skill in contract.skills
            if intent_class in skill.intent_classes
        )

    def producer(self, data_path: str, but: Contract) -> Contract | None:
        """Return who produces `data_path`, other than `but`; None where nobody does.

        Who says the most of the path wins, so that an agent may take over a part of what another
        one produces; of two that say as much, the first.
        """
        found: tuple[int, Contract] | None = None
        for contract in self._contracts:
            if contract.agent == but.agent:
                continue
            for produced in contract.produces:
                fits = data_path == produced or data_path.startswith(produced + ".")
                if fits and (found is None or len(produced) > found[0]):
                    found = len(produced), contract
        return None if found is None else found[1]

    def known(self, kind: str) -> tuple[str, ...]:
        """Return the names of entities of type `kind` that some agent knows, each once."""
        named = [name for each in self._contracts for name in each.entities.get(kind, ())]
        return tuple(dict.fromkeys(named))

    def _refuse_doubles(self) -> None:
        seen: dict[str, Contract] = {}
        for contract in self._contracts:
            other = seen.setdefault(contract.agent, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The agent {contract.agent!r} has a contract already, in"
                    f" {other.place}. Give it another name, or take one of them away."
                )
        # outputs are passed on by the tool that gave them, so two such tools must differ
        tools: dict[str, Contract] = {}
        for contract in (each for each in self._contracts if each.role is not Role.DOMAIN):
            other = tools.setdefault(contract.tool, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The tool {contract.tool!r} does the work of"
                    f" {other.agent!r} already, in {other.place}. Give one of them another tool."
                )

    def _refuse_gaps(self) -> None:
        for contract, needed in self._needs():
            if needed.is_required and self.producer(needed.data_path, contract) is None:
                produced = sorted(path for each in self._contracts for path in each.produces)
                raise ContractError(
                    f"{contract.place}: The agent {contract.agent!r} requires"
                    f" {needed.data_path!r}, which no agent produces."
                    f" What is produced: {', '.join(produced) or 'nothing'}."
                )

    def _refuse_circles(self) -> None:
        before: dict[str, set[str]] = {each.agent: set() for each in self._contracts}
        for contract, needed in self._needs():
            producer = self.producer(needed.data_path, contract)
            if producer is not None:
                before[contract.agent].add(producer.agent)
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            round_trip: list[str] = error.args[1]
            raise ContractError(
                f"Agents need each other in a circle: {' → '.join(round_trip)}."
                " One of them has to work without what the others give."
            ) from None

    def _needs(self) -> Iterator[tuple[Contract, Need]]:
        for contract in self._contracts:
            for needed in contract.dependencies:
                yield contract, needed
            for skill in contract.skills:
                for needed in skill.dependencies:
                    yield contract, needed
                for path in skill.enriched_by:
                    yield contract, Need(path, 0, Priority.OPTIONAL)
