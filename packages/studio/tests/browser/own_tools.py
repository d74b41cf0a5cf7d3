"""Tools whose texts attack the page, and one whose outcome is never known."""

import asyncio
from typing import cast

import toolplan
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool

HOSTILE = [
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    '"><svg onload="window.hurt = 1">',
    "javascript:window.hurt=1",
    "[click](javascript:window.hurt=1)",
    "<a href='https://evil.example/'>here</a>",
    "https://evil.example/?q=1",
    "<iframe srcdoc='<script>parent.hurt = 1</script>'></iframe>",
    "<style>*{display:none !important}</style>",
    "</textarea><script>window.hurt = 1</script>",
    "{{constructor.constructor('window.hurt=1')()}}",
    "${alert(1)} `window.hurt=1`"[2:],
    "\u202etxt.exe\u202c",
    "\u2066hidden\u2069",
    "zero\u200bwidth\ufeff",
    "\x1b[31mred\x1b[0m\x1b]8;;https://evil.example\x07x",
    "p\u0430ypal",
    "nul\x00byte",
    "\ud83d\ude00" * 3 + "e\u0301" * 40,
    "x" * 2_000,
    "word " * 400,
    "__proto__",
    "constructor",
    "\u2028line\u2029",
    "&lt;b&gt;&amp;&#x41;",
]
"""What a tool, a model or a plan may say, as a page would be attacked."""

TEXTS = [each.encode("utf-16", "surrogatepass").decode("utf-16") for each in HOSTILE]


@toolplan.tool(effects="read")
def list_notes() -> list[dict[str, str]]:
    """Return notes. <img src=x onerror="window.hurt = 1"> \u202egnp.exe"""
    return [{"id": f"N{at}", "<b onclick=hurt()>": text} for at, text in enumerate(TEXTS)]


@toolplan.tool(effects="read")
def break_it(text: str) -> str:
    """Fail with a message."""
    raise ValueError(f"<img src=x onerror='window.hurt = 1'> {text[:200]}")


@toolplan.tool(effects="write")
async def send_note(to: str, text: str) -> dict[str, str]:
    """Send a note. It takes longer than any step allows."""
    await asyncio.sleep(3_600)
    return {"to": to, "text": text}


@toolplan.tool(effects="destructive")
def delete_note(to: str, text: str) -> str:
    """Delete a note."""
    return f"{to} {text}"


@toolplan.tool(effects="write")
def take_any(to: str, text: list[object]) -> int:
    """Take anything."""
    return len(text)


@toolplan.tool(effects="read")
def list_people() -> list[str]:
    """Return who gets a note."""
    return ["ann@b.example", "p\u0430ypal\u202e@b.example", "<script>window.hurt = 1</script>"]


@toolplan.tool(effects="write")
def note_person(to: str, text: str) -> str:
    """Send a note to one person."""
    return f"{to}: {text}"


@toolplan.tool(effects="read")
async def wait_a_bit(n: int) -> int:
    """Return `n` a little later."""
    await asyncio.sleep(0.3)
    return n


async def _echo(args: object) -> Json:
    return cast("Json", args)


_NAMES: dict[str, Json] = {"__proto__": {"type": "integer"}, "constructor": {"type": "number"}}
echo = Tool(
    "echo",
    "Return the arguments.",
    {"type": "object", "properties": _NAMES},
    effects=Effects.READ,
    call=_echo,
)


TOOLS = [
    echo,
    wait_a_bit,
    list_people,
    note_person,
    take_any,
    list_notes,
    break_it,
    send_note,
    delete_note,
]
