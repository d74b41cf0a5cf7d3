"""Settings of the Clear adapter: both spellings, the environment, and what does not fit."""

import pytest

from toolplan_adapters.clear import ExecutorConfig, OrchestratorConfig, PlannerConfig, SettingError


def test_the_defaults_are_those_of_the_seeds() -> None:
    """F000-25, F003-5."""
    assert PlannerConfig() == PlannerConfig(0.1, 1000, 3, True, True, True, 100, 3_600_000)


def test_settings_are_read_in_both_spellings() -> None:
    """F000-25, F003-5."""
    camel = {
        "temperature": 0.3,
        "maxTokens": 500,
        "maxRetries": 5,
        "validateToolAvailability": True,
        "strictValidation": True,
        "enableCaching": False,
        "cacheMaxSize": 7,
        "cacheTTL": 60_000,
    }
    snake = PlannerConfig(0.3, 500, 5, True, True, False, 7, 60_000)
    assert PlannerConfig.of(camel) == snake
    assert PlannerConfig.of({"max_retries": 5}) == PlannerConfig(max_retries=5)
    assert PlannerConfig.of(snake) is snake
    assert PlannerConfig.of(None) == PlannerConfig()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"maxRetry": 3}, "max_retry is 3: Unexpected"),
        ({"max_retries": 0}, "max_retries is 0"),
        ({"temperature": "hot"}, "temperature is 'hot'"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"validateToolAvailability": False}, "every plan is checked in full"),
        ({"strictValidation": False}, "every plan is checked in full"),
        ({"enable_caching": "yes"}, "enable_caching is 'yes'"),
    ],
)
def test_an_unknown_or_unfit_setting_is_reported(settings: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError) as raised:
        PlannerConfig.of(settings)
    assert said in str(raised.value)


def test_settings_come_from_the_environment() -> None:
    """F003-6."""
    environment = {
        "PLANNER_TEMPERATURE": "0.2",
        "PLANNER_MAX_TOKENS": "2000",
        "PLANNER_MAX_RETRIES": "4",
        "PLANNER_ENABLE_CACHING": "false",
        "PLANNER_CACHE_MAX_SIZE": "10",
        "PLANNER_CACHE_TTL": "1000",
        "PLANNER_VALIDATE_TOOLS": "true",
        "PATH": "/bin",
    }
    config = PlannerConfig.from_env(environment)
    assert config == PlannerConfig(0.2, 2000, 4, True, True, False, 10, 1000)
    assert PlannerConfig.from_env({"PLANNER_TEMPERATURE": ""}) == PlannerConfig()


@pytest.mark.parametrize(
    ("name", "text"), [("PLANNER_MAX_RETRIES", "three"), ("PLANNER_ENABLE_CACHING", "perhaps")]
)
def test_a_variable_that_cannot_be_read_is_named(name: str, text: str) -> None:
    """F003-6."""
    with pytest.raises(SettingError, match=name):
        PlannerConfig.from_env({name: text})


def test_the_defaults_of_the_other_stages() -> None:
    """Behaviours 2.8 and 2.10, C-37: times are milliseconds."""
    executor = ExecutorConfig()
    assert (executor.max_parallel_executions, executor.max_retries) == (5, 3)
    assert (executor.tool_timeout, executor.retry_delay) == (30_000, 1_000)
    assert executor.total_timeout == 300_000
    assert OrchestratorConfig().timeout == 60_000
