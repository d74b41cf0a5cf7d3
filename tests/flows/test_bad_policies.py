"""Policies that cannot be used, by the thousand: no plan runs, and what is wrong has its line."""

import random
import string
from typing import Final

import pytest

from tests.flows.mails import POLICY, TOOLS, step
from tests.sizes import share_of
from toolplan.compiler import compile_plan
from toolplan.policy import Policy, PolicyError, Trust, Verdict, Vouched, parse_policy

PLAN: Final[dict[str, object]] = {
    "toolplan": 1,
    "steps": [
        step("mails", "inbox"),
        step("sent", "send", to="${mails[0].sender}", body="${mails[0].text}"),
    ],
}
_ORDER: Final = (Verdict.ALLOW, Verdict.CHECK, Verdict.ASK, Verdict.REFUSE)
_VALUES: Final = (
    "1", "-0.0", "nan", "true", '""', "[]", "{}", "[[]]", '["inbox"]', '["contacts"]',
    "2020-01-01", '"any"', '"trusted"', '"listed"', '"said"', '"plain"', '"allow"', '"Any"',
    '{ needs = "any" }', '{ else = "allow" }', '{ or = {} }', '{ or = { "$ref" = "#" } }',
    '{ or = { "$ref" = "https://evil.example/x" } }', "'''\nany\n'''", '"trusted "', '"\\u0000"',
    '{ or = { allOf = [{ "$ref" = "#/allOf/0" }] } }', "inf", "0x1F", '"а\\u0301ny"',
)  # fmt: skip
_LOOKALIKES: Final = str.maketrans({"a": "а", "e": "е", "o": "о", "s": "ѕ", "i": "і", "c": "с"})


def damaged(text: str, chance: random.Random) -> str:
    """Return `text` with one thing changed."""
    lines = text.splitlines()
    at = chance.randrange(len(lines))
    key, equals, _ = lines[at].partition("=")
    match chance.randrange(8):
        case 0 if equals:
            lines[at] = f"{key}= {chance.choice(_VALUES)}"
        case 1:
            lines.insert(at, lines[at])
        case 2:
            del lines[at]
        case 3:
            lines[at] = lines[at].translate(_LOOKALIKES)
        case 4:
            where = chance.randrange(len(lines[at]) + 1)
            char = chance.choice(string.printable + "\x00\u200b\u202eé\U0001f600")
            lines[at] = lines[at][:where] + char + lines[at][where:]
        case 5:
            where = chance.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:where] + lines[at][where + 1 :]
        case 6:
            lines[at] = lines[at].swapcase()
        case _:
            lines.insert(
                at, chance.choice(["[sinks.send]", "[trusted]", 'to = "any"', "[[decide]]"])
            )
    return "\n".join(lines)


@pytest.mark.parametrize("part", range(2))
def test_a_damaged_policy_is_refused_with_its_line_or_says_what_it_says(part: int) -> None:
    """What is accepted in spite of the damage is a policy whose every name is known."""
    chance = random.Random(part)
    faulty = 0
    said: list[str] = []
    for _ in range(share_of(4_000) // 2):
        text = damaged(POLICY.text, chance)
        try:
            policy = parse_policy(text, "p.toml")
        except PolicyError as error:
            said.append(str(error))
            continue
        known = Vouched(policy, TOOLS)
        if known.faults:
            faulty += 1
            compiled = compile_plan(PLAN, tools=TOOLS, policy=policy)
            assert compiled.plan is None, text
            messages = [each.message for each in compiled.diagnostics]
            assert any("p.toml:" in message for message in messages), (text, messages)
    assert len(said) > 100
    assert [each for each in said if not each.startswith("p.toml:")] == []
    assert faulty > 10


def test_no_damage_makes_a_value_of_an_outsider_trusted_unless_a_line_says_so() -> None:
    chance = random.Random(5)
    for _ in range(share_of(2_000)):
        text = damaged(POLICY.text, chance)
        try:
            policy = parse_policy(text, "p.toml")
        except PolicyError:
            continue
        label = Vouched(policy, TOOLS).outputs("inbox").label("s", "inbox", (0, "sender"))
        if label.trust > Trust.UNTRUSTED:
            said = {*policy.trusted, *policy.listed}
            assert said & {"inbox", "inbox[*]", "inbox[*].sender"}, text
        need = Vouched(policy, TOOLS).needs(TOOLS["send"])
        assert need is not None
        if (to := need.get("to")) and to.trust is None:
            assert '"any"' in text.split("[sinks.send]")[1], text


HUGE: Final = "x" * 150_000
TANGLED: Final[list[tuple[str, str]]] = [
    ('[trusted]\noutputs = ["contacts"]\n[trusted]\noutputs = []', "declare"),
    ('[sinks.send]\nto = "said"\nto = "any"', "overwrite"),
    ('[sinks.send]\n"to" = "said"\nto = "any"', "overwrite"),
    ('sinks.send.to = "said"\n[sinks.send]\nto = "any"', "p.toml"),
    (f'[trusted]\noutputs = ["{HUGE}", "{HUGE}"]', "more than"),
    ('[sinks.send]\nto = { or = { "$ref" = "#" } }', "p.toml:2"),
    ('[sinks.send]\nto = { or = { "$ref" = "https://evil.example/x" } }', "p.toml:2"),
    ("[sinks.send]\nto = { or = { enum = [nan] } }", "p.toml:2"),
    ("[sinks.send]\nto = { or = { minimum = inf } }", "p.toml:2"),
    ("a = " + "[" * 500 + "]" * 500, "p.toml"),
    ("\ufeff[trusted]\noutputs = []", "p.toml"),
]


@pytest.mark.parametrize(("text", "said"), TANGLED, ids=range(len(TANGLED)))
def test_what_contradicts_itself_or_has_no_end_is_refused(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.toml")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        '[trusted]\noutputs = ["\u0441ontacts"]',  # the first letter is Cyrillic
        '[trusted]\noutputs = ["contacts\u200b"]',
        '[trusted]\noutputs = ["Contacts"]',
        '[trusted]\noutputs = ["contacts "]',
        '[decide]\n"s\u0435nd" = "any"',
        '[sinks.send]\n"t\u043e" = "any"',
        '[egress]\ntools = ["f\u0435tch"]',
    ],
)
def test_names_that_look_alike_are_not_the_same(text: str) -> None:
    compiled = compile_plan(PLAN, tools=TOOLS, policy=parse_policy(text, "p.toml"))
    assert compiled.plan is None
    (found,) = [each for each in compiled.diagnostics if each.code.startswith("policy-")]
    assert found.message.startswith("p.toml:2: ")


def test_a_policy_of_wrong_types_is_refused_in_python_too() -> None:
    loop: dict[str, object] = {}
    loop["sinks"] = {"send": {"to": {"or": loop}}}
    wrong: list[object] = [loop, [], 3, None, {"sinks": {"send": {"to": {1: "any"}}}}, {1: 2}]
    for document in wrong:
        with pytest.raises(PolicyError):
            Policy.from_json(document)
