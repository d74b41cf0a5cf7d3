"""Arbitrary text, thrown at every dialect: no exception, no hang, bounded memory.

The texts are made of the real plan texts beside this file: cut, mixed, repeated, and spoiled. Run
with `HYPOTHESIS_PROFILE=long` for 2,000 examples each and bombs of nearly 2 MB.
"""

import gc
import signal
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.dialects.numbered_plans import written
from toolplan.dialects import DIALECTS, Dialect
from toolplan.plan.canonical import Parsed
from toolplan.plan.model import Limits, Signature, positional

IS_LONG = settings().max_examples > 1_000
PEAK_SIZE = 20_000 if IS_LONG else 6_000
NAMES = sorted(DIALECTS)
HERE = Path(__file__).parent
REAL = tuple(sorted({path.read_bytes().decode("utf-8") for path in HERE.glob("*/*.txt")}))
SIGNATURES: Mapping[str, Signature] = dict.fromkeys(
    ("t", "f", "search", "now", "LLM", "Wikipedia", "Clock", "add", "Token Classification"),
    Signature(("a", "query", "input"), ("result", "id", "data")),
)

MOST_SECONDS = 1_800 if IS_LONG else 20
"""Of work, not of waiting for other processes. Nothing here is meant to come near it."""

pytestmark = pytest.mark.timeout(30 * MOST_SECONDS)  # in case that a test waits


@pytest.fixture(autouse=True)
def bounded_work() -> Iterator[None]:
    """Fail a test that keeps the processor busy for too long, however busy the machine is."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"{MOST_SECONDS} s of work")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


MARKS = (
    "{", "}", "[", "]", "(", ")", '"', "'", '"""', "\\", ",", ":", "=", "\n", "\0", "\ud800", "$",
    "\ufeff", "$1", "${", "${1.", "${s0.data[*].id}", "${step[0].a}", "$var1.x$", "#", "#E1", "##",
    "#E2 = t[", "<node-0>", "API_call_0", "{0}", "{0.a}", '{"fromStep": 0}', "{{", "}}", "<think>",
    "</think>", "<plan>", "</plan>", "```", "~~~json\n", "Thought:", "Plan:", "\n1. t(", "null",
    "2. join()", "<END_OF_PLAN>", "//", "/*", "# ", "NaN", "1e999", "9" * 25, "None", "steps",
    "\u2028",
)  # fmt: skip


@st.composite
def spoiled_texts(draw: st.DrawFn) -> str:
    """Return real plan texts in which a few things were cut out, put in, moved or repeated."""
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.sampled_from((0, 0, 1, 1, 3, 10, 200))))
        inserted = draw(
            st.sampled_from(MARKS)
            | st.text(max_size=3)
            | st.sampled_from(REAL)
            | st.just(text[at:end] * 2)
            | st.just("")
        )
        text = text[:at] + inserted + text[end:]
    return text


TEXTS = st.one_of(
    spoiled_texts(),
    spoiled_texts(),
    st.lists(st.sampled_from(MARKS) | st.text(max_size=4), max_size=20).map("".join),
    st.lists(st.sampled_from(REAL), min_size=2, max_size=3).map("\n".join),
    st.text(),
)


def probe(dialect: Dialect, text: str) -> None:
    """Read `text` in every way, look up each place, and write what was read."""
    for signatures in (None, SIGNATURES):
        parsed = dialect.parse(text, signatures)
        assert parsed.plan is not None or parsed.diagnostics
        for each in parsed.diagnostics[:20]:
            span = dialect.locate(text, each.pointer)
            assert span is None or 0 <= span.start <= span.end <= len(text)
        write_and_read(dialect, parsed)


def write_and_read(dialect: Dialect, parsed: Parsed) -> None:
    """Write what was read, and read that: the same plan, or what cannot be said is named."""
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        return
    text, unsaid = written(dialect, parsed.plan)
    if text is None:
        assert unsaid == {"cannot-express"}
        return
    # a dialect may write longer than it reads: an escape has six characters
    back = dialect.parse(text, SIGNATURES, Limits(text_bytes=6 * Limits().text_bytes)).plan
    assert back is not None
    assert positional(back) == positional(parsed.plan)


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
@example(text="")
@example(text="\ufeff")
@example(text="1. t(a=1)\n" * 3)
@example(text='{"steps": [{"depends_on": [1e400, {}, null, true, -1, 99999999999999999999]}]}')
@example(text='{"steps": [[], 1, null, "x", {"tool": [], "params": 1, "id": {}, "args": []}]}')
def test_no_text_makes_a_dialect_raise_and_what_it_reads_it_writes(name: str, text: str) -> None:
    probe(DIALECTS[name], text)


def nested(opening: str, closing: str = "") -> Callable[[int], str]:
    """Return the bomb that nests `opening`, and closes it where `closing` is given."""
    return lambda size: (
        opening * (size // (len(opening) + len(closing)))
        + closing * (size // (len(opening) + len(closing)))
    )


def inside(before: str, piece: str, after: str) -> Callable[[int], str]:
    """Return the bomb that repeats `piece` where a plan has a text."""
    return lambda size: before + piece * (size // len(piece)) + after


def under_a_long_name(before: str, after: str) -> Callable[[int], str]:
    """Return the bomb of a name half as long as the text, and as many values below it."""
    return lambda size: (
        before.replace("NAME", "k" * (size // 2)) + '"$x${",' * (size // 14) + '"$"' + after
    )


FRAMES = {
    "arazzo": (
        '{"arazzo": "1.0.0", "workflows": [{"steps": [{"stepId": "a", "operationId": "t", '
        '"requestBody": {"payload": {"a": "',
        '"}}}]}]}',
    ),
    "toolplan": ('{"steps": [{"id": "a", "tool": "t", "args": {"a": "', '"}}]}'),
    "clear": ('{"steps": [{"tool": "t", "params": {"a": "', '"}}]}'),
    "kirha": ('<plan>[{"toolName": "t", "arguments": {"a": "', '"}}]</plan>'),
    "nestful": ('[{"name": "t", "arguments": {"a": "', '"}, "label": "$var1"}]'),
    "sealtools": ('[{"api": "t", "parameters": {"a": "', '"}, "responses": ["API_call_0"]}]'),
    "taskbench": ('{"task_nodes": [{"task": "t", "arguments": ["', '"]}], "task_links": []}'),
    "state": ('{"plan": {"tasks": [{"task_id": "a", "owner": "t", "scope": "', '"}]}}'),
    "llmcompiler": ('1. t(a="', '")'),
    "rewoo": ("#E1 = t[", "]"),
}
"""What stands round a text in a plan of each dialect."""

REPEATED = (
    "$", "${", "$$1", "${1.a", "#", "##E1", "#E1", "{", "{{", "{0}", "{0.a", "$var1", "$var1.a$",
    "<node-0>", "<", "API_call_0", "API_call_", "\\\\", "\\u0024", "[", "]", "(", "'", "<think>",
    "```", " ", "\\n", "é",
)  # fmt: skip

BOMBS: dict[str, Callable[[int], str]] = {
    **{f"nested {mark!r}": nested(mark) for mark in ("[", "{", "(", '{"a":', '[{"a":', "${", "{{")},
    **{f"closed {mark!r}": nested(*mark) for mark in (("[", "]"), ('{"a":', "}"), ("(", ")"))},
    **{
        f"many {piece!r}": nested(piece)
        for piece in (
            '"', "'", '"""', "\\", '\\"', '"\\"', "$", "$1", "#", "#E1", "<", "<think>\n", "[]",
            "</think>", "</think>\n", "<plan>", "```\n", "~~~\n{", "Thought:", "Thought: a\n",
            "Plan:\n", "1. t(\n", "1. t()\n", "9. x\n", "1. t(a=[\n", "#E1 = t[\n", "#E1 = t[]\n",
            "1\n", "#E1\n", "\n", " ", "/*", "//", "{},", "[1,", '"a" ', "-", "1", "é",
            "<END_OF_PLAN>", "2. join()\n", '{"steps": [', "<node-0>", "API_call_0",
        )
    },
    "numbers that rise": lambda size: "1. t()\n" + "".join(f"{n}\n" for n in range(2, size // 6)),
    "calls that rise": lambda size: "".join(f"{n}. t(a=)\n" for n in range(size // 13)),
    "an llmcompiler list": inside("1. t(a=[", "[],", "])"),
    "an llmcompiler dict": inside("1. t(a={", '"a":1,', "})"),
    "llmcompiler texts side by side": inside("1. t(a=", '"a" ', ")"),
    "llmcompiler arguments": inside("1. t(", "a=1,", ")"),
    "llmcompiler nesting": lambda size: "1. t(a=" + nested("[", "]")(size) + ")",
    "llmcompiler name": under_a_long_name('1. t(**{"NAME": [', "]})"),
    "arazzo inputs": inside("arazzo: 1.0.0\nworkflows:\n- steps:\n", "  - {stepId: a}\n", ""),
    "arazzo conditions": inside(
        "arazzo: 1.0.0\nworkflows: [{steps: [{successCriteria: [{condition: '", "$a==", "'}]}]}]"
    ),
    "arazzo nesting": lambda size: "arazzo: " + nested("[", "]")(size),
    "canonical name": under_a_long_name(FRAMES["toolplan"][0][:-4] + '"NAME": [', "]}}]}"),
}  # fmt: skip

SIZE = 1_900_000 if IS_LONG else 20_000


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_bomb_makes_a_dialect_hang(bomb: str) -> None:
    text = BOMBS[bomb](SIZE)
    for dialect in DIALECTS.values():
        parsed = dialect.parse(text, SIGNATURES)
        assert parsed.plan is not None or parsed.diagnostics
        for each in parsed.diagnostics[:1]:
            dialect.locate(text, each.pointer)


@pytest.mark.parametrize("name", NAMES)
def test_no_token_repeated_in_a_text_makes_a_dialect_hang(name: str) -> None:
    before, after = FRAMES[name]
    dialect = DIALECTS[name]
    for piece in REPEATED:
        parsed = dialect.parse(inside(before, piece, after)(SIZE), SIGNATURES)
        assert parsed.plan is not None or parsed.diagnostics
        write_and_read(dialect, parsed)


@pytest.mark.parametrize("name", NAMES)
def test_memory_grows_no_faster_than_the_text(name: str) -> None:
    """At most 500 bytes are held for a byte of text, whatever the text is."""
    before, after = FRAMES[name]
    texts = [inside(before, piece, after) for piece in ("$", "${", "{0}", "#E1 ", "é")]
    texts += [nested("[]"), nested('{"a":'), nested("1. t()\n"), nested("#E1 = t[]\n")]
    for text in texts:
        assert peak(DIALECTS[name], text(PEAK_SIZE)) < 500 * PEAK_SIZE


def peak(dialect: Dialect, text: str) -> int:
    """Return the most bytes that reading `text` held at one time."""
    gc.collect()
    tracemalloc.start()
    try:
        dialect.parse(text, SIGNATURES)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
