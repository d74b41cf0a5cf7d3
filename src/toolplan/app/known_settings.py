"""The names that `toolplan.toml` knows, for all who read it; reading them takes no library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from toolplan.diagnostics import did_you_mean, near

TABLES: Final = ("effects", "limits", "openapi")
NAMES: Final = (
    "anthropic_api_key",
    "groq_api_key",
    "groq_model",
    "ollama_base_url",
    "ollama_model",
    "ollama_url",
    "openai_api_key",
    "openai_model",
    "planner_cache_max_size",
    "planner_cache_ttl",
    "planner_enable_caching",
    "planner_max_retries",
    "planner_max_tokens",
    "planner_temperature",
    "planner_validate_tools",
    "toolplan_model",
    "toolplan_model_keys",
    "toolplan_model_max_calls",
    "toolplan_model_timeout",
)
"""Those of the fields of `toolplan.app.settings.Settings`."""


class UnknownSetting(NamedTuple):
    """What is wrong, and the way out."""

    reason: str
    help: str


def unknown_setting(found: Iterable[str]) -> UnknownSetting | None:
    """Return the first of `found` that is neither a table nor a setting.

    None where there is none.
    """
    for key in found:
        if key not in TABLES and key not in NAMES:
            known = ", ".join((*(f"[{table}]" for table in TABLES), *NAMES))
            meant = did_you_mean(near(key, (*TABLES, *NAMES))) or ""
            return UnknownSetting(
                f"there is no setting {key!r}", f"{meant} It knows {known}.".strip()
            )
    return None
