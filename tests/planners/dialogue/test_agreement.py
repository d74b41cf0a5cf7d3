"""Follow-ups mean the same however they are planned, and in whatever domain they are said."""

from __future__ import annotations

import json

from tests.planners.dialogue.conversation import DIALOGUES, Talk, calls
from tests.planners.library_catalogue import library
from tests.planners.planned import propose
from toolplan.path import Json
from toolplan.plan import Plan, Ref, map_refs
from toolplan.plan_json import load
from toolplan.planners import Clarification, Draft, GroundedPlanner
from toolplan.planners.grounded.dialogue import DialoguePlanner

LIBRARY: list[tuple[str, list[tuple[str, Json]]]] = [
    ("Show overdue loans", [("loans", {"state": "overdue"})]),
    ("the same for lost", [("loans", {"state": "lost"})]),
    (
        "their members",
        [
            ("loans", {"state": "lost"}),
            ("members", {"member_ids": "${loans.items[*].member_id}"}),
        ],
    ),
    (
        "only the junior ones",
        [
            ("loans", {"state": "lost"}),
            ("members", {"member_ids": "${loans.items[*].member_id}", "level": "child"}),
        ],
    ),
    (
        "what about York?",
        [
            ("loans", {"state": "lost"}),
            (
                "members",
                {"member_ids": "${loans.items[*].member_id}", "level": "child", "town": "York"},
            ),
        ],
    ),
]


def test_another_domain_is_spoken_of_as_well() -> None:
    """Nothing here was written for one domain: all words come from the tools."""
    talk = Talk(tools=library(), planner=DialoguePlanner(GroundedPlanner()))
    for text, expected in LIBRARY:
        assert calls(talk.steps(text)) == expected, text


def test_the_question_that_a_follow_up_is_read_as_is_never_planned_otherwise() -> None:
    """Two ways to the same plan: the plan edited, and the whole question planned anew."""
    compared = 0
    for dialogue in DIALOGUES:
        talk = Talk()
        for turn in dialogue["turns"]:
            proposal = talk.say(turn["ask"])
            document: Json = json.loads(proposal.text) if isinstance(proposal, Draft) else None
            whole = _read_as(document)
            anew = None if whole is None else propose(whole)
            if isinstance(anew, Draft):
                compared += 1
                assert _meaning(json.loads(anew.text)) == _meaning(document), whole
            else:
                assert anew is None or isinstance(anew, Clarification)
    assert compared >= 40


def _read_as(document: Json) -> str | None:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    followed = metadata.get("follow_up_of") if isinstance(metadata, dict) else None
    whole = followed.get("read_as") if isinstance(followed, dict) else None
    return whole if isinstance(whole, str) else None


def _meaning(document: Json) -> list[str]:
    """Return all calls of a plan with what they are made from, whatever steps are called."""
    plan = load(document).plan
    assert plan is not None
    return sorted(_call(plan, step.id) for step in plan.steps)


def _call(plan: Plan, id_: str) -> str:
    step = next(step for step in plan.steps if step.id == id_)

    def spelled(ref: Ref) -> Ref:
        return Ref(_call(plan, ref.step), ref.path)

    args = {name: repr(map_refs(value, spelled)) for name, value in sorted(step.args.items())}
    return f"{step.tool} {args}"
