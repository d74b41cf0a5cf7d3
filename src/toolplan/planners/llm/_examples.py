"""Two short example plans with the tools that the model may use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import Final, cast

from toolplan.plan.canonical import dump, load
from toolplan.plan.diagnostics import words
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema import Schema, Verdict, assignable, at, required
from toolplan.schema.tool import Tool, Toolbox

_LOOKED_AT: Final = 40
_LONGEST: Final = 400
_OF_A_TOOL: Final = 2
_OWN: Final = 2_000
"""Maximum number of characters of all examples that tools bring along."""


def example_plans(tools: Toolbox) -> tuple[str, ...]:
    """Return a plan of one step, and one of two steps where a tool takes what another returns.

    They have no effects, and no values: small models copy what they are shown. A tool that
    requires a value of the question is in none of them.
    """
    reading = [
        tool
        for tool in tools.values()
        if not tool.has_effects and tool.unusable is None and tool.compute_output is None
    ][:_LOOKED_AT]
    alone = (Plan((Step("first", tool.name),)) for tool in reading if not required(tool.input))
    plans = [*islice(alone, 1), *islice(_pairs(reading), 1)]
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


def _pairs(tools: Sequence[Tool]) -> Iterator[Plan]:
    """Yield plans of two steps, of which the second takes ids that the first returns."""
    for consumer in tools:
        for argument in consumer.signature.inputs:
            parts = words(argument)
            taken = at(consumer.input, (argument,))
            if len(parts) < 2 or parts[-1] not in ("id", "ids") or not isinstance(taken, Schema):
                continue  # `book_ids` is about a book
            if any(each != argument for each in required(consumer.input)):
                continue  # it needs a value of the question
            for producer in tools:
                if producer is consumer or parts[-2] not in _nouns(producer.name):
                    continue
                path = None if required(producer.input) else _identities(producer)
                given = at(producer.output, path) if path and producer.output else None
                if path is not None and isinstance(given, Schema):
                    whole = assignable(given, taken) is Verdict.YES
                    value = Ref("found", path) if whole else Ref("item")
                    each = None if whole else Ref("found", path)
                    second = Step("details", consumer.name, {argument: value}, for_each=each)
                    yield Plan((Step("found", producer.name), second))


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
