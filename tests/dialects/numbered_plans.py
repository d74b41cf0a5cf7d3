"""Plans that dialects with numbered calls can say, all of them; and what became of writing them."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from hypothesis import strategies as st

from tests.dialects.strategies import TEXTS, values
from toolplan.dialects import Dialect
from toolplan.plan.diagnostics import CannotExpress
from toolplan.plan.model import Literal, Plan, Ref, Signature, Step, Value, template

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
    NEAR_REFERENCES
    | st.text("ab #E1$[]\n '\"\\{}", max_size=6).filter(lambda t: not {*t} & {*"[]"}),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "[" + "".join(parts) + "]"),
    max_leaves=3,
)


IDS = ("a", "b-1", "10", "s0", "E1", "s2", "3", "x", "s1", "_", "11", "z")


@cache  # making a strategy takes longer than drawing from it
def _arguments(ids: tuple[str, ...]) -> st.SearchStrategy[dict[str, Value]]:
    parts = PIECES | st.builds(Ref, st.sampled_from(ids))
    texts = st.lists(parts, min_size=1, max_size=5).map(tuple).map(template)
    return st.dictionaries(PIECES, values(ids) | texts, max_size=3)


@st.composite
def llmcompiler_plans(draw: st.DrawFn) -> Plan:
    """Return plans of named arguments, references and thoughts."""
    ids = IDS[: draw(st.sampled_from((1, 2, 3, 12)))]
    return Plan(
        tuple(
            Step(name, draw(TOOLS), draw(_arguments(ids)), thought=draw(THOUGHTS)) for name in ids
        )
    )


@cache
def _input(ids: tuple[str, ...]) -> st.SearchStrategy[dict[str, Value]]:
    parts = PAIRED | st.builds(Ref, st.sampled_from(ids))
    texts = st.lists(parts, min_size=1, max_size=4).map(_spaced).map(template)
    some = texts.filter(lambda value: value != Literal(""))
    return st.just(dict[str, Value]()) | some.map(lambda value: {"input": value})


def _spaced(parts: Sequence[str | Ref]) -> tuple[str | Ref, ...]:
    """Keep digits from standing right behind a reference, where they would be its number."""
    kept: list[str | Ref] = []
    for part in parts:
        if kept and isinstance(kept[-1], Ref) and isinstance(part, str):
            kept.append(" ")
        kept.append(part)
    return tuple(kept)


REWOO_TOOLS: Mapping[str, Signature] = {
    name: Signature(("input", "more"), ()) for name in ("LLM", "Wikipedia", "Calculator")
}


@st.composite
def rewoo_plans(draw: st.DrawFn) -> Plan:
    """Return plans of one text a step; the argument is `input` everywhere, as in `REWOO_TOOLS`."""
    ids = IDS[: draw(st.sampled_from((1, 2, 3, 12)))]
    tools = st.sampled_from(sorted(REWOO_TOOLS))
    return Plan(
        tuple(Step(name, draw(tools), draw(_input(ids)), thought=draw(THOUGHTS)) for name in ids)
    )


def written(dialect: Dialect, plan: Plan) -> tuple[str | None, set[str]]:
    """Return the text of `plan`, or None with the codes of what the dialect cannot say."""
    try:
        return dialect.print(plan), set()
    except CannotExpress as error:
        return None, {each.code for each in error.diagnostics}
