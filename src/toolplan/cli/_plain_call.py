"""Read the words of a plain call without cyclopts.

Most calls name known options, each with a value of its type. They are read here, from what the
command declares, and cyclopts (a third of the time that a short command takes) is not loaded. What
is not plain is left to it: help, errors, values of other forms. A test compares the two.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from toolplan.cli._parameter import Parameter, declaration
from toolplan.errors import ToolplanError

_WHOLE: Final = re.compile("[0-9]{1,9}")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_NOTHING: Final = ("none", "null")
"""What cyclopts reads as no value where there may be none."""


class _NotPlain(Exception):
    """Cyclopts has to read these words."""


class _Declared(Struct, frozen=True):
    """A parameter of a command, with its type and what the command says of it."""

    parameter: inspect.Parameter
    type: object
    said: Parameter

    @property
    def is_argument(self) -> bool:
        return self.parameter.kind is not inspect.Parameter.KEYWORD_ONLY

    @property
    def is_tuple(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def takes_several(self) -> bool:
        return self.is_tuple or self.takes_rest

    @property
    def takes_rest(self) -> bool:
        return self.parameter.kind is inspect.Parameter.VAR_POSITIONAL

    def read(self, text: str) -> object:
        """Return the value that `text` is, of the parameter's type.

        Raises:
            _NotPlain: it is of another form.
        """
        kind = get_args(self.type)[0] if self.is_tuple else self.type
        if self.takes_several and text.startswith("["):
            raise _NotPlain  # a list as JSON
        value = _value(kind, text)
        self.validate((value,) if self.is_tuple else value)
        return value

    def validate(self, value: object) -> None:
        if self.said.validator is not None:
            try:
                self.said.validator(self.type, value)
            except (ValueError, ToolplanError):  # said after what else is wrong with the words
                raise _NotPlain from None


def plain_call(command: Callable[..., object], words: Sequence[str]) -> Callable[[], object] | None:
    """Return the call of `command` with these words, None where they are not plain."""
    declared = _declared(command)
    try:
        options, rest = _options(declared, words)
        arguments = _arguments(declared, rest)
    except _NotPlain:
        return None
    required = (
        each.parameter.name
        for each in declared
        if not each.is_argument and each.parameter.default is inspect.Parameter.empty
    )
    if not options.keys() >= set(required):
        return None
    return partial(command, *arguments, **options)


def _declared(command: Callable[..., object]) -> list[_Declared]:
    hints = get_type_hints(command, include_extras=True)
    declared: list[_Declared] = []
    for parameter in inspect.signature(command).parameters.values():
        kind, said = declaration(hints[parameter.name])
        declared.append(_Declared(parameter, kind, said or Parameter()))
    return declared


def _options(
    declared: Sequence[_Declared], words: Sequence[str]
) -> tuple[dict[str, object], list[str]]:
    """Return the values of the options by the names of their parameters, and the other words."""
    known = {name: each for each in declared if not each.is_argument for name in each.said.options}
    options: dict[str, object] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += rest
        elif word.startswith("-") and word != "-":
            _read_option(word, known, rest, options)
        else:
            others.append(word)
    return options, others


def _read_option(
    word: str, known: Mapping[str, _Declared], rest: Iterator[str], options: dict[str, object]
) -> None:
    """Add the value of the option `word` to `options`; its text may be the next of `rest`."""
    option, joined, text = word.partition("=")
    each = known.get(option)
    if each is None:
        raise _NotPlain
    name = each.parameter.name
    if each.type is bool:
        if joined or name in options:
            raise _NotPlain
        options[name] = True
        return
    if not joined:
        text = next(rest, "")
        if text.startswith("-"):
            raise _NotPlain
    value = each.read(text)
    if each.is_tuple:
        options[name] = (*cast("tuple[object, ...]", options.get(name, ())), value)
    elif name in options:
        raise _NotPlain
    else:
        options[name] = value


def _arguments(declared: Sequence[_Declared], words: Sequence[str]) -> list[object]:
    """Return the values of the arguments, in order."""
    values: list[object] = []
    rest = iter(words)
    for each in declared:
        if not each.is_argument:
            continue
        texts = (
            [*rest]
            if each.parameter.kind is inspect.Parameter.VAR_POSITIONAL
            else [next(rest, None)]
        )
        for text in texts:
            if text is None:
                if each.parameter.default is inspect.Parameter.empty:
                    raise _NotPlain
                return values
            if text.startswith("-") and not (text == "-" and each.said.allow_leading_hyphen):
                raise _NotPlain
            values.append(each.read(text))
    if next(rest, None) is not None:
        raise _NotPlain
    return values


def _value(kind: object, text: str) -> object:
    """Return the value of `kind` that `text` is."""
    if not text:
        raise _NotPlain
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [part for part in parts if part is not NoneType]
        if len(kinds) != 1 or text.lower() in _NOTHING:
            raise _NotPlain
        return _value(kinds[0], text)
    if origin is Literal and text in parts:
        return text
    reads: Any = _READS.get(kind)
    if reads is None:
        raise _NotPlain
    return reads(text)


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise _NotPlain
    return int(text)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise _NotPlain
    return float(text)


_READS: Final[Mapping[object, Callable[[str], object]]] = {
    str: str,
    Path: Path,
    int: _whole,
    float: _number,
}
