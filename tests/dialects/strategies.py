"""Hypothesis strategies for plans as the dialects see them: any text, any value, any reference."""

from collections.abc import Sequence

from hypothesis import strategies as st

from toolplan.plan.model import (
    Literal,
    Plan,
    Ref,
    Step,
    Value,
    When,
    array,
    object_,
    step_refs,
    template,
)
from toolplan.plan.path import EVERY, Json, Path

IDS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,12}", fullmatch=True).filter(
    lambda name: name not in ("item", "index")
)
# a NUL and half characters are no text; what looks like references is, and the likelier the better
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
    st.text("${}[].a0\\\"'s", max_size=10),
    st.sampled_from(["${", "$${a}", "$$${", "${step[0].a}", "<think>", "```", "// no", "$"]),
)
NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
KEYS = st.text(min_size=0, max_size=6) | st.sampled_from(["id", "a b", "}", '"', "\\", "__class__"])
PATHS: st.SearchStrategy[Path] = st.lists(
    st.one_of(KEYS, st.integers(0, 999_999_999), st.just(EVERY)), max_size=4
).map(tuple)


def values(ids: Sequence[str]) -> st.SearchStrategy[Value]:
    """Return values that refer to `ids`."""
    if not ids:
        return JSON.map(Literal)
    references = st.builds(Ref, st.sampled_from(ids), PATHS)
    texts = st.lists(TEXTS | references, max_size=4).map(tuple).map(template)
    return st.recursive(
        JSON.map(Literal) | references | texts,
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple).map(array)
            | st.dictionaries(TEXTS, inner, max_size=3).map(lambda d: object_(tuple(d.items())))
        ),
        max_leaves=3,
    )


def _arguments(ids: Sequence[str]) -> st.SearchStrategy[dict[str, Value]]:
    return st.dictionaries(TEXTS, values(ids), max_size=3)


def _steps(name: str, ids: list[str]) -> st.SearchStrategy[Step]:
    every = [*ids, "item", "index"]
    return st.builds(
        Step,
        id=st.just(name),
        tool=TEXTS.filter(bool),
        args=_arguments(every),
        after=st.lists(st.sampled_from(ids), max_size=2).map(tuple),
        for_each=st.none() | values(ids),
        max_items=st.just(1000) | st.integers(1, 5000),
        when=st.none() | st.builds(When, values(ids), st.just({"const": "${x}"}) | st.booleans()),
        on_error=st.sampled_from(["fail", "continue"]),
        timeout_s=st.none() | st.floats(0.001, 1000),
        retries=st.integers(0, 5),
        thought=st.none() | TEXTS,
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Return plans with every feature; their tools do not exist and their order may be circular."""
    ids = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    return Plan(
        tuple(draw(_steps(name, ids)) for name in ids),
        draw(st.none() | values(ids)),
        draw(st.dictionaries(TEXTS, JSON, max_size=2)),
    )


@st.composite
def clear_plans(draw: st.DrawFn) -> Plan:
    """Return plans that Clear can say, without order that a reference shows already."""
    ids = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    steps: list[Step] = []
    for at, name in enumerate(ids):
        step = Step(name, draw(TEXTS.filter(bool)), draw(_arguments(ids)))
        implied = {ref.step for _, ref in step_refs(step)}
        free = [each for each in ids if each not in implied and each != name]
        chosen = draw(st.sets(st.sampled_from(free))) if free else set[str]()
        after = tuple(each for each in ids if each in chosen)
        steps.append(Step(name, step.tool, step.args, after))
        assert steps[at].id == name
    metadata: dict[str, Json] = {"query": draw(TEXTS)} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        metadata["created_at"] = "2025-10-12T10:00:00.000Z"
    return Plan(tuple(steps), None, metadata)
