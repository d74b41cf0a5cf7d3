"""Replies of servers: JSON of any kind, and web pages in its place."""

from __future__ import annotations

import html
import json
import re
from typing import Final, cast

_PAGE: Final = re.compile(
    r"[\s\ufeff]*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|title|body)\b", re.I | re.S
)
_TITLE: Final = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^>]*>")
_LONGEST_SEARCHED: Final = 10_000
_LONGEST_TITLE: Final = 200
_CODE: Final = re.compile(r"[a-z][a-z_]{2,40}")


def page_title(text: str) -> str | None:
    """Return a clause that names a web page by its title or its words; None if `text` is not one.

    >>> page_title("<!doctype html><title>Sign in</title>")
    "a web page, 'Sign in'"
    """
    if _PAGE.match(text) is None:
        return None
    title = _TITLE.search(text)
    found = _TAG.sub(" ", text[:_LONGEST_SEARCHED]) if title is None else title[1]
    words = " ".join(html.unescape(found).split())[:_LONGEST_TITLE]
    return f"a web page, {words!r}" if words else "a web page"


def json_object(content: str | bytes) -> dict[str, object]:
    """Parse a JSON object; return an empty one if `content` is anything else."""
    try:
        found = cast("object", json.loads(content))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def refusal_code(content: bytes) -> str:
    """Return the code of RFC 6749 in an authorization server's refusal, as `, code`; else "".

    The description beside it may repeat the request.
    """
    code = json_object(content).get("error")
    return f", {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
