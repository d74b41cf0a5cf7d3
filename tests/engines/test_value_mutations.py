"""Values that change between the table that a person has seen and the call: none is called."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from typing import Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.engines.test_approval_mutations import mutated
from tests.engines.test_staged import World, staged, step
from tests.sizes import share_of
from tests.stores import Stores
from toolplan.base.errors import ToolplanError
from toolplan.events import ConsentGiven, Event, StepSucceeded
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.policy.approval import digest_of
from toolplan.policy.consent import Effect, call_digest, is_as_shown
from toolplan.schema.tool import Tool

MUTATIONS: Final = share_of(10_000)
ROWS: Final[list[Json]] = [
    {"sender": "eve@evil.example", "n": 1, "more": {"tags": ["x", {"y": 2.5}], "void": None}},
    {"sender": "bob@ours.example", "n": 2, "more": {"tags": [], "void": False}},
]
PLAN: Final = (
    step("mails", "inbox"),
    step("one", "send", {"to": "${mails[0].sender}", "all": "${mails}", "said": ["a", {"b": 1}]}),
    step("each", "send", {"to": "${item.sender}", "more": "${item}"}, for_each="${mails}"),
)


def written(value: object) -> str:
    """Return a text that is the same only for the very same JSON: 1, 1.0 and true are three."""
    return json.dumps(value, sort_keys=True)


def change(value: Mapping[str, Json], chance: random.Random) -> bool:
    """Change something in `value` itself; return whether it is another value now."""
    before, changed = written(value), mutated(cast("Json", value), chance)
    assert isinstance(changed, dict)
    own = cast("dict[str, Json]", value)
    own.clear()
    own.update(changed)
    return written(value) != before


def test_what_an_approver_changes_is_never_called(kept: Stores | None) -> None:
    chance, mutations = random.Random(5), MUTATIONS if kept is None else MUTATIONS // 10
    world = World(inbox=copy.deepcopy(ROWS))
    plan, refused = world.plan(*PLAN), 0
    for _ in range(mutations):
        world.calls.clear()
        changed: list[bool] = []

        def decide(effects: tuple[Effect, ...], changed: list[bool] = changed) -> bool:
            changed.append(change(chance.choice(effects).args, chance))
            return True

        code = ""
        try:
            staged(world, plan, decide)
        except ToolplanError as error:
            code = error.code
        assert (code == "changed-values") is changed[0]
        assert world.made.count("send") == (0 if changed[0] else 3)
        refused += changed[0]
    assert refused > 0.7 * mutations


def test_what_listeners_and_tools_change_later_does_not_reach_the_calls() -> None:
    chance = random.Random(6)
    for _ in range(MUTATIONS // 50):
        world = World(inbox=copy.deepcopy(ROWS))
        shown: list[str] = []
        outputs: list[Json] = []

        def decide(effects: tuple[Effect, ...], shown: list[str] = shown) -> bool:
            shown.extend(written(effect.args) for effect in effects)
            return True

        def listen(
            event: Event,
            outputs: list[Json] = outputs,
            results: dict[str, Json] = world.results,
            shown: list[str] = shown,
        ) -> None:
            if isinstance(event, StepSucceeded) and event.step == "mails":
                outputs.append(event.output)
            if isinstance(event, ConsentGiven) and len(shown) < 6:
                for each in (*outputs, results["inbox"]):
                    if isinstance(each, list) and each and isinstance(each[0], dict):
                        change(each[0], chance)

        staged(world, world.plan(*PLAN), decide, on_event=listen)
        called = [written(args) for name, args in world.calls if name == "send"]
        assert set(called) <= set(shown)  # what changed was asked about again


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(max_size=4), documents, min_size=1, max_size=3)


@given(arguments, st.integers(0, 2**32), st.sampled_from([None, 0, 1]))
def test_a_consent_holds_for_the_very_same_call(
    args: dict[str, Json], seed: int, item: int | None
) -> None:
    digest = call_digest("r", "s", item, "send", args)
    effect = Effect("s", item, "send", args, {}, {}, digest)
    assert is_as_shown("r", effect)
    assert not is_as_shown("r2", effect)
    assert not is_as_shown("r", replace(effect, step="t"))
    assert not is_as_shown("r", replace(effect, tool="erase"))
    assert not is_as_shown("r", replace(effect, item=7))
    other = mutated(args, random.Random(seed))
    assert isinstance(other, dict)
    same = written(other) == written(args)
    assert is_as_shown("r", replace(effect, args=other)) is same


@given(arguments, arguments)
def test_two_calls_have_one_digest_only_where_they_are_the_same(
    one: dict[str, Json], other: dict[str, Json]
) -> None:
    digests = [call_digest("r", "s", None, "send", args) for args in (one, other)]
    assert (digests[0] == digests[1]) is (written(one) == written(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"\ud800": 1, '"\\ud800"': 2}, {"\ud800": 3, '"\\ud800"': 2}),
        ({"\ud800": 1, '"\\ud800"': 2}, {"\ud800": 2, '"\\ud800"': 1}),
        ({"a": {"b": 2**60}, "a/b": 2**61}, {"a": {"b": 2**62}, "a/b": 2**61}),
        ({"a~1b": 2**60, "a/b": 2**61}, {"a~1b": 2**62, "a/b": 2**61}),
    ],
)
def test_odd_names_hide_no_value_from_a_digest(one: Json, other: Json) -> None:
    calls = [call_digest("r", "s", None, "send", args) for args in (one, other)]
    assert calls[0] != calls[1]
    if "\\ud800" in json.dumps(one):
        return  # no plan has half a character
    tools = {"t": Tool("t", "", {"type": "object"})}
    plans = [Plan((Step("a", "t", {"x": Literal(args)}),)) for args in (one, other)]
    assert len({digest_of(plan, tools, {}) for plan in plans}) == 2
