"""Lines of styled pieces: plain text and a console's colours are two forms of the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from rich.text import Text

from toolplan.render.printable import fit_encoding


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Piece, ...]


def plain(lines: Iterable[Line]) -> str:
    """Return `lines` as plain text."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def styled(lines: Iterable[Line], encoding: str) -> Iterator[Text]:
    """Yield `lines` for a rich console whose terminal has this encoding."""
    for line in lines:
        pieces = ((fit_encoding(piece.text, encoding), piece.style) for piece in line)
        yield Text.assemble(*pieces, no_wrap=True, overflow="ignore")
