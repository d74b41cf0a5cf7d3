"""Tasks: which agents work on an intent, in which order, with which data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan_adapters.contract.contracts import (
    Competence,
    Contract,
    Contracts,
    Need,
    Priority,
    Role,
    Skill,
)
from toolplan_adapters.contract.state import Intent, UnknownIntentError, described

_RANK: Final[Mapping[Role, int]] = {Role.KNOWLEDGE: 0, Role.DATA: 1, Role.DOMAIN: 2}


class Source(Struct, frozen=True):
    """A task whose outputs another one reads; `required` where these are required."""

    task: str
    tool: str
    required: bool


class Task(Struct, frozen=True):
    """One piece of work of one agent.

    Attributes:
        id: `T1`, `T2`, … in order.
        contract: the agent's.
        skill: the skill to use, None for agents without skills; the first one of an agent that
            only works for others.
        answers: whether it answers the intent itself.
        description: what to do, for people.
        depends_on: the tasks that it waits for directly.
        sources: the tasks whose outputs it reads.
        requested: what other tasks use of its outputs, by skill.
    """

    id: str
    contract: Contract
    skill: Skill | None
    answers: bool
    description: str
    depends_on: tuple[str, ...]
    sources: tuple[Source, ...]
    requested: tuple[tuple[str, Need], ...]

    @property
    def is_optional(self) -> bool:
        """Whether no other task requires its outputs."""
        return not self.answers and not any(needed.is_required for _, needed in self.requested)

    def required_data(self) -> list[Json]:
        """Return `required_data` of the task."""
        name = self.contract.agent if self.skill is None else self.skill.name
        return [each.to_json(name) for each in self.contract.needs(self.skill)]

    def to_json(self) -> dict[str, Json]:
        """Return the task of a STATE, pending."""
        depends_on: list[Json] = [*self.depends_on]
        task: dict[str, Json] = {
            "id": self.id,
            "description": self.description,
            "owner": self.contract.agent,
            "depends_on": depends_on,
        }
        required = self.required_data()
        if self.skill is not None or required:
            task["required_data"] = required
        task["status"] = "pending"
        task["outputs"] = {}
        return task


class _Link(Struct, frozen=True):
    """`consumer` reads outputs of `producer`; `skill` and `needed` are the reason."""

    producer: str
    consumer: str
    skill: str
    needed: Need


def make_tasks(
    intent: Intent, contracts: Contracts, *, enriched: bool, parallel_knowledge: bool
) -> tuple[Task, ...]:
    """Return the tasks for `intent`, in order.

    Args:
        intent: an intent that is clear.
        contracts: of all agents.
        enriched: include agents whose outputs are optional knowledge.
        parallel_knowledge: data agents do not wait for knowledge agents.

    Raises:
        UnknownIntentError: no contract answers the class of the intent.
    """
    wanted = contracts.competent(intent.intent_class)
    if not wanted:
        known = ", ".join(contracts.intent_classes)
        raise UnknownIntentError(
            f"/intent/intent_class: No contract answers {intent.intent_class!r}."
            f" Known classes: {known}."
        )
    links, skills = _links(wanted, contracts, enriched=enriched)
    answering = {contract.agent for contract, _ in wanted}
    involved = [each for each in contracts if each.agent in skills]
    before = _before(involved, links, parallel_knowledge=parallel_knowledge)
    order = _in_order(involved, before)
    ids = {contract.agent: f"T{at}" for at, contract in enumerate(order, 1)}
    return tuple(
        Task(
            id=ids[contract.agent],
            contract=contract,
            skill=skills[contract.agent],
            answers=contract.agent in answering,
            description=_description(contract, skills, links, intent),
            depends_on=_by_id(_direct(contract.agent, before), ids),
            sources=_sources(contract, order, links, ids),
            requested=tuple(
                (link.skill, link.needed) for link in links if link.producer == contract.agent
            ),
        )
        for contract in order
    )


def _links(
    wanted: Sequence[Competence], contracts: Contracts, *, enriched: bool
) -> tuple[list[_Link], dict[str, Skill | None]]:
    """Return the links between the involved agents, and the skill of each agent by its name."""
    links: list[_Link] = []
    skills: dict[str, Skill | None] = {}
    for contract, skill in wanted:
        skills.setdefault(contract.agent, skill)
    open_: list[tuple[Contract, Skill | None]] = [*wanted]
    while open_:
        contract, skill = open_.pop(0)
        name = contract.agent if skill is None else skill.name
        for needed in _needs(contract, skill):
            producer = contracts.producer(needed.data_path, contract)
            if producer is None or (_only_enriches(producer, needed) and not enriched):
                continue
            links.append(_Link(producer.agent, contract.agent, name, needed))
            if producer.agent not in skills:
                skills[producer.agent] = next(iter(producer.skills), None)
                open_.append((producer, skills[producer.agent]))
    return links, skills


def _needs(contract: Contract, skill: Skill | None) -> tuple[Need, ...]:
    enriching = () if skill is None else skill.enriched_by
    more = (Need(path, 0, Priority.OPTIONAL) for path in enriching)
    return (*contract.needs(skill), *more)


def _only_enriches(producer: Contract, needed: Need) -> bool:
    return producer.role is Role.KNOWLEDGE and not needed.is_required


def _before(
    involved: Sequence[Contract], links: Sequence[_Link], *, parallel_knowledge: bool
) -> dict[str, set[str]]:
    """Return the agents that each one waits for: its sources; for data, also knowledge."""
    before: dict[str, set[str]] = {each.agent: set() for each in involved}
    for link in links:
        before[link.consumer].add(link.producer)
    if parallel_knowledge:
        return before
    knowing = [each.agent for each in involved if each.role is Role.KNOWLEDGE]
    for fetching in (each.agent for each in involved if each.role is Role.DATA):
        for agent in knowing:
            # not where the knowledge agent itself waits for the data
            if fetching not in _all(agent, before):
                before[fetching].add(agent)
    return before


def _in_order(involved: Sequence[Contract], before: Mapping[str, set[str]]) -> list[Contract]:
    """Return the agents by role, then in their order, each after those that it waits for."""
    left = sorted(involved, key=lambda each: _RANK[each.role])
    order: list[Contract] = []
    done: set[str] = set()
    while left:
        # contracts have no cycle, so there always is one
        ready = next(each for each in left if before[each.agent] <= done)
        left.remove(ready)
        order.append(ready)
        done.add(ready.agent)
    return order


def _all(agent: str, before: Mapping[str, set[str]]) -> set[str]:
    """Return all agents before `agent`."""
    found: set[str] = set()
    open_ = [*before[agent]]
    while open_:
        each = open_.pop()
        if each not in found:
            found.add(each)
            open_.extend(before[each])
    return found


def _direct(agent: str, before: Mapping[str, set[str]]) -> set[str]:
    """Return the agents that `agent` waits for directly."""
    implied = {far for near in before[agent] for far in _all(near, before)}
    return before[agent] - implied


def _by_id(agents: Iterable[str], ids: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted((ids[each] for each in agents), key=lambda name: int(name[1:])))


def _sources(
    contract: Contract, order: Sequence[Contract], links: Sequence[_Link], ids: Mapping[str, str]
) -> tuple[Source, ...]:
    mine = [link for link in links if link.consumer == contract.agent]
    return tuple(
        Source(
            ids[each.agent],
            each.tool,
            any(link.needed.is_required for link in mine if link.producer == each.agent),
        )
        for each in order
        if any(link.producer == each.agent for link in mine)
    )


def _description(
    contract: Contract, skills: Mapping[str, Skill | None], links: Sequence[_Link], intent: Intent
) -> str:
    """Return the description of the skill, otherwise that of the first skill that uses it."""
    skill = skills.get(contract.agent)
    texts = [] if skill is None else [skill.description]
    for link in links:
        consumer = skills.get(link.consumer)
        if link.producer == contract.agent and consumer is not None:
            said = consumer.upstream
            texts += [
                text
                for path, text in said.items()
                if text and _is_part(link.needed.data_path, path)
            ]
    return described((texts or [contract.description])[0], intent.scope, intent.place)


def _is_part(path: str, whole: str) -> bool:
    return path == whole or path.startswith(whole + ".")
