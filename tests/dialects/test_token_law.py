"""The law of repair: whatever is read of a broken text has the tokens of the text, in order."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.native_plans import calls
from tests.dialects.strategies import JSON, plans
from toolplan.dialects import DIALECTS
from toolplan.plan.diagnostics import CannotExpress, Severity
from toolplan.plan.model import Plan, positional
from toolplan.plan.path import Json
from toolplan.plan.text.loose import Reader, Refused
from toolplan.plan.text.tokens import TOKEN

JSON_DIALECTS = ("clear", "kirha", "nestful", "sealtools", "state", "taskbench", "toolplan")
CONSTANTS = {"True": "true", "False": "false", "None": "null"}
PIECES = [
    "", ",", '"', "'", "...", "…", ":", " ", "\n", "1", "x", "{", "}", "[", "]", "//", "%", "\\\\",
]  # fmt: skip


def tokens(text: str) -> list[str]:
    """Return what the tokens of `text` say, without commas and comments; a bare key as a text."""
    found: list[str] = []
    for token in TOKEN.finditer(text):
        kind, said = token.lastgroup, token[0]
        if kind == "comment" or said == ",":
            continue
        if kind in ("double", "single"):
            found.append(json.dumps(Reader(said).read()))
        elif kind == "word":
            is_key = text[token.end() :].lstrip().startswith(":")
            found.append(json.dumps(said) if is_key else CONSTANTS.get(said, said))
        else:
            found.append(said)
    return found


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """Return `text` with up to three places cut out or filled with what models put there."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 2))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + cut :]
    return text


def spelled_alike(tokens: list[str]) -> list[str]:
    """Return `tokens` with each number as it is read."""
    return [repr(float(each)) if each[:1] in "-0123456789" else each for each in tokens]


@settings(deadline=None)
@given(st.data(), JSON.filter(lambda value: isinstance(value, dict | list)))
def test_tokens_in_are_tokens_out(data: st.DataObject, value: Json) -> None:
    text = data.draw(mutated(json.dumps(value, ensure_ascii=False)))
    reader = Reader(text)
    try:
        read = reader.read()
    except Refused as refused:
        at, said = refused.at, str(refused)
    else:
        if not reader.flaws:  # of a key that stands twice the last counts
            assert spelled_alike(tokens(json.dumps(read))) == spelled_alike(tokens(text))
        return
    assert 0 <= at <= len(text)
    assert said


@pytest.mark.parametrize("name", JSON_DIALECTS)
@settings(deadline=None, max_examples=40)
@given(data=st.data(), plan=plans() | calls())
def test_a_plan_that_is_read_has_the_texts_and_numbers_that_were_written(
    name: str, data: st.DataObject, plan: Plan
) -> None:
    dialect = DIALECTS[name]
    try:
        written = dialect.print(plan)
    except CannotExpress:
        return
    whole = dialect.parse(written).plan
    commas = [token.start() for token in TOKEN.finditer(written) if token[0] == ","]
    if not commas or whole is None:
        return
    at = data.draw(st.sampled_from(commas))
    parsed = dialect.parse(
        written[:at] + data.draw(st.sampled_from(["", " ", ",,"])) + written[at + 1 :]
    )
    if parsed.plan is not None and not any(
        e.severity is Severity.ERROR for e in parsed.diagnostics
    ):
        assert positional(parsed.plan) == positional(whole)
