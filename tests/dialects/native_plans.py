"""Hypothesis strategies for plans that the JSON dialects of others can say, or nearly so."""

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.dialects.strategies import IDS, KEYS, NUMBERS
from toolplan.plan.model import Literal, Plan, Ref, Step, Value, array, object_, step_refs, template
from toolplan.plan.path import Json, Path

LOOK_ALIKES = st.sampled_from(
    [
        "{0}", "{{0}}", "{", "}", "{0.a", "{1.b}}", "{{{0}}", "{2024}", "$s0$", "$var1.a$", "$",
        "$50", "$10-$20", "$var1", "<node-0>", "<node-1>.a", "<", ">", "<output_of_t>", ".wav",
        "API_call_0", "API_call_1 and", "API_call_", "0", "</plan>", "<think>", "${s0.a}",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    LOOK_ALIKES,
    st.lists(LOOK_ALIKES, max_size=3).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.text("{}0.[]\"'a", max_size=8),
    st.text("$<>-_. a1", max_size=8),
)
PLAIN_TEXTS = st.text("abc ,;:!?äß€\n\"'\\/", max_size=8)
PLAIN_KEYS = st.from_regex(r"[a-z_]([a-z_ ]{0,4}[a-z_])?", fullmatch=True)
PLAIN_PATHS: st.SearchStrategy[Path] = st.lists(
    PLAIN_KEYS | st.integers(0, 999_999_999), max_size=3
).map(tuple)
KEYED_PATHS: st.SearchStrategy[Path] = st.lists(
    KEYS | PLAIN_KEYS | st.integers(0, 999_999_999), max_size=3
).map(tuple)


def json_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    """Return JSON whose texts are `texts`."""
    return st.recursive(
        st.none() | st.booleans() | NUMBERS | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=4,
    )


def values_of(
    ids: Sequence[str],
    texts: st.SearchStrategy[str],
    paths: st.SearchStrategy[Path],
    separator: str = "",
) -> st.SearchStrategy[Value]:
    """Return values with references to `ids`, alone, inside of text and inside of lists.

    Inside of text the `separator` stands round each of them.
    """
    literals = json_of(texts).map(Literal)
    references = st.builds(Ref, st.sampled_from(ids), paths)
    apart = st.just(separator)
    mixed = st.lists(st.tuples(apart, texts | references, apart), max_size=3).map(
        lambda triples: template(tuple(part for triple in triples for part in triple))
    )
    return st.recursive(
        st.one_of(literals, references, mixed),
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple).map(array)
            | st.dictionaries(texts, inner, max_size=2).map(lambda d: object_(tuple(d.items())))
        ),
        max_leaves=3,
    )


@st.composite
def calls(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] = TEXTS,
    paths: st.SearchStrategy[Path] = KEYED_PATHS,
    *,
    ids: st.SearchStrategy[str] = IDS,
    separator: str = "",
) -> Plan:
    """Return plans of tools and arguments alone; every tool has another name.

    No step refers to itself, unless it is the only one.
    """
    names = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    steps: list[Step] = []
    for at, name in enumerate(names):
        others = [each for each in names if each != name] or names
        args = st.dictionaries(PLAIN_TEXTS, values_of(others, texts, paths, separator), max_size=2)
        steps.append(Step(name, f"tool {at}", draw(args)))
    return Plan(tuple(steps))


@st.composite
def with_order(draw: st.DrawFn, plans: st.SearchStrategy[Plan]) -> Plan:
    """Return `plans` with order that no reference shows, in the order of writing."""
    plan = draw(plans)
    steps: list[Step] = []
    for at, step in enumerate(plan.steps):
        implied = {ref.step for _, ref in step_refs(step)}
        free = [each.id for each in plan.steps[:at] if each.id not in implied]
        chosen = draw(st.sets(st.sampled_from(free))) if free else set[str]()
        steps.append(replace(step, after=tuple(name for name in free if name in chosen)))
    return replace(plan, steps=tuple(steps))


@st.composite
def with_thoughts(draw: st.DrawFn, plans: st.SearchStrategy[Plan], *, all_or_none: bool) -> Plan:
    """Return `plans` with thoughts, where `all_or_none` on every step or on none."""
    plan = draw(plans)
    thoughts = TEXTS if all_or_none else st.none() | TEXTS
    if all_or_none and draw(st.booleans()):
        return plan
    return replace(plan, steps=tuple(replace(s, thought=draw(thoughts)) for s in plan.steps))
