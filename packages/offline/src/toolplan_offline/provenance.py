"""Where the values of a plan come from: the words of the question, or another step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from toolplan.plan.path import Json
from toolplan_offline.chart import Edge
from toolplan_offline.lexicon import Val
from toolplan_offline.meaning import When
from toolplan_offline.reading import Reading
from toolplan_offline.world import Part

Said = list[tuple[Any, int, int]]


def said_values(reading: Reading, category: str, meaning: object) -> Said:
    """Return the values in the words of a question, each with its place in the text."""
    if reading.chart is None:
        return []
    edges = reading.chart.phrases(0, len(reading.kept), category, meaning)
    return [(value, *reading.place(edge)) for edge in edges for value in _values(edge)]


def _values(edge: Edge) -> Iterator[Any]:
    match edge.meaning:
        case Val(value=value):
            yield value
        case When(lo=lo, hi=hi, days=days):
            yield from (day.isoformat() for day in (lo, hi) if day)
            yield from [days] if days else []
        case (str(), str(identity)) if edge.category == "ID":
            yield identity
        case float(n) | int(n):
            yield int(n) if n == int(n) else n
        case str(text) if edge.category in ("UNK", "REPORT"):
            yield text
        case _:
            return


def provenance(
    question: str, steps: Iterable[dict[str, Any]], said: Said, earlier: str | None = None
) -> dict[str, Json]:
    """Return, for each argument by its JSON pointer, the words or the step that it comes from.

    `earlier`: the message before, where the plan follows up on it.
    """
    found: dict[str, Json] = {}
    for at, step in enumerate(steps):
        for name, value in step.get("args", {}).items():
            pointer = f"/steps/{at}/args/{name.replace('~', '~0').replace('/', '~1')}"
            found[pointer] = _reason(question, value, said, earlier)
        if "for_each" in step:
            found[f"/steps/{at}/for_each"] = _reference(step["for_each"])
    return found


def _reason(question: str, value: Part, said: Said, earlier: str | None) -> Json:
    if isinstance(value, str) and value.startswith("${"):
        return _reference(value)
    if type(value) is dict:  # the tables of a statement
        return {"ref": ", ".join(cast("dict[str, Json]", value))}
    wanted = cast("list[Json]", value) if type(value) is list else [value]
    texts = [str(v).partition("T")[0] for v in wanted if isinstance(v, str)]
    places = [(start, end) for each, start, end in said if each in wanted or each in texts]
    if not places and earlier is not None:
        return {"earlier": earlier}
    if not places:
        places = [(start, end) for _, start, end in said]
    if not places:
        return {"words": [0, len(question.split()) - 1], "text": question}
    start, end = min(s for s, _ in places), max(e for _, e in places)
    first = len(question[:start].split()) if start else 0
    first -= bool(start) and not question[start - 1].isspace()
    last = len(question[:end].split()) - 1
    return {"words": [first, last], "text": " ".join(question.split()[first : last + 1])}


def _reference(text: str) -> Json:
    return {"ref": text[2:-1].split(".")[0].split("[")[0]}
