"""The user's settings and data folder: `toolplan.toml`, read once, the policy, the journal's place.

This is the only module that reads settings and environment variables for models and planners; all
others take values.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, cast
from zoneinfo import ZoneInfo

import platformdirs
from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import fields

from toolplan import policy as flows
from toolplan.base.errors import ToolplanError
from toolplan.base.extras import check_beside
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.exact_json import read_json
from toolplan.policy import Policy, PolicyError
from toolplan.providers import SETTABLE, Model, UsageTracker, open_model
from toolplan.schema.tool import Effects
from toolplan.show.answer import Thresholds
from toolplan.storage.journal import Place, Store, is_address, open_journal
from toolplan.tools.named import SOURCES

FILE: Final = "toolplan.toml"
LABELS: Final = tuple(label.value for label in Effects)
_OLLAMA: Final = "http://localhost:11434"
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})

_T = TypeVar("_T")
_Parameter: TypeAlias = Annotated[str, Meta(pattern=rf"^({'|'.join(SETTABLE)})\Z")]
_Size: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Calls: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]
_Age: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9]{1,6}[smhdw]\Z")]
_RunCount: TypeAlias = Annotated[int, Meta(ge=0, le=10_000_000)]
_Spec: TypeAlias = Annotated[str, Meta(min_length=1)]
_HELP: Final = {
    "answer": f"The table [answer] has {', '.join(Thresholds.__struct_fields__)}.",
    "effects": f'It has lines such as `send_mail = "write"`; the labels: {", ".join(LABELS)}.',
    "limits": "It has lines such as `concurrency = 8` and `timeout = 20`.",
    "retention": 'It has the lines `older_than = "30d"` and `keep = 100`.',
    "runs": 'It has lines such as `journal = "runs.sqlite"`.',
    "toolboxes": '[toolboxes.NAME] has a line with at least one text: `tools = ["module:TOOLS"]`.',
}
TABLES: Final = (*_HELP, "sources")
VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
MEMORY: Final = "memory.sqlite"
LEARNED: Final = "learned.sqlite"
POLICY_FILE: Final = "toolplan.policy.toml"
PolicyArgument: TypeAlias = Policy | Mapping[str, object] | str | os.PathLike[str] | None
"""A policy, its document, or the path of its file; None for the file beside `toolplan.toml`."""


class SettingsError(ToolplanError):
    """A setting cannot be used; the code is `bad-settings`.

    The message names the variable and where it is set, and never the value of a key.
    """

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__("bad-settings", message, help)


class ModelSettings(Struct, frozen=True):
    """The settings of models and planners, with a default for each that is not set.

    Each field is an environment variable, and in `toolplan.toml` a line with the name of the
    variable in small letters. The environment comes first. A list in a variable is separated by
    commas or blanks, a mapping is JSON.

    Attributes:
        models: names of models, in the order in which they are asked.
        timeout_s: maximum seconds of one call to a model.
        max_calls: maximum number of calls to models for one reply.
        left_out: parameters that no model is sent; those that an endpoint refuses are found out.
        url_keys: keys of models at bare URLs, by scheme and host.
        openai_model: the model of OpenAI in `seed_chain`; `groq_model`, `ollama_model` likewise.
        ollama_url: the old name of `ollama_base_url`.
        temperature: of a model that plans.
        max_tokens: maximum number of tokens of a plan.
        instructions: additional instructions for the planning model.
        small_model: whether the model is small: its replies get short lists and texts.
        max_retries: maximum number of requests to a model for one question, failed ones counted.
        enable_caching: whether plans that worked are remembered.
        cache_max_size: how many plans are remembered.
        cache_ttl_ms: how long a plan is remembered, in milliseconds.
        validate_tools: whether a plan with an unknown tool is refused.
        zone: the time zone of questions: of today, and of times that `sql` compares. Empty: that of
            the machine, and of each time itself.
    """

    models: tuple[str, ...] = field(default=(), name="TOOLPLAN_MODEL")
    timeout_s: Annotated[float, Meta(ge=0.001, le=3_600)] = field(
        default=60.0, name="TOOLPLAN_MODEL_TIMEOUT"
    )
    max_calls: Annotated[int, Meta(ge=1, le=1_000)] = field(
        default=8, name="TOOLPLAN_MODEL_MAX_CALLS"
    )
    left_out: tuple[_Parameter, ...] = field(default=(), name="TOOLPLAN_MODEL_WITHOUT")
    url_keys: Mapping[str, str] = field(default=_NO_KEYS, name="TOOLPLAN_MODEL_KEYS")
    openai_api_key: str = field(default="", name="OPENAI_API_KEY")
    anthropic_api_key: str = field(default="", name="ANTHROPIC_API_KEY")
    groq_api_key: str = field(default="", name="GROQ_API_KEY")
    openai_model: str = field(default="gpt-3.5-turbo", name="OPENAI_MODEL")
    groq_model: str = field(default="llama-3.1-8b-instant", name="GROQ_MODEL")
    ollama_model: str = field(default="mistral:latest", name="OLLAMA_MODEL")
    ollama_base_url: str = field(default="", name="OLLAMA_BASE_URL")
    ollama_url: str = field(default="", name="OLLAMA_URL")
    temperature: Annotated[float, Meta(ge=0, le=2)] = field(default=0.0, name="PLANNER_TEMPERATURE")
    max_tokens: _Size = field(default=10_000, name="PLANNER_MAX_TOKENS")
    instructions: str = field(default="", name="PLANNER_INSTRUCTIONS")
    small_model: bool = field(default=False, name="PLANNER_SMALL_MODEL")
    max_retries: Annotated[int, Meta(ge=0, le=20)] = field(default=3, name="PLANNER_MAX_RETRIES")
    enable_caching: bool = field(default=True, name="PLANNER_ENABLE_CACHING")
    cache_max_size: _Size = field(default=100, name="PLANNER_CACHE_MAX_SIZE")
    cache_ttl_ms: Annotated[int, Meta(ge=0, le=10**15)] = field(
        default=3_600_000, name="PLANNER_CACHE_TTL"
    )
    validate_tools: bool = field(default=True, name="PLANNER_VALIDATE_TOOLS")
    zone: str = field(default="", name="TOOLPLAN_ZONE")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"ModelSettings({shown})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields without keys, for the libraries that print values."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if "key" not in name]

    @property
    def keys(self) -> dict[str, str]:
        """The keys that are set, by provider or by scheme and host."""
        own = ("openai", "anthropic", "groq")
        named = {name: getattr(self, f"{name}_api_key") for name in own}
        named |= {url.rstrip("/"): key for url, key in self.url_keys.items()}
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

    def opened(self, specs: Sequence[str], tracker: UsageTracker) -> Model:
        """Return the models `specs`, or those of the settings, as one; see `open_model`."""
        return open_model(
            specs or self.models,
            keys=self.keys,
            addresses=self.addresses,
            timeout_s=self.timeout_s,
            max_calls=self.max_calls,
            left_out=self.left_out,
            tracker=tracker,
        )

    def seed_chain(self) -> tuple[str, ...]:
        """Return OpenAI and Groq where their keys are set, then Ollama."""
        keys = self.keys
        chain = [("openai", self.openai_model), ("groq", self.groq_model)]
        keyed = [f"{provider}:{model}" for provider, model in chain if provider in keys]
        return (*keyed, f"ollama:{self.ollama_model}")


VARIABLES: Final[Mapping[str, str]] = {
    each.encode_name: each.name for each in fields(ModelSettings)
}
"""The field of each environment variable."""
NAMES: Final = tuple(sorted(each.lower() for each in VARIABLES))
"""The names in `toolplan.toml` beside its tables."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[limits]`: concurrent calls of a run, and of all machines together."""

    concurrency: Calls | None = None
    timeout: Seconds | None = None
    tools: dict[str, Calls] = {}
    sources: dict[str, Calls] = {}
    everywhere: dict[str, Calls] = {}


class _Retention(Struct, frozen=True, forbid_unknown_fields=True):
    older_than: _Age | None = None
    keep: _RunCount | None = None


class _Runs(Struct, frozen=True, forbid_unknown_fields=True):
    journal: str = ""


class _Toolbox(Struct, frozen=True, forbid_unknown_fields=True):
    tools: Annotated[tuple[_Spec, ...], Meta(min_length=1)]


def _help_of(table: str) -> str:
    first, _, name = table.partition(".")
    return _HELP[first].replace("NAME", name, 1) if name else _HELP[first]


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
        """Read `toolplan.toml` at `path`, and the variables of `environment`."""
        self.path = path
        self._document = document
        variables = os.environ if environment is None else environment
        self._set = {name.upper(): value for name, value in variables.items() if value}
        tables = sorted((*TABLES, *source_tables()))
        for key in document:
            if key not in tables and key not in NAMES:
                check_beside("source", key, f"{self.place}: [{key}]")
                known = ", ".join((*(f"[{table}]" for table in tables), *NAMES))
                meant = did_you_mean(near(key, (*tables, *NAMES))) or ""
                help_ = f"{meant} Known settings: {known}.".strip()
                raise SettingsError(f"{self.place}: there is no setting {key!r}.", help_)

    @property
    def place(self) -> str:
        """Where the settings are written, for messages."""
        return "the settings" if self.path is None else str(self.path)

    @property
    def names_model(self) -> bool:
        """Whether a model is named; its name may still be wrong."""
        return bool(self._set.get("TOOLPLAN_MODEL") or self._document.get("toolplan_model"))

    def table(self, name: str) -> dict[str, object]:
        """Return a table, or empty if there is none."""
        found = self._document.get(name, {})
        if not isinstance(found, Mapping):
            help_ = f"Write [{name}] on its own line."
            raise SettingsError(f"{self.place}: {name!r} is not a table.", help_)
        return dict(cast("Mapping[str, object]", found))

    def _read(self, name: str, kind: type[_T], value: object = None) -> _T:
        """Return a table, or the `value` of one that is called `name`, as `kind`."""
        try:
            return convert(self.table(name) if value is None else value, kind)
        except (ValidationError, ToolplanError) as error:
            reason = str(error)
        raise SettingsError(f"{self.place}: [{name}] cannot be used: {reason}", _help_of(name))

    @property
    def effects(self) -> dict[str, Effects]:
        """The labels of `[effects]`, by tool."""
        return self._read("effects", dict[str, Effects])

    @property
    def limits(self) -> Limits:
        """The table `[limits]`."""
        return self._read("limits", Limits)

    def retention(self, older_than: str | None = None, keep: int | None = None) -> tuple[int, int]:
        """Return which runs are pruned: the seconds after which, and the number of latest not.

        The given values count, else those of the settings, else 30 days and 100 runs. Where only
        one of the two is given or set, only that one counts.
        """
        table = self._read("retention", _Retention)
        try:
            given = convert({"older_than": older_than, "keep": keep}, _Retention)
        except ValidationError as error:
            help_ = "Give an age, as in 30d (s, m, h, d, w), and a number of runs from 0."
            message = f"The age or the number of runs cannot be read: {error}"
            raise ToolplanError("usage", message, help_) from None
        age = given.older_than or table.older_than
        number = table.keep if given.keep is None else given.keep
        if age is None and number is None:
            age, number = "30d", 100
        return int(age[:-1]) * _SECONDS[age[-1]] if age else 0, number or 0

    @property
    def journal(self) -> str | Path | None:
        """Where the journal is, of `TOOLPLAN_JOURNAL` or the table `[runs]`; None: nowhere said.

        A path in the file is relative to the folder of the file.
        """
        written, variable = self._read("runs", _Runs).journal, self._set.get("TOOLPLAN_JOURNAL")
        if variable or ":/" in written or self.path is None or not written:
            return variable or written or None
        return self.path.parent / Path(written).expanduser()

    def toolbox(self, name: str) -> tuple[str, ...]:
        """Return the options of the toolbox `name`, the table `[toolboxes.NAME]`."""
        table = self.table("toolboxes")
        if name not in table:
            known = f"Known toolboxes: {', '.join(map(repr, table)) or 'none'}."
            help_ = did_you_mean(near(name, table)) or f"{known} {_help_of(f'toolboxes.{name}')}"
            raise SettingsError(f"{self.place}: there is no toolbox {name!r}.", help_)
        return self._read(f"toolboxes.{name}", _Toolbox, table[name]).tools

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of outliers and trends in answers: the table `[answer]`."""
        for name in self.table("answer"):
            if name not in Thresholds.__struct_fields__:
                message = f"{self.place}: [answer] has no setting {name!r}."
                raise SettingsError(message, _HELP["answer"])
        return self._read("answer", Thresholds)

    @cached_property
    def models(self) -> ModelSettings:
        """The settings of models and planners."""
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for each in fields(ModelSettings):
            variable = each.encode_name
            if variable in self._set:
                value, place = self._set[variable], "the environment"
            elif variable.lower() in self._document:
                value, place = self._document[variable.lower()], self.place
            else:
                continue
            try:
                values[each.name] = _converted(each.name, value, each.type)
            except ValidationError as error:
                wrong.append(f"{variable} in {place}: {error}.")
        # Raised outside of the clause above: the caught error may hold a key.
        if wrong:
            raise SettingsError(" ".join(wrong), "Fix or unset these variables.")
        return ModelSettings(**values)


def _converted(name: str, value: object, kind: object) -> object:
    """Return the value of a field of `ModelSettings`."""
    if isinstance(value, str) and name in ("models", "left_out"):
        value = value.replace(",", " ").split()
    elif isinstance(value, str) and name == "url_keys":
        try:
            value = read_json(value)
        except (ValueError, RecursionError):
            raise ValidationError("Expected a JSON object with one key for each address") from None
    found: object = convert(value, cast("type[Any]", kind), strict=False)
    if name == "zone":
        try:
            ZoneInfo(str(found))
        except (LookupError, ValueError, OSError):
            raise ValidationError(f"no time zone {value!r}; write one as Europe/Berlin") from None
    return found


def read_settings(
    folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings in `toolplan.toml` of `folder`, and in `environment`, by default ours."""
    if folder is None:
        return Settings(environment=environment)
    path = folder / FILE
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        document = {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = file_fault(error)
        raise SettingsError(f"{path}: {reason}.", "Fix the file, or move it away.") from None
    return Settings(document, path, environment)


def file_fault(error: Exception) -> str:
    """Return why a file cannot be read or written, as a clause."""
    match error:
        case OSError(strerror=reason):
            return reason or type(error).__name__
        case UnicodeDecodeError(start=start):
            return f"not UTF-8 text (byte {start})"
        case tomllib.TOMLDecodeError():
            return f"not valid TOML: {error}"
        case _:
            return str(error)


def home() -> Path:
    """Return the folder of `TOOLPLAN_HOME`, else the platform's folder for a user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)


def journal_place(settings: Settings, given: Place | None = None) -> Path | str:
    """Return where the journal is: a file, or the address of a database.

    It is the given one, else that of the settings, else the file in the user's folder.
    """
    place = settings.journal if given is None else given
    if place is None:
        return home() / JOURNAL
    return str(place) if is_address(place) else Path(place).expanduser()


def user_journal(given: str | None = None) -> Path | str:
    """Return where the journal of a command is; `given` is its option."""
    return journal_place(read_settings(home()), given)


def journal_at(place: Path | str) -> Store | None:
    """Open the journal at `place`; None where it is a file that does not exist."""
    if isinstance(place, Path) and not place.exists():
        return None
    return open_journal(place)


def policy_of(given: PolicyArgument, settings: Path | None) -> Policy:
    """Return the policy that is `given`; else that beside the file `settings`, or an empty one."""
    match given:
        case Policy():
            return given
        case Mapping():
            return Policy.from_json(given)
        case None:
            beside = None if settings is None else settings.with_name(POLICY_FILE)
            return Policy() if beside is None or not beside.exists() else read_policy(beside)
        case str() | os.PathLike():
            return read_policy(given)
        case _:
            raise ToolplanError(
                "usage",
                f"policy= is a value of type {type(given).__name__}.",
                "Give a toolplan.Policy, a mapping, or the path of a file.",
            )


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Return the policy in a TOML file.

    Raises:
        ToolplanError: it cannot be read (`bad-policy`); the message has the line.
    """
    file = Path(path)
    try:
        return flows.parse_policy(file.read_text("utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        help_ = "Name a policy: --policy POLICY_FILE."
        raise PolicyError(f"{file}: {file_fault(error)}.", (), help_) from None
