"""Settings of the adapter, with Clear AI's names: `max_retries` and `maxRetries` are the same.

All times are milliseconds. A value of the wrong type or out of range is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Self, cast

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from toolplan.answer import Thresholds
from toolplan.errors import ToolplanError
from toolplan.summary.form import Format
from toolplan.summary.prompt import Tone
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


class SettingError(ToolplanError, ValueError):
    """A setting does not exist, or its value is not valid."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-setting", message)


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
            raise _setting_error(error, {}) from None


@dataclass(frozen=True, config=_CONFIG)
class PlannerConfig(Settings):
    """Settings for making plans.

    Attributes:
        temperature: of the model; 0 to 0.2 is right for planning.
        max_tokens: the maximum number of tokens of one reply.
        max_retries: the maximum number of requests for one question, failed ones counted.
        validate_tool_availability: whether every tool of a plan must exist. The structure of a plan
            is always checked.
        strict_validation: whether a plan with wrong arguments is an error. If not, it is returned
            with its `problems` after the last attempt; it can be shown, but does not run.
        enable_caching: whether plans are cached.
        cache_max_size: the maximum number of cached plans.
        cache_ttl: the lifetime of a cached plan.
        available_tools: the tools that plans may call, by name, if there is no server.
    """

    temperature: NonNegativeFloat = 0.1
    max_tokens: PositiveInt = 1000
    max_retries: PositiveInt = 3
    validate_tool_availability: bool = True
    strict_validation: bool = True
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
            raise _setting_error(error, _VARIABLES) from None


@dataclass(frozen=True, config=_CONFIG)
class ExecutorConfig(Settings):
    """Settings for running plans.

    Attributes:
        max_parallel_executions: the maximum number of concurrent calls.
        tool_timeout: for each attempt of a call.
        max_retries: the maximum number of attempts of a call, for tools that may be called twice.
        retry_delay: before the second attempt; doubled before each further one.
        total_timeout: for the whole plan.
    """

    max_parallel_executions: PositiveInt = 5
    tool_timeout: PositiveFloat = 30_000.0
    max_retries: PositiveInt = 3
    retry_delay: NonNegativeFloat = 1_000.0
    total_timeout: NonNegativeFloat = 300_000.0


@dataclass(frozen=True, config=_CONFIG)
class AnalyzerConfig(Settings):
    """Settings for the analysis of results.

    Attributes:
        anomaly_threshold: the least distance of an outlier from the mean, in standard deviations.
    """

    anomaly_threshold: NonNegativeFloat = 2.0

    @property
    def thresholds(self) -> Thresholds:
        """The same as the thresholds of an answer."""
        return Thresholds(self.anomaly_threshold)


@dataclass(frozen=True, config=_CONFIG)
class SummarizerConfig(Settings):
    """Settings for the wording of answers.

    Attributes:
        max_length: the maximum number of words that a model writes.
        format: the format of the text; it is parsed as such.
        tone: the tone of a model.
        include_details: whether figures follow the main points.
        include_recommendations: whether the text recommends actions.
    """

    max_length: PositiveInt = 500
    format: Format = "plain"
    tone: Tone = "professional"
    include_details: bool = True
    include_recommendations: bool = True


@dataclass(frozen=True, config=_CONFIG)
class OrchestratorConfig(Settings):
    """The time limit of each stage, and the use of the memory.

    Attributes:
        timeout: for the whole question.
        planning_timeout: for planning; then the offline planner takes over.
        execution_timeout: for running the plan.
        analysis_timeout: for the analysis, and again for the summary.
        memory_timeout: for each access to the memory.
        enable_memory: whether questions are saved.
        enable_context_loading: whether earlier questions are loaded.
    """

    timeout: NonNegativeFloat = 60_000.0
    planning_timeout: NonNegativeFloat = 30_000.0
    execution_timeout: NonNegativeFloat = 30_000.0
    analysis_timeout: NonNegativeFloat = 10_000.0
    memory_timeout: NonNegativeFloat = 2_000.0
    enable_memory: bool = True
    enable_context_loading: bool = True


def _setting_error(error: ValidationError, names: Mapping[str, str]) -> SettingError:
    """Return all that is wrong, each setting called by its name in `names`."""
    found = error.errors(include_url=False, include_context=False)
    said = (
        f"{names.get(name, name)} is {each['input']!r}: {each['msg']}."
        for each in found
        for name in [str(each["loc"][0])]
    )
    return SettingError(" ".join(said))
