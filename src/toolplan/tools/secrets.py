"""Secrets by name: read from the environment that the caller gives, and kept out of every text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError

MASK: Final = "***"

_NAMED: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
_OPENED: Final = re.compile(r"\$\{[^}]*\}?")
_SOUNDS_SECRET: Final = re.compile(
    r"token|secret|passw|credential|auth(?!or)|cookie|(?:^|[_-])key|key(?:$|[_-])|apikey",
    re.IGNORECASE,
)
_LEAST_LENGTH: Final = 4  # shorter texts stand in other words by chance


def sounds_secret(name: str) -> bool:
    """Return whether a variable or a header of this name is likely to hold a secret."""
    return _SOUNDS_SECRET.search(name) is not None


def names_a_variable(text: str) -> bool:
    """Return whether `text` holds what reads as `${NAME}`."""
    return _OPENED.search(text) is not None


def resolved(text: str, environment: Mapping[str, str], place: str) -> tuple[str, tuple[str, ...]]:
    """Return `text` with each `${NAME}` replaced by the environment's value, and those values.

    A value put in is not searched again.

    Raises:
        ToolObjectError: a variable is not set, or a name cannot be read; the message has
            `place`, and no value.
    """
    for opened in _OPENED.finditer(text):
        named = _NAMED.fullmatch(opened[0])
        if named is None:
            raise ToolObjectError(
                f"{place}: {opened[0]!r} is not a variable; write ${{NAME}}, nothing else in it."
            )
        if named["name"] not in environment:
            raise ToolObjectError(
                f"{place}: the environment variable {named['name']!r} is not set; set it, or"
                " take out what names it."
            )
    values = tuple(environment[named["name"]] for named in _NAMED.finditer(text))
    return _NAMED.sub(lambda named: environment[named["name"]], text), values


class Mask:
    """Puts three stars in the place of secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._found: re.Pattern[str] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Put stars in the place of `secrets` too, from now on."""
        more = {each for each in secrets if len(each) >= _LEAST_LENGTH} - self._secrets
        if more:
            self._secrets |= more
            # the longest first, so that no rest of one remains where another is a part of it
            longest_first = sorted(self._secrets, key=len, reverse=True)
            self._found = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        """Return `text` without secrets."""
        return text if self._found is None else self._found.sub(MASK, text)

    def every_text(self, value: Json, *, names: bool = False) -> Json:
        """Return `value` without secrets in any of its texts; names of fields only with `names`."""
        if self._found is None:
            return value
        match value:
            case str():
                return self(value)
            case dict():
                return {
                    self(key) if names else key: self.every_text(inner, names=names)
                    for key, inner in value.items()
                }
            case list():
                return [self.every_text(each, names=names) for each in value]
            case _:
                return value
