"""Settings of the adapter, with Clear AI's names: `max_retries` and `maxRetries` are the same.

All times are milliseconds. A value of the wrong type or out of range is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from toolplan.base.errors import ToolplanError
from toolplan_adapters.clear.tools import AnyTool

_CONFIG: Final = ConfigDict(
    extra="forbid", strict=True, allow_inf_nan=False, arbitrary_types_allowed=True
)
_INNER_CAPITALS: Final = re.compile(r"(?<=[a-z0-9])[A-Z]+")
_FROM_ENVIRONMENT: Final = (
    "temperature", "max_tokens", "max_retries", "enable_caching", "cache_max_size", "cache_ttl",
)  # fmt: skip
_VARIABLES: Final[Mapping[str, str]] = {
    **{name: f"PLANNER_{name.upper()}" for name in _FROM_ENVIRONMENT},
    "validate_tool_availability": "PLANNER_VALIDATE_TOOLS",
}


def _always(value: bool) -> bool:
    if not value:
        raise ValueError("every plan is checked in full")
    return value


Always: TypeAlias = Annotated[bool, AfterValidator(_always)]


class SettingError(ToolplanError, ValueError):
    """A setting does not exist, or its value is not valid."""

    def __init__(self, error: ValidationError, names: Mapping[str, str]) -> None:
        parts: list[str] = []
        for each in error.errors(include_url=False, include_context=False):
            name = str(each["loc"][0])
            parts.append(f"{names.get(name, name)} is {each['input']!r}: {each['msg']}.")
        super().__init__("bad-setting", " ".join(parts))


@dataclass(frozen=True, config=_CONFIG)
class Settings:
    """Settings that can be given as a mapping, in either spelling."""

    @classmethod
    def of(cls, values: Mapping[str, object] | Self | None) -> Self:
        """Return the settings in `values`, with defaults for the others.

        Raises:
            SettingError: a setting does not exist, or its value is not valid.
        """
        if isinstance(values, cls):
            return values
        named: dict[str, Any] = {}
        for name, value in cast("Mapping[str, object]", values or {}).items():
            named[_INNER_CAPITALS.sub(lambda found: f"_{found[0]}", str(name)).lower()] = value
        try:
            return cls(**named)
        except ValidationError as error:
            raise SettingError(error, {}) from None


@dataclass(frozen=True, config=_CONFIG)
class PlannerConfig(Settings):
    """Settings for making plans.

    Attributes:
        temperature: of the model; 0 to 0.2 is right for planning.
        max_tokens: the maximum number of tokens of one reply.
        max_retries: the maximum number of requests for one question, failed ones counted.
        validate_tool_availability: always true: every tool of a plan must exist.
        strict_validation: always true: a plan with wrong arguments is an error.
        enable_caching: whether plans are cached.
        cache_max_size: the maximum number of cached plans.
        cache_ttl: the lifetime of a cached plan.
        available_tools: the tools that plans may call, by name, if there is no server.
    """

    temperature: NonNegativeFloat = 0.1
    max_tokens: PositiveInt = 1000
    max_retries: PositiveInt = 3
    validate_tool_availability: Always = True
    strict_validation: Always = True
    enable_caching: bool = True
    cache_max_size: PositiveInt = 100
    cache_ttl: NonNegativeFloat = 3_600_000.0
    available_tools: Mapping[str, AnyTool] = Field(default_factory=dict[str, AnyTool])

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings in `environment` (`PLANNER_TEMPERATURE` …).

        Raises:
            SettingError: the value of a variable is not valid.
        """
        texts = {name: environment.get(each, "").strip() for name, each in _VARIABLES.items()}
        given = {name: text for name, text in texts.items() if text}
        try:
            return TypeAdapter(cls).validate_python(given, strict=False)
        except ValidationError as error:
            raise SettingError(error, _VARIABLES) from None


@dataclass(frozen=True, config=_CONFIG)
class ExecutorConfig(Settings):
    """Settings for running plans.

    `max_retries` is the maximum number of attempts of a call, for tools that may be called twice,
    `tool_timeout` the time of each; `retry_delay` is doubled before each further one.
    """

    max_parallel_executions: PositiveInt = 5
    tool_timeout: PositiveFloat = 30_000.0
    max_retries: PositiveInt = 3
    retry_delay: NonNegativeFloat = 1_000.0
    total_timeout: NonNegativeFloat = 300_000.0


@dataclass(frozen=True, config=_CONFIG)
class OrchestratorConfig(Settings):
    """Settings for answering queries: the `timeout` of a whole question."""

    timeout: NonNegativeFloat = 60_000.0
