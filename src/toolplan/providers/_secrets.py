"""Keys taken out of texts that came from outside."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

MASK: Final = "***"
_LEAST: Final = 8
"""The shortest part of a key that is taken out; shorter ones stand in ordinary words."""


def without(text: str, keys: Iterable[str]) -> str:
    """Return `text` with every part of a key masked that has 8 characters or more.

    So is a key in base64 or percent signs, and a shorter key as a whole.

    >>> without("The key sk-0123456789 is wrong, said (…456789ab).", ["sk-0123456789ab"])
    'The key *** is wrong, said (…***).'
    """
    for key in keys:
        forms = {key, quote(key, safe=""), *_encoded(key)}
        for form in sorted(forms, key=len, reverse=True):
            text = _masked(text, form)
    return text


def _encoded(key: str) -> list[str]:
    # The first and the last character of base64 depend on what stands beside the key.
    raw = key.encode()
    shifted = [base64.b64encode(b" " * at + raw).decode() for at in range(3)]
    return [form[4 * bool(at) : -4] for at, form in enumerate(shifted)]


def _masked(text: str, form: str) -> str:
    if not form:
        return text
    if len(form) <= _LEAST:
        return text.replace(form, MASK)
    parts = {form[at : at + _LEAST] for at in range(len(form) - _LEAST + 1)}
    hidden = [False] * len(text)
    for at in range(len(text) - _LEAST + 1):
        if text[at : at + _LEAST] in parts:
            hidden[at : at + _LEAST] = [True] * _LEAST
    kept: list[str] = []
    for at, letter in enumerate(text):
        if not hidden[at]:
            kept.append(letter)
        elif at == 0 or not hidden[at - 1]:
            kept.append(MASK)
    return "".join(kept)
