"""Converting JSON to structs, with the place of the first value that does not fit."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from toolplan.plan.path import Json

T = TypeVar("T")

_NOT_EMPTY: Final = r"\S"
_DATA_PATH: Final = r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z"
Text: TypeAlias = Annotated[str, Meta(pattern=_NOT_EMPTY)]
DataPath: TypeAlias = Annotated[str, Meta(pattern=_DATA_PATH)]

_CLEARER: Final = {
    f"`str` matching regex {_NOT_EMPTY!r}": "text that is not empty",
    f"`str` matching regex {_DATA_PATH!r}": "a data path: names with dots between, as in 'a.b'",
}


class ConversionError(ValueError):
    """A value that does not fit its type. `pointer` is its place."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer


def convert(value: Json, kind: type[T]) -> T:
    """Return `value` as a struct of type `kind`.

    Raises:
        ConversionError: a field is missing, unknown or of the wrong type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, place = f"{error}".rpartition(" - at `")
        if not message:
            message, place = place, ""
        for theirs, ours in _CLEARER.items():
            message = message.replace(theirs, ours)
        known = place.partition("$")[2].partition("[...]")[0]  # keys of mappings are not known
        tokens = re.findall(r"[^.\[\]`]+", known)
        tokens += re.findall(r"unknown field `(.*)`", message)
        raise ConversionError("".join(f"/{token}" for token in tokens), f"{message}.") from None
