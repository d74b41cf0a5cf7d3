"""Agents as tools: a function that gets a briefing, with the input schema of its contract.

What a skill requires is in the tool's input schema, `min_count` as `minItems`. So the check refuses
a plan in which it is missing, and the engine checks the data before it calls the agent.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, ToolError
from toolplan_adapters._calls import call_user
from toolplan_adapters.contract.contracts import Contract, Contracts, Need, Priority, Skill

_SCHEMA: Final[dict[str, Json]] = json.loads(
    files("toolplan_adapters.contract").joinpath("input_schema.json").read_text("utf-8")
)


class Briefing(Struct, frozen=True):
    """The task of an agent, and the outputs of earlier tasks.

    Attributes:
        skill: the skill to use, empty for agents that work for others.
        required_data: what it requires; for an agent that works for others, what they require.
        scope: what the intent names; the keys are those of `input_schema.json`.
        upstream: the outputs of earlier tasks, by tool; None where it failed.
    """

    skill: str
    required_data: tuple[Need, ...]
    scope: Mapping[str, Json]
    upstream: Mapping[str, Mapping[str, Json] | None]

    @property
    def sites(self) -> list[str]:
        """The sites that the intent names."""
        return cast("list[str]", self.scope.get("sites", []))

    def named(self, kind: str) -> list[str]:
        """Return the names of type `kind` in the intent: `severity`, `device`."""
        targets = cast("list[dict[str, str]]", self.scope.get("targets", []))
        return [each["value"] for each in targets if each["type"] == kind]

    def value(self, data_path: str) -> Json:
        """Return the value of earlier tasks at `data_path`, or None.

        Objects of several agents are merged.
        """
        found = [_at(outputs, data_path) for outputs in self.upstream.values() if outputs]
        return _merged([each for each in found if each is not None])

    def gaps(self) -> list[Json]:
        """Return the gaps: agents that failed, and optional data below its `min_count`."""
        failed: list[Json] = [
            {"upstream": tool, "reason": "it returned nothing", "priority": Priority.OPTIONAL.value}
            for tool, outputs in self.upstream.items()
            if outputs is None
        ]
        missing: list[Json] = [
            {
                "data_path": each.data_path,
                "reason": "there is too little data",
                "priority": each.priority.value,
            }
            for each in self.required_data
            if self.skill and not each.is_required and not self._has(each)
        ]
        return [*failed, *missing]

    def _has(self, needed: Need) -> bool:
        value = self.value(needed.data_path)
        count = len(value) if isinstance(value, list | dict) else 1
        return value is not None and count >= (needed.min_count or 0)


Work: TypeAlias = Callable[[Briefing], Mapping[str, Json] | Awaitable[Mapping[str, Json]]]
"""The work of an agent: it returns the outputs of its task, or raises `ToolError`."""


def agent_tool(
    contract: Contract,
    work: Work,
    contracts: Contracts,
    *,
    description: str = "",
    output: Json = None,
    effects: Effects = Effects.READ,
) -> Tool:
    """Return the tool of the agent of `contract`.

    Missing optional data is listed in `data_gaps` of the outputs, unless the agent lists it itself.

    Args:
        contract: of the agent.
        work: its function; a coroutine function is awaited, any other runs in a thread.
        contracts: of all agents, which name the producers of what it requires.
        description: of the tool.
        output: the schema of its outputs.
        effects: of its work.
    """

    async def call(arguments: Arguments) -> Json:
        given = cast("dict[str, Any]", arguments)  # they fit the input schema
        needed = (
            Need(e["data_path"], e.get("min_count", 1), Priority(e.get("priority", "required")))
            for e in given.get("required_data", ())
        )
        scope, upstream = given.get("scope", {}), given.get("upstream", {})
        briefing = Briefing(given.get("skill", ""), tuple(needed), scope, upstream)
        result = cast("object", await call_user(work, briefing))
        if not isinstance(result, Mapping):
            raise ToolError(
                f"The agent {contract.agent!r} returned {type(result).__name__}, not a mapping."
            )
        outputs = {**cast("Mapping[str, Json]", result)}
        gaps = briefing.gaps()
        if gaps and not outputs.get("data_gaps"):
            outputs["data_gaps"] = gaps
        return outputs

    return Tool(
        name=contract.tool,
        description=description or f"Runs the {contract.agent}.",
        raw_input=input_schema(contract, contracts),
        raw_output=output,
        effects=effects,
        call=call,
        source="agent",
    )


def input_schema(contract: Contract, contracts: Contracts) -> dict[str, Json]:
    """Return the input schema of an agent's tool: the four arguments, and what its skills require.

    The condition of each skill is `if` the argument `skill` names it, or, in plans of the dialect
    `state`, which has no such argument, an item of `required_data`.
    """
    conditions: list[Json] = []
    for skill in contract.skills:
        named: Json = {"properties": {"skill": {"const": skill.name}}, "required": ["skill"]}
        items: Json = {"contains": named}
        item: Json = {"properties": {"required_data": items}, "required": ["required_data"]}
        if wanted := _wanted(contract, skill, contracts):
            then: Json = {"properties": {"upstream": {"allOf": wanted}}, "required": ["upstream"]}
            conditions.append({"if": {"anyOf": [named, item]}, "then": then})
    schema: dict[str, Json] = {**_SCHEMA, "x-aliases": [contract.agent]}
    return {**schema, "allOf": conditions} if conditions else schema


def _wanted(contract: Contract, skill: Skill, contracts: Contracts) -> list[Json]:
    """Return the schemas of `upstream` for all that `skill` requires."""
    wanted: list[Json] = []
    for needed in skill.dependencies:
        producer = contracts.producer(needed.data_path, contract)
        if producer is None or not needed.is_required:
            continue
        schema: Json = {"minItems": needed.min_count, "minProperties": needed.min_count}
        for token in reversed([producer.tool, *needed.data_path.split(".")]):
            schema = {"type": "object", "properties": {token: schema}, "required": [token]}
        wanted.append(schema)
    return wanted


def _at(outputs: Mapping[str, Json], data_path: str) -> Json:
    value: Json = dict(outputs)
    for name in data_path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _merged(values: list[Json]) -> Json:
    if not values:
        return None
    first, *rest = values
    if not isinstance(first, dict) or not rest:
        return first
    objects = [first, *(each for each in rest if isinstance(each, dict))]
    names = dict.fromkeys(name for each in objects for name in each)
    return {name: _merged([each[name] for each in objects if name in each]) for name in names}
