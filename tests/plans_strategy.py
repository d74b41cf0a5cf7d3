"""Hypothesis strategies for plans with every feature, and tools that such plans can be run with.

`plans()` gives plans that a checker of structure accepts: unique ids, references only to steps that
are there (also to ones written later), no cycle. What the references meet at run time is left to
chance on purpose: lists, scalars, nulls and things that are not there.
"""

import math
from collections.abc import Sequence
from functools import cache
from graphlib import TopologicalSorter

from hypothesis import strategies as st

from toolplan import ExecutionPlan, Policy
from toolplan.plan.model import (
    DEFAULT_MAX_PAGES,
    Literal,
    OnError,
    Pages,
    Plan,
    Ref,
    Step,
    Value,
    When,
    array,
    needs,
    object_,
    template,
)
from toolplan.plan.path import EVERY, Json, Path
from toolplan.policy.approval import digest_of
from toolplan.schema.tool import Arguments, Toolbox, ToolError
from toolplan.testing import Computes, Gives, Raises, ScriptedTools

_ROWS: Json = {
    "data": [
        {"id": "r0", "n": 0, "tags": ["a", "${b}"], "note": None},
        {"id": "r1", "n": 1, "tags": [], "note": "it costs $1 {s0} \\1 %s"},
        {"id": "r2", "n": 2, "tags": ["ü", ""], "note": "${s0.data[*].id}"},
    ],
    "count": 3,
    "next": None,
    "empty": [],
}

_PATHS: Sequence[Path] = (
    (),
    ("data",),
    ("data", EVERY, "id"),
    ("data", EVERY, "tags"),
    ("data", EVERY, "tags", EVERY),
    ("data", 0),
    ("data", 2, "note"),
    ("data", 9),
    ("count",),
    ("next",),
    ("next", "deeper"),
    ("empty",),
    ("empty", EVERY, "id"),
    ("id",),
    ("value",),
    ("value", EVERY),
    (EVERY,),
    (EVERY, "value"),
    (0,),
    ("no such key",),
)

_ITEM_PATHS: Sequence[Path] = ((), (), ("id",), ("n",), ("tags",), ("no such key",))

_TEXTS = st.sampled_from(
    (
        "",
        "a",
        "Berlin",
        "${s0}",
        "$",
        "$$",
        "{",
        "}",
        "${",
        "#E1",
        "<node-0>",
        "ü€",
        '"',
        "\\",
        "\n",
    )
) | st.text(st.characters(codec="utf-8"), max_size=8)

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=5,
)

_SCHEMAS: st.SearchStrategy[Json] = st.sampled_from(
    (
        {"type": "null"},
        {"not": {"type": "null"}},
        {"type": "array", "minItems": 1},
        {"type": "integer", "minimum": 1},
        {"type": "string"},
        True,
        False,
    )
)


def scripted_tools() -> ScriptedTools:
    """Return the tools that the plans of `plans()` call; all read only.

    `rows` gives rows, `echo` its `value`, `pick` takes only a text `id`, `fail` raises, `flaky`
    fails on the first of each two calls with the same key, `nothing` gives null, `wrong` breaks its
    own output schema, `odd` gives what is not JSON, and `numbered` gives pages of two rows.
    """
    tools = ScriptedTools()
    tools.add("rows", Gives(_ROWS))
    tools.add("echo", Computes(lambda args: {"value": args.get("value")}))
    tools.add("bare", Computes(lambda args: args.get("value")))
    tools.add(
        "pick",
        Computes(lambda args: {"id": args["id"], "data": [{"id": args["id"]}]}),
        input_schema={
            "type": "object",
            "properties": {"id": {"type": "string", "minLength": 1}, "value": {}},
            "required": ["id"],
        },
    )
    tools.add("fail", Raises(ToolError("no")))
    tools.add("flaky", Computes(_Flaky()))
    tools.add("nothing", Gives(None))
    tools.add("wrong", Gives("text"), output_schema={"type": "object"})
    tools.add("odd", Computes(lambda _: {"value": [math.nan]}))
    tools.add("numbered", Computes(_page), input_schema=_NUMBERED)
    tools.add("tuples", Computes(lambda args: {"value": (1, (args.get("value"),))}))
    return tools


_NUMBERED: Json = {
    "type": "object",
    "properties": {
        "page": {"type": "integer", "default": 1},
        "per_page": {"type": "integer", "default": 2},
        "value": {},
    },
}


def _page(args: Arguments) -> Json:
    """Return a page of a list whose length, shape and faults come from `value`."""
    page, value = args.get("page", 1), args.get("value")
    if not isinstance(page, int):
        raise ToolError("no such page")
    count = len(repr(value)) % 9
    if count == 8 and page == 3:
        raise ToolError("page 3 is missing")
    if count == 7:
        page = min(page, 2)  # a tool that does not turn pages
    whole: list[Json] = [{"id": f"r{at}", "n": at} for at in range(count)]
    rows: Json = whole[2 * page - 2 : 2 * page]
    if count % 3 == 0:
        return rows
    return {"data": rows, "total": count} if count % 3 == 1 else {"data": rows, "page": page}


class _Flaky:
    """Fails on every first call with a key, so that what it does depends on no other step."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, args: Arguments) -> Json:
        key = repr(args)
        if key in self._seen:
            self._seen.discard(key)
            return {"id": "late", "value": 1}
        self._seen.add(key)
        raise ToolError("not yet")


TOOL_NAMES = tuple(scripted_tools().toolbox)


@cache  # making a strategy takes longer than drawing from it
def _refs(before: tuple[str, ...], in_for_each: bool) -> st.SearchStrategy[Ref]:
    kinds: list[st.SearchStrategy[Ref]] = []
    if before:
        kinds.append(st.builds(Ref, st.sampled_from(before), st.sampled_from(_PATHS)))
    if in_for_each:
        kinds.append(st.builds(Ref, st.just("item"), st.sampled_from(_ITEM_PATHS)))
        kinds.append(st.just(Ref("index")))
    return st.one_of(kinds)


@cache
def values(before: tuple[str, ...], *, in_for_each: bool = False) -> st.SearchStrategy[Value]:
    """Return values that refer to steps in `before`, and to item and index where there are any."""
    literals = st.builds(Literal, json_values)
    if not before and not in_for_each:
        return literals
    refs = _refs(before, in_for_each)
    templates = st.lists(refs | _TEXTS, min_size=2, max_size=4).map(lambda p: template(tuple(p)))
    return st.recursive(
        st.one_of(refs, refs, literals, templates),
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda items: array(tuple(items)))
            | st.dictionaries(_TEXTS, inner, max_size=3).map(lambda f: object_(tuple(f.items())))
        ),
        max_leaves=4,
    )


_TOOLS = st.sampled_from(("rows", "echo", "numbered", *TOOL_NAMES))
_MAX_ITEMS = st.sampled_from((2, 3, 1000, 1000, 1000))
_MAX_PAGES = st.sampled_from((1, 2, DEFAULT_MAX_PAGES, DEFAULT_MAX_PAGES))
_ON_ERROR: st.SearchStrategy[OnError] = st.sampled_from(("fail", "fail", "continue"))
_TIMEOUTS = st.sampled_from((None, None, 30.0, 45.5))
_RETRIES = st.sampled_from((0, 0, 1, 2))
_THOUGHTS = st.none() | _TEXTS
_ONE_IN_THREE = st.sampled_from((False, False, True))


@cache
def _whens(before: tuple[str, ...]) -> st.SearchStrategy[When | None]:
    return st.none() | st.none() | st.builds(When, values(before), _SCHEMAS)


@cache
def _afters(before: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    if not before:
        return st.just(())
    return st.lists(st.sampled_from(before), unique=True, max_size=2).map(tuple)


@st.composite
def _steps(draw: st.DrawFn, name: str, before: tuple[str, ...]) -> Step:
    for_each: Value | None = None
    if before and draw(_ONE_IN_THREE):
        for_each = draw(_refs(before, False) | st.just(Literal([1, "two", None])))
    inside = for_each is not None
    tool = draw(_TOOLS)
    args: dict[str, Value] = {}
    if draw(st.booleans()):
        args["value"] = draw(values(before, in_for_each=inside))
    if tool == "pick":
        args["id"] = draw(_refs(before, inside)) if before or inside else Literal("x")
    if tool == "flaky":  # calls of their own, whatever else runs at the same time
        own: list[str | Ref] = [f"{name} ", Ref("index")] if inside else [name]
        args = {"key": template(tuple(own))}
    pages: Pages | None = draw(st.sampled_from((None, "all"))) if tool == "numbered" else None
    return Step(
        id=name,
        tool=tool,
        args=args,
        after=draw(_afters(before)),
        for_each=for_each,
        max_items=draw(_MAX_ITEMS),
        when=draw(_whens(before)),
        on_error=draw(_ON_ERROR),
        timeout_s=draw(_TIMEOUTS),
        retries=draw(_RETRIES),
        thought=draw(_THOUGHTS),
        pages=pages,
        max_pages=draw(_MAX_PAGES) if pages else DEFAULT_MAX_PAGES,
    )


@st.composite
def plans(draw: st.DrawFn, *, max_steps: int = 8) -> Plan:
    """Return a plan with any of the features that plans have, in any order of writing."""
    count = draw(st.integers(1, max_steps))
    names = tuple(f"s{at}" for at in range(count))
    steps = [draw(_steps(name, names[:at])) for at, name in enumerate(names)]
    if draw(st.booleans()):
        steps = draw(st.permutations(steps))
    output = draw(st.none() | values(names))
    metadata = draw(st.dictionaries(_TEXTS, json_values, max_size=2))
    return Plan(tuple(steps), output, metadata)


def execution_plan(plan: Plan, tools: Toolbox | None = None) -> ExecutionPlan:
    """Return `plan` as engines take it, without any check: for tests of engines alone.

    Without `tools` it is a plan whose tools have no effects, and whose digest nobody looks at.
    """
    needed = {step.id: needs(step) for step in plan.steps}
    effects = [step.id for step in plan.steps if tools and tools[step.tool].has_effects]
    return ExecutionPlan(
        plan=plan,
        order=tuple(TopologicalSorter(needed).static_order()),
        needs=needed,
        signatures={} if tools is None else tools.signatures,
        effects=tuple(effects),
        digest=digest_of(plan, tools, Policy().to_json()) if tools is not None else "x",
    )
