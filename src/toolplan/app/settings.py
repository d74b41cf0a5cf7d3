"""What a user sets: the environment, and `toolplan.toml`.

This is the one place where either is read for models and planners; all else takes values.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as SourceError

from toolplan.app.known_settings import NAMES, unknown_setting

FILE: Final = "toolplan.toml"
_OLLAMA: Final = "http://localhost:11434"


class SettingsError(Exception):
    """What is set cannot be used. `code` is `bad-settings`; `help` is the way out.

    The text names the variable and where it stands, and never holds the value of a key.
    """

    code: Final = "bad-settings"

    def __init__(self, message: str, help_: str) -> None:
        super().__init__(message)
        self.help = help_


def _listed(value: object) -> object:
    """Split a text at commas and blanks, so that a list can stand in a variable."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


class Settings(BaseSettings):
    """What is set, with defaults for what is not. Read it with `read_settings`.

    Each field has the name of a variable; in `toolplan.toml` that name is written in small letters.
    What stands in the environment goes before what stands in the file.
    """

    model_config = SettingsConfigDict(
        extra="ignore", frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    models: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = Field(
        default=(), validation_alias="TOOLPLAN_MODEL"
    )
    """Models in the order in which they are asked, as `open_model` names them."""
    timeout_s: float = Field(
        default=60.0, gt=0.0, le=3_600.0, validation_alias="TOOLPLAN_MODEL_TIMEOUT"
    )
    """The most seconds of one call to a model."""
    max_calls: int = Field(default=8, ge=1, le=1_000, validation_alias="TOOLPLAN_MODEL_MAX_CALLS")
    """The most calls to models for one reply."""
    url_keys: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr], validation_alias="TOOLPLAN_MODEL_KEYS"
    )
    """Keys of models at bare URLs, by scheme and host; JSON in the environment."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    """The key for `openai:…`."""
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    """The key for `anthropic:…`."""
    groq_api_key: SecretStr | None = Field(default=None, validation_alias="GROQ_API_KEY")
    """The key for `groq:…`."""

    openai_model: str = Field(default="gpt-3.5-turbo", validation_alias="OPENAI_MODEL")
    """The model of OpenAI in `seed_chain`."""
    groq_model: str = Field(default="llama-3.1-8b-instant", validation_alias="GROQ_MODEL")
    """The model of Groq in `seed_chain`."""
    ollama_model: str = Field(default="mistral:latest", validation_alias="OLLAMA_MODEL")
    """The model of Ollama in `seed_chain`."""
    ollama_base_url: str | None = Field(default=None, validation_alias="OLLAMA_BASE_URL")
    """Where Ollama listens."""
    ollama_url: str | None = Field(default=None, validation_alias="OLLAMA_URL")
    """The old name of `OLLAMA_BASE_URL`."""

    temperature: float = Field(default=0.1, ge=0.0, le=2.0, validation_alias="PLANNER_TEMPERATURE")
    """How far a planning model may stray from the likeliest words."""
    max_tokens: int = Field(
        default=1_000, ge=1, le=1_000_000, validation_alias="PLANNER_MAX_TOKENS"
    )
    """The most tokens of a plan."""
    max_retries: int = Field(default=3, ge=0, le=20, validation_alias="PLANNER_MAX_RETRIES")
    """How many times a planning model hears what is wrong with its plan."""
    enable_caching: bool = Field(default=True, validation_alias="PLANNER_ENABLE_CACHING")
    """Whether plans that worked are remembered."""
    cache_max_size: int = Field(
        default=100, ge=1, le=1_000_000, validation_alias="PLANNER_CACHE_MAX_SIZE"
    )
    """How many plans are remembered."""
    cache_ttl_ms: int = Field(default=3_600_000, ge=0, validation_alias="PLANNER_CACHE_TTL")
    """How long a plan is remembered, in milliseconds."""
    validate_tools: bool = Field(default=True, validation_alias="PLANNER_VALIDATE_TOOLS")
    """Whether a plan that uses a tool which is not there is refused."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take the environment first, then what `read_settings` found in the file."""
        return env_settings, init_settings

    @property
    def keys(self) -> dict[str, str]:
        """The keys that there are, as `open_model` takes them."""
        named = {
            "openai": self.openai_api_key,
            "anthropic": self.anthropic_api_key,
            "groq": self.groq_api_key,
            **{url.rstrip("/"): key for url, key in self.url_keys.items()},
        }
        plain = {name: key.get_secret_value().strip() for name, key in named.items() if key}
        return {name: key for name, key in plain.items() if key}

    @property
    def addresses(self) -> dict[str, str]:
        """Base URLs of providers, as `open_model` takes them."""
        return {"ollama": self.ollama_base_url or self.ollama_url or _OLLAMA}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of what is set: names that are out of use."""
        if self.ollama_url is None:
            return ()
        used = "is not read beside it" if self.ollama_base_url else "still works"
        return (f"OLLAMA_URL is the old name of OLLAMA_BASE_URL, and {used}.",)

    def seed_chain(self) -> tuple[str, ...]:
        """Return the seeds' order: OpenAI and Groq where there is a key, and Ollama at the end."""
        keys = self.keys
        chain = [("openai", self.openai_model), ("groq", self.groq_model)]
        keyed = [f"{provider}:{model}" for provider, model in chain if provider in keys]
        return (*keyed, f"ollama:{self.ollama_model}")


def read_settings(folder: Path | None = None) -> Settings:
    """Return what is set in the environment, and in `toolplan.toml` of `folder` where there is one.

    Raises:
        SettingsError: something cannot be used; the text names every variable that is wrong.
    """
    path = None if folder is None else folder / FILE
    written = {} if path is None else _written(path)
    try:
        return Settings(**written)
    except ValidationError as error:
        wrong = {str(each["loc"][0]): each["msg"] for each in error.errors()}
    except SourceError:
        wrong = {"TOOLPLAN_MODEL_KEYS": "It is no JSON object"}
    # Raised outside of the clauses above: what was caught holds what was set, and so keys.
    told = [f"{name} in {_place(name, path)}: {wrong[name].rstrip('.')}." for name in wrong]
    raise SettingsError(" ".join(told), "Mend what is named, or unset it.")


def _written(path: Path) -> dict[str, Any]:
    """Return what stands in the file, by the names of variables."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except tomllib.TOMLDecodeError as error:
        reason = f"it is no TOML: {error}"
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text (byte {error.start})"
    else:
        if (unknown := unknown_setting(found)) is not None:
            raise SettingsError(f"{path}: {unknown.reason}.", unknown.help)
        return {key.upper(): value for key, value in found.items() if key in NAMES}
    raise SettingsError(f"{path}: {reason}.", "Mend the file, or move it away.")


def _place(name: str, path: Path | None) -> str:
    in_environment = any(each.upper() == name and value for each, value in os.environ.items())
    return "the environment" if in_environment or path is None else str(path)
