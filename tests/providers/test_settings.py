"""What a user sets: the environment and `toolplan.toml`, each by the same names."""

import os
import traceback
from pathlib import Path

import pytest

from tests.providers.asking import KEY
from toolplan.app.settings import (
    NAMES,
    TABLES,
    VARIABLES,
    SettingsError,
    read_settings,
    source_tables,
)
from toolplan.providers import open_model
from toolplan_adapters.clear import PlannerConfig


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set but what a test sets."""
    for name in [each for each in os.environ if each.upper() in VARIABLES]:
        monkeypatch.delenv(name)


def write(folder: Path, text: str) -> Path:
    (folder / "toolplan.toml").write_text(text, "utf-8")
    return folder


def test_without_anything_set_the_seeds_defaults_stand() -> None:
    """F003-5, F003-6; 0.1 and 1,000 tokens are those of Clear AI's own planner, not of toolplan."""
    settings = read_settings().models
    assert (settings.temperature, settings.max_tokens) == (0.0, 10_000)
    assert (PlannerConfig().temperature, PlannerConfig().max_tokens) == (0.1, 1_000)
    assert settings.max_retries == 3
    assert settings.enable_caching is True
    assert (settings.cache_max_size, settings.cache_ttl_ms) == (100, 3_600_000)
    assert settings.validate_tools is True
    assert (settings.models, settings.keys, settings.notes) == ((), {}, ())


def test_the_planners_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """F003-6: the seven names."""
    for name, value in {
        "PLANNER_TEMPERATURE": "0.7",
        "PLANNER_MAX_TOKENS": "2000",
        "PLANNER_MAX_RETRIES": "1",
        "PLANNER_ENABLE_CACHING": "false",
        "PLANNER_CACHE_MAX_SIZE": "7",
        "PLANNER_CACHE_TTL": "60000",
        "PLANNER_VALIDATE_TOOLS": "0",
    }.items():
        monkeypatch.setenv(name, value)
    settings = read_settings().models
    assert (settings.temperature, settings.max_tokens, settings.max_retries) == (0.7, 2_000, 1)
    assert (settings.enable_caching, settings.validate_tools) == (False, False)
    assert (settings.cache_max_size, settings.cache_ttl_ms) == (7, 60_000)


@pytest.mark.parametrize("text", ["openai:gpt-5, ollama:m", "openai:gpt-5 ollama:m,"])
def test_models_are_listed_in_one_variable(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TOOLPLAN_MODEL", text)
    assert read_settings().models.models == ("openai:gpt-5", "ollama:m")


def test_the_file_has_the_same_names_in_small_letters(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        """
        toolplan_model = ["http://host:1/v1#m"]
        planner_temperature = 0.3
        groq_api_key = "of-groq"
        [toolplan_model_keys]
        "http://host:1/" = "of-host"
        [effects]
        send_mail = "write"
        """,
    )
    settings = read_settings(folder).models
    assert (settings.models, settings.temperature) == (("http://host:1/v1#m",), 0.3)
    assert settings.keys == {"groq": "of-groq", "http://host:1": "of-host"}


def test_the_environment_precedes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, 'openai_api_key = "of-file"\nplanner_max_tokens = 5\n')
    monkeypatch.setenv("OPENAI_API_KEY", "of-environment")
    monkeypatch.setenv("PLANNER_MAX_TOKENS", "")
    settings = read_settings(folder).models
    assert (settings.keys, settings.max_tokens) == ({"openai": "of-environment"}, 5)


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    here, nowhere = read_settings(tmp_path), read_settings(tmp_path / "absent")
    assert here.models == read_settings().models == nowhere.models


def test_the_seeds_order_is_openai_groq_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behaviours 2.6: those with a key, and Ollama always last."""
    assert read_settings().models.seed_chain() == ("ollama:mistral:latest",)
    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setenv("OLLAMA_MODEL", "qwen3")
    assert read_settings().models.seed_chain() == ("groq:llama-3.1-8b-instant", "ollama:qwen3")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-5")
    monkeypatch.setenv("GROQ_MODEL", "llama-4")
    chain = read_settings().models.seed_chain()
    assert chain == ("openai:gpt-5", "groq:llama-4", "ollama:qwen3")
    settings = read_settings().models
    named = open_model(chain, keys=settings.keys, addresses=settings.addresses).name
    assert named == "openai:gpt-5, groq:llama-4, ollama:qwen3"


def test_a_key_of_blanks_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    assert read_settings().models.keys == {}


@pytest.mark.parametrize(
    ("new", "old", "address", "note"),
    [
        ("", "", "http://localhost:11434", ""),
        ("http://new:1", "", "http://new:1", ""),
        ("", "http://old:1", "http://old:1", "still works"),
        ("http://new:1", "http://old:1", "http://new:1", "is ignored"),
    ],
)
def test_the_old_name_of_ollamas_address_still_works_and_is_noted(
    monkeypatch: pytest.MonkeyPatch, new: str, old: str, address: str, note: str
) -> None:
    """C-37: OLLAMA_BASE_URL against OLLAMA_URL."""
    monkeypatch.setenv("OLLAMA_BASE_URL", new)
    monkeypatch.setenv("OLLAMA_URL", old)
    settings = read_settings().models
    assert settings.addresses == {"ollama": address}
    assert len(settings.notes) == bool(note)
    assert note in "".join(settings.notes)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLANNER_TEMPERATURE", "hot"),
        ("PLANNER_TEMPERATURE", "-1"),
        ("PLANNER_TEMPERATURE", "nan"),
        ("PLANNER_MAX_TOKENS", "0"),
        ("PLANNER_MAX_RETRIES", "-1"),
        ("PLANNER_ENABLE_CACHING", "perhaps"),
        ("PLANNER_CACHE_TTL", "an hour"),
        ("TOOLPLAN_MODEL_TIMEOUT", "0"),
        ("TOOLPLAN_MODEL_MAX_CALLS", "0"),
        ("TOOLPLAN_MODEL_KEYS", KEY),
        ("TOOLPLAN_MODEL_KEYS", f'["{KEY}"]'),
        ("TOOLPLAN_MODEL_KEYS", f'{{"http://host": ["{KEY}"]}}'),
    ],
)
def test_a_bad_variable_is_named_and_no_value_is_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """C01, C03 of reliability.md."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        _ = read_settings().models
    assert caught.value.code == "bad-settings"
    assert str(caught.value).startswith(f"{name} in the environment: ")
    assert caught.value.help
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_all_faults_are_reported_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, f'openai_api_key = ["{KEY}"]\nplanner_max_tokens = "many"\n')
    monkeypatch.setenv("PLANNER_CACHE_TTL", "long")
    with pytest.raises(SettingsError) as caught:
        _ = read_settings(folder).models
    text = str(caught.value)
    assert f"OPENAI_API_KEY in {folder / 'toolplan.toml'}" in text
    assert "PLANNER_MAX_TOKENS" in text
    assert "PLANNER_CACHE_TTL in the environment" in text
    assert KEY not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("planner_temprature = 1", "no setting 'planner_temprature'"),
        ("OPENAI_API_KEY = 'x'", "no setting 'OPENAI_API_KEY'"),
        ("models =", "not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path, text: str, expected: str) -> None:
    """C01, C02 of reliability.md: an unknown key is an error."""
    with pytest.raises(SettingsError, match=expected) as caught:
        read_settings(write(tmp_path, text))
    assert caught.value.help


def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(write(tmp_path, "planner_temprature = 1"))
    meant, _, known = str(caught.value.help).partition(" Known settings: ")
    assert meant == "Did you mean 'planner_temperature'?"
    tables = ", ".join(f"[{table}]" for table in sorted((*TABLES, *source_tables())))
    assert known == f"{tables}, {', '.join(NAMES)}."


def test_a_file_that_is_no_text_or_no_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "toolplan.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="UTF-8"):
        _ = read_settings(tmp_path).models
    (tmp_path / "toolplan.toml").unlink()
    (tmp_path / "toolplan.toml").mkdir()
    with pytest.raises(SettingsError, match="directory"):
        _ = read_settings(tmp_path).models


def test_no_key_is_shown_by_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TOOLPLAN_MODEL_KEYS", f'{{"http://host": "{KEY}"}}')
    settings = read_settings().models
    assert KEY not in f"{settings!r}{settings}"
    assert settings.keys == {"openai": KEY, "http://host": KEY}
