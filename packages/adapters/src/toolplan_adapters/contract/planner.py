"""The contract planner: an intent and contracts become tasks, and these a plan, without a model.

A task is a step, its owner the tool. The plan is in the dialect `state` where that can express it.
It has no references and no `on_error`; plans with these are in canonical JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias, get_args

from msgspec.structs import replace

from toolplan.dialects import DIALECTS
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import CannotExpress
from toolplan.plan.model import Literal as Constant
from toolplan.plan.model import Plan, Ref, Step, Value, object_
from toolplan.plan.path import Json, copied
from toolplan.planners import Attempt, Clarification, Draft, OnText, Proposal, Question
from toolplan.planners.context import PlannerContext
from toolplan.schema.tool import Tool, Toolbox
from toolplan_adapters.contract.contracts import Contract, Contracts, load_contracts
from toolplan_adapters.contract.intent import IntentReader
from toolplan_adapters.contract.state import (
    LEAST_CONFIDENCE,
    NEEDS_CLARIFICATION,
    NODE,
    WRITTEN,
    ClarificationNeeded,
    Intent,
    MetaIntent,
    StateError,
    UnknownIntentError,
    intent_of,
    written,
)
from toolplan_adapters.contract.tasks import Task, make_tasks
from toolplan_adapters.dialects.state import dump as dump_state

NAME: Final = "contract"
"""The planner of the drafts."""

KnowledgeMode: TypeAlias = Literal["always", "auto", "never"]
"""When agents with optional knowledge are asked: always, if a predicate is true, or never."""

KNOWLEDGE_MODES: Final[tuple[KnowledgeMode, ...]] = get_args(KnowledgeMode)
SURE: Final = 0.7
"""The least confidence of a question that is not ambiguous."""

_SURE_OF_SCOPE: Final = 0.5
_MOST_EPISODES: Final = 10
"""Maximum number of earlier questions that a follow-up may refer to."""
_LINKED: Final = frozenset((MetaIntent.FOLLOW_UP, MetaIntent.REFINEMENT, MetaIntent.EXPLANATION))
_POLICY_WORDS: Final = re.compile(
    r"\b(?:polic(?:y|ies)|standards?|guidelines?|exceptions?|exemptions?|waivers?)\b", re.IGNORECASE
)


def _is_about_policy(intent: Intent) -> bool:
    named = (*intent.named("asset_target"), *intent.named("assessment_type"))
    said = " / ".join((intent.domain_details.assessment_goal, *named))
    return intent.meta_intent is MetaIntent.POLICY_QUESTION or bool(_POLICY_WORDS.search(said))


PREDICATES: Final[Mapping[str, Callable[[Intent], bool]]] = {
    "follow_up": lambda intent: intent.meta_intent in _LINKED,
    "policy": _is_about_policy,
    "ambiguous_query": lambda intent: intent.confidence < SURE,
    "ambiguous_scope": lambda intent: any(
        each.confidence < _SURE_OF_SCOPE
        for each in intent.entities
        if each.type in ("site", "device")
    ),
}
"""The four reasons to ask for optional knowledge."""


def reasons(intent: Intent, mode: KnowledgeMode) -> list[str]:
    """Return the reasons to ask for optional knowledge.

    >>> reasons(Intent("cbp_assessment", MetaIntent.FOLLOW_UP), "auto")
    ['follow_up']
    """
    if mode == "auto":
        return [name for name, holds in PREDICATES.items() if holds(intent)]
    return ["always"] if mode == "always" else []


class ContractPlanner:
    """Plans by contracts, without a model.

    It reads only the intent and the contracts, so the same intent always has the same plan.
    """

    def __init__(
        self,
        contracts: Iterable[Contract],
        *,
        knowledge: KnowledgeMode = "auto",
        parallel_knowledge: bool = False,
    ) -> None:
        """Make a planner of `contracts`.

        Args:
            contracts: of all agents.
            knowledge: when agents with optional knowledge are asked: `auto` uses the predicates of
                `knowledge`.
            parallel_knowledge: data agents do not wait for knowledge agents.

        Raises:
            ContractError: the contracts do not fit together.
        """
        if knowledge not in KNOWLEDGE_MODES:
            raise ValueError(
                f"knowledge must be one of {', '.join(KNOWLEDGE_MODES)}, not {knowledge!r}."
            )
        self.contracts = contracts if isinstance(contracts, Contracts) else Contracts(contracts)
        self.knowledge: KnowledgeMode = knowledge
        self.parallel_knowledge = parallel_knowledge
        self.reader = IntentReader(self.contracts)

    def plan(self, state: Mapping[str, Json]) -> dict[str, Json]:
        """Return a copy of a STATE with its plan.

        Raises:
            ClarificationNeeded: the intent is not clear; `question` is for the user.
            UnknownIntentError: no contract answers the class of the intent.
            StateError: the intent, or one of the four paths, is invalid.
        """
        plan = self.envelope(state)["plan"]
        why: list[Json] = [*reasons(intent_of(state.get("intent")), self.knowledge)]
        return written(state, plan, {"node": NODE, "wrote": [*WRITTEN], "knowledge": why})

    def tasks(self, intent: Intent) -> tuple[Task, ...]:
        """Return the tasks for an intent, in order.

        Raises:
            ClarificationNeeded: the intent is not clear.
            UnknownIntentError: no contract answers its class.
        """
        if intent.intent_class == NEEDS_CLARIFICATION or intent.confidence < LEAST_CONFIDENCE:
            asked = intent.clarification_question
            raise ClarificationNeeded(asked or "What should be assessed, and for what purpose?")
        return make_tasks(
            intent,
            self.contracts,
            enriched=bool(reasons(intent, self.knowledge)),
            parallel_knowledge=self.parallel_knowledge,
        )

    def envelope(self, state: Mapping[str, Json]) -> dict[str, Json]:
        """Return the plan of a STATE in the dialect `state`, with `routing_detail`.

        Raises:
            ClarificationNeeded, UnknownIntentError, StateError: as `plan`.
        """
        tasks = self.tasks(intent_of(state.get("intent")))
        skills = {task.id: None if task.skill is None else task.skill.name for task in tasks}
        return dump_state(Plan(tuple(task.step() for task in tasks)), skills)

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return a draft for `question`, or a clarification.

        The intent is that of `question.context["state"]`; without one it is read from the words,
        and, for a follow-up, from the questions before. The same question gives the same draft; one
        that was tried is not repeated.
        """
        proposal = self.proposal(question, tools)
        if isinstance(proposal, Draft) and proposal.text in {each.draft.text for each in attempts}:
            return Clarification(
                "The only plan of the contracts for this question was tried already."
                " What should be assessed instead?"
            )
        return proposal

    def proposal(self, question: Question, tools: Toolbox) -> Proposal:
        """Return the proposal for `question`, without awaiting."""
        try:
            fields = self._intent(question)
            intent = intent_of(fields)
            tasks = self.tasks(intent)
        except (ClarificationNeeded, UnknownIntentError) as error:
            return Clarification(str(error), self.reader.classes)
        except StateError as error:
            return Clarification(f"The STATE is invalid: {error}")
        found = {task.contract.tool: _tool(task.contract.tool, tools) for task in tasks}
        if missing := [name for name, tool in found.items() if tool is None]:
            named = ", ".join(map(repr, missing))
            return Clarification(
                f"These tools of agents are missing: {named}. Which tools should replace them?"
            )
        metadata: dict[str, Json] = {
            "query": question.text,
            "reference_date": question.today,
            "planner": NAME,
            "intent": copied(fields),
        }
        steps = tuple(
            _step(task, intent, tool)
            for task in tasks
            if (tool := found[task.contract.tool]) is not None
        )
        plan = Plan(steps, _output(tasks), metadata)
        owners = [task.contract.agent for task in tasks]
        if all(_tool(name, tools) is not None for name in owners):
            owned = tuple(
                replace(step, tool=name) for step, name in zip(steps, owners, strict=True)
            )
            with suppress(CannotExpress):
                return Draft(DIALECTS["state"].print(Plan(owned, plan.output)), "state", NAME)
        return Draft(json.dumps(dump(plan), ensure_ascii=False, indent=2), planner=NAME)

    def _intent(self, question: Question) -> Json:
        known = question.context if isinstance(question.context, dict) else {}
        match known.get("state"):
            case {"intent": {"intent_class": given} as intent} if given:
                return intent
            case dict(state):
                return self.reader.read(question.text, state.get("conversation"))
            case _:
                return self.reader.read(question.text, self._conversation(known.get("episodic")))

    def _conversation(self, episodes: Json) -> Json:
        """Return the earlier questions, the latest last, as the conversation of a STATE."""
        asked = [
            query
            for each in (episodes if isinstance(episodes, list) else [])
            if isinstance(each, dict) and isinstance(query := each.get("query"), str)
        ]
        turns: list[Json] = [{"intent": self.reader.read(text)} for text in asked[:_MOST_EPISODES]]
        return {"history": turns[::-1]}


def _tool(name: str, tools: Toolbox) -> Tool | None:
    return tools.get(tools.alias(name) or name)


def _step(task: Task, intent: Intent, tool: Tool) -> Step:
    """Return the step of a task, with the arguments that the schema of its tool declares."""
    needed = task.required_data()
    given: dict[str, Value] = {}
    if task.skill is not None:
        given["skill"] = Constant(task.skill.name)
    else:  # an agent that works for others gets their requirements
        needed += [each.to_json(skill) for skill, each in task.requested]
    given |= {"required_data": Constant(needed), "scope": Constant(intent.to_scope())}
    if task.sources:
        given["upstream"] = object_(tuple((name, Ref(id)) for name, id in task.sources.items()))
    args = {name: value for name, value in given.items() if name in tool.signature.inputs}
    args |= {name: Constant(copied(value)) for name, value in task.contract.arguments.items()}
    # a reference is a dependency already
    read = task.sources.values() if "upstream" in args else ()
    after = tuple(name for name in task.depends_on if name not in read)
    on_error = "continue" if task.is_optional else "fail"
    return Step(task.id, tool.name, args, after, on_error=on_error, thought=task.description)


def _output(tasks: Sequence[Task]) -> Value | None:
    """Return what the user is shown: by tool where several agents answer; None shows all.

    The outputs of a task have the first part of their paths as names if these are distinct.
    """
    shown: list[tuple[str, Value]] = []
    for task in (each for each in tasks if each.answers):
        paths = list(dict.fromkeys(task.skill.answer)) if task.skill is not None else []
        if not paths:
            return None
        roots = [path.partition(".")[0] for path in paths]
        names = roots if len(set(roots)) == len(paths) else paths
        refs = [Ref(task.id, tuple(path.split("."))) for path in paths]
        shown.append((task.contract.tool, object_(tuple(zip(names, refs, strict=True)))))
    return shown[0][1] if len(shown) == 1 else object_(tuple(shown))


def contract(context: PlannerContext) -> ContractPlanner | None:
    """Return the planner of the contracts; None where none are given.

    Raises:
        ContractError: a contract cannot be used.
    """
    if not context.contracts:
        return None
    return ContractPlanner(load_contracts(*context.contracts))


def plan_state(state: dict[str, Json], contracts: Sequence[str]) -> dict[str, Json] | Clarification:
    """Return the STATE with its plan by the contracts in these files or folders, or ask.

    Raises:
        ContractError: a contract cannot be used.
    """
    planner = ContractPlanner(load_contracts(*contracts))
    try:
        return planner.plan(state)
    except (ClarificationNeeded, UnknownIntentError) as unclear:
        return Clarification(str(unclear), (*planner.reader.classes,))
