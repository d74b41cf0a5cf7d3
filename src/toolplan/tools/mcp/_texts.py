"""Texts of servers, made fit to be shown and to be given to a planner."""

from __future__ import annotations

import unicodedata
from typing import Final, cast

from mcp import MCPError
from pydantic import ValidationError

from toolplan.plan.path import Json

LONGEST_MESSAGE: Final = 2_000
LONGEST_DESCRIPTION: Final = 10_000

_OUT: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT: Final = frozenset("\n\t\u200c\u200d")  # many scripts cannot do without the joiners
_TEXTS: Final = frozenset({"description", "title"})
_VALUES: Final = frozenset({"const", "default", "enum", "example", "examples"})


def clean(text: str, most: int = LONGEST_MESSAGE) -> str:
    r"""Return `text` without control and invisible characters, at most `most` characters of it.

    >>> clean("a\x1b[31mb\u202ec")
    'a[31mbc'
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    if short.isascii() and short.isprintable():
        return short
    return "".join(c for c in short if c in _KEPT or unicodedata.category(c) not in _OUT)


def clean_schema(schema: Json) -> Json:
    """Return `schema` with its descriptions and titles cleaned; nothing that is checked changes."""
    match schema:
        case dict():
            return {
                key: clean(value, LONGEST_DESCRIPTION)
                if key in _TEXTS and isinstance(value, str)
                else value
                if key in _VALUES
                else clean_schema(value)
                for key, value in schema.items()
            }
        case list():
            return [clean_schema(each) for each in schema]
        case _:
            return schema


def reason_of(error: BaseException) -> str:
    """Return why a connection failed; a group of errors is its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case MCPError():
            return clean(error.message) or "The server answered with an error."
        case ValidationError():
            found = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each) for each in found["loc"])
            return clean(f"{place}: {found['msg']}" if place else found["msg"], 200)
        case FileNotFoundError():
            return f"there is no {error.filename or 'such command'!r} to start"
        case OSError():
            return error.strerror or type(error).__name__
        case TimeoutError():
            return "it did not answer in time"
        case _:
            text = clean(str(error)).partition("\n")[0]
            return f"{type(error).__name__}: {text}" if text else type(error).__name__
