"""The JSON Schema of a reply, for endpoints that constrain what a model writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from toolplan.compiler.rules.grounding import Said, properties
from toolplan.compiler.rules.invented_literal import OF_IDS
from toolplan.plan.model import split_pointer
from toolplan.plan.path import EVERY, Json, Path, print_path
from toolplan.planners._base import Attempt
from toolplan.planners.llm._feedback import step_at, steps_of
from toolplan.schema import JsonType, Schema, at, elements, required, types_of
from toolplan.schema.tool import Tool, Toolbox

_TEXT: Final[Json] = {"type": "string"}
_DATE: Final[Json] = {"type": "string", "format": "date"}
_REFERENCE: Final[Json] = {"type": "string", "pattern": '^\\$\\{[^{}"\\\\]+\\}$'}
"""No key in quotes: endpoints that turn a pattern into a grammar forget to escape them."""
_WITH_REFERENCE: Final[Json] = {
    "type": "string",
    "pattern": '^[^"\\\\]*\\$\\{[^{}"\\\\]+\\}[^"\\\\]*$',
}
_WHOLE: Final = re.compile(r"\^[^|]{1,100}\$")
_FORMATS: Final = ("date", "date-time", "time", "email", "uuid", "ipv4", "ipv6")
_BRANCHES: Final = 16
_SIMPLE: Final[frozenset[JsonType]] = frozenset(("null", "boolean", "integer", "number", "string"))
_LIST: Final[frozenset[JsonType]] = frozenset(("array",))
_OBJECT: Final[frozenset[JsonType]] = frozenset(("object",))
_DEEPEST: Final = 4
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Json] = {"type": "number"}
_CONDITION: Final[dict[str, Json]] = {
    "const": {}, "enum": {"type": "array"}, "type": {"enum": [*sorted(_SIMPLE), "array", "object"]},
    "minimum": _NUMBER, "exclusiveMinimum": _NUMBER, "maximum": _NUMBER,
    "exclusiveMaximum": _NUMBER, "minLength": _COUNT, "pattern": _TEXT, "minItems": _COUNT,
    "maxItems": _COUNT, "contains": {}, "items": {}, "prefixItems": {"type": "array"},
    "required": {"type": "array", "items": _TEXT}, "properties": {"type": "object"},
    "not": {"type": "object"}, "anyOf": {"type": "array"},
}  # fmt: skip
"""The keywords of conditions. Free objects are where small models never come to an end."""
_MOST_CHOICES: Final = 100
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]")

_MISSING_STEP: Final = frozenset(("unknown-step", "unknown-tool", "cycle", "duplicate-id"))
"""Codes of faults that another step may mend."""
_NO_FOR_EACH: Final = frozenset(("item-outside-for-each", "list-into-scalar"))
_FEW: Final = 6
_SHORT: Final = 100
_CALLS: Final = ("", "_2", "_3")
"""Ends of the ids of steps that call the same tool."""
_REFERENCES: Final = 300
_A_LIST: Final[Json] = {"$ref": "#/$defs/list"}
_A_PART: Final[Json] = {"$ref": "#/$defs/part"}
_DEEP: Final = 3
_LIST_TYPES: Final[frozenset[JsonType]] = frozenset(("array", "null"))
_LEAF: Final[Json] = {
    "anyOf": [
        {"type": "string", "maxLength": _SHORT},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
    ]
}
_ANY: Final[Json] = {"anyOf": [_LEAF, {"type": "array", "items": _LEAF, "maxItems": _FEW}]}


def plan_schema(
    tools: Toolbox,
    *,
    small: bool = False,
    asks: bool = True,
    times: Sequence[str] = (),
    said: Said | None = None,
    refused: Attempt | None = None,
) -> Json:
    """Return the JSON Schema of a reply: a plan, and with `asks` a clarification or a refusal.

    It covers the form of plans, the names of tools, and for each tool the names of its arguments
    and the kinds of their values; a reference may stand for any value. The rest is up to the check.

    `small` is for models that repeat themselves until their reply is cut off, and copy references
    from the prompt: it allows 6 steps of id, tool, arguments and `for_each` over a reference, lists
    of 6, texts of 100 characters, and no null for optional arguments. A step has the name of its
    tool as its id (`TOOL`, `TOOL_2`, `TOOL_3`), so that references are choices of what the tools
    declare to return.

    A date may be one of `times`, the words of the question; for a small model it must. Its optional
    arguments are those that the question may mean (`said`). In the second request the right steps
    of the `refused` plan are fixed, and wrong arguments are missing.
    """
    wrong = _wrong_arguments(refused)
    by_tool = {e.name: _small_step(e, said, wrong) if small else _step(e) for e in tools.values()}
    step: Json = {"anyOf": [*by_tool.values()]}
    kept: list[Json] = [] if refused is None else _kept_steps(refused, step)
    listed: dict[str, Json] = {"type": "array", "items": step}
    source = next((name for name, argument in wrong if _is_needed(tools, name, argument)), None)
    if source is not None and len(tools) > 1 and len(kept) < 2:
        before: list[Json] = [each for name, each in by_tool.items() if name != source]
        kept = [{"anyOf": before}, _from_a_list(by_tool[source], tools, source, wrong)]
    if kept:
        size = len(kept)
        listed = {"type": "array", "prefixItems": [*kept], "minItems": size, "maxItems": size}
    fields: dict[str, Json] = {"toolplan": {"const": 1}, "steps": listed}
    if not small:
        fields["output"] = {}
    reply: Json = _object(fields, "toolplan", "steps")
    if asks:
        options: Json = {"type": "array", "items": _TEXT}
        question = _object({"question": _TEXT, "options": options}, "question", "options")
        reason = _object({"reason": _TEXT}, "reason")
        reply = {
            "anyOf": [
                reply,
                _object({"clarification": question}, "clarification"),
                _object({"refusal": reason}, "refusal"),
            ]
        }
    if times:
        words: Json = {"enum": [*times]}
        reply = _with_dates(reply, words if small else {"anyOf": [words, _DATE]})
    if small:
        form = _bounded(reply)
        return {**form, "$defs": _references(tools)} if isinstance(form, dict) else form
    return reply


def _with_dates(schema: Json, date: Json) -> Json:
    if schema == _DATE:
        return date
    if isinstance(schema, list):
        return [_with_dates(each, date) for each in schema]
    if isinstance(schema, dict):
        return {key: _with_dates(each, date) for key, each in schema.items()}
    return schema


def _step(tool: Tool) -> Json:
    value: Json = {"anyOf": [_REFERENCE, {"type": "array", "items": _REFERENCE}]}
    fits: Json = {"type": "object", "properties": _CONDITION, "additionalProperties": False}
    fields: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"},
        "tool": {"const": tool.name},
        "args": _arguments(tool.input),
        "after": {"type": "array", "items": _TEXT},
        "for_each": {"anyOf": [_REFERENCE, {"type": "array"}]},
        "max_items": {"type": "integer", "minimum": 1},
        "when": _object({"value": value, "is": fits}, "value", "is"),
        "on_error": {"enum": ["fail", "continue"]},
    }
    return _object(fields, "id", "tool", "args")


def _small_step(tool: Tool, said: Said | None, wrong: frozenset[tuple[str, str]]) -> Json:
    args = _arguments(tool.input)
    if said is not None and isinstance(args, dict) and "properties" in args:
        stated: Json = dict(_stated(tool, said, wrong))
        args = {**args, "properties": stated}
    fields: dict[str, Json] = {
        "id": {"enum": [f"{_step_id(tool)}{end}" for end in _CALLS]},
        "tool": {"const": tool.name},
        "args": args,
        "for_each": _A_LIST,
    }
    return _object(fields, "id", "tool", "args")


def _stated(
    tool: Tool, said: Said, wrong: frozenset[tuple[str, str]]
) -> Iterator[tuple[str, Json]]:
    """Yield the arguments of a tool that the question may have values for, with their schemas."""
    form, nodes = _arguments(tool.input), properties(tool)
    named, needed = _part(form, "properties"), required(tool.input)
    for name, each in named.items() if isinstance(named, dict) else ():
        values = said.choices(name, nodes.get(name))
        form: Json = {"enum": [*values]} if values else each
        if name in needed:
            yield name, _REFERENCE if (tool.name, name) in wrong else form
        elif (tool.name, name) not in wrong and said.may_fill(name, nodes.get(name)):
            yield name, form


def _wrong_arguments(refused: Attempt | None) -> frozenset[tuple[str, str]]:
    """Return the tools and arguments whose values were refused."""
    if refused is None:
        return frozenset()
    steps = steps_of(refused.draft)
    found = [
        (step_at(e.pointer), split_pointer(e.pointer)) for e in refused.diagnostics if e.blocks
    ]
    return frozenset(
        (str(_part(steps.get(at), "tool")), keys[3])
        for at, keys in found
        if len(keys) > 3 and keys[2] == "args"
    )


def _kept_steps(refused: Attempt, step: Json) -> list[Json]:
    """Return the right steps of a plan, and `step` in place of those with errors.

    There are none where a step may be missing, or where no step is wrong.
    """
    faults = [each for each in refused.diagnostics if each.blocks]
    wrong = {step_at(each.pointer) for each in faults}
    steps = steps_of(refused.draft)
    if -1 in wrong or len(steps) < 2 or any(each.code in _MISSING_STEP for each in faults):
        return []
    choices = _part(step, "anyOf")
    listed = choices if isinstance(choices, list) else []
    for_each: list[Json] = [
        {**e, "required": [*e["properties"]]}
        for e in listed
        if isinstance(e, dict) and isinstance(e["properties"], dict)
    ]
    one_each = {step_at(each.pointer) for each in faults if each.code in _NO_FOR_EACH}
    found: list[Json] = []
    for number, each in steps.items():
        replacement: Json = {"anyOf": for_each} if number in one_each else step
        found.append(replacement if number in wrong else {"const": each})
    return found


def _is_needed(tools: Toolbox, tool: str, argument: str) -> bool:
    return tool in tools and argument in required(tools[tool].input)


def _from_a_list(
    step: Json, tools: Toolbox, source: str, wrong: frozenset[tuple[str, str]]
) -> Json:
    """Return a step whose required value, which was invented, comes from the step before."""
    name = next(argument for tool, argument in sorted(wrong) if _is_needed(tools, tool, argument))
    others = Toolbox([each for each in tools.values() if each.name != source])
    parts = _part(_references(others)["part"], "enum")
    lists = [each for each in parts if "[*]" in str(each)] if isinstance(parts, list) else []
    ids = [each for each in lists if str(each).endswith(("id}", "ids}"))]
    choices = (OF_IDS.search(name) and ids) or lists
    fields = _part(step, "properties")
    if not choices or not isinstance(fields, dict):
        return step
    args = fields["args"]
    named = _part(args, "properties")
    if isinstance(args, dict) and isinstance(named, dict):
        filled: Json = {**named, name: {"const": "${item}"}}
        args = {**args, "properties": filled}
    more: dict[str, Json] = {"args": args, "for_each": {"enum": [*choices]}}
    return _object({**fields, **more}, "id", "tool", "args", "for_each")


def _step_id(tool: Tool) -> str:
    return "s_" + tool.name if tool.name in ("item", "index") else _NO_ID.sub("_", tool.name)[:60]


def _references(tools: Toolbox) -> dict[str, Json]:
    """Return the references to lists, for `for_each`, and all references, as choices."""
    lists: list[Json] = []
    parts: list[Json] = ["${item}"]
    for end, tool in product(_CALLS[:2], tools.values()):
        for path in [()] if tool.output is None else _paths(tool.output, (), _DEEP):
            text = f"${{{_step_id(tool)}{end}{print_path(path)}}}"
            found = None if tool.output is None else at(tool.output, path)
            if not isinstance(found, Schema) or types_of(found) <= _LIST_TYPES:
                lists.append(text)
            parts.append(text)
            if EVERY in path[:-1]:
                parts.append(f"${{item{print_path(path[path.index(EVERY) + 1 :])}}}")
    unique = list(dict.fromkeys(parts))
    return {
        "list": {"enum": lists[:_REFERENCES] or ["${item}"]},
        "part": {"enum": unique[:_REFERENCES]},
    }


def _paths(schema: Schema, path: Path, depth: int) -> Iterator[Path]:
    """Yield the paths to what `schema` declares below `path`, with keys that need no quotes."""
    yield path
    found = at(schema, path)
    if depth == 0 or not isinstance(found, Schema):
        return
    inner = elements(found)
    if isinstance(inner, Schema) and types_of(found) <= _LIST_TYPES and path[-1:] != (EVERY,):
        for name in _names(inner):
            yield (*path, EVERY, name)
    for name in _names(found):
        yield from _paths(schema, (*path, name), depth - 1)


def _names(schema: Schema) -> list[str]:
    named = (_part(each.node, "properties") for each in _branches(schema, _BRANCHES))
    return [key for each in named if isinstance(each, dict) for key in each if key.isidentifier()]


def _arguments(schema: Schema, depth: int = _DEEPEST) -> Json:
    """Return the schema of an object, as of all arguments: names, and kinds of values."""
    node = schema.closed().node
    if _part(node, "additionalProperties") is not False:
        return {"type": "object"}
    named, needed = _part(node, "properties"), required(schema)
    fields: dict[str, Json] = {}
    for name in named if isinstance(named, dict) else ():
        found = at(schema, (name,))
        form = _kind(found, depth - 1) if isinstance(found, Schema) else {}
        if isinstance(found, Schema) and _part(found.node, "default", 0) is None:
            form = form if name in needed else _without_null(form)
        fields[name] = form
    return _object(fields, *(name for name in needed if name in fields))


def _without_null(form: Json) -> Json:
    """Return the schema of an optional argument without null: the model omits it instead.

    >>> _without_null({"anyOf": [{"enum": ["a", None]}, {"type": "null"}]})
    {'enum': ['a']}
    """
    match form:
        case {"anyOf": list(choices)}:
            return _any_of([_without_null(each) for each in choices if each != {"type": "null"}])
        case {"enum": list(values)} if any(each is not None for each in values):
            return {"enum": [each for each in values if each is not None]}
        case _:
            return form


def _kind(schema: Schema, depth: int) -> Json:
    """Return what a value of `schema` may look like in a plan: {} where that is anything."""
    found = [_one_kind(each, depth) for each in _branches(schema, _BRANCHES)]
    if not found or {} in found:
        return {}
    choices: list[Json] = []
    for each in found:
        listed = _part(each, "anyOf")
        choices += listed if isinstance(listed, list) else [each]
    choices = [each for at, each in enumerate(choices) if each not in choices[:at]]
    if _TEXT in choices or _WITH_REFERENCE in choices:  # any text may hold a reference
        choices = [each for each in choices if each != _REFERENCE]
    if _TEXT in choices:
        choices = [each for each in choices if each != _WITH_REFERENCE]
    return _any_of(choices)


def _branches(schema: Schema, most: int) -> list[Schema]:
    """Return what `schema` chooses from by `anyOf` or `oneOf`; itself where it does not."""
    open_: list[Json] = [schema.node]
    found: list[Schema] = []
    while open_ and most > 0:
        most -= 1
        node = open_.pop(0)
        if not isinstance(node, dict):
            return [schema.part(True)]
        inner = None if "type" in node else node.get("anyOf") or node.get("oneOf")
        if "$ref" in node and (target := schema.target(node["$ref"])) is not None:
            open_.insert(0, target)
        elif isinstance(inner, list):
            open_ = [*inner, *open_]
        else:
            found.append(schema.part(node))
    return [schema.part(True)] if open_ else found


def _one_kind(schema: Schema, depth: int) -> Json:
    node, kinds = schema.node, types_of(schema)
    values = [node["const"]] if isinstance(node, dict) and "const" in node else _part(node, "enum")
    if isinstance(values, list) and 0 < len(values) <= _MOST_CHOICES:
        return {"anyOf": [{"enum": values}, _REFERENCE]}
    if kinds == _OBJECT and depth > 0:
        return {"anyOf": [_arguments(schema, depth), _REFERENCE]}
    if kinds == _LIST and depth > 0:
        inner = elements(schema)
        items = _kind(inner, depth - 1) if isinstance(inner, Schema) else {}
        return {"anyOf": [{"type": "array", "items": items}, _REFERENCE]}
    if not kinds or not kinds <= _SIMPLE:
        return {}
    text = _text(node)
    named = sorted(kinds - {"integer"} if "number" in kinds else kinds)
    written: list[Json] = [text if kind == "string" else {"type": kind} for kind in named]
    if "string" not in named:  # any text may be a reference
        written.append(_REFERENCE)
    elif text != _TEXT:
        written.append(_WITH_REFERENCE)
    return _any_of(written)


def _text(node: Json) -> Json:
    """Return the schema of a text with its pattern and format, where endpoints can keep them.

    Some take a pattern as that of the whole text, so only those of a whole text are sent.
    """
    text: dict[str, Json] = {"type": "string"}
    pattern, form = _part(node, "pattern"), _part(node, "format")
    if isinstance(pattern, str) and _WHOLE.fullmatch(pattern) and "(?" not in pattern:
        text["pattern"] = pattern
    if form in _FORMATS:
        text["format"] = form
    return text


def _part(node: Json, key: str, default: Json = None) -> Json:
    return node.get(key, default) if isinstance(node, dict) else default


def _any_of(choices: list[Json]) -> Json:
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _bounded(schema: Json) -> Json:
    """Return `schema` with an end to every list and text in it, and flat open objects."""
    if not isinstance(schema, dict):
        return schema
    if isinstance(choices := schema.get("anyOf"), list):
        return {"anyOf": [_bounded(each) for each in choices]}
    if "const" in schema or "enum" in schema or "$ref" in schema:
        return schema
    named = schema.get("properties")
    match schema.get("type"):
        case None:
            return _ANY
        case "string" if schema in (_REFERENCE, _WITH_REFERENCE):
            return _A_PART
        case "string" if "pattern" not in schema:
            return {**schema, "maxLength": _SHORT}
        case "array" if isinstance(parts := schema.get("prefixItems"), list):
            return {**schema, "prefixItems": [_bounded(each) for each in parts]}
        case "array":
            return {**schema, "items": _bounded(schema.get("items", {})), "maxItems": _FEW}
        case "object" if isinstance(named, dict):
            needed = schema.get("required")
            optional = named.keys() - (needed if isinstance(needed, list) else ())
            ended = {key: _bounded(each) for key, each in named.items()}
            parts = {key: _without_null(v) if key in optional else v for key, v in ended.items()}
            return {**schema, "properties": parts}
        case "object":
            return {"type": "object", "additionalProperties": _LEAF}
        case _:
            return schema


def _object(properties: dict[str, Json], *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
