"""Ask, compare and print."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import benchmarks.plain_tools as package
from benchmarks.plain_tools.tools import plain_tools
from toolplan.planners import Clarification, Draft, Question, Refusal
from toolplan_offline import OfflinePlanner

QUESTIONS: Final = Path(__file__).parent / "questions.json"


class Verdict(StrEnum):
    """What came of a question."""

    CALLED = "right call"
    ASKED = "rightly asked back"
    NOT_CALLED = "asked back, a call was possible"
    WRONG = "wrong call"


class Checked(NamedTuple):
    """A question and what came of it; `reply` is the call, or what was said."""

    question: str
    verdict: Verdict
    reply: str


def check() -> list[Checked]:
    """Ask all questions."""
    document = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    planner, tools = OfflinePlanner(), plain_tools()
    found: list[Checked] = []
    for each in document["questions"]:
        proposal = planner.plan(Question(each["question"], document["today"]), tools)
        match proposal:
            case Draft(text=text):
                steps = json.loads(text)["steps"]
                right = "call" in each and _is_call(steps, each["call"])
                verdict = Verdict.CALLED if right else Verdict.WRONG
                reply = "; ".join(f"{s['tool']} {json.dumps(s.get('args', {}))}" for s in steps)
            case Clarification(question=reply) | Refusal(reason=reply):
                verdict = Verdict.NOT_CALLED if "call" in each else Verdict.ASKED
        found.append(Checked(each["question"], verdict, reply))
    return found


def _is_call(steps: Sequence[Mapping[str, Any]], call: Sequence[Any]) -> bool:
    return len(steps) == 1 and [steps[0]["tool"], steps[0].get("args", {})] == list(call)


def main() -> None:
    """Ask, compare and print."""
    parser = argparse.ArgumentParser(
        description=package.__doc__, prog="python -m benchmarks.plain_tools"
    )
    parser.parse_args()
    checked = check()
    for each in checked:
        print(f"{each.verdict.value:32} {each.question}\n{'':33}{each.reply}")
    counted = Counter(each.verdict for each in checked)
    print(", ".join(f"{counted[verdict]} {verdict.value}" for verdict in Verdict) + ".")
    sys.exit(1 if counted[Verdict.WRONG] else 0)


if __name__ == "__main__":
    main()
