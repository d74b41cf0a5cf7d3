"""Settings of the face, under Clear AI's names: `max_retries` and `maxRetries` are the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self, get_args

from toolplan.diagnostics import did_you_mean, near
from toolplan.summary.form import Format
from toolplan.summary.prompt import Tone
from toolplan.tools import Tool

_INNER_CAPITALS: Final = re.compile(r"(?<=[a-z0-9])[A-Z]+")
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})


class SettingError(ValueError):
    """A setting does not exist or cannot have that value; the text names it and the way out."""


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool of which only the names of its parameters are known: enough to plan with (F003-8)."""

    name: str
    description: str = ""
    params: tuple[str, ...] = ()
    required_params: tuple[str, ...] = ()

    def tool(self) -> Tool:
        """Return the tool, which takes anything for each parameter and cannot be called."""
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
class Named:
    """Settings that can be given as a mapping, in either spelling."""

    @classmethod
    def of(cls, values: Mapping[str, object] | Self | None) -> Self:
        """Return the settings that `values` names, and the defaults of the others.

        Raises:
            SettingError: there is no such setting, or it cannot have that value.
        """
        if isinstance(values, cls):
            return values
        return cls(**_named(cls, values if isinstance(values, Mapping) else {}))


@dataclass(frozen=True, slots=True)
class PlannerConfig(Named):
    """How plans are made.

    Attributes:
        temperature: of the model; 0 to 0.2 is right for planning, above 0.6 is not.
        max_tokens: the most tokens of one reply.
        max_retries: the most drafts for one question, and the most failures of the endpoint.
        validate_tool_availability: whether every tool of a plan must exist. The structure of a plan
            is checked in any case.
        strict_validation: whether arguments that its tools do not take make a plan fail. Else such
            a plan is given with its `problems` after the last try; it can be shown, and does not
            run.
        enable_caching: whether plans are remembered.
        cache_max_size: the most plans that are remembered.
        cache_ttl: how long, in milliseconds.
        available_tools: what plans may call, by name, where no server says it.
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

    def __post_init__(self) -> None:
        _at_least(1, max_tokens=self.max_tokens, max_retries=self.max_retries)
        _at_least(1, cache_max_size=self.cache_max_size)
        _at_least(0, temperature=self.temperature, cache_ttl=self.cache_ttl)
        _truths(
            validate_tool_availability=self.validate_tool_availability,
            strict_validation=self.strict_validation,
            enable_caching=self.enable_caching,
        )

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings that `environment` states (`PLANNER_TEMPERATURE` …, F003-6).

        Raises:
            SettingError: a variable cannot be read; the text names it.
        """
        stated = {name: environment[name] for name in _VARIABLES if environment.get(name)}
        return cls.of({_VARIABLES[name][0]: _read(name, text) for name, text in stated.items()})


@dataclass(frozen=True, slots=True)
class ExecutorConfig(Named):
    """How plans are run. Times are milliseconds.

    Attributes:
        max_parallel_executions: the most calls at once.
        tool_timeout: for each try of a call.
        max_retries: the most tries of a call, of tools that may be called twice; others get one.
        retry_delay: before the second try; doubled before each further one.
        fail_fast: whether the first failure ends the run with an `ExecutionError`.
        total_timeout: for the whole plan.
    """

    max_parallel_executions: int = 5
    tool_timeout: float = 30_000.0
    max_retries: int = 3
    retry_delay: float = 1_000.0
    fail_fast: bool = False
    total_timeout: float = 300_000.0

    def __post_init__(self) -> None:
        _at_least(1, max_parallel_executions=self.max_parallel_executions)
        _at_least(1, max_retries=self.max_retries, tool_timeout=self.tool_timeout)
        _at_least(0, retry_delay=self.retry_delay)
        _at_least(0, total_timeout=self.total_timeout)
        _truths(fail_fast=self.fail_fast)


@dataclass(frozen=True, slots=True)
class SummarizerConfig(Named):
    """How answers are worded.

    Attributes:
        max_length: the most words of what a model writes.
        format: the form of the text, for real: what it is in is parsed as such.
        tone: how a model writes.
        include_details: whether figures stand behind the main points.
        include_recommendations: whether it says what might be done.
    """

    max_length: int = 500
    format: Format = "plain"
    tone: Tone = "professional"
    include_details: bool = True
    include_recommendations: bool = True

    def __post_init__(self) -> None:
        _at_least(1, max_length=self.max_length)
        _one_of(get_args(Format), format=self.format)
        _one_of(get_args(Tone), tone=self.tone)
        _truths(
            include_details=self.include_details,
            include_recommendations=self.include_recommendations,
        )


@dataclass(frozen=True, slots=True)
class OrchestratorConfig(Named):
    """How long each stage of a question may take, in milliseconds, and what is remembered.

    Attributes:
        timeout: for the whole question.
        planning_timeout: for planning; the offline planner takes over after it.
        execution_timeout: for running the plan.
        analysis_timeout: for the analysis, and again for the summary.
        memory_timeout: for each question to the memory, which is done without after it.
        enable_memory: whether what was asked is remembered.
        enable_context_loading: whether what was asked before is looked up.
    """

    timeout: float = 60_000.0
    planning_timeout: float = 30_000.0
    execution_timeout: float = 30_000.0
    analysis_timeout: float = 10_000.0
    memory_timeout: float = 2_000.0
    enable_memory: bool = True
    enable_context_loading: bool = True

    def __post_init__(self) -> None:
        times = {each.name: getattr(self, each.name) for each in fields(self)}
        _at_least(0, **{name: value for name, value in times.items() if name.endswith("timeout")})
        _truths(
            enable_memory=self.enable_memory, enable_context_loading=self.enable_context_loading
        )


_VARIABLES: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "PLANNER_TEMPERATURE": ("temperature", float),
    "PLANNER_MAX_TOKENS": ("max_tokens", int),
    "PLANNER_MAX_RETRIES": ("max_retries", int),
    "PLANNER_ENABLE_CACHING": ("enable_caching", lambda text: _truth(text)),
    "PLANNER_CACHE_MAX_SIZE": ("cache_max_size", int),
    "PLANNER_CACHE_TTL": ("cache_ttl", float),
    "PLANNER_VALIDATE_TOOLS": ("validate_tool_availability", lambda text: _truth(text)),
}


def _named(kind: type[Named], values: Mapping[str, object]) -> dict[str, Any]:
    known = [each.name for each in fields(kind)]
    named: dict[str, Any] = {}
    for name, value in values.items():
        setting = _INNER_CAPITALS.sub(lambda found: f"_{found[0]}", name).lower()
        if setting not in known:
            meant = did_you_mean(near(setting, known)) or f"There are {', '.join(known)}."
            raise SettingError(f"There is no setting {name!r}. {meant}")
        named[setting] = value
    return named


def _read(variable: str, text: str) -> object:
    try:
        return _VARIABLES[variable][1](text.strip())
    except ValueError:
        wanted = "true or false" if _VARIABLES[variable][1] not in (int, float) else "a number"
        raise SettingError(f"{variable} is {text!r}; {wanted} is wanted.") from None


def _truth(text: str) -> bool:
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    raise ValueError


def _at_least(least: float, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
            raise SettingError(f"{name} is {value!r}; a number of {least:g} or more is wanted.")


def _truths(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise SettingError(f"{name} is {value!r}; true or false is wanted.")


def _one_of(choices: tuple[str, ...], **values: object) -> None:
    for name, value in values.items():
        if value not in choices:
            raise SettingError(f"{name} is {value!r}; one of {', '.join(choices)} is wanted.")
