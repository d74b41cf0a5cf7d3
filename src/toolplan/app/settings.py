"""The user's settings: `toolplan.toml`, read once, and environment variables.

This is the only module that reads either for models and planners; all others take values.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, cast, get_args, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from toolplan.answer import Thresholds
from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.extras import check_beside
from toolplan.providers import SETTABLE
from toolplan.sources.named import SOURCES
from toolplan.tools import Effects

FILE: Final = "toolplan.toml"
TABLES: Final = (
    "answer",
    "effects",
    "limits",
    "retention",
    "runs",
    "sources",
    "toolboxes",
)
LABELS: Final = tuple(label.value for label in Effects)
_OLLAMA: Final = "http://localhost:11434"
_FLAGS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("0", "false", "no", "off", "n", "f"), False),
}
_NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})


class SettingsError(ToolplanError):
    """A setting cannot be used; the code is `bad-settings`.

    The message names the variable and where it is set, and never the value of a key.
    """

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__("bad-settings", message, help)


class _Bad(Exception):
    """A value cannot be used; the text ends the sentence that names the variable."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Bad("must be text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):  # a list in a variable is separated by commas or blanks
        return tuple(value.replace(",", " ").split())
    if not isinstance(value, list):
        raise _Bad("must be a list of texts")
    return tuple(_text(each) for each in cast("list[object]", value))


def _parameters(value: object) -> tuple[str, ...]:
    named = _texts(value)
    for name in named:
        if name not in SETTABLE:
            raise _Bad(f"has {name!r}, which is none of {', '.join(SETTABLE)}")
    return named


def _zone(value: object) -> str:
    name = _text(value)
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise _Bad(f"is no time zone: {name!r}; write one as Europe/Berlin") from None
    return name


def _flag(value: object) -> bool:
    found = value if isinstance(value, bool) else _FLAGS.get(str(value).lower())
    if found is None:
        raise _Bad("must be true or false")
    return found


def _keys(value: object) -> Mapping[str, str]:
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, dict):
        raise _Bad("must be a JSON object with a key for each address")
    table = cast("dict[object, object]", found)
    if not all(isinstance(each, str) for pair in table.items() for each in pair):
        raise _Bad("must have a text for each address")
    return cast("dict[str, str]", table)


def _number(low: float, high: float, *, whole: bool = False) -> Callable[[object], Any]:
    kind = "a whole number" if whole else "a number"

    def read(value: object) -> float:
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError
            number = int(value) if whole else float(value)
            if not low <= number <= high or number != float(value):
                raise ValueError
        except (ValueError, OverflowError):
            raise _Bad(f"must be {kind} from {low:,g} to {high:,g}") from None
        return number

    return read


def _whole(low: int, high: int) -> Callable[[object], Any]:
    return _number(low, high, whole=True)


class _Setting(Struct, frozen=True):
    variable: str
    read: Callable[[object], Any]
    secret: bool = False


class ModelSettings(Struct, frozen=True):
    """The settings of models and planners, with a default for each that is not set.

    Each field is an environment variable, and in `toolplan.toml` a line with the name of the
    variable in small letters. The environment comes first.

    Attributes:
        models: names of models, in the order in which they are asked.
        timeout_s: the most seconds of one call to a model.
        max_calls: the most calls to models for one reply.
        left_out: parameters that no model is sent; those that an endpoint refuses are found out.
        url_keys: keys of models at bare URLs, by scheme and host; JSON in the environment.
        openai_model: the model of OpenAI in `seed_chain`; `groq_model`, `ollama_model` likewise.
        ollama_url: the old name of `ollama_base_url`.
        temperature: of a model that plans.
        max_tokens: the most tokens of a plan.
        instructions: additional instructions for the planning model.
        small_model: whether the model is small: its replies get short lists and texts.
        max_retries: the most requests to a model for one question, failed ones counted.
        enable_caching: whether plans that worked are remembered.
        cache_max_size: how many plans are remembered.
        cache_ttl_ms: how long a plan is remembered, in milliseconds.
        validate_tools: whether a plan with an unknown tool is refused.
        zone: the time zone of questions: of today, and of times that `sql` compares. Empty: that of
            the machine, and of each time itself.
    """

    models: Annotated[tuple[str, ...], _Setting("TOOLPLAN_MODEL", _texts)] = ()
    timeout_s: Annotated[float, _Setting("TOOLPLAN_MODEL_TIMEOUT", _number(0.001, 3_600))] = 60.0
    max_calls: Annotated[int, _Setting("TOOLPLAN_MODEL_MAX_CALLS", _whole(1, 1_000))] = 8
    left_out: Annotated[tuple[str, ...], _Setting("TOOLPLAN_MODEL_WITHOUT", _parameters)] = ()
    url_keys: Annotated[Mapping[str, str], _Setting("TOOLPLAN_MODEL_KEYS", _keys, secret=True)] = (
        _NO_KEYS
    )
    openai_api_key: Annotated[str, _Setting("OPENAI_API_KEY", _text, secret=True)] = ""
    anthropic_api_key: Annotated[str, _Setting("ANTHROPIC_API_KEY", _text, secret=True)] = ""
    groq_api_key: Annotated[str, _Setting("GROQ_API_KEY", _text, secret=True)] = ""
    openai_model: Annotated[str, _Setting("OPENAI_MODEL", _text)] = "gpt-3.5-turbo"
    groq_model: Annotated[str, _Setting("GROQ_MODEL", _text)] = "llama-3.1-8b-instant"
    ollama_model: Annotated[str, _Setting("OLLAMA_MODEL", _text)] = "mistral:latest"
    ollama_base_url: Annotated[str, _Setting("OLLAMA_BASE_URL", _text)] = ""
    ollama_url: Annotated[str, _Setting("OLLAMA_URL", _text)] = ""
    temperature: Annotated[float, _Setting("PLANNER_TEMPERATURE", _number(0, 2))] = 0.0
    max_tokens: Annotated[int, _Setting("PLANNER_MAX_TOKENS", _whole(1, 1_000_000))] = 10_000
    instructions: Annotated[str, _Setting("PLANNER_INSTRUCTIONS", _text)] = ""
    small_model: Annotated[bool, _Setting("PLANNER_SMALL_MODEL", _flag)] = False
    max_retries: Annotated[int, _Setting("PLANNER_MAX_RETRIES", _whole(0, 20))] = 3
    enable_caching: Annotated[bool, _Setting("PLANNER_ENABLE_CACHING", _flag)] = True
    cache_max_size: Annotated[int, _Setting("PLANNER_CACHE_MAX_SIZE", _whole(1, 1_000_000))] = 100
    cache_ttl_ms: Annotated[int, _Setting("PLANNER_CACHE_TTL", _whole(0, 10**15))] = 3_600_000
    validate_tools: Annotated[bool, _Setting("PLANNER_VALIDATE_TOOLS", _flag)] = True
    zone: Annotated[str, _Setting("TOOLPLAN_ZONE", _zone)] = ""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"ModelSettings({shown})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields without keys, for the libraries that print values."""
        shown = (n for n in self.__struct_fields__ if n not in _SETTINGS or not _SETTINGS[n].secret)
        return [(name, getattr(self, name)) for name in shown]

    @property
    def keys(self) -> dict[str, str]:
        """The keys that are set, by provider or by scheme and host."""
        named = {
            "openai": self.openai_api_key,
            "anthropic": self.anthropic_api_key,
            "groq": self.groq_api_key,
            **{url.rstrip("/"): key for url, key in self.url_keys.items()},
        }
        return {name: key.strip() for name, key in named.items() if key.strip()}

    @property
    def addresses(self) -> dict[str, str]:
        """Base URLs of providers, by name."""
        return {"ollama": self.ollama_base_url or self.ollama_url or _OLLAMA}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about settings with old names."""
        if not self.ollama_url:
            return ()
        used = "is ignored" if self.ollama_base_url else "still works"
        return (f"OLLAMA_URL is the old name of OLLAMA_BASE_URL, and {used}.",)

    def seed_chain(self) -> tuple[str, ...]:
        """Return OpenAI and Groq where their keys are set, then Ollama."""
        keys = self.keys
        chain = [("openai", self.openai_model), ("groq", self.groq_model)]
        keyed = [f"{provider}:{model}" for provider, model in chain if provider in keys]
        return (*keyed, f"ollama:{self.ollama_model}")


_SETTINGS: Final[Mapping[str, _Setting]] = {
    name: get_args(hint)[1]
    for name, hint in get_type_hints(ModelSettings, include_extras=True).items()
}
"""How the fields of `ModelSettings` are read."""
VARIABLES: Final[Mapping[str, str]] = {each.variable: name for name, each in _SETTINGS.items()}
"""The field of each environment variable."""
NAMES: Final = tuple(sorted(each.lower() for each in VARIABLES))
"""The names in `toolplan.toml` beside its tables."""


def source_tables() -> tuple[str, ...]:
    """Return the tables of sources of other packages: each has the name of its source."""
    return tuple(each.name for each in SOURCES.entries() if not each.is_ours)


class Settings:
    """The settings of one user; a table or a variable is checked when it is first used."""

    def __init__(
        self,
        document: Mapping[str, object] = MappingProxyType({}),
        path: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Read `toolplan.toml` at `path`, and the variables of `environment`.

        Raises:
            SettingsError: a name is unknown.
            ToolplanError: a table is for a source that is not installed.
        """
        self.path = path
        self._document = document
        variables = os.environ if environment is None else environment
        self._set = {name.upper(): value for name, value in variables.items() if value}
        for key in document:
            if key not in TABLES and key not in NAMES and key not in source_tables():
                check_beside("source", key, f"{self.place}: [{key}]")
                tables = sorted((*TABLES, *source_tables()))
                known = ", ".join((*(f"[{table}]" for table in tables), *NAMES))
                meant = did_you_mean(near(key, (*tables, *NAMES))) or ""
                raise SettingsError(
                    f"{self.place}: there is no setting {key!r}.",
                    f"{meant} Known settings: {known}.".strip(),
                )

    @property
    def place(self) -> str:
        """Where the settings are written, for messages."""
        return "the settings" if self.path is None else str(self.path)

    @property
    def names_model(self) -> bool:
        """Whether a model is named; its name may still be wrong."""
        return bool(self._set.get("TOOLPLAN_MODEL") or self._document.get("toolplan_model"))

    def table(self, name: str) -> dict[str, object]:
        """Return a table, empty where there is none.

        Raises:
            SettingsError: it is not a table.
        """
        found = self._document.get(name, {})
        if not isinstance(found, Mapping):
            raise SettingsError(
                f"{self.place}: {name!r} is not a table.", f"Write [{name}] on its own line."
            )
        return dict(cast("Mapping[str, object]", found))

    @property
    def effects(self) -> dict[str, Effects]:
        """The labels of `[effects]`, by tool.

        Raises:
            SettingsError: one is not a label.
        """
        found: dict[str, Effects] = {}
        for tool, label in self.table("effects").items():
            if label not in LABELS:
                raise SettingsError(
                    f"{self.place}: the label of {tool!r} is none of {', '.join(LABELS)}.",
                    'The table [effects] has lines such as `send_mail = "write"`.',
                )
            found[tool] = Effects(str(label))
        return found

    @property
    def journal(self) -> str | Path | None:
        """Where the journal is, of `TOOLPLAN_JOURNAL` or the table `[runs]`; None: nowhere said.

        A path in the file is relative to the folder of the file.

        Raises:
            SettingsError: it is not text, or the table has other names.
        """
        table = self.table("runs")
        for name in table:
            if name != "journal":
                hint = did_you_mean(near(name, ["journal"])) or "The table [runs] has journal."
                raise SettingsError(f"{self.place}: [runs] has no setting {name!r}.", hint)
        found = self._set.get("TOOLPLAN_JOURNAL") or table.get("journal")
        if found is None or found == "":
            return None
        if not isinstance(found, str):
            raise SettingsError(
                f"{self.place}: journal in [runs] is not text.",
                'The table [runs] has lines such as `journal = "runs.sqlite"`.',
            )
        if "TOOLPLAN_JOURNAL" in self._set or ":/" in found or self.path is None:
            return found
        return self.path.parent / Path(found).expanduser()

    def toolbox(self, name: str) -> tuple[str, ...]:
        """Return what opens the tools of the toolbox `name`, of the table `[toolboxes.NAME]`.

        Raises:
            SettingsError: there is none, or it cannot be used.
        """
        table, example = self.table("toolboxes"), 'tools = ["module:TOOLS", "mcp.json"]'
        if name not in table:
            known = ", ".join(map(repr, table)) or "none"
            raise SettingsError(
                f"{self.place}: there is no toolbox {name!r}.",
                did_you_mean(near(name, table))
                or f"Known toolboxes: {known}. The table [toolboxes.{name}] has a line such as"
                f" `{example}`.",
            )
        found = table[name]
        lines = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        specs = (
            cast("list[object]", listed) if isinstance(listed := lines.get("tools"), list) else []
        )
        if specs and len(lines) == 1 and all(isinstance(each, str) and each for each in specs):
            return tuple(map(str, specs))
        raise SettingsError(
            f"{self.place}: [toolboxes.{name}] cannot be used.",
            f"It has one line, with at least one text: `{example}`.",
        )

    @property
    def thresholds(self) -> Thresholds:
        """What is an outlier and a trend in answers: the table `[answer]`.

        Raises:
            SettingsError: a name is unknown, or its value means nothing.
        """
        table, known = self.table("answer"), Thresholds.__struct_fields__
        for name in table:
            if name not in known:
                names = ", ".join(known)
                hint = did_you_mean(near(name, known)) or f"The table [answer] has {names}."
                raise SettingsError(f"{self.place}: [answer] has no setting {name!r}.", hint)
        try:
            return Thresholds(**cast("dict[str, Any]", table))
        except ToolplanError as error:
            raise SettingsError(f"{self.place}: in [answer] {error}") from None

    @cached_property
    def models(self) -> ModelSettings:
        """The settings of models and planners.

        Raises:
            SettingsError: some cannot be used; the message names each of them.
        """
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for name, setting in _SETTINGS.items():
            variable = setting.variable
            if variable in self._set:
                value, place = self._set[variable], "the environment"
            elif variable.lower() in self._document:
                value, place = self._document[variable.lower()], self.place
            else:
                continue
            try:
                values[name] = setting.read(value)
            except _Bad as error:
                wrong.append(f"{variable} in {place}: it {error}.")
        # Raised outside of the clause above: what was caught there may hold a key.
        if wrong:
            raise SettingsError(" ".join(wrong), "Fix or unset these variables.")
        return ModelSettings(**values)


def read_settings(
    folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings in `toolplan.toml` of `folder`, and in `environment`, by default ours.

    Raises:
        SettingsError: the file cannot be read, or has an unknown name.
    """
    if folder is None:
        return Settings(environment=environment)
    path = folder / FILE
    try:
        text = path.read_text("utf-8")
        return Settings(tomllib.loads(text), path, environment)
    except (FileNotFoundError, NotADirectoryError):
        return Settings(path=path, environment=environment)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except tomllib.TOMLDecodeError as error:
        reason = f"not valid TOML: {error}"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text (byte {error.start})"
    raise SettingsError(f"{path}: {reason}.", "Fix the file, or move it away.")
