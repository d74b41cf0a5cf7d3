"""Files of contracts: YAML, or Markdown with YAML between two lines of `---` at its head.

Tags, aliases and repeated keys are refused; `yes` and `2026-01-01` are text.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, TypeAlias

from toolplan.plan.path import Json
from toolplan.plan.yaml_text import YamlError, read_yaml
from toolplan_adapters._convert import ConversionError, convert
from toolplan_adapters.contract.contracts import Contract, ContractError, Contracts

SUFFIXES: Final = (".yaml", ".yml", ".md")
MOST_BYTES: Final = 256_000
MOST_DEPTH: Final = 16

_SUFFIXES: Final = ", ".join(SUFFIXES)
_FENCE: Final = "---"

Place: TypeAlias = Path | Traversable


def load_contracts(*places: str | Place) -> Contracts:
    """Return the contracts of files, and of all files with contracts in folders, sorted by name.

    Raises:
        ContractError: a file cannot be read or used, or the contracts do not fit together.
    """
    found = [Path(place) if isinstance(place, str) else place for place in places]
    return Contracts(
        read_text(file.name, _content(file)) for place in found for file in _files(place)
    )


def read_text(name: str, text: str) -> Contract:
    """Return the contract in the text of a file called `name`; its suffix is the format.

    Raises:
        ContractError: the text cannot be used; the message has the name and the line.
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ContractError(f"{name}: The file has more than {MOST_BYTES:,} bytes.")
    source, first = _front_matter(name, text) if name.endswith(".md") else (text, 1)
    try:
        value, lines = read_yaml(source, max_depth=MOST_DEPTH, strict=True)
    except YamlError as error:
        raise ContractError(f"{name}:{error.line + first - 1}: {error}") from None
    try:
        return _contract(value, name)
    except ConversionError as error:
        near = error.pointer
        while near and near not in lines:
            near = near.rpartition("/")[0]
        place = f"{name}:{lines.get(near, 1) + first - 1}"
        raise ContractError(f"{place}: {error.pointer or 'contract'}: {error}") from None


def _contract(value: Json, name: str) -> Contract:
    if isinstance(value, dict):
        if "place" in value:  # a field of the struct that is no field of a file
            raise ConversionError("/place", "Object contains unknown field `place`.")
        value = {**value, "place": name}
    return convert(value, Contract)


def _files(place: Place) -> Iterable[Place]:
    if not place.is_dir():
        return [place]
    inside = [each for each in place.iterdir() if each.name.endswith(SUFFIXES)]
    if not inside:
        raise ContractError(
            f"{place.name}: The folder has no contract (a file that ends in {_SUFFIXES})."
        )
    return sorted(inside, key=lambda each: each.name)


def _content(file: Place) -> str:
    if not file.name.endswith(SUFFIXES):
        raise ContractError(f"{file.name}: The name of a contract must end in {_SUFFIXES}.")
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ContractError(f"{file.name}: The file cannot be read: {reason}.") from None


def _front_matter(name: str, text: str) -> tuple[str, int]:
    """Return the YAML at the head of a Markdown text, and the line that it starts in."""
    first, *lines = text.splitlines() or [""]
    ends = [at for at, line in enumerate(lines) if line.rstrip() == _FENCE]
    if first.rstrip() != _FENCE or not ends:
        raise ContractError(
            f"{name}:1: A contract in Markdown must start with YAML between two lines '---'."
        )
    return "\n".join(lines[: ends[0]]), 2
