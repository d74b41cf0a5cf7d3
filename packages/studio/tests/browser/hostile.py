"""What a tool, a model, a plan or a person may say, as a page would be attacked, and answers of the
API that say it in every field.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packages.studio.tests.browser.conftest import ROOT

LONG: Final = "<b>\u202ee\u0301\U0001f600" * 500 + "x" * 1_500 + "END"
"""Five thousand characters, in each of the more than two hundred fields of an answer."""

TEXTS: Final = (
    # markup
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    '"><svg onload="window.hurt = 1">',
    "' onmouseover='window.hurt=1' x='",
    "<iframe srcdoc='<script>parent.hurt = 1</script>'></iframe>",
    "<style>*{display:none !important}</style>",
    "</textarea><script>window.hurt = 1</script>",
    "</title></style></script><script>window.hurt = 1</script>",
    "<svg><script href='data:text/javascript,parent.hurt=1'/></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror=window.hurt=1>",
    "<details open ontoggle=window.hurt=1>",
    "<body onload=window.hurt=1>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv='refresh' content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<form action=https://evil.example/><button>Approve</button></form>",
    "<!--><img src=x onerror=window.hurt=1>-->",
    "<![CDATA[<script>window.hurt=1</script>]]>",
    "&lt;b&gt;&amp;&#x41;",
    # addresses
    "javascript:window.hurt=1",
    "JaVaScRiPt:window.hurt=1",
    "java\tscript:window.hurt=1",
    "data:text/html,<script>parent.hurt=1</script>",
    "vbscript:window.hurt=1",
    "https://evil.example/?q=1",
    "//evil.example/x",
    "file:///etc/passwd",
    "[click](javascript:window.hurt=1)",
    "![x](https://evil.example/x.png)",
    "<a href='https://evil.example/'>here</a>",
    # templates and code
    "{{constructor.constructor('window.hurt=1')()}}",
    "#{7*7} <%= 7*7 %> {{7*7}}",
    "`window.hurt=1`",
    "'; window.hurt=1; //",
    "\\u003cscript\\u003ewindow.hurt=1\\u003c/script\\u003e",
    # names that objects have
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    # what moves, hides or looks like other text
    "\u202etxt.exe\u202c",
    "\u2066hidden\u2069",
    "\u202dabc\u202e",
    "zero\u200bwidth\ufeff",
    "soft\u00adhyphen",
    "no\u2060break\u180e",
    "\U000e0041\U000e0042tags",
    "filler\u3164\u115f",
    "braille\u2800blank",
    "variation\ufe0f\U000e0100",
    "p\u0430ypal",
    "\u03bf\u0440en",
    "\u0560\u0585\u057d",
    "\u2028line\u2029",
    # terminals and controls
    "\x1b[31mred\x1b[0m\x1b]8;;https://evil.example\x07x",
    "\x9b31m",
    "nul\x00byte",
    "back\x08\x08\x08\x08space\x7f",
    "over\rwritten",
    # what breaks pages by its shape
    "\U0001f600" * 3 + "e\u0301" * 60,
    "x" * 2_000,
    "word " * 400,
    "\n" * 40 + "below",
    "",
    " \t ",
)

HIDDEN: Final = (
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u115f\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff]|[\U000e0000-\U000e0fff]"
)
"""What may not stand on the page as it is: nobody would see that it is there."""

_SCHEMAS: Final[dict[str, Any]] = json.loads((ROOT / "web" / "openapi.json").read_text("utf-8"))[
    "components"
]["schemas"]
_OWN_WORDS: Final = {"run": "r", "place": "/description", "pointer": "/steps/0/args/to"}
"""Texts that the server writes: names of runs, and places in a plan."""
_PLAIN: Final[dict[str, object]] = {"integer": 1, "number": 1.5, "boolean": False, "null": None}


def answer(model: str, texts: tuple[str, ...] = TEXTS, **fields: object) -> Any:
    """Return an answer of the API that has all of `texts` in every field that others fill.

    A list has one element for each text, with that text in all of its fields. `fields` are given.
    """
    return {**_of(_SCHEMAS[model], texts[0], texts), **fields}


def _of(schema: Mapping[str, Any], text: str, texts: tuple[str, ...]) -> Any:
    match schema:
        case {"$ref": str(name)} if not name.endswith("/JsonValue"):
            return _of(_SCHEMAS[name.rpartition("/")[2]], text, texts)
        case {"anyOf": [first, *_]}:
            return _of(first, text, texts)
        case {"enum": [*words]}:
            return words[len(text) % len(words)]
        case {"properties": properties}:
            return {
                name: _OWN_WORDS.get(name) or _of(inner, text, texts)
                for name, inner in properties.items()
            }
        case {"type": "object", "additionalProperties": {**inner}}:
            return {each: _of(inner, each, (text,)) for each in texts}
        case {"type": "array", "items": inner}:
            return [_of(inner, each, (each,)) for each in texts]
        case {"type": "string"}:
            return "0" * 64 if "pattern" in schema else text
        case {"type": str(kind)} if kind in _PLAIN:
            return _PLAIN[kind]
        case _:
            return schema.get("const", _json(text, texts))


def _json(text: str, texts: tuple[str, ...]) -> Any:
    """Return a value of others: a plan, a schema and a result in one."""
    return {
        "steps": [
            {"id": each, "tool": each, "thought": each, "args": {each: each}, "for_each": each}
            for each in texts
        ],
        "metadata": {"query": text, "notes": [*texts]},
        "type": text,
        "description": text,
        "enum": [*texts],
        "properties": {each: {"type": each, "description": each, "enum": [each]} for each in texts},
        "required": [*texts],
        "json": {each: each for each in texts},
    }


def events(texts: tuple[str, ...] = TEXTS) -> Iterator[str]:
    """Yield the stream of a run whose events have `texts` in every field."""
    kinds = ("step-started", "step-progressed", "attempt-failed", "call-in-doubt", "step-failed")
    seq = 0
    for text in texts:
        for kind in kinds:
            event = {**answer("EventOut", (text,)), "kind": kind, "seq": seq, "status": "running"}
            yield f"event: event\nid: {seq}\ndata: {json.dumps(event)}\n\n"
            seq += 1
