"""Contracts: what agents can do, what they require and what they produce, as data.

A contract is read from a file (`files.load_contracts`). The contracts define which agent answers
which class of intent, and, since each data path has one producer, which agents work before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from msgspec import Struct, field

from toolplan.errors import ToolplanError
from toolplan.path import Json


class ContractError(ToolplanError, ValueError):
    """A contract cannot be used; the message has the file and the line. Code: `bad-contracts`."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-contracts", message, "docs/contracts.md says what a contract holds.")


class Role(StrEnum):
    """The role of an agent; tasks are ordered by it: knowledge, data, domain."""

    KNOWLEDGE = "knowledge"
    DATA = "data"
    DOMAIN = "domain"


class Priority(StrEnum):
    """Whether an agent requires a piece of data."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class Need(Struct, frozen=True):
    """A piece of data that a skill uses.

    `data_path` is dotted: `assessment_context.assets.configs`. `min_count` is the least number of
    items of a list there (of fields, for an object).
    """

    data_path: str
    min_count: int = 1
    priority: Priority = Priority.REQUIRED

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


class Evidence(Struct, frozen=True):
    """The evidence in a question for a skill, or, below zero, against it.

    `words` are weights of words and phrases, `entities` weights of types of entities.
    """

    words: Mapping[str, int] = field(default_factory=dict[str, int])
    entities: Mapping[str, int] = field(default_factory=dict[str, int])


class Skill(Struct, frozen=True):
    """One thing that a domain agent can do.

    Attributes:
        name: its name in `required_data`.
        intent_classes: the classes of intent that it answers.
        description: of its task; `{scope}` and `{place}` are replaced by what the intent names.
        dependencies: the data that it uses, in the order of tasks.
        enriched_by: data paths that it uses where another agent provides them anyway.
        upstream: by data path, the description of the task of its producer.
        evidence: how the offline reader recognises it in a question.
        answer: the data paths of its outputs that are shown to the user; none means all.
    """

    name: str
    intent_classes: tuple[str, ...]
    description: str
    dependencies: tuple[Need, ...] = ()
    enriched_by: tuple[str, ...] = ()
    upstream: Mapping[str, str] = field(default_factory=dict[str, str])
    evidence: Evidence = field(default_factory=Evidence)
    answer: tuple[str, ...] = ()


class Contract(Struct, frozen=True):
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
        """Return the dependencies of its task: those of the skill, or its own without one."""
        return self.dependencies if skill is None else skill.dependencies


class Competence(NamedTuple):
    """An agent and the skill with which it answers a class of intent."""

    contract: Contract
    skill: Skill


class Contracts(Iterable[Contract]):
    """Contracts that fit together, in their order."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        """Check that `contracts` fit together.

        Raises:
            ContractError: an agent has two contracts, two agents that others use share a tool, no
                agent produces what another one requires, or agents depend on each other in a cycle.
        """
        self._contracts = tuple(contracts)
        self._refuse_doubles()
        self._refuse_gaps()
        self._refuse_cycles()

    def __iter__(self) -> Iterator[Contract]:
        return iter(self._contracts)

    def __len__(self) -> int:
        return len(self._contracts)

    def __repr__(self) -> str:
        return f"Contracts({', '.join(each.agent for each in self._contracts)})"

    @property
    def intent_classes(self) -> tuple[str, ...]:
        """The classes of intent that agents answer, each once, in order."""
        named = [
            name
            for contract in self._contracts
            for skill in contract.skills
            for name in skill.intent_classes
        ]
        return tuple(dict.fromkeys(named))

    def competent(self, intent_class: str) -> tuple[Competence, ...]:
        """Return the agents that answer `intent_class`, each with its skill for it."""
        return tuple(
            Competence(contract, skill)
            for contract in self._contracts
            for skill in contract.skills
            if intent_class in skill.intent_classes
        )

    def producer(self, data_path: str, but: Contract) -> Contract | None:
        """Return the producer of `data_path`, other than `but`, or None.

        The agent with the longest matching path wins, so an agent may take over a part of what
        another one produces; of two with the same path, the first.
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
        """Return the names of type `kind` that agents know, each once."""
        named = [name for each in self._contracts for name in each.entities.get(kind, ())]
        return tuple(dict.fromkeys(named))

    def _refuse_doubles(self) -> None:
        seen: dict[str, Contract] = {}
        for contract in self._contracts:
            other = seen.setdefault(contract.agent, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The agent {contract.agent!r} already has a contract, in"
                    f" {other.place}. Give it another name, or remove one of them."
                )
        # outputs are passed on by the name of their tool, so these names must differ
        tools: dict[str, Contract] = {}
        for contract in (each for each in self._contracts if each.role is not Role.DOMAIN):
            other = tools.setdefault(contract.tool, contract)
            if other is not contract:
                raise ContractError(
                    f"{contract.place}: The tool {contract.tool!r} is already that of"
                    f" {other.agent!r}, in {other.place}. Give one of them another tool."
                )

    def _refuse_gaps(self) -> None:
        for contract, needed in self._needs():
            if needed.is_required and self.producer(needed.data_path, contract) is None:
                produced = sorted(path for each in self._contracts for path in each.produces)
                raise ContractError(
                    f"{contract.place}: The agent {contract.agent!r} requires"
                    f" {needed.data_path!r}, which no agent produces."
                    f" Agents produce: {', '.join(produced) or 'nothing'}."
                )

    def _refuse_cycles(self) -> None:
        before: dict[str, set[str]] = {each.agent: set() for each in self._contracts}
        for contract, needed in self._needs():
            producer = self.producer(needed.data_path, contract)
            if producer is not None:
                before[contract.agent].add(producer.agent)
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            raise ContractError(
                f"Agents depend on each other in a cycle: {' → '.join(cycle)}."
                " Remove one of these dependencies, or make it optional in another agent."
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
