"""Values for approval: whole, exact, and nothing in them that cannot be seen."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.render.screens import on_console
from toolplan.plan.model import Array, Literal, Object, Ref, Template, Value
from toolplan.plan.path import Json
from toolplan.policy.approval import EffectStep
from toolplan.schema.tool import Effects
from toolplan.show.approval_view import ApprovalView, approval_text
from toolplan.show.exact import exact_lines, exact_name, exact_text, mixed_scripts
from toolplan.show.printable import text_width

TEXT = st.text(max_size=200) | st.text('a \n"\\${}\u200b\u202e\u0430\u3164éא.@/', max_size=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=12,
)
HIDDEN = [
    *range(0x7F, 0xA1), 0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x1680, 0x17B4, 0x17B5,
    *range(0x180B, 0x1810), *range(0x2000, 0x2010), *range(0x2028, 0x2030), *range(0x205F, 0x2070),
    0x2800, 0x3000, 0x3164, 0xD800, 0xDFFF, 0xE000, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0,
    *range(0xFFF9, 0xFFFD), 0xFFFF, 0x1D173, 0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100, 0xE01EF,
    0xF0000, 0x10FFFF, *range(0x20), 0x20DD, 0x37E, 0x212A, 0x2010, 0x2215, 0xA789, 0x1D5BA,
]  # fmt: skip


def read_back(lines: list[str]) -> Json:
    """Read a value from lines: a string that ends a line goes on in a string on the next."""
    joined: Json = json.loads(re.sub(r'"\n *"', "", "\n".join(lines)).replace("\n", ""))
    return joined


def exactly(value: Json) -> str:
    """Return a value so that -0.0 is not 0, and 1.0 is not 1."""
    return json.dumps(value)


@settings(max_examples=60)
@given(JSON, st.integers(20, 120), st.integers(20, 120), st.sampled_from(["utf-8", "ascii"]))
@example(99999.99999, 80, 80, "utf-8")
@example(-0.0, 80, 80, "utf-8")
@example(1e300 * 1e10, 80, 80, "utf-8")
@example([2**70, -(10**200), 0.1 + 0.2, 5e-324], 30, 20, "utf-8")
@example("x" * 50_000, 80, 60, "utf-8")
@example([*range(5_000)], 80, 60, "utf-8")
@example("a" + " " * 500 + '" , "' * 50, 40, 40, "utf-8")
def test_what_is_shown_reads_back_as_what_is_sent(
    value: Json, first: int, rest: int, encoding: str
) -> None:
    lines = exact_lines(Literal(value), first, rest, encoding)
    assert exactly(read_back(lines)) == exactly(value)
    assert exactly(json.loads(exact_text(value, encoding))) == exactly(value)
    for at, line in enumerate(lines):
        line.encode(encoding)
        assert text_width(line) <= (rest if at else first)
        assert not any(
            unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
            or (char.isspace() and char != " ")
            for char in line
        )
        assert line == line.rstrip()


@pytest.mark.parametrize("code", HIDDEN)
def test_what_cannot_be_seen_is_escaped(code: int) -> None:
    for text in (chr(code), f"a{chr(code)}b", f"東{chr(code)}"):
        shown = exact_text(text)
        assert chr(code) not in shown
        assert json.loads(shown) == text


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир!",
        "Grüße aus Köln – 5 €",
        "東京都 123",
        "שלום",
        "مرحبا",
        "हिन्दी",
        "Ελλάδα",
        "ไทย",
        "👍",
    ],
)
def test_text_in_any_language_stays_readable(text: str) -> None:
    assert exact_text(text) == f'"{text}"'


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("p\u0430ypal", "\u0430"),
        ("to ann@ex\u0430mple.com now", "\u0430"),
        ("\u0430\u0440\u0440\u04cf\u0435.com", "\u0430\u0440\u04cf\u0435"),
        ("g\u03bf\u03bfgle", "\u03bf"),
        ("\u0441\u043e\u0441\u043e", "\u0441\u043e"),
        ("a.com/\u05d0", "\u05d0"),
        ("\u0430\u03bf", "\u0430\u03bf"),
    ],
)
def test_letters_that_look_like_another_scripts_are_escaped_and_named(
    text: str, letters: str
) -> None:
    shown = exact_text(text)
    assert not set(letters) & set(shown)
    assert json.loads(shown) == text
    assert set(mixed_scripts({text: [text]})) == set(letters)
    view = screen({"to": Literal(text)})
    for letter in letters:
        assert unicodedata.name(letter) in " ".join(view.split())


@pytest.mark.parametrize("name", ["a\u200bb", "to = 1", "", "p\u0430y", 'a"b', "a\nb"])
def test_names_that_could_mislead_are_quoted(name: str) -> None:
    assert json.loads(exact_name(name)) == name
    assert exact_name("send_mail-2") == "send_mail-2"


@pytest.mark.parametrize(
    "unit", ["\u202e", "e\u0301", "\u0430", "p\u0430", "\u0430 ", "\u0430(", "."]
)
def test_text_of_any_size_is_read_once(unit: str) -> None:
    """Were each character looked at once for each other one, this would take an hour."""
    size = 150_000 // len(unit)
    shown = exact_text(unit * size)
    assert json.loads(shown) == unit * size
    mixed_scripts(unit * size)


def test_an_integer_of_any_size_has_all_its_digits() -> None:
    assert "".join(exact_lines(-(10**9_000) + 1, 80, 80)) == "-" + "9" * 9_000


def test_a_deep_value_is_shown() -> None:
    deep: Json = []
    for _ in range(50_000):
        deep = [deep]
    assert "".join(exact_lines(deep, 80, 80)) == "[" * 50_001 + "]" * 50_001


def test_references_are_not_confused_with_text_that_looks_like_one() -> None:
    ref = Ref("s0", ("data", "full name"))
    value = Object((("a", ref), ("b", Array((Literal("${x}"), Template(("${x} ", ref)))))))
    assert exact_text(value) == (
        '{"a": ${s0.data["full name"]}, "b": ["$${x}", "$${x} ${s0.data["full name"]}"]}'
    )
    assert exact_text(Literal("${x}")) == '"${x}"'
    assert "\u200b" not in exact_text(Ref("s0", ("a\u200bb",)))


def screen(args: dict[str, Value], width: int = 80) -> str:
    step = EffectStep("mail", "send", Effects.WRITE, args, None, when=None, calls=1, exact=True)
    return on_console(ApprovalView((step,), "d" * 64), width)


@settings(max_examples=60)
@given(JSON, st.sampled_from([40, 60, 80, 100, 200]))
@example("word " * 1_000, 80)
@example([*range(3_000)], 80)
@example({"0": None, "\U00010564": None, "\U0002ebe1": None}, 60)
@example({"000\x1f\U0001133a": None}, 40)
def test_the_screen_shows_every_argument_whole(value: Json, width: int) -> None:
    shown = screen({"first": Literal(value), "last": Literal("end")}, width)
    assert all(text_width(line) <= width for line in shown.splitlines())
    body = shown.split("    first =", 1)[1].split("    last = ", 1)[0]
    value_lines = [
        line.strip(" ") for line in body.splitlines() if not line.startswith("    Attention")
    ]
    assert exactly(read_back(value_lines)) == exactly(value)


def test_a_form_shows_the_same() -> None:
    step = EffectStep(
        "mail", "send", Effects.WRITE, {"to": Literal("a\u200b" + "x" * 5_000)}, None,
        when=None, calls=1, exact=True,
    )  # fmt: skip
    assert f'    to = "a\\u200b{"x" * 5_000}"\n' in approval_text((step,), "d")


@pytest.mark.parametrize(
    "text",
    [
        "10\u0966 EUR",  # a Devanagari zero
        "1\u06600",
        "g\u0be6\u0be6gle.com",  # Tamil zeros
        "g\u0d20\u0d20gle.com",  # Malayalam letters
        "g\u101d\u101dgle",
        "\U00010300da",  # Old Italic
        "\U000118c8pple",
        "a\U00016fe4b",
        "a\U0001d159b",
        "\u0196ook.com",
        "\ua4d1\ua4e2\ua4ec",  # all of it Lisu
        "\u13aa\u13de\u13ac",  # all of it Cherokee
        "example.com\uff0fpath",
        "http:\u30ce\u30ceexample.com",
        "a\ua78ab",
        "a" + "\u0301\u0302" * 10,
    ],
    ids=ascii,
)
def test_letters_and_digits_of_any_script_among_latin_ones_are_escapes(text: str) -> None:
    shown = exact_text(text)
    assert shown.isascii()
    assert json.loads(shown) == text


def test_marks_are_not_stacked_over_other_lines() -> None:
    shown = exact_text("я" + "\u0301\u0302" * 20)
    assert sum(unicodedata.combining(char) > 0 for char in shown) <= 3


@pytest.mark.parametrize(
    "text",
    [
        "100 µg",
        "Łódź",
        "Tokyo 東京",
        "１００",
        "१०० रुपये",
        "Việt Nam",
        "كتاب ١٠٠",
        "ภาษาไทย",
        "שָׁלוֹם",
    ],
)
def test_words_of_one_script_are_shown_as_they_are(text: str) -> None:
    assert exact_text(text) == f'"{text}"'
