"""What the strategy is set up with: servers, and prompts, models and bounds of its roles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, NamedTuple, cast

from toolplan.diagnostics import did_you_mean, near
from toolplan.integrations.langgraph import _prompts
from toolplan.path import Json
from toolplan.sources.mcp import Server, read_servers

DEFAULT_MODEL: Final = "openai/gpt-4o"


class ConfigurationError(ValueError):
    """A configuration cannot be used; the text names the field and the way out."""


class Caps(NamedTuple):
    """Hard bounds; where one binds, the graph ends and says which.

    Attributes:
        attempts: the most tries of one task that were judged not to have done it.
        replans: how often the planner is asked again because an expert cannot do its task.
        rounds: how often planner, experts and assessor are asked, all together, since a person last
            said something.
        replies: how often one role is asked for one reply that can be read.
        calls: the most tool calls in one message.
        messages: how many of the latest messages planner and experts are shown.
        result_chars: the most characters of one result that models are shown.
    """

    attempts: int = 4
    replans: int = 2
    rounds: int = 60
    replies: int = 3
    calls: int = 16
    messages: int = 60
    result_chars: int = 20_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """How the strategy works.

    Attributes:
        mcp_server_config: the experts: a server's entry by its name, as in `mcpServers`, with an
            optional `description` that the planner reads.
        planner_system_prompt: the words that the planner is asked with; likewise the others.
        planner_model: who is asked, as `provider/model` or as `toolplan.providers` names models.
        confidence: the assessor's confidence, from 0 to 1, below which a task is not done.
        caps: hard bounds.
    """

    mcp_server_config: Mapping[str, Json] = field(default_factory=dict[str, Json])
    planner_system_prompt: str = _prompts.PLANNER
    planner_model: str = DEFAULT_MODEL
    orchestrate_system_prompt: str = _prompts.ORCHESTRATE
    orchestrate_model: str = DEFAULT_MODEL
    task_assessment_system_prompt: str = _prompts.TASK_ASSESSMENT
    task_assessment_model: str = DEFAULT_MODEL
    generate_response_system_prompt: str = _prompts.GENERATE_RESPONSE
    generate_response_model: str = DEFAULT_MODEL
    confidence: float = 0.7
    caps: Caps = field(default_factory=Caps)

    def __post_init__(self) -> None:
        """Refuse what nothing could be done with.

        Raises:
            ConfigurationError: a bound is out of its range.
        """
        for name, value in self.caps._asdict().items():
            least = 0 if name == "replans" else 1
            if value < least:
                raise ConfigurationError(f"caps.{name} must be {least} or more, not {value}.")
        if not 0 <= self.confidence <= 1:
            raise ConfigurationError(f"confidence must be from 0 to 1, not {self.confidence}.")

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Configuration:
        """Read a configuration whose fields are named as here; `caps` is an object.

        Raises:
            ConfigurationError: a field is not known, or does not have its type.
        """
        known = [each.name for each in fields(cls)]
        given: dict[str, object] = {}
        for name, value in document.items():
            if name not in known:
                raise ConfigurationError(_unknown(name, known))
            given[name] = _field(name, value)
        return replace(cls(), **cast("dict[str, str]", given))

    def get_mcp_server_descriptions(self) -> list[tuple[str, str]]:
        """Return name and description of each server, the description empty where there is none."""
        return [(name, _description(entry)) for name, entry in self.mcp_server_config.items()]

    def build_experts_context(self) -> str:
        """Return the list of experts for the planner, a line for each."""
        return experts_text(self.get_mcp_server_descriptions())

    def servers(self, environment: Mapping[str, str]) -> dict[str, Server]:
        """Return the servers themselves; `${NAME}` in `env` and `headers` is read in `environment`.

        Raises:
            ToolObjectError: an entry cannot be used; the text says where.
        """
        return read_servers(json.dumps({"mcpServers": {**self.mcp_server_config}}), environment)


def experts_text(descriptions: list[tuple[str, str]]) -> str:
    """Return `- name: description` for each expert."""
    return "\n".join(f"- {name}: {' '.join(text.split())}" for name, text in descriptions)


def _description(entry: Json) -> str:
    text = entry.get("description") if isinstance(entry, dict) else None
    return text if isinstance(text, str) else ""


def _unknown(name: str, known: list[str]) -> str:
    help_ = did_you_mean(near(name, known)) or f"There are {', '.join(known)}."
    return f"A configuration has no field {name!r}. {help_}"


def _field(name: str, value: Json) -> object:
    match name, value:
        case "mcp_server_config", {"mcpServers": dict() as servers, **rest} if not rest:
            return servers
        case "mcp_server_config", dict():
            return value
        case "confidence", float() | int() if not isinstance(value, bool):
            return float(value)
        case "caps", dict():
            return _caps(value)
        case "mcp_server_config" | "confidence" | "caps", _:
            wanted = "a number" if name == "confidence" else "an object"
            raise ConfigurationError(f"{name} must be {wanted}.")
        case _, str():
            return value
        case _:
            raise ConfigurationError(f"{name} must be a text.")


def _caps(document: Mapping[str, Json]) -> Caps:
    given: dict[str, int] = {}
    for name, value in document.items():
        if name not in Caps._fields:
            raise ConfigurationError(_unknown(f"caps.{name}", [f"caps.{n}" for n in Caps._fields]))
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"caps.{name} must be a whole number.")
        given[name] = value
    return Caps()._replace(**given)
