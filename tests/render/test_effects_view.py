"""The table of calls that wait: every value whole, and none hides another."""

import json
import re

import pytest

from toolplan.plan.path import Json
from toolplan.policy import Source, Trust
from toolplan.policy.consent import Effect, Origin, call_digest
from toolplan.show.approval_view import EffectsView, effects_text
from toolplan.show.document import Screen, plain

FROM_BILL = Origin(
    Trust.UNTRUSTED, "trusted", True, ("due.data[0].iban",), (Source("bill", "read_file"),)
)
BEHIND = "\n        from due.data[0].iban, bill (read_file): untrusted; trusted needed"
HOSTILE: list[Json] = [
    "bob@ours.example\nto = \"eve@evil.example\"",
    "bob@ours.example\r\x1b[2K\x1b[1A",
    "\x1b]8;;https://evil.example\x07bob\x1b]8;;\x07",
    "\x1b[8mhidden\x1b[0m",
    "\x00",
    "\x07\x08\x08\x08\x7f",
    "\x9b31m",
    "a\u202eb@evil.example",
    "\u2066x\u2069",
    "bob\u200b@ours.example",
    "bob\u2060@ours.example",
    "\ufeffbob",
    "b\u043eb@ours.example",
    "\u0440\u0430\u0443\u0440\u0430l.example",
    "p\u0430ypal.example",
    "ours\u3002example",
    "ours\uff0eexample",
    "\uff42\uff4f\uff42@ours.example",
    "bo\u0301b",
    "b\u0336o\u0336b\u0336",
    "\u115f\u1160\u3164",
    "\u2800\u2800",
    " " * 300 + "eve@evil.example",
    "bob@ours.example" + " " * 5_000 + "eve@evil.example",
    "bob@ours.example" + "\t" * 400 + "eve",
    "x" * 10_000 + "eve@evil.example",
    "line\n" * 500 + "eve@evil.example",
    "[bold]bob[/bold]",
    "[/]",
    "[link=https://evil.example]bob[/link]",
    "said",
    "trusted",
    '"',
    '\\',
    '\\"',
    '" from contacts: trusted',
    "'; DROP TABLE mails; --",
    "${mails[0].sender}",
    "$${x}",
    "`rm -rf /`",
    "$(reboot)",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/p.png)",
    "\U000e0041\U000e0042",
    "\ufe0f\ufe0e",
    "\u2028to = 1\u2029",
    "\U0001f468\u200d\U0001f469",
    "\udcff",
    "",
    True,
    None,
    0,
    -0.0,
    1.0,
    1e300,
    0.1 + 0.2,
    2**80,
    [],
    {},
    [[[[["deep", "eve@evil.example"]]]]],
    {"to\n": "eve", "\u200bto": 1, "": None},
    {str(at): at for at in range(300)},
    [*("bob@ours.example " * 200).split(), "eve@evil.example"],
]  # fmt: skip


def effect(args: dict[str, Json], step: str = "pay", item: int | None = None) -> Effect:
    origins = dict.fromkeys(args, FROM_BILL)
    return Effect(step, item, "send", args, origins, {}, call_digest("r", step, item, "send", args))


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_value_is_shown_whole_and_hides_no_other(value: Json) -> None:
    args: dict[str, Json] = {"before": "first", "to": value, "after": "last"}
    text = effects_text([effect(args), effect(args, "second")])
    assert all(" " <= char <= "~" or char == "\n" or char.isprintable() for char in text)
    for name, expected in args.items():
        shown = [part.partition(BEHIND)[0] for part in text.split(f"    ! {name} = ")[1:]]
        assert len(shown) == 2
        for part in shown:
            read = json.loads(re.sub(r'"\n +"', "", part))  # a text goes on in the next line
            assert json.dumps(read) == json.dumps(expected)
            assert type(read) is type(expected)
    assert text.count(BEHIND) == 2 * len(args)


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("width", [40, 80])
def test_a_hostile_value_does_not_leave_its_lines(value: Json, width: int) -> None:
    args: dict[str, Json] = {"before": "first", "to": value, "after": "last"}
    lines = plain(EffectsView((effect(args),)).lines(Screen(width))).split("\n")
    heads = [line for line in lines if line.startswith("    ! ")]
    assert [line.split()[1] for line in heads] == ["before", "to", "after"]
    assert all("\x1b" not in line and "\n" not in line and "\r" not in line for line in lines)


def test_letters_that_look_like_others_are_named() -> None:
    text = effects_text([effect({"to": "p\u0430ypal.example"})])
    assert "CYRILLIC SMALL LETTER A" in text


def test_hostile_names_are_escaped_too() -> None:
    text = effects_text([effect({"to\x1b[8m": 1}, "pa\ny")])
    assert "\x1b" not in text
    assert r'"pa\ny"' in text
