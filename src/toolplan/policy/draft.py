"""A first policy for some tools, each line explained: what a person then corrects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.plan.path import EVERY, Json, Path, print_path
from toolplan.policy.vouched import is_open_world
from toolplan.schema import flat, types_stated
from toolplan.schema.tool import Effects, Tool

_MOST_DEPTH: Final = 5
_ID: Final = re.compile(r"(^|_)(id|ids|uuid|key)_?$", re.IGNORECASE)
_TEXT: Final = re.compile(
    r"(^|_)(body|content|text|message|msg|subject|title|description|comment|note|notes|summary"
    r"|location|place)$",
    re.IGNORECASE,
)
_TIME: Final = re.compile(r"(^|_)(date|time|day|datetime|deadline)$", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_BEHIND_NOUNS: Final = frozenset(("at", "by", "for", "from", "in", "of", "on", "to", "with"))
_SECRET: Final = re.compile(r"(^|_)(password|passwd|secret|token|api_?key|pin)$", re.IGNORECASE)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

_HEAD: Final = """\
# Where the values of dangerous arguments may come from. A draft: read it line by line.
# `toolplan policy check PLAN --tools …` shows what it decides about a plan.
#
# Labels, the greatest first: said (written in the plan), trusted, listed, untrusted.
# What is not named here is untrusted; an argument of a tool with effects needs to be trusted, and a
# person is asked where it is not, unless --yes or --approve approves the plan as it stands.
"""


def draft_policy(tools: Mapping[str, Tool]) -> str:
    """Return the text of a first policy for `tools`, in TOML."""
    open_world = ", ".join(_text(tool.name) for tool in tools.values() if is_open_world(tool))
    egress = "# Tools whose calls somebody outside can read, or that fetch an address."
    sent = f"[egress]\ntools = [{open_world}]\n"
    return "\n".join([_HEAD, *_outputs(tools), *_sinks(tools), egress, sent])


def _outputs(tools: Mapping[str, Tool]) -> Iterator[str]:
    yield "# Outputs that nobody outside can write: your own contacts, your own accounts."
    yield "# Whoever puts a tool here says that nobody outside can make it lie."
    yield "[trusted]\noutputs = ["
    for tool in tools.values():
        if not tool.has_effects and tool.compute_flow is None:
            yield f"    # {_text(tool.name)},"
    yield "]\n"
    yield "# Outputs that exist, though somebody outside may have chosen which: ids, and names in"
    yield "# lists of names."
    yield "[listed]\noutputs = ["
    for tool in tools.values():
        if tool.compute_flow is None:
            if _lists_names(tool):
                yield f"    {_text(tool.name)},"
            for path in _ids(flat(tool.raw_output), (), 0):
                yield f"    {_text(tool.name + print_path(path))},"
    yield "]\n"
    yield "# Outputs that may not reach a tool of [egress]."
    yield "[secret]\noutputs = []\n"


def _sinks(tools: Mapping[str, Tool]) -> Iterator[str]:
    listed = {_noun(tool.name): tool.name for tool in tools.values() if _lists_names(tool)}
    for tool in tools.values():
        if not tool.has_effects:
            continue
        yield f"# {_text(tool.name)}: {tool.effects.value}"
        yield f"[sinks.{_key(tool.name)}]"
        properties = flat(tool.raw_input).get("properties")
        for name, node in properties.items() if isinstance(properties, dict) else ():
            need, reason = _need(name, node, listed, tool.effects)
            yield f"{_key(name)} = {need}  # {reason}"
        yield ""
    effects = [tool for tool in tools.values() if tool.has_effects]
    if effects:
        yield "# What conditions and choices before a call need; `trusted` where nothing is said."
        yield "# `listed`: an outsider may choose whether it is made, and for which of what exists."
        yield "[decide]"
        for tool in effects:
            need = "listed" if tool.effects is Effects.WRITE else "trusted"
            yield f'{_key(tool.name)} = "{need}"'
        yield ""


def _need(name: str, node: Json, listed: Mapping[str, str], effects: Effects) -> tuple[str, str]:
    """Return what an argument needs, in TOML, and why; `listed` are tools by what they list."""
    if _SECRET.search(name):
        return '{ needs = "said", else = "refuse" }', "only what stands in the plan"
    is_text = isinstance(node, dict) and types_stated(node) <= {"string", "null"}
    if effects is not Effects.DESTRUCTIVE:
        if _ID.search(name):
            return '"listed"', "an id that exists"
        lister = listed.get(_singular(name.rpartition("_")[2].casefold()))
        if lister is not None and is_text:
            return '"listed"', f"one of those that {_key(lister)} lists"
    if _TEXT.search(name) and is_text:
        return '"plain"', "any text without links, addresses and pictures"
    if _TIME.search(name) and is_text:
        return _OR_TIME, "anybody's, if it is a date or a time"
    return '"trusted"', "not of an outsider's making"


_OR_TIME: Final = (
    """{ needs = "trusted", or = { type = "string", pattern = '^[0-9TZ:. +-]{4,35}$' } }"""
)


def _lists_names(tool: Tool) -> bool:
    """Return whether a tool that reads returns a list of texts: `get_channels`."""
    output = flat(tool.raw_output)
    items = output.get("items")
    if tool.has_effects or [*types_stated(output)] != ["array"] or not isinstance(items, dict):
        return False
    return [*types_stated(items)] == ["string"] and bool(_noun(tool.name))


def _noun(name: str) -> str:
    """Return what a tool lists: `channel` of `get_channels`, `user` of `get_users_in_channel`."""
    words = [each.casefold() for each in _WORD.findall(name)][1:]
    end = next((at for at, word in enumerate(words) if word in _BEHIND_NOUNS), len(words))
    return _singular(words[end - 1]) if end else ""


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _ids(node: Json, path: Path, depth: int) -> Iterator[Path]:
    """Yield the paths to ids."""
    if not isinstance(node, dict) or depth > _MOST_DEPTH:
        return
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if _ID.search(name):
            yield (*path, name)
        yield from _ids(inner, (*path, name), depth + 1)
    yield from _ids(node.get("items"), (*path, EVERY), depth + 1)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(name: str) -> str:
    # a basic string of TOML has the escapes of JSON, except for the control character 0x7f
    return json.dumps(name).replace("\x7f", "\\u007f")
