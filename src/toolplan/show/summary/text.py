"""Text of a model made safe (no escape sequences, no links, a limited length), and as Markdown.

Rows may contain instructions to the model (prompt injection). So no escape sequence, and nothing
that a viewer of Markdown would fetch or follow, is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from toolplan.show.answer import Answer
from toolplan.show.document import (
    Block,
    Bullets,
    Document,
    Fields,
    Heading,
    Lead,
    Note,
    Table,
    document_text,
    hidden_text,
)

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # cursor, colours
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BLANK: Final = "\ufffc"  # replaces what was read, when claims are searched
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")

_TAG = re.compile(r"<!--.*?(?:-->|$)|</?[A-Za-z][^<>]*>")
_OPEN_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_INLINE = re.compile(r"(!?)\[([^\[\]]*)\]\(\s*([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)[^()]*\)")
_REFERRED = re.compile(r"(!?)\[([^\[\]]+)\]\[[^\[\]]*\]")
_DEFINED = re.compile(r"^[ \t>]*\[[^\[\]]+\]:[ \t]*(\S+).*$")
_ADDRESS = re.compile(
    r"(?<![\w.])(?:[a-z][a-z0-9+.-]{0,30}://|(?:javascript|vbscript|data|mailto):|www\.|//(?=[\w-]+\.))"
    r"[^\s<>\"'`()\[\]]+"
    r"|(?<![\w.@/-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?/[^\s<>\"'`()\[\]]*",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/@?#\s]*@)?([^/?#:\s]+)", re.IGNORECASE)
_MOST_HOSTS: Final = 5
_HOST_WIDTH: Final = 60

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$\n?", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^([ \t]*)[*+-][ \t]+", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<!\w)__(?=\S)(.+?)(?<=\S)__(?!\w)")
_SLANTED = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])")
_CODE = re.compile(r"`+([^`\n]+)`+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#])")


def safe_text(
    text: str, is_known: Callable[[str], bool], *, markdown: bool = False
) -> tuple[str, tuple[str, ...]]:
    r"""Return a model's `text` without escape sequences and links; plain unless `markdown`.

    An address that `is_known` in the results stays as text (in `markdown` as code); of any other
    only the host is shown. Beside the text it returns the hosts of links that were removed.

    >>> safe_text("## A\n* **see** `c` [here](http://a.example/x?q=1)", lambda address: False)[0]
    'A\n• see c here (link to a.example removed)'
    """
    text = cleaned(text)
    if not markdown:  # the words, and bullets as such
        text = _BULLET.sub(r"\1• ", _HEADING.sub("", _FENCE.sub("", text)))
        text = _STRONG.sub(lambda match: match[1] or match[2], text)
        text = _CODE.sub(r"\1", _SLANTED.sub(r"\1", text))
    hosts: dict[str, None] = {}

    def shown(address: str) -> str:
        if is_known(address):
            return f"`{address}`" if markdown else address
        found = _HOST.match(address)
        host = (found[1] if found else address).removeprefix("www.")[:_HOST_WIDTH]
        hosts[host] = None
        return f"(link to {host} removed)"

    text = "\n".join(_without_links(line, shown) for line in text.split("\n"))
    return text.strip(), tuple(hosts)[:_MOST_HOSTS]


def cleaned(text: str) -> str:
    r"""Return `text` without control and invisible characters; tabs become spaces.

    >>> cleaned("a\x1b[31mb\u202ec\r\nd\u200be")
    'abc\nde'
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            char
            for char in text
            if char == "\n" or (char != _BLANK and unicodedata.category(char) not in _UNSAFE)
        )
    return _BLANK_LINES.sub("\n\n", text)


def in_markdown(text: str) -> str:
    r"""Return `text` escaped for Markdown, with addresses as code.

    >>> print(in_markdown("a_b at http://c.example"))
    a\_b at `http://c.example`
    """
    parts: list[str] = []
    at = 0
    for match in _ADDRESS.finditer(text):
        parts += (_SPECIAL.sub(r"\\\1", text[at : match.start()]), f"`{match[0]}`")
        at = match.end()
    return "".join((*parts, _SPECIAL.sub(r"\\\1", text[at:])))


def _without_links(line: str, shown: Callable[[str], str]) -> str:
    """Return `line` without links, images and tags; `shown` is what replaces an address."""

    def inline(match: re.Match[str]) -> str:
        label = match[2].strip() or ("image" if match[1] else "")
        # an address is replaced below, and only once
        address = match[3] if _ADDRESS.match(match[3]) else shown(match[3]) if match[3] else ""
        return f"{label} {address}".rstrip()

    def tag(match: re.Match[str]) -> str:
        found = _ADDRESS.search(match[0])
        return f" {found[0]} " if found is not None else ""

    def address(match: re.Match[str]) -> str:
        kept = match[0].rstrip(".,;:!?")
        return shown(kept) + match[0][len(kept) :]

    line = _INLINE.sub(inline, _TAG.sub(tag, line))
    line = _REFERRED.sub(r"\2", _DEFINED.sub(r"\1", line))
    line = _ADDRESS.sub(address, line)
    # the rest of removed links may form new ones
    return _OPEN_TAG.sub("‹", line).replace("](", "] (")


Format: TypeAlias = Literal["plain", "markdown", "json"]


def notes_text(notes: Sequence[str], form: Format) -> str:
    """Return the end of a summary; empty without notes."""
    if form == "markdown":
        return "".join(f"\n\n*{in_markdown(note)}*" for note in notes)
    return "\n\n" + "\n".join(notes) if notes else ""


def computed_text(answer: Answer, form: Format) -> str:
    """Return the computed answer."""
    write = document_markdown if form == "markdown" else document_text
    return write(answer.document)


def document_markdown(document: Document) -> str:
    """Return `document` as Markdown with its text escaped."""
    return "\n\n".join("\n".join(_block_lines(block)) for block in document)


def _block_lines(block: Block) -> Iterator[str]:
    match block:
        case Lead(text=text):
            yield f"**{in_markdown(text)}**" if text else ""
        case Heading(text=text):
            yield f"### {in_markdown(text)}"
        case Note(text=text):
            yield in_markdown(text)
        case Bullets(items=items):
            yield from (f"- {in_markdown(item)}" for item in items)
        case Fields(pairs=pairs):
            yield from (f"- **{in_markdown(name)}**: {in_markdown(value)}" for name, value in pairs)
        case Table(columns=columns, numeric=numeric, rows=rows, hidden=hidden):
            line = "| {} |".format
            yield line(" | ".join(map(in_markdown, columns)))
            yield line(" | ".join("--:" if right else ":--" for right in numeric))
            yield from (line(" | ".join(map(in_markdown, row))) for row in rows)
            if hidden:
                yield f"\n{in_markdown(hidden_text(hidden))}"
