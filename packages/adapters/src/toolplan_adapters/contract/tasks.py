"""Tasks: which agents work on an intent, in which order, with which data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from toolplan.plan.model import Literal, Step, Value
from toolplan.plan.path import Json
from toolplan_adapters.contract.contracts import Contract, Contracts, Need, Role, Skill, described
from toolplan_adapters.contract.state import Intent, UnknownIntentError


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
        sources: the tasks whose outputs it reads, by the tools that work on them.
        requested: what other tasks use of its outputs, by skill.
    """

    id: str
    contract: Contract
    skill: Skill | None
    answers: bool
    description: str
    depends_on: tuple[str, ...]
    sources: Mapping[str, str]
    requested: tuple[tuple[str, Need], ...]

    @property
    def is_optional(self) -> bool:
        """Whether no other task requires its outputs."""
        return not self.answers and not any(needed.is_required for _, needed in self.requested)

    def required_data(self) -> list[Json]:
        """Return `required_data` of the task."""
        name = self.contract.agent if self.skill is None else self.skill.name
        return [each.to_json(name) for each in self.contract.needs(self.skill)]

    def step(self) -> Step:
        """Return the step of a plan in the dialect `state`, whose tool is the agent."""
        required = self.required_data()
        has_data = self.skill is not None or bool(required)
        args: dict[str, Value] = {"required_data": Literal(required)} if has_data else {}
        agent = self.contract.agent
        return Step(self.id, agent, args, self.depends_on, thought=self.description)


class _Link(NamedTuple):
    """The agent `consumer` reads outputs of `producer`; `skill` and `needed` are the reason."""

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
    skilled = ((contract, skill) for contract in contracts for skill in contract.skills)
    wanted = [(each, skill) for each, skill in skilled if intent.intent_class in skill.classes]
    if not wanted:
        known = ", ".join(contracts.intent_classes)
        raise UnknownIntentError(
            f"/intent/intent_class: No contract answers {intent.intent_class!r}."
            f" Known classes: {known}."
        )
    links, skills = _links(wanted, contracts, enriched=enriched)
    involved = [each for each in contracts if each.agent in skills]
    before = _before(involved, links, parallel_knowledge=parallel_knowledge)
    order = _in_order(involved, before)
    ids = {contract.agent: f"T{at}" for at, contract in enumerate(order, 1)}

    def task(contract: Contract) -> Task:
        agent = contract.agent
        read = {link.producer for link in links if link.consumer == agent}
        # an agent that a nearer one already waits for needs no edge
        direct = before[agent] - {far for near in before[agent] for far in _all(near, before)}
        return Task(
            id=ids[agent],
            contract=contract,
            skill=skills[agent],
            answers=any(each.agent == agent for each, _ in wanted),
            description=_description(contract, skills, links, intent),
            depends_on=tuple(name for each, name in ids.items() if each in direct),
            sources={each.tool: ids[each.agent] for each in order if each.agent in read},
            requested=tuple((link.skill, link.needed) for link in links if link.producer == agent),
        )

    return tuple(map(task, order))


def _links(
    wanted: Sequence[tuple[Contract, Skill]], contracts: Contracts, *, enriched: bool
) -> tuple[list[_Link], dict[str, Skill | None]]:
    """Return the links between the involved agents, and the skill of each agent by its name."""
    links: list[_Link] = []
    skills: dict[str, Skill | None] = {}
    for contract, skill in wanted:
        skills.setdefault(contract.agent, skill)
    open_: list[tuple[Contract, Skill | None]] = [*wanted]
    for contract, skill in open_:  # grows while it is read
        name = contract.agent if skill is None else skill.name
        for needed in contract.uses(skill):
            producer = contracts.producer(needed.data_path, contract)
            if producer is None:
                continue
            if producer.role is Role.KNOWLEDGE and not (needed.is_required or enriched):
                continue
            links.append(_Link(producer.agent, contract.agent, name, needed))
            if producer.agent not in skills:
                skills[producer.agent] = next(iter(producer.skills), None)
                open_.append((producer, skills[producer.agent]))
    return links, skills


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
    left = sorted(involved, key=lambda each: [*Role].index(each.role))
    order: list[Contract] = []
    while left:
        # contracts have no cycle, so there always is one
        ready = next(each for each in left if not before[each.agent] & {e.agent for e in left})
        left.remove(ready)
        order.append(ready)
    return order


def _all(agent: str, before: Mapping[str, set[str]]) -> set[str]:
    return before[agent].union(*(_all(each, before) for each in before[agent]))


def _description(
    contract: Contract, skills: Mapping[str, Skill | None], links: Sequence[_Link], intent: Intent
) -> str:
    """Return the description of the skill, otherwise that of the first skill that uses it."""
    skill = skills[contract.agent]
    texts = [] if skill is None else [skill.description]
    for link in links:
        consumer = skills[link.consumer]
        if link.producer == contract.agent and consumer is not None:
            path = f"{link.needed.data_path}."
            texts += [
                text for whole, text in consumer.upstream.items() if path.startswith(f"{whole}.")
            ]
    return described((texts or [contract.description])[0], intent.scope, intent.place)
