"""Two short example plans with the tools that the model may use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import Final, cast

from msgspec import Struct

from toolplan.diagnostics import words
from toolplan.path import EVERY, Json, Path
from toolplan.plan import Plan, Ref, Step, Value
from toolplan.plan_json import dump, load
from toolplan.schema import Schema, Verdict, assignable, at, required
from toolplan.tools import Tool, Toolbox

_LOOKED_AT: Final = 40
_LONGEST: Final = 400
_OF_A_TOOL: Final = 2
_OWN: Final = 2_000
"""The most characters of all examples that tools bring along."""


class _Link(Struct, frozen=True):
    """`producer` returns at `path` what `consumer` takes as `argument`."""

    producer: Tool
    path: Path
    consumer: Tool
    argument: str


def example_plans(tools: Toolbox) -> tuple[str, ...]:
    """Return a plan of one step, and one of two steps where a tool takes what another returns.

    They have no effects, and no values: small models copy what they are shown. A tool that
    requires a value of the question is in none of them.
    """
    reading = [tool for tool in tools.values() if not tool.has_effects and tool.unusable is None]
    reading = [tool for tool in reading if tool.compute_output is None][:_LOOKED_AT]
    alone = (_step("first", tool, {}) for tool in reading)
    plans = [Plan((step,)) for step in alone if step is not None][:1]
    plans += islice((pair for pair in map(_pair, _links(reading)) if pair is not None), 1)
    return tuple(text for text in map(_text, plans) if len(text) <= _LONGEST)


def own_examples(tools: Toolbox) -> tuple[str, ...]:
    """Return the `x-examples` of input schemas: a question and its plan, as one JSON line each.

    Those whose plan is none, or calls a tool that is not listed, are left out.
    """
    found: list[str] = []
    for tool in tools.values():
        root = tool.raw_input
        listed = root.get("x-examples") if isinstance(root, dict) else None
        for each in listed[:_OF_A_TOOL] if isinstance(listed, list) else ():
            match each:
                case {"question": str(question), "plan": dict(plan)}:
                    parsed = load(plan)
                case _:
                    continue
            known = parsed.plan is not None and all(s.tool in tools for s in parsed.plan.steps)
            text = json.dumps({"question": question, "plan": plan}, ensure_ascii=False)
            if known and not parsed.diagnostics and len(text) <= _LONGEST and text.isprintable():
                found.append(text)
    lengths = accumulate(map(len, found))
    return tuple(text for text, length in zip(found, lengths, strict=True) if length <= _OWN)


def _text(plan: Plan) -> str:
    document = dump(plan)
    for step in cast("list[dict[str, Json]]", document["steps"]):
        step.setdefault("args", {})  # as a reply must have it
    return json.dumps(document, ensure_ascii=False)


def _pair(link: _Link) -> Plan | None:
    first = _step("found", link.producer, {})
    taken = at(link.consumer.input, (link.argument,))
    given = None if link.producer.output is None else at(link.producer.output, link.path)
    if first is None or not isinstance(taken, Schema) or not isinstance(given, Schema):
        return None
    if assignable(given, taken) is Verdict.YES:
        second = _step("details", link.consumer, {link.argument: Ref("found", link.path)})
        return None if second is None else Plan((first, second))
    second = _step("details", link.consumer, {link.argument: Ref("item", ())})
    if second is None:
        return None
    fan = Step(second.id, second.tool, second.args, for_each=Ref("found", link.path))
    return Plan((first, fan))


def _step(name: str, tool: Tool, args: dict[str, Value]) -> Step | None:
    """Return a step with `args`; None where it would need more."""
    needs = any(each not in args for each in required(tool.input))
    return None if needs else Step(name, tool.name, args)


def _links(tools: Sequence[Tool]) -> Iterator[_Link]:
    for consumer in tools:
        for argument in consumer.signature.inputs:
            thing = _thing(argument)
            if thing is None:
                continue
            for producer in tools:
                if producer is not consumer and thing in _nouns(producer.name):
                    path = _identities(producer)
                    if path is not None:
                        yield _Link(producer, path, consumer, argument)


def _thing(argument: str) -> str | None:
    """Return the noun of an argument such as `book_ids`: `book`."""
    parts = words(argument)
    return parts[-2] if len(parts) > 1 and parts[-1] in ("id", "ids") else None


def _nouns(name: str) -> set[str]:
    """Return the words of a tool's name, plurals also as singulars."""
    found = set(words(name))
    found |= {word.removesuffix("s") for word in found}
    return found | {word.removesuffix("ies") + "y" for word in found if word.endswith("ies")}


def _identities(tool: Tool) -> Path | None:
    """Return the path to the ids of a list in the tool's output, at its root or one key below."""
    output = tool.output
    if output is None:
        return None
    starts: list[Path] = [(), *((name,) for name in tool.signature.outputs)]
    for start in starts:
        path: Path = (*start, EVERY, "id")
        if isinstance(at(output, path), Schema) and _is_list(output, start):
            return path
    return None


def _is_list(output: Schema, path: Path) -> bool:
    found = at(output, path)
    node: Json = found.node if isinstance(found, Schema) else None
    return isinstance(node, dict) and node.get("type") == "array"
