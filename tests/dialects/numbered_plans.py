"""Hypothesis strategies for plans that dialects with numbered calls can say, all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from tests.dialects.strategies import IDS, TEXTS, values
from toolplan.plan import Literal, Plan, Ref, Signature, Step, Value, template

TOOLS = st.from_regex(re.compile(r"[a-z_][\w.:/-]{0,6}", re.ASCII), fullmatch=True).filter(
    lambda name: name != "join"
)
WORDS = st.sampled_from(["Look", "$1", "#E1", "10", "${2}", "so:", "é", "(a)", "[b]", "1.", "a\nb"])
THOUGHTS = st.none() | st.lists(WORDS, min_size=1, max_size=4).map(
    lambda words: ("So " + " ".join(words)).strip()
)
NEAR_REFERENCES = st.sampled_from(
    ["$1", "$$1", "$", "$10", "${1}", "${1", "${1.a}", "{1}", "#E1", "##E1", "#", "#E", "E1", "$0"]
)
PIECES = NEAR_REFERENCES | TEXTS
PAIRED = st.recursive(
    NEAR_REFERENCES | st.text("ab #E1$[]\n '\"\\{}", max_size=6).filter(lambda t: not {*t} & {*"[]"}),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "[" + "".join(parts) + "]"),
    max_leaves=3,
)


def _ids() -> st.SearchStrategy[list[str]]:
    return st.lists(IDS, min_size=1, max_size=12, unique=True)


def _texts(ids: Sequence[str]) -> st.SearchStrategy[Value]:
    parts = PIECES | st.builds(Ref, st.sampled_from(ids))
    return st.lists(parts, min_size=1, max_size=5).map(tuple).map(template)


@st.composite
def llmcompiler_plans(draw: st.DrawFn) -> Plan:
    """Give plans of named arguments, references, thoughts and redundant order."""
    ids = draw(_ids())
    steps: list[Step] = []
    for name in ids:
        args = draw(st.dictionaries(PIECES, values(ids) | _texts(ids), max_size=3))
        used = [each for each in ids if any(each in repr(value) for value in args.values())]
        step = Step(name, draw(TOOLS), args, thought=draw(THOUGHTS))
        assert used is not None
        steps.append(step)
    return Plan(tuple(steps))


def _input(ids: Sequence[str]) -> st.SearchStrategy[Value]:
    parts = PAIRED | st.builds(Ref, st.sampled_from(ids))
    return (
        st.lists(parts, min_size=1, max_size=4)
        .map(_spaced)
        .map(template)
        .filter(lambda value: value != Literal(""))
    )


def _spaced(parts: Sequence[str | Ref]) -> tuple[str | Ref, ...]:
    """Keep digits from standing right behind a reference, where they would be its number."""
    kept: list[str | Ref] = []
    for part in parts:
        if kept and isinstance(kept[-1], Ref) and isinstance(part, str):
            kept.append(" ")
        kept.append(part)
    return tuple(kept)


@st.composite
def rewoo_plans(draw: st.DrawFn) -> Plan:
    """Give plans of one text a step; the argument is `input` everywhere, as in `REWOO_TOOLS`."""
    ids = draw(_ids())
    return Plan(
        tuple(
            Step(
                name,
                draw(st.sampled_from(sorted(REWOO_TOOLS))),
                draw(st.just(dict[str, Value]()) | _input(ids).map(lambda v: {"input": v})),
                thought=draw(THOUGHTS),
            )
            for name in ids
        )
    )


REWOO_TOOLS: Mapping[str, Signature] = {
    name: Signature(("input", "more"), ()) for name in ("LLM", "Wikipedia", "Calculator")
}
