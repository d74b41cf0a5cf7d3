"""Agents as tools: a function that is told its task, with the schema that its contract asks for.

What a skill requires becomes part of the tool's input schema, `min_count` becomes `minItems`. So an
engine holds the data against it before the agent is called, and a plan in which it is missing for
sure does not pass its check.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolplan.path import Json
from toolplan.planners.contract.contracts import (
    Contract,
    Contracts,
    Need,
    Priority,
    Skill,
)
from toolplan.tools import Arguments, Effects, Tool, ToolError

TASK_ARGUMENTS: Final = ("skill", "required_data", "scope", "upstream")
"""The arguments of an agent's tool, each of which a tool may leave out of its schema."""

SCOPE_SCHEMA: Final[Json] = {
    "type": "object",
    "description": "What the intent names; what it does not name is left out.",
    "properties": {
        "sites": {"type": "array", "items": {"type": "string"}},
        "targets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "value": {"type": "string"}},
                "required": ["type", "value"],
            },
        },
        "time_range": {"type": "string"},
        "environment": {"type": "string"},
        "goal": {"type": "string"},
        "round": {"type": "integer", "description": "For which time it is asked, from 2 on."},
    },
}
_REQUIRED_DATA_SCHEMA: Final[Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "data_path": {"type": "string"},
            "skill": {"type": "string"},
            "min_count": {"type": "integer", "minimum": 0},
            "priority": {"enum": [each.value for each in Priority]},
        },
        "required": ["data_path"],
    },
}


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent is told: its task and what those before it gave.

    Attributes:
        skill: what it is to do, empty for agents that others need.
        required_data: what it needs, or, for an agent that others need, what they need of it.
        scope: what the intent names; the keys are those of `SCOPE_SCHEMA`.
        upstream: the outputs of earlier tasks by the tool that gave them, None where it failed.
    """

    skill: str
    required_data: tuple[Need, ...]
    scope: Mapping[str, Json]
    upstream: Mapping[str, Mapping[str, Json] | None]

    @property
    def sites(self) -> list[str]:
        """The sites that the intent names."""
        sites = self.scope.get("sites")
        return [each for each in sites if isinstance(each, str)] if isinstance(sites, list) else []

    def named(self, kind: str) -> list[str]:
        """Return what the intent names of type `kind`: `severity`, `device`."""
        targets = self.scope.get("targets")
        return [
            value
            for each in (targets if isinstance(targets, list) else [])
            if isinstance(each, dict)
            and each.get("type") == kind
            and isinstance(value := each.get("value"), str)
        ]

    def value(self, data_path: str) -> Json:
        """Return what earlier tasks gave at `data_path`, None where nobody did.

        Of objects that several agents gave, the fields are put together.
        """
        found = [_at(outputs, data_path) for outputs in self.upstream.values() if outputs]
        return _together([each for each in found if each is not None])

    def gaps(self) -> list[Json]:
        """Return what is missing: agents that failed, and optional data that is less than it needs.

        An empty list of what may be none is no gap: it was looked for.
        """
        failed: list[Json] = [
            {"upstream": tool, "reason": "it gave nothing", "priority": Priority.OPTIONAL.value}
            for tool, outputs in self.upstream.items()
            if outputs is None
        ]
        missing: list[Json] = [
            {
                "data_path": each.data_path,
                "reason": "there is too little of it",
                "priority": each.priority.value,
            }
            for each in self.required_data
            if self.skill and not each.is_required and not self._has(each)
        ]
        return [*failed, *missing]

    def _has(self, needed: Need) -> bool:
        value = self.value(needed.data_path)
        count = len(value) if isinstance(value, list | dict) else 1
        return value is not None and count >= needed.min_count


Work: TypeAlias = Callable[[Briefing], Mapping[str, Json] | Awaitable[Mapping[str, Json]]]
"""What an agent does: the outputs of its task. It may raise `ToolError`."""


def agent_tool(
    contract: Contract,
    work: Work,
    contracts: Contracts,
    *,
    description: str = "",
    output: Json = None,
    effects: Effects = Effects.READ,
) -> Tool:
    """Return the tool that does the work of the agent of `contract`.

    Where something optional was missing, the outputs say so in `data_gaps`, if the agent has not
    (F001-24): an answer that was made of less must not look whole.

    Args:
        contract: the agent's.
        work: what it does; a coroutine function is awaited, any other runs in a thread.
        contracts: all of them, which say who gives what it requires.
        description: of the tool.
        output: the schema of its outputs.
        effects: what its work may change.
    """

    async def call(arguments: Arguments) -> Json:
        briefing = _briefing(arguments)
        if inspect.iscoroutinefunction(work):
            result = await work(briefing)
        else:
            result = await asyncio.to_thread(work, briefing)
        if not isinstance(result, Mapping):
            raise ToolError(
                f"The agent {contract.agent!r} gave {type(result).__name__}, no outputs."
            )
        outputs: dict[str, Json] = {**result}
        gaps = briefing.gaps()
        if gaps and not outputs.get("data_gaps"):
            outputs["data_gaps"] = gaps
        return outputs

    return Tool(
        name=contract.tool,
        description=description or f"Does the work of the {contract.agent}.",
        raw_input=input_schema(contract, contracts),
        raw_output=output,
        effects=effects,
        call=call,
        source="agent",
    )


def input_schema(contract: Contract, contracts: Contracts) -> dict[str, Json]:
    """Return the input schema of an agent's tool: the four arguments, and what its skills require.

    What a skill requires is written under its condition: `if` the argument `skill` names it, or, in
    plans of the dialect `state`, which has no such argument, an item of `required_data`.
    """
    conditions: list[Json] = [
        {
            "if": _asks_for(skill),
            "then": {"properties": {"upstream": wanted}, "required": ["upstream"]},
        }
        for skill in contract.skills
        if (wanted := _wanted(contract, skill, contracts))
    ]
    schema: dict[str, Json] = {
        "type": "object",
        "x-aliases": [contract.agent],
        "properties": {
            "skill": {"type": "string", "description": "Which of its skills is wanted."},
            "required_data": _REQUIRED_DATA_SCHEMA,
            "scope": SCOPE_SCHEMA,
            "upstream": {
                "type": "object",
                "description": "The outputs of earlier tasks, by tool; null where one failed.",
                "additionalProperties": {"type": ["object", "null"]},
            },
        },
        "additionalProperties": False,
    }
    return {**schema, "allOf": conditions} if conditions else schema


def _asks_for(skill: Skill) -> Json:
    named: Json = {"properties": {"skill": {"const": skill.name}}, "required": ["skill"]}
    item: Json = {
        "properties": {"required_data": {"contains": named}},
        "required": ["required_data"],
    }
    return {"anyOf": [named, item]}


def _wanted(contract: Contract, skill: Skill, contracts: Contracts) -> dict[str, Json]:
    """Return the schema of `upstream` for what `skill` requires.

    Empty where it requires nothing.
    """
    wanted: dict[str, Json] = {}
    for needed in skill.dependencies:
        producer = contracts.producer(needed.data_path, contract)
        if producer is None or not needed.is_required:
            continue
        tokens = [producer.tool, *needed.data_path.split(".")]
        _require(wanted, tokens, {"minItems": needed.min_count, "minProperties": needed.min_count})
    return wanted


def _require(schema: dict[str, Json], tokens: list[str], leaf: dict[str, Json]) -> None:
    """Put into `schema` that there is something at `tokens`, and that it fits `leaf`."""
    if not tokens:
        schema.update(leaf)
        return
    schema["type"] = "object"
    required = schema.setdefault("required", [])
    if isinstance(required, list) and tokens[0] not in required:
        required.append(tokens[0])
    properties = schema.setdefault("properties", {})
    if isinstance(properties, dict):
        inner = properties.setdefault(tokens[0], {})
        if isinstance(inner, dict):
            _require(inner, tokens[1:], leaf)


def _briefing(arguments: Arguments) -> Briefing:
    scope = arguments.get("scope")
    upstream = arguments.get("upstream")
    given = upstream if isinstance(upstream, dict) else {}
    return Briefing(
        skill=_skill(arguments),
        required_data=tuple(_dependencies(arguments.get("required_data"))),
        scope=scope if isinstance(scope, dict) else {},
        upstream={
            tool: outputs if isinstance(outputs, dict) else None for tool, outputs in given.items()
        },
    )


def _skill(arguments: Arguments) -> str:
    skill = arguments.get("skill")
    return skill if isinstance(skill, str) else ""


def _dependencies(items: Json) -> Iterator[Need]:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and isinstance(path := item.get("data_path"), str):
            least = item.get("min_count")
            optional = item.get("priority") == Priority.OPTIONAL.value
            yield Need(
                path,
                least if isinstance(least, int) else 1,
                Priority.OPTIONAL if optional else Priority.REQUIRED,
            )


def _at(outputs: Mapping[str, Json], data_path: str) -> Json:
    value: Json = dict(outputs)
    for name in data_path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _together(values: list[Json]) -> Json:
    if not values:
        return None
    first, *rest = values
    if not isinstance(first, dict) or not rest:
        return first
    objects = [first, *(each for each in rest if isinstance(each, dict))]
    names = dict.fromkeys(name for each in objects for name in each)
    return {name: _together([each[name] for each in objects if name in each]) for name in names}
