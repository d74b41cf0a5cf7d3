"""Ten thousand ways to change what was approved: nothing runs but what the person has seen."""

import asyncio
import copy
import random
from typing import Final, cast

import pytest
from msgspec.structs import replace

from tests.plans_strategy import execution_plan
from tests.sizes import share_of
from tests.stores import Stores
from toolplan import CannotRun, ExecutionPlan, Policy, Run, run
from toolplan.plan.canonical import dump, load
from toolplan.plan.model import Literal, Plan
from toolplan.plan.path import Json
from toolplan.policy.approval import Approval, ApprovalRequired, ApprovalUsed, approve
from toolplan.schema.tool import Arguments, Call, Effects, Tool, Toolbox

MUTATIONS: Final = share_of(10_000)

PLAN: Final[Json] = {
    "toolplan": 1,
    "steps": [
        {"id": "read", "tool": "rows", "args": {"team": "a", "limit": 3}},
        {"id": "one", "tool": "send", "args": {"to": "ann", "n": 1, "tags": ["x", {"y": 2.5}]}},
        {"id": "each", "tool": "send", "for_each": "${read.rows}", "max_items": 4,
         "args": {"to": "${item.mail}", "text": "Hello ${item.name}"}},
        {"id": "last", "tool": "erase", "args": {"what": "${one.id}"}, "after": ["each"],
         "when": {"value": "${read.n}", "is": {"minimum": 1}}, "retries": 0, "timeout_s": 5},
    ],
    "output": "${one}",
}  # fmt: skip


class Office:
    """Tools, and every call with effects that was made of them."""

    def __init__(self, rows: int = 3) -> None:
        self.effects: list[tuple[str, str]] = []
        self._rows = rows

    def tools(self) -> list[Tool]:
        schema: Json = {
            "type": "object",
            "properties": {"to": {"type": "string"}},
            "additionalProperties": True,
        }
        return [
            Tool("rows", "Lists.", {"type": "object"}, effects=Effects.READ, call=self._list),
            Tool("send", "Sends.", schema, effects=Effects.WRITE, call=self._effect("send")),
            Tool("erase", "Erases.", {"type": "object"}, call=self._effect("erase")),
        ]

    async def _list(self, args: Arguments) -> Json:
        rows: list[Json] = [{"mail": f"m{at}", "name": f"n{at}"} for at in range(self._rows)]
        return {"n": len(rows), "rows": rows}

    def _effect(self, name: str) -> Call:
        async def call(args: Arguments) -> Json:
            self.effects.append((name, repr(sorted(args.items()))))
            return {"id": 7}

        return call


def places(value: Json, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the ways to all values in a document."""
    found = [place] if place else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*place, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += places(inner, (*place, at))
    return found


REPLACEMENTS: Final[tuple[Json, ...]] = (
    "eve", "", "send", "erase", "rows", "${read.n}", "${one}", 0, 1, 2, 10**17, 1.5, True, None,
    [], {},
    ["eve"], {"to": "eve"}, "continue", "ann ", "Ann", "a\u0301nn", "an\u200bn",
)  # fmt: skip


def mutated(document: Json, chance: random.Random) -> Json:
    """Return `document` with one thing changed, taken out, doubled, moved or put in."""
    whole = copy.deepcopy(document)
    way = chance.choice([each for each in places(whole) if each != ("toolplan",)])
    around = whole
    for key in way[:-1]:
        around = cast("dict[str | int, Json]", around)[key]
    last = way[-1]
    container = cast("dict[str | int, Json]", around)
    match chance.randrange(5):
        case 0 | 1:
            container[last] = chance.choice(REPLACEMENTS)
        case 2:
            del container[last]
        case 3 if isinstance(around, list):
            around.insert(chance.randrange(len(around) + 1), chance.choice(around))
        case 4 if isinstance(around, list):
            chance.shuffle(around)
        case _ if isinstance(around, dict):
            around[chance.choice(("to", "cc", "after", "for_each", "x"))] = chance.choice(
                REPLACEMENTS
            )
        case _:
            container[last] = chance.choice(REPLACEMENTS)
    return whole


def attempt(plan: ExecutionPlan, tools: list[Tool], approval: Approval) -> Run | None:
    """Return the run, None where it was refused."""
    try:
        return asyncio.run(run(plan, Toolbox(tools), approval=approval))
    except (ApprovalRequired, CannotRun):
        return None


def approved() -> ExecutionPlan:
    plan = load(copy.deepcopy(PLAN)).plan
    assert plan is not None
    return execution_plan(plan, Toolbox(Office().tools()))


def test_what_was_approved_runs() -> None:
    office = Office()
    plan = approved()
    done = attempt(plan, office.tools(), approve(plan))
    assert done is not None
    assert done.succeeded
    assert len(office.effects) == 5


@pytest.mark.parametrize("part", range(4))
def test_no_mutation_of_an_approved_plan_has_an_effect(part: int, kept: Stores | None) -> None:
    chance, mutations = random.Random(part), MUTATIONS // 4 if kept is None else MUTATIONS // 40
    plan = approved()
    expected = set(_effects_of(plan))
    refused = same = 0
    for _ in range(mutations):
        office = Office()
        other = load(mutated(PLAN, chance)).plan
        if other is None:
            refused += 1  # it is no plan at all
            continue
        # the attacker leaves all in place that the person saw: the digest above all
        attacked = replace(plan, plan=other)
        attempt(attacked, office.tools(), approve(plan))
        if _same(other, plan.plan):
            same += 1
            assert set(office.effects) <= expected
        else:
            refused += 1
            assert office.effects == []
    assert refused > 0.7 * mutations
    assert refused + same == mutations


def _effects_of(plan: ExecutionPlan) -> list[tuple[str, str]]:
    office = Office()
    attempt(plan, office.tools(), approve(plan))
    return office.effects


def _same(one: Plan, other: Plan) -> bool:
    """Whether the two say the same, thoughts and metadata left out."""
    return dump(replace(one, metadata={})) == dump(replace(other, metadata={}))


def test_another_tool_under_the_same_name_is_refused() -> None:
    plan = approved()
    changes: list[dict[str, object]] = [
        {"description": "Sends to all."},
        {"raw_input": {"type": "object"}},
        {"raw_output": {"type": "object"}},
        {"effects": Effects.READ},
        {"effects": Effects.DESTRUCTIVE},
        {"idempotent": True},
    ]
    for change in changes:
        office = Office()
        tools = [
            replace(each, **change) if each.name == "send" else each  # pyright: ignore[reportArgumentType]
            for each in office.tools()
        ]
        assert attempt(plan, tools, approve(plan)) is None
        assert office.effects == []


def test_another_policy_is_refused() -> None:
    plan = approved()
    office = Office()
    other = replace(plan, policy=Policy(allow=("rows", "send", "erase")).to_json())
    assert attempt(other, office.tools(), approve(plan)) is None
    assert office.effects == []


def test_one_item_more_than_was_approved_is_not_called() -> None:
    plan = approved()
    office = Office(rows=5)
    done = attempt(plan, office.tools(), approve(plan))
    assert done is not None
    assert not done.succeeded
    assert [name for name, args in office.effects if "m" in args.partition("to")[2][:8]] == []


def test_an_approval_whose_slots_were_changed_gives_no_more_than_they_say() -> None:
    plan = approved()
    for number, slots in enumerate(({}, {"one": 1}, {"one": 1, "each": 2, "last": 1})):
        office = Office()
        approval = Approval(plan.digest, slots, f"generated {number}")
        attempt(plan, office.tools(), approval)
        assert len(office.effects) <= sum(slots.values())


def test_an_approval_is_good_for_one_run() -> None:
    plan = approved()
    approval = approve(plan)
    office = Office()
    assert attempt(plan, office.tools(), approval) is not None
    with pytest.raises(ApprovalUsed):
        attempt(plan, office.tools(), approval)
    assert len(office.effects) == 5


def test_a_plan_that_is_changed_after_the_run_has_started_runs_as_it_was() -> None:
    plan = approved()
    office = Office()

    async def test() -> Run:
        going = asyncio.ensure_future(run(plan, Toolbox(office.tools()), approval=approve(plan)))
        await asyncio.sleep(0)
        args = cast("dict[str, Literal]", plan.plan.steps[1].args)
        args["to"] = Literal("eve")
        cast("list[Json]", args["tags"].value).append("more")
        return await going

    assert asyncio.run(test()).succeeded
    assert not any("eve" in args or "more" in args for _, args in office.effects)
