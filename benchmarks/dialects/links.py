"""The links of a TaskBench plan, which say beside its references what depends on what.

A link names two tools. Where a tool is used twice, it leads to each node of the target from the
last node of the source before it, and from each node of the source to the next of the target.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.dialects.form import number_of
from toolplan.plan.canonical import Report, dump_value, shown
from toolplan.plan.diagnostics import Diagnostic, Edit, Fix, Severity
from toolplan.plan.model import Plan, Ref, Step, Value, map_refs, step_refs, value_at
from toolplan.plan.path import Json, json_type

Edge: TypeAlias = tuple[int, int]
"""The position of a step, and of one that waits for it."""

_NODE = re.compile(r"<node-(0|[1-9][0-9]{0,8})>")
_FIELDS: Final = ("source", "target")
_OTHER_NAMES: Final = {"from": "source", "to": "target"}
_ENDS: Final = "A link names two tools of the plan."


class Links(Struct, frozen=True):
    """What the links of a plan say: edges, and the same as names of tools.

    `is_sure` says that each link can mean one edge only.
    """

    edges: frozenset[Edge]
    names: frozenset[tuple[str, str]]
    is_sure: bool


def read_links(links: Json, tools: Sequence[str], report: Report) -> Links:
    """Return what `links`, a list of `{"source", "target"}`, say. Never raises."""
    if not isinstance(links, list):
        report.wrong_type("task_links", links, "a list", "/task_links")
        return Links(frozenset(), frozenset(), True)
    places: dict[str, list[int]] = {}
    for at, tool in enumerate(tools):
        places.setdefault(tool, []).append(at)
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for at, link in enumerate(links):
        pointer = f"/task_links/{at}"
        if not isinstance(link, dict):
            report.error("field-type", f"A link is an object, not {json_type(link)}.", pointer)
            continue
        report.unknown_fields(link, _FIELDS, pointer, None, _OTHER_NAMES)
        ends = _ends(link, pointer, places, len(tools), report)
        if ends is not None:
            found[ends] = None
    return Links(
        frozenset(edge for ends in found for edge in _edges(*ends)),
        frozenset((tools[source[0]], tools[target[0]]) for source, target in found),
        all(len(source) == len(target) == 1 for source, target in found),
    )


def write_links(edges: Iterable[Edge], tools: Sequence[str]) -> list[Json]:
    """Return links that say `edges`; a tool used twice is named by its node number."""
    count = Counter(tools)
    names = [
        tool if count[tool] == 1 and not _NODE.fullmatch(tool) else f"<node-{at}>"
        for at, tool in enumerate(tools)
    ]
    return [{"source": names[source], "target": names[target]} for source, target in edges]


def with_links(plan: Plan, links: Links, report: Report, *, by_number: bool) -> Plan:
    """Return `plan` with the order of the `links` that no reference shows.

    Where references agree with the links only when they are counted from 1, they are fixed, and
    each is reported as fixed; `by_number` says that all of them are numbers. A reference that no
    link repeats contradicts the links.
    """
    tools = [step.tool for step in plan.steps]
    edges = _references(plan)
    unlinked = {edge for edge in edges if not _is_linked(edge, links, tools)}
    if links.names and unlinked:
        is_sure = by_number and links.is_sure
        late = _counted_from_one(edges, unlinked, links) if is_sure else set[Edge]()
        if late:
            plan = _counted_from_zero(plan, late, report)
            edges = _references(plan)
        else:
            _report_contradictions(plan, links, tools, report)
    after: dict[int, list[int]] = {}
    for source, target in sorted(links.edges - edges):
        after.setdefault(target, []).append(source)
    return replace(
        plan,
        steps=tuple(
            replace(step, after=tuple(f"s{source}" for source in after.get(at, ())))
            for at, step in enumerate(plan.steps)
        ),
    )


def _ends(
    link: Mapping[str, Json],
    pointer: str,
    places: Mapping[str, Sequence[int]],
    count: int,
    report: Report,
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the nodes that `link` leads from and to; report each end that is not a node."""
    source, target = (_nodes(link.get(field), places, count) for field in _FIELDS)
    step = f"s{(target or source)[0]}" if target or source else None
    if source and target:
        if len(source) > 1 or source != target:
            return source, target
        report.error("self-reference", "A link leads from a node to itself.", pointer, step)
    for field, nodes in zip(_FIELDS, (source, target), strict=True):
        if nodes:
            continue
        place, end = f"{pointer}/{field}", link.get(field)
        if isinstance(end, str):
            said = f"A link has the {field} {shown(end)}, which is not a node."
            report.error("unknown-step", said, place, step, _ENDS)
        elif isinstance(end, int) and not isinstance(end, bool):
            said = f"A link has the {field} {end}; there are {count} nodes."
            report.error("unknown-step", said, place, step, "Nodes are counted from 0.")
        else:
            said = f"The {field} of a link is {json_type(end)}, not the tool of a node."
            report.error("field-type", said, place, step, _ENDS)
    return None


def _nodes(end: Json, places: Mapping[str, Sequence[int]], count: int) -> tuple[int, ...]:
    if isinstance(end, str) and end in places:
        return tuple(places[end])
    node = _NODE.fullmatch(end) if isinstance(end, str) else None
    number = int(node[1]) if node is not None else end
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < count:
        return (number,)
    return ()


def _edges(sources: Sequence[int], targets: Sequence[int]) -> set[Edge]:
    if len(sources) == len(targets) == 1:
        return {(sources[0], targets[0])}
    found: set[Edge] = set()
    for target in targets:
        at = bisect(sources, target - 1)
        if at:
            found.add((sources[at - 1], target))
    for source in sources:
        at = bisect(targets, source)
        if at < len(targets):
            found.add((source, targets[at]))
    return found or {(sources[0], targets[0])}


def _references(plan: Plan) -> set[Edge]:
    return {
        (number_of(ref.step), at)
        for at, step in enumerate(plan.steps)
        for _, ref in step_refs(step)
    }


def _is_linked(edge: Edge, links: Links, tools: Sequence[str]) -> bool:
    source, target = edge
    return source < len(tools) and (tools[source], tools[target]) in links.names


def _counted_from_one(edges: set[Edge], unlinked: set[Edge], links: Links) -> set[Edge]:
    """Return the references that surely mean the node before the one that they name.

    These are all of them, or all that would be to their own node.
    """
    if all((source - 1, target) in links.edges for source, target in edges):
        return edges
    if all(source == target and (source - 1, target) in links.edges for source, target in unlinked):
        return unlinked
    return set()


def _counted_from_zero(plan: Plan, late: set[Edge], report: Report) -> Plan:
    def fixed(at: int, step: Step) -> Step:
        def earlier(ref: Ref) -> Ref:
            number = number_of(ref.step)
            return replace(ref, step=f"s{number - 1}") if (number, at) in late else ref

        args = {name: map_refs(value, earlier) for name, value in step.args.items()}
        return replace(step, args=args)

    new = replace(plan, steps=tuple(fixed(at, step) for at, step in enumerate(plan.steps)))
    for at, step in enumerate(plan.steps):
        for pointer, ref in dict.fromkeys(step_refs(step)):
            place = f"/steps/{at}{pointer}"
            number = number_of(ref.step)
            if (number, at) not in late:
                continue
            report.add(
                Diagnostic(
                    "one-based-reference",
                    Severity.ERROR,
                    f"<node-{number}> agrees with the links only where nodes are counted from 1.",
                    step.id,
                    place,
                    f"Nodes are counted from 0: <node-{number - 1}>.",
                    _fix(place, value_at(new, place)),
                    fixed=True,
                )
            )
    return new


def _fix(pointer: str, value: Value | None) -> Fix | None:
    return None if value is None else Fix(True, (Edit(pointer, dump_value(value)),))


def _report_contradictions(plan: Plan, links: Links, tools: Sequence[str], report: Report) -> None:
    for at, step in enumerate(plan.steps):
        for pointer, ref in dict.fromkeys(step_refs(step)):
            source = number_of(ref.step)
            if source >= len(tools) or source == at or _is_linked((source, at), links, tools):
                continue  # a step that is not there, or this one: the rules say so
            report.error(
                "contradiction",
                f"<node-{source}> is referred to, but no link leads from {shown(tools[source])} to "
                f"{shown(tools[at])}.",
                f"/steps/{at}{pointer}",
                step.id,
                "References and links have to say the same; nodes are counted from 0.",
            )
