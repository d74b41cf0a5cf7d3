"""Laws of claims, for any rows and any text."""

from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.sizes import share_of
from tests.summary.test_claims import evidence
from toolplan.plan.path import Json
from toolplan.show.printable import number_text
from toolplan.show.summary.claims import check_claims

WORDS = "the weight was {} there"
NUMBERS = (
    st.integers(-(10**9), 10**9)
    | st.floats(-1e9, 1e9, allow_nan=False).map(lambda n: round(n, 3))
    | st.floats(1e-6, 1, exclude_max=True)
)
SPELLINGS = st.sampled_from(["text", "grouped", "repr", "fixed"])


def spelled(number: float, how: str) -> str:
    match how:
        case "text":
            return number_text(number)
        case "grouped":
            return number_text(number, grouped=True)
        case "fixed":
            return f"{number:,.2f}"
        case _:
            return repr(number)


def rows_of(numbers: list[float]) -> Json:
    return {"data": [{"weight": number} for number in numbers]}


@settings(max_examples=share_of(120), deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=6), st.data())
def test_a_number_from_the_rows_is_never_marked(numbers: list[float], data: st.DataObject) -> None:
    number = data.draw(st.sampled_from(numbers))
    text = f"the weight was {spelled(number, data.draw(SPELLINGS))} there"
    found = evidence(rows_of(numbers), question="")
    assert [claim for claim in check_claims(text, found) if not claim.found] == [], text


@settings(max_examples=share_of(120), deadline=None)
@given(st.lists(st.integers(0, 999), min_size=1, max_size=6), st.integers(10_000, 10**9), SPELLINGS)
def test_a_number_absent_from_rows_and_analysis_is_always_marked(
    numbers: list[int], absent: int, how: str
) -> None:
    # sums and counts of such rows stay below 10,000
    text = f"the weight was {spelled(absent, how)} there"
    found = evidence(rows_of([*map(float, numbers)]), question="")
    assert [claim.found for claim in check_claims(text, found)] == [False], text


@settings(max_examples=share_of(120), deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.integers(0, 10**6))
def test_a_number_is_found_exactly_when_a_figure_rounds_to_it(numbers: list[int], n: int) -> None:
    found = evidence(rows_of([*map(float, numbers)]), question="")
    assume(not 1900 <= n <= 2100)
    (claim,) = check_claims(f"the weight was {n} there", found)
    assert claim.found == any(abs(known - n) <= 0.5 for known in found.numbers)


@settings(max_examples=share_of(100), deadline=None)
@given(st.integers(1, 10_000), st.integers(1, 10_000), st.integers(0, 2))
def test_a_share_of_counts_is_never_marked(part: int, rest: int, decimals: int) -> None:
    rows: Json = {"data": [{"kind": "a", "n": part}, {"kind": "b", "n": rest}]}
    share = f"{100 * part / (part + rest):.{decimals}f} %"
    claims = check_claims(f"it was {share} of all", evidence(rows, question=""))
    assert all(claim.found for claim in claims), share


IDENTITIES = st.from_regex(r"[A-Z]{1,3}\d{1,3}-\d{1,3}", fullmatch=True)


@settings(max_examples=share_of(100), deadline=None)
@given(IDENTITIES, IDENTITIES)
def test_an_identity_is_found_exactly_when_a_row_has_it(known: str, said: str) -> None:
    found = evidence({"data": [{"q": known, "n": 1}, {"q": known, "n": 2}]}, question="")
    (claim,) = check_claims(f"it was {said}", found)
    assert claim.found == (known == said)


@settings(max_examples=share_of(200), deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="0123456789.,- %kMABab\n|#*", max_size=80))
def test_no_text_raises_and_claims_stand_where_they_say(text: str) -> None:
    claims = check_claims(text, evidence())
    assert all(text[slice(*claim.span)] == claim.text for claim in claims)
    ends = [claim.span for claim in claims]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))
