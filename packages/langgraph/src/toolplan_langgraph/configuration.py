"""The configuration of the strategy: servers, prompts, models and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.sources.mcp import Server, read_servers
from toolplan_langgraph import _prompts

DEFAULT_MODEL: Final = "openai/gpt-4o"


class ConfigurationError(ToolplanError, ValueError):
    """A field of a configuration is unknown or not valid."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-configuration", message)


class Caps(NamedTuple):
    """Limits. When one is reached, the graph ends and says which.

    Attributes:
        attempts: the maximum number of failed attempts of one task.
        replans: the maximum number of new plans because an expert cannot do its task.
        rounds: the maximum number of requests to planner, experts and assessor together, since the
            last message of the user.
        replies: the maximum number of requests for one valid reply.
        calls: the maximum number of tool calls in one message.
        messages: the number of latest messages that planner and experts see.
        result_chars: the maximum number of characters of one result that models see.
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
    """The configuration of the strategy.

    Attributes:
        mcp_server_config: the experts: a server's entry by its name, as in `mcpServers`, with an
            optional `description` for the planner.
        planner_system_prompt: the planner's prompt; likewise the others.
        planner_model: `provider/model`, or a name as in `toolplan.providers`; likewise the others.
        confidence: the assessor's confidence, from 0 to 1, below which a task is not done.
        caps: limits.
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
        for name, value in self.caps._asdict().items():
            least = 0 if name == "replans" else 1
            if value < least:
                raise ConfigurationError(f"caps.{name} must be {least} or more, not {value}.")
        if not 0 <= self.confidence <= 1:
            raise ConfigurationError(f"confidence must be from 0 to 1, not {self.confidence}.")

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Configuration:
        """Read a configuration with the fields of this class; `caps` is an object.

        Raises:
            ConfigurationError: a field is unknown or not valid.
        """
        return cls().with_fields(document)

    def with_fields(self, document: Mapping[str, Json]) -> Configuration:
        """Return the same with the fields of `document`.

        Raises:
            ConfigurationError: a field is unknown or not valid.
        """
        known = [each.name for each in fields(self)]
        given: dict[str, Any] = {
            name: _field(_known(name, known), value) for name, value in document.items()
        }
        return replace(self, **given)

    def get_mcp_server_descriptions(self) -> list[tuple[str, str]]:
        """Return name and description of each server; a missing description is empty."""
        described: list[tuple[str, str]] = []
        for name, entry in self.mcp_server_config.items():
            text = entry.get("description") if isinstance(entry, dict) else None
            described.append((name, text if isinstance(text, str) else ""))
        return described

    def build_experts_context(self) -> str:
        """Return the list of experts for the planner, a line for each."""
        return experts_text(self.get_mcp_server_descriptions())

    def servers(self, environment: Mapping[str, str]) -> dict[str, Server]:
        """Return the servers; `${NAME}` in `env` and `headers` is read from `environment`.

        Raises:
            ToolObjectError: an entry is not valid.
        """
        return read_servers(json.dumps({"mcpServers": {**self.mcp_server_config}}), environment)


def experts_text(descriptions: list[tuple[str, str]]) -> str:
    """Return `- name: description` for each expert."""
    return "\n".join(f"- {name}: {' '.join(text.split())}" for name, text in descriptions)


def _known(name: str, known: list[str]) -> str:
    if name in known:
        return name
    help_ = did_you_mean(near(name, known)) or f"Fields: {', '.join(known)}."
    raise ConfigurationError(f"A configuration has no field {name!r}. {help_}")


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
    given: dict[str, Any] = {}
    for name, value in document.items():
        _known(f"caps.{name}", [f"caps.{each}" for each in Caps._fields])
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"caps.{name} must be a whole number.")
        given[name] = value
    return Caps(**given)
