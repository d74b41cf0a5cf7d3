"""Text to JSON: what is tolerated round a plan (F003-11, F002-7), and what is refused (P01 … P39).

The classes P01 … are those of the list of bad plans in the reliability study.
"""

import json

import pytest

from toolplan import Parsed, Severity
from toolplan.dialects import DIALECTS
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step
from toolplan.plan.path import EVERY, Json

TOOLPLAN = DIALECTS["toolplan"]
STEPS = '[{"id": "a", "tool": "t", "args": {"x": 1}}]'
TEXT = '{"toolplan": 1, "steps": ' + STEPS + "}"
PLAN = Plan((Step("a", "t", {"x": Literal(1)}),))


def codes(parsed: Parsed) -> list[str]:
    return [each.code for each in parsed.diagnostics]


def places(parsed: Parsed) -> list[tuple[str, str]]:
    return [(each.code, each.pointer) for each in parsed.diagnostics]


def with_argument(value: str) -> str:
    return TEXT.replace('"x": 1', '"x": ' + value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Here is the plan:\n" + TEXT, "prose"),
        (TEXT + "\nI hope it helps.", "prose"),
        ("```json\n" + TEXT + "\n```", "a code fence"),
        ("```\n" + TEXT + "\n```", "a code fence"),
        ("~~~JSON\n" + TEXT + "\n~~~", "a code fence"),
        ("Sure {as you like}:\n```json\n" + TEXT + "\n```\nBye", "prose, a code fence"),
        ('<think>{"steps": [{"tool": "no"}]}</think>\n' + TEXT, "a <think> block"),
        ("So {I think}\n</think>\n" + TEXT, "a <think> block"),
        (TEXT.replace("]}", ",],}"), "trailing commas"),
        ("{ // why\n" + TEXT[1:], "comments"),
        ("{ /* why } */" + TEXT[1:], "comments"),
        ("{ # why\n" + TEXT[1:], "comments"),
        (TEXT.replace('"', "'"), "single quotes"),
        (TEXT.replace('"id"', "id").replace('"steps"', "steps"), "bare keys"),
        (TEXT.replace(', "tool"', ' "tool"'), "missing commas"),
        ("It's [1] or {two}, see [a](b) {c\n" + TEXT, "prose"),
        ('A 5" pipe {6" wide}\n' + TEXT, "prose"),
        ('The form is {"steps": [...]}. So:\n' + TEXT, "prose"),
        ('The arguments are {"x": 1}.\n' + TEXT, "prose"),
        (TEXT + "\n\nOnce more:\n" + TEXT, "prose"),
    ],
)
def test_noise_round_the_plan_is_passed_over_and_reported_once(text: str, said: str) -> None:
    """F003-11, F002-7."""
    parsed = TOOLPLAN.parse(text)
    assert parsed.plan == PLAN
    (noise,) = parsed.diagnostics
    assert (noise.code, noise.severity, noise.pointer) == ("noise", Severity.WARNING, "")
    assert noise.message.endswith(f": {said}.")


def test_strict_json_gives_no_diagnostic() -> None:
    assert TOOLPLAN.parse(f" \n{TEXT}\n") == Parsed(PLAN, ())


@pytest.mark.parametrize("text", ["", " ", "no plan", "}{", "steps: a", '"', "\\", "{]", "[}"])
def test_p01_text_that_is_no_json_is_refused(text: str) -> None:
    parsed = TOOLPLAN.parse(text)
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize(
    "value", ['"x": "z"', '"x": ["z", "w"]', '"y": "y", "z": 1', '"y": "y"], "w": ["z"']
)
def test_p03_a_text_with_a_colon_in_place_of_a_comma_is_refused(value: str) -> None:
    parsed = TOOLPLAN.parse(with_argument(value))
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize(
    ("value", "column"),
    [
        ("'it's fine'", 4), ("'it''s'", 4), ('"q":,', 3), ('"a" "b"', 4), ('"a""b"', 3),
        ('"say "hi" to all"', 6), ('"""x"""', 2), ('"a" + "b"', 4), ('["a" "b"]', 5),
        ('["a"\n"b"]', 0), ("[1 2]", 3), ("50%", 0), ("1_000", 0), ("0x1F", 0), ("+5", 0),
        (".5", 0), ("5.", 0), ("01", 0), ("1,5", 3), ("$5", 0), ("(1, 2)", 0), ("Berlin", 0),
        ("undefined", 0), ("`x`", 0), ("“x”", 0), ("<value>", 0), ("${a.b}", 0), ('"\\d"', 0),
        ("[1,,2]", 3), ("[,1]", 1), ("{,}", 1), ('{"a"}', 4), ('{"a":}', 5), ('{"a" 1}', 5),
        ('{"a": "x""b": 1}', 9), ('{"a": 1 b: 2}', 8), ("[1; 2]", 1), ("{'a', 'b'}", 4),
    ],
)  # fmt: skip
def test_what_no_repair_explains_is_refused_with_its_place(value: str, column: int) -> None:
    parsed = TOOLPLAN.parse(with_argument(value))
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]
    place = "(line 2, column 1)" if "\n" in value else f"column {TEXT.index('1}}') + 1 + column})"
    assert place in parsed.diagnostics[0].message


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("['a', \"b\",]", ["a", "b"]), ('[{"a": 1} {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('["a" {"b": 2} "c"]', ["a", {"b": 2}, "c"]), ("[[1] [2]]", [[1], [2]]),
        ('{"a": "x" "b": 1}', {"a": "x", "b": 1}), ('{"a": 1\nb: 2}', {"a": 1, "b": 2}),
        ('{"a": {} "b": []"c": 3}', {"a": {}, "b": [], "c": 3}), ("{1: 2}", {"1": 2}),
        ("[True, False, None]", [True, False, None]), ('"a\nb\tc"', "a\nb\tc"),
        ('"it\\\'s"', "it's"), ("'say \"hi\"'", 'say "hi"'), ("[1, /* two */ 3]", [1, 3]),
        ('"wait..." # ok', "wait..."), ("[-1.5e3,\n// last\n]", [-1500.0]),
    ],
)  # fmt: skip
def test_repairs_keep_every_token(value: str, read: Json) -> None:
    parsed = TOOLPLAN.parse(with_argument(value + "\n"))
    assert parsed.plan == Plan((Step("a", "t", {"x": Literal(read)}),))
    assert codes(parsed) == ["noise"]


@pytest.mark.parametrize(
    "value",
    [
        '["1", ..., "9"]', "[1, …, 9]", '[{"a": 1}, ..., {"c": 1}]', "[1, 2 /* ... */]", "....",
        '["a", // … and so on\n"b"]', '{"a": 1, ...}', '{"a": ...}', "[...rest]", "[1, # ...\n2]",
    ],
)  # fmt: skip
def test_an_ellipsis_is_an_error_of_its_own(value: str) -> None:
    parsed = TOOLPLAN.parse(with_argument(value))
    assert parsed.plan is None
    assert codes(parsed) == ["ellipsis"]


def test_an_ellipsis_between_steps_is_an_error_in_every_form() -> None:
    step = '{"id": "a", "tool": "t"}'
    assert codes(TOOLPLAN.parse(f'{{"steps": [{step}, ..., {step}]}}')) == ["ellipsis"]
    kirha = '<plan>[{"toolName": "a"}, ..., {"toolName": "c"}]</plan>'
    assert codes(DIALECTS["kirha"].parse(kirha)) == ["ellipsis"]
    for between in ("...", "…", "# ...", "... and so on"):
        lines = f"1. a(x=1)\n{between}\n3. c(x=2)\n"
        assert codes(DIALECTS["llmcompiler"].parse(lines)) == ["ellipsis", "noise"]
        lines = f"#E1 = a[1]\n{between}\n#E3 = c[2]\n"
        assert "ellipsis" in codes(DIALECTS["rewoo"].parse(lines))
    assert codes(DIALECTS["llmcompiler"].parse("1. a(x=[1, ..., 9])")) == ["ellipsis"]


def test_a_broken_step_beside_a_plan_is_not_passed_over() -> None:
    broken = '{"id": "b", "tool": "t", "args": {"x": \'it\'s\'}}'
    for text in (f"{broken}\nThen:\n{TEXT}", f"{TEXT}\nThen:\n```\n[{broken}]\n```"):
        parsed = TOOLPLAN.parse(text)
        assert parsed.plan is None
        assert codes(parsed) == ["syntax"]


def test_places_are_right_where_commas_are_missing() -> None:
    text = '{"steps": [{"id": "a" "tool": "t"}\n{"id": "b", "tool": "t" "args": {"x": 1 "y": 2}}]}'
    for pointer, said in [
        ("/steps/1/args/y", "2"),
        ("/steps/1/id", '"b"'),
        ("/steps/0/tool", '"t"'),
    ]:
        span = TOOLPLAN.locate(text, pointer)
        assert span is not None
        assert text[span.start : span.end] == said


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null", "true", STEPS, f"[{TEXT}]"])
def test_p02_a_plan_that_is_no_object_is_refused(text: str) -> None:
    parsed = TOOLPLAN.parse(text)
    assert parsed.plan is None
    assert places(parsed) == [("field-type", "")]


@pytest.mark.parametrize("cut", range(1, len(TEXT)))
def test_p04_a_plan_that_is_cut_off_anywhere_is_refused(cut: int) -> None:
    for before in ("", "The plan:\n", "```json\n", "<think>\nhm\n</think>\n"):
        parsed = TOOLPLAN.parse(before + TEXT[:cut])
        assert parsed.plan is None
        assert codes(parsed) == ["syntax"]


def test_p04_a_plan_inside_of_one_that_is_cut_off_is_not_taken_for_it() -> None:
    outer = '{"toolplan": 1, "steps": [{"id": "w", "tool": "write", "args": {"plan": ' + TEXT
    for text in (outer, outer + "}}", outer + "}},", "Here:\n" + outer + "}}, {", f"[{TEXT}, "):
        parsed = TOOLPLAN.parse(text)
        assert parsed.plan is None
        assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize("rest", [TEXT, "{}", "[]", "}", "]", ",", "1", '"x"', "\n" + TEXT])
def test_p05_what_follows_a_plan_at_once_is_refused(rest: str) -> None:
    parsed = TOOLPLAN.parse(TEXT + rest)
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize("form", ["A:\n{}\nB:\n{}", "```\n{}\n```\n```\n{}\n```", "{}\nor\n{}"])
def test_p05_two_different_plans_are_refused_because_either_may_be_meant(form: str) -> None:
    first, second, third = form.split("{}")
    parsed = TOOLPLAN.parse(first + TEXT + second + TEXT.replace("1}}", "2}}") + third)
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize("other", ["true", "1.0", "[1]", '1, "y": null'])
def test_p05_plans_that_differ_only_in_the_type_of_a_value_are_two(other: str) -> None:
    for one, two in ((TEXT, with_argument(other)), (with_argument(other), TEXT)):
        parsed = TOOLPLAN.parse(f"A:\n{one}\nB:\n{two}")
        assert parsed.plan is None
        assert codes(parsed) == ["syntax"]
    assert TOOLPLAN.parse(f"A:\n{TEXT}\nagain:\n{TEXT}").plan == PLAN


def test_p06_every_duplicate_key_is_reported_with_its_place() -> None:
    text = TEXT.replace('"x": 1', '"x": 1, "y/": {"a": 1, "a": 2}, "x": 3, "x": 4')
    expected = [
        ("duplicate-key", "/steps/0/args/y~1/a"),
        ("duplicate-key", "/steps/0/args/x"),
        ("duplicate-key", "/steps/0/args/x"),
    ]
    assert places(TOOLPLAN.parse(text)) == expected
    noisy = TOOLPLAN.parse("So:\n" + text.replace('"y/"', "'y/'"))
    assert [each for each in places(noisy) if each[0] != "noise"] == expected


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_p07_numbers_that_are_not_finite_are_refused(number: str) -> None:
    for text in (with_argument(number), with_argument("[" + number + ",]")):
        parsed = TOOLPLAN.parse(text)
        assert parsed.plan is not None
        assert "bad-number" in codes(parsed)
        assert any(each.blocks for each in parsed.diagnostics)


@pytest.mark.parametrize("number", [str(2**63 + 1), str(-(2**63) - 1), "9" * 4301, "-" + "9" * 50])
def test_p08_whole_numbers_that_are_too_large_are_refused(number: str) -> None:
    parsed = TOOLPLAN.parse(with_argument(number))
    assert places(parsed) == [("bad-number", "/steps/0/args/x")]


@pytest.mark.parametrize("number", ["1e-400", "12345678901234567.89", "0.30000000000000005"])
def test_numbers_that_no_reader_keeps_are_refused(number: str) -> None:
    assert places(TOOLPLAN.parse(with_argument(number))) == [("bad-number", "/steps/0/args/x")]
    parsed = DIALECTS["llmcompiler"].parse(f"1. f(x={number})")
    assert places(parsed) == [("bad-number", "/steps/0/args/x")]


@pytest.mark.parametrize(
    "number",
    [
        *(str(2**63), str(-(2**63)), "1.7e308", "5e-324", "4.9e-324", "-0.0", "0e-999", "1.10"),
        *("0.1000000000000000055511151231257827", "52.375889399999998"),
    ],
)
def test_the_largest_numbers_that_are_fine(number: str) -> None:
    parsed = TOOLPLAN.parse(with_argument(number))
    assert parsed.diagnostics == ()
    assert parsed.plan == Plan((Step("a", "t", {"x": Literal(json.loads(number))}),))


def test_a_bad_number_in_a_field_is_reported_once() -> None:
    text = TEXT.replace('"tool"', '"retries": 1e999, "timeout_s": NaN, "tool"')
    assert places(TOOLPLAN.parse(text)) == [
        ("bad-number", "/steps/0/retries"),
        ("bad-number", "/steps/0/timeout_s"),
    ]


@pytest.mark.parametrize("text", ['"\ud800"', '"\\ud800"', '["a\\udfffb"]', '{"\\ud83d": 1}'])
def test_p09_half_a_character_is_refused(text: str) -> None:
    parsed = TOOLPLAN.parse(with_argument(text))
    assert codes(parsed) == ["bad-encoding"]
    assert parsed.diagnostics[0].pointer.startswith("/steps/0/args/x")
    assert parsed.plan is not None
    assert "\ud800" not in repr(parsed.plan)


def test_p09_a_pair_of_halves_is_a_character() -> None:
    parsed = TOOLPLAN.parse(with_argument('"\\ud83d\\ude00"'))
    assert parsed.diagnostics == ()
    assert parsed.plan == Plan((Step("a", "t", {"x": Literal("😀")}),))


def test_p10_a_byte_order_mark_and_bytes_that_were_no_utf8_are_refused() -> None:
    assert places(TOOLPLAN.parse("\ufeff" + TEXT)) == [("bad-encoding", "")]
    latin = with_argument('"Köln"').encode("latin-1").decode("utf-8", "surrogateescape")
    assert codes(TOOLPLAN.parse(latin)) == ["bad-encoding"]
    utf_16 = TEXT.encode("utf-16-le").decode("utf-8", "surrogateescape")
    assert codes(TOOLPLAN.parse(utf_16)) == ["bad-encoding"]
    assert codes(TOOLPLAN.parse("no plan \ud800")) == ["syntax"]


def test_p11_nul_is_refused_raw_and_escaped() -> None:
    assert codes(TOOLPLAN.parse(with_argument('"a\0b"'))) == ["bad-encoding"]
    assert places(TOOLPLAN.parse(with_argument('"a\\u0000b"'))) == [
        ("bad-encoding", "/steps/0/args/x")
    ]
    assert TOOLPLAN.parse(with_argument('"a\\\\u0000b"')).diagnostics == ()


def test_p39_text_over_the_limit_is_refused_before_it_is_read() -> None:
    size = len(TEXT)
    assert TOOLPLAN.parse(TEXT, None, Limits(text_bytes=size)).plan == PLAN
    parsed = TOOLPLAN.parse(TEXT, None, Limits(text_bytes=size - 1))
    assert parsed.plan is None
    assert codes(parsed) == ["too-large"]
    umlaut = with_argument('"ü"')
    assert codes(TOOLPLAN.parse(umlaut, None, Limits(text_bytes=len(umlaut)))) == ["too-large"]


def nested(depth: int) -> str:
    """Return a plan that is nested `depth` deep, the plan itself counted."""
    return with_argument("[" * (depth - 4) + "]" * (depth - 4))


def test_nesting_is_bounded_and_the_bound_is_inclusive() -> None:
    assert TOOLPLAN.parse(nested(64)).diagnostics == ()
    assert places(TOOLPLAN.parse(nested(65))) == [("too-deep", "/steps/0/args/x" + "/0" * 60)]
    assert TOOLPLAN.parse(nested(70), None, Limits(depth=70)).diagnostics == ()
    assert codes(TOOLPLAN.parse("So: " + nested(65))) == ["noise", "too-deep"]


@pytest.mark.parametrize("depth", [300, 900, 1_500, 100_000])
def test_no_depth_makes_the_reader_fail(depth: int) -> None:
    for text in (nested(depth), "So: " + nested(depth), nested(depth).replace("[[", "[{x:[")):
        parsed = TOOLPLAN.parse(text)
        assert parsed.plan is None
        assert {"too-deep", "syntax"} & set(codes(parsed))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2_000_000, "{" * 2_000_000, '"' * 2_000_000, "`" * 2_000_000, "$" * 2_000_000,
        "```\n" * 500_000, "<think>\n" * 250_000, "</think>\n" * 200_000, "{a}" * 600_000,
        '{"' * 1_000_000, '{"\\' * 600_000, '{"a":' * 400_000, "{" + "/*" * 900_000,
        'a{"b":1,}' * 200_000, "\n" * 2_000_000, '{"a" b ' + '"x" y ' * 300_000 + "}",
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "args": {"x": "' + "${" * 900_000
        + '"}}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "args": {"x": "' + "$${" * 600_000
        + '"}}]}',
        '{"steps": [{' + ",".join(f'"a{at}":1' for at in range(150_000)) + "}]}",
        '{"' + "k" * 400_000 + '":{' + '"a":1,' * 100_000 + '"a":1}}',
    ],
    ids=lambda text: text[:12].replace("\n", "n") + text[-4:].replace("\n", "n"),
)  # fmt: skip
def test_two_megabytes_of_anything_are_read_in_one_go(text: str) -> None:
    assert len(TOOLPLAN.parse(text).diagnostics) <= 2_000


def test_thousands_of_warnings_do_not_hide_an_error() -> None:
    names = ["a" * 20, *_spellings("a" * 20, 3_000)]
    steps = [{"id": name, "tool": "t"} for name in names] + [{"id": "z", "tool": ""}]
    parsed = TOOLPLAN.parse(json.dumps({"toolplan": 1, "steps": steps}))
    assert parsed.diagnostics[-1].code == "field-type"
    assert len(parsed.diagnostics) <= 1_001


def _spellings(name: str, count: int) -> list[str]:
    return [
        "".join(c.upper() if at >> bit & 1 else c for bit, c in enumerate(name))
        for at in range(1, count + 1)
    ]


def test_strings_that_look_like_noise_are_left_alone() -> None:
    plan = Plan((Step("a", "t", {"x": Literal("<think>'```json\n// no', {a,}</think>")}),))
    text = TOOLPLAN.print(plan)
    assert TOOLPLAN.parse(text) == Parsed(plan, ())
    assert TOOLPLAN.parse("So:\n" + text).plan == plan
    assert TOOLPLAN.parse(text.rstrip()[:-1] + ",}").plan == plan


def test_a_typed_reference_survives_every_kind_of_noise() -> None:
    text = "{steps: [{id: 'a', tool: 't'}, {id: 'b', tool: 't', args: {x: '${a.y[*]}'}}],}"
    parsed = TOOLPLAN.parse(text)
    assert parsed.plan is not None
    assert dict(parsed.plan.steps[1].args)["x"] == Ref("a", ("y", EVERY))
