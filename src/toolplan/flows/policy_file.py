"""The text of a policy: TOML read into a `Policy`, and the lines of its parts."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from typing import Final, cast

from toolplan.flows.policy import Keys, Policy, PolicyError

MAX_TEXT: Final = 200_000
"""The longest policy, in characters."""


def parse_policy(text: str, file: str = "policy") -> Policy:
    """Return the policy that `text` writes in TOML; `file` names it in messages.

    Raises:
        PolicyError: it is not valid; the message has the line.
    """
    if len(text) > MAX_TEXT:
        raise PolicyError(f"{file}: the policy has more than {MAX_TEXT:,} characters.")
    try:
        return Policy.from_json(tomllib.loads(text), text=text, file=file)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{file}: not valid TOML: {error}.") from None
    except RecursionError:
        raise PolicyError(f"{file}: the policy nests too deep.") from None
    except PolicyError as error:
        line = line_of(text, error.keys)
        place = file if line is None else f"{file}:{line}"
        raise PolicyError(f"{place}: {error}", error.keys, error.help) from None


def place_of(policy: Policy, keys: Keys) -> str:
    """Return where `keys` stand in the policy's file, for messages."""
    if not policy.file:
        return "the policy"
    line = line_of(policy.text, keys)
    return policy.file if line is None else f"{policy.file}:{line}"


def line_of(text: str, keys: Keys) -> int | None:
    """Return the line on which what `keys` lead to begins, counted from 1; None if it is not there.

    It begins with the first line without which no readable beginning of the text has it, so that
    TOML is read by its own reader only.
    """
    lines = text.splitlines()
    if not keys or not _holds(_beginning(lines, len(lines))[0], keys):
        return None

    def has(line: int) -> bool:
        return _holds(_beginning(lines, line)[0], keys)

    first = bisect_left(range(len(lines) + 1), True, key=has)
    document, end = _beginning(lines, first)
    element = _at(document, keys)
    if isinstance(keys[-1], int) and isinstance(element, str):
        for line in range(first, end + 1):
            if element in lines[line - 1]:
                return line
    return first


def _beginning(lines: list[str], count: int) -> tuple[object, int]:
    """Return what the first `count` lines say, with as many more as make them readable."""
    for end in range(count, len(lines) + 1):
        try:
            return tomllib.loads("\n".join(lines[:end])), end
        except tomllib.TOMLDecodeError:
            continue
    return {}, len(lines)


def _holds(document: object, keys: Keys) -> bool:
    return _at(document, keys) is not None


def _at(document: object, keys: Keys) -> object:
    """Return what `keys` lead to; TOML has no null."""
    for key in keys:
        match document:
            case dict() if key in document:
                document = cast("dict[object, object]", document)[key]
            case list() if isinstance(key, int) and key < len(cast("list[object]", document)):
                document = cast("list[object]", document)[key]
            case _:
                return None
    return document
