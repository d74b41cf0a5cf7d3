"""Settings of the adapter, with Clear AI's names: `max_retries` and `maxRetries` are the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self, cast, get_args

from toolplan.answer import Thresholds
from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.summary.form import Format
from toolplan.summary.prompt import Tone
from toolplan.tools import Tool

_INNER_CAPITALS: Final = re.compile(r"(?<=[a-z0-9])[A-Z]+")
_TRUTHS: Final = {"true": True, "1": True, "yes": True, "on": True} | {
    "false": False, "0": False, "no": False, "off": False
}  # fmt: skip
_POSITIVE: Final = frozenset(
    {"max_tokens", "max_retries", "cache_max_size", "max_parallel_executions", "tool_timeout"}
    | {"max_length"}
)
"""Numbers that must be 1 or more; all others must be 0 or more."""

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "format": get_args(Format),
    "tone": get_args(Tone),
}
_VARIABLES: Final[Mapping[str, str]] = {
    "PLANNER_TEMPERATURE": "temperature",
    "PLANNER_MAX_TOKENS": "max_tokens",
    "PLANNER_MAX_RETRIES": "max_retries",
    "PLANNER_ENABLE_CACHING": "enable_caching",
    "PLANNER_CACHE_MAX_SIZE": "cache_max_size",
    "PLANNER_CACHE_TTL": "cache_ttl",
    "PLANNER_VALIDATE_TOOLS": "validate_tool_availability",
}


class SettingError(ToolplanError, ValueError):
    """A setting does not exist, or its value is not valid."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-setting", message)


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool with the names of its parameters only: enough to plan with."""

    name: str
    description: str = ""
    params: tuple[str, ...] = ()
    required_params: tuple[str, ...] = ()

    def tool(self) -> Tool:
        """Return the tool, which takes any value for each parameter and cannot be called."""
        return Tool(
            name=self.name,
            description=self.description,
            raw_input={
                "type": "object",
                "properties": {name: {} for name in self.params},
                "required": [*self.required_params],
                "additionalProperties": False,
            },
        )


@dataclass(frozen=True, slots=True)
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
        known = [each.name for each in fields(cls)]
        named: dict[str, Any] = {}
        for name, value in cast("Mapping[str, object]", values or {}).items():
            setting = _INNER_CAPITALS.sub(lambda found: f"_{found[0]}", name).lower()
            if setting not in known:
                hint = did_you_mean(near(setting, known)) or f"Settings: {', '.join(known)}."
                raise SettingError(f"There is no setting {name!r}. {hint}")
            named[setting] = value
        return cls(**named)

    def __post_init__(self) -> None:
        for each in fields(self):
            name, value = each.name, getattr(self, each.name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            least = 1 if name in _POSITIVE else 0
            if name in _CHOICES and value not in _CHOICES[name]:
                raise SettingError(f"{name} is {value!r}, not one of {', '.join(_CHOICES[name])}.")
            if isinstance(each.default, bool) and not isinstance(value, bool):
                raise SettingError(f"{name} is {value!r}, not true or false.")
            if type(each.default) in (int, float) and not (is_number and value >= least):
                raise SettingError(f"{name} is {value!r}, not a number of {least} or more.")


@dataclass(frozen=True, slots=True)
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
        cache_ttl: the lifetime of a cached plan, in milliseconds.
        available_tools: the tools that plans may call, by name, if there is no server.
    """

    temperature: float = 0.1
    max_tokens: int = 1000
    max_retries: int = 3
    validate_tool_availability: bool = True
    strict_validation: bool = True
    enable_caching: bool = True
    cache_max_size: int = 100
    cache_ttl: float = 3_600_000.0
    available_tools: Mapping[str, ToolInfo | Tool] = field(
        default_factory=dict[str, "ToolInfo | Tool"]
    )

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings in `environment` (`PLANNER_TEMPERATURE` …, F003-6).

        Raises:
            SettingError: the value of a variable is not valid.
        """
        defaults = {each.name: each.default for each in fields(cls)}
        values: dict[str, object] = {}
        for variable, name in _VARIABLES.items():
            if text := environment.get(variable, "").strip():
                values[name] = _read(variable, text, defaults[name])
        return cls.of(values)


@dataclass(frozen=True, slots=True)
class ExecutorConfig(Settings):
    """Settings for running plans. Times are milliseconds.

    Attributes:
        max_parallel_executions: the maximum number of concurrent calls.
        tool_timeout: for each attempt of a call.
        max_retries: the maximum number of attempts of a call, for tools that may be called twice.
        retry_delay: before the second attempt; doubled before each further one.
        fail_fast: whether the first failure ends the run with an `ExecutionError`.
        total_timeout: for the whole plan.
    """

    max_parallel_executions: int = 5
    tool_timeout: float = 30_000.0
    max_retries: int = 3
    retry_delay: float = 1_000.0
    fail_fast: bool = False
    total_timeout: float = 300_000.0


@dataclass(frozen=True, slots=True)
class AnalyzerConfig(Settings):
    """Settings for the analysis of results.

    Attributes:
        anomaly_threshold: the least distance of an outlier from the mean, in standard deviations.
        iqr_multiplier: its least distance from the quartiles, in interquartile ranges.
        min_values: the fewest numbers among which one is an outlier, 3 or more.
        stability_threshold: the least change of a trend, as a share of the mean of its series.
    """

    anomaly_threshold: float = 2.0
    iqr_multiplier: float = 1.5
    min_values: int = 8
    stability_threshold: float = 0.2

    @property
    def thresholds(self) -> Thresholds:
        """The same as the thresholds of an answer."""
        return Thresholds(
            self.anomaly_threshold, self.iqr_multiplier, self.min_values, self.stability_threshold
        )


@dataclass(frozen=True, slots=True)
class SummarizerConfig(Settings):
    """Settings for the wording of answers.

    Attributes:
        max_length: the maximum number of words that a model writes.
        format: the format of the text; it is parsed as such.
        tone: the tone of a model.
        include_details: whether figures follow the main points.
        include_recommendations: whether the text recommends actions.
    """

    max_length: int = 500
    format: Format = "plain"
    tone: Tone = "professional"
    include_details: bool = True
    include_recommendations: bool = True


@dataclass(frozen=True, slots=True)
class OrchestratorConfig(Settings):
    """The time limit of each stage, in milliseconds, and the use of the memory.

    Attributes:
        timeout: for the whole question.
        planning_timeout: for planning; then the offline planner takes over.
        execution_timeout: for running the plan.
        analysis_timeout: for the analysis, and again for the summary.
        memory_timeout: for each access to the memory.
        enable_memory: whether questions are saved.
        enable_context_loading: whether earlier questions are loaded.
    """

    timeout: float = 60_000.0
    planning_timeout: float = 30_000.0
    execution_timeout: float = 30_000.0
    analysis_timeout: float = 10_000.0
    memory_timeout: float = 2_000.0
    enable_memory: bool = True
    enable_context_loading: bool = True


def _read(variable: str, text: str, default: object) -> object:
    is_truth = isinstance(default, bool)
    try:
        if is_truth:
            return _TRUTHS[text.lower()]
        return int(text) if isinstance(default, int) else float(text)
    except (KeyError, ValueError):
        wanted = "true or false" if is_truth else "a number"
        raise SettingError(f"{variable} is {text!r}, not {wanted}.") from None
