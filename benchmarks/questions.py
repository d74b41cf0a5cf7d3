"""Blind questions to the demo's tools: `python -m benchmarks.questions [DATA] [--wrong] [--json]`.

DATA is a folder with `questions.jsonl` (by default `../shared/data`), whose form is that of its own
`QUESTIONS.md`: each question has the plan of somebody who did not know the planner. An answer is
right where its plan equals that one. Precision is the share of right plans among the answers,
coverage the share of answered questions; a flip turns a negation round, or changes something where
the question asks to read. Rows in doubt are left out. Without the folder nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from toolplan.demo import demo_tools
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, GroundedPlanner, Question, Refusal
from toolplan.sources.sql import sql_tool
from toolplan.tools import Effects, Toolbox

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
FILE: Final = "questions.jsonl"
SQL: Final = "sql"
_UNLIMITED: Final = (50, 100)
"""Limits that the questions' author took for none."""
_MOST_STEPS: Final = 7

Fields: TypeAlias = Mapping[str, Any]


class Call(NamedTuple):
    """A step as it is compared: its tool, literal arguments, and references by argument.

    A reference is the number of the step it reads and the path in that step's output.
    """

    tool: str
    args: dict[str, Any]
    refs: dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one question; `plan` are the calls of an answer, `reply` the words of none."""

    fields: Fields
    answered: bool
    right: bool
    flip: bool
    plan: tuple[Call, ...]
    reply: str


class Figures(NamedTuple):
    """The sum of all verdicts."""

    questions: int
    answered: int
    right: int
    flips: int

    @property
    def precision(self) -> float:
        """Right over answered; 1 where nothing is answered."""
        return self.right / self.answered if self.answered else 1.0

    @property
    def coverage(self) -> float:
        """Answered over all."""
        return self.answered / self.questions if self.questions else 0.0


def verdicts(path: Path) -> list[Verdict]:
    """Return a verdict for each question in the file at `path` that is not in doubt."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    planner = GroundedPlanner()
    return [_verdict(row, planner) for row in rows if not row.get("doubt")]


def figures(found: Sequence[Verdict]) -> Figures:
    """Return the sum of `found`."""
    return Figures(
        len(found),
        sum(each.answered for each in found),
        sum(each.right for each in found),
        sum(each.flip for each in found),
    )


@cache
def _tools(today: str) -> Toolbox:
    tools = demo_tools(date.fromisoformat(today), rows=50)
    return tools if SQL in tools else tools.with_tools(sql_tool())


def _verdict(row: Fields, planner: GroundedPlanner) -> Verdict:
    tools = _tools(row["today"])
    match planner.plan(Question(row["question"], row["today"]), tools):
        case Draft(text=text):
            plan = calls(json.loads(text))
            right = is_right(plan, row["expect"])
            return Verdict(row, True, right, not right and _is_flip(plan, row, tools), plan, "")
        case Clarification(question=reply) | Refusal(reason=reply):
            return Verdict(row, False, False, False, (), reply)


def calls(plan: Fields) -> tuple[Call, ...]:
    """Return the steps of a canonical plan as calls."""
    steps = plan["steps"]
    at = {step["id"]: number for number, step in enumerate(steps)}
    return tuple(_call(step, at) for step in steps)


def _call(step: Fields, at: Mapping[str, int]) -> Call:
    args: dict[str, Any] = {}
    refs: dict[str, tuple[int, str]] = {}
    for name, value in step.get("args", {}).items():
        text: Json = step["for_each"] if value == "${item}" else value
        match text:
            case [str(only)] if only.startswith("${"):
                text = only  # a list of the one identity
            case _:
                pass
        if isinstance(text, str) and text.startswith("${"):
            source, _, path = text[2:-1].partition(".")
            refs[name] = (at[source], path)
        else:
            args[name] = value
    return Call(step["tool"], args, refs)


def is_right(plan: Sequence[Call], expect: Fields) -> bool:
    """Return whether `plan` is one of those that `expect` allows."""
    wanted = [*expect.get("plans", ()), *([expect["plan"]] if "plan" in expect else ())]
    if any(_equal(plan, [_gold(step) for step in each]) for each in wanted):
        return True
    if not expect.get("sql") or not any(call.tool == SQL for call in plan):
        return False
    reads = [call for call in plan if call.tool != SQL]
    alternatives = [expect["reads"], *expect.get("reads_alternatives", ())]
    return any(_reads(reads, [_gold(step) for step in each]) for each in alternatives)


def _gold(step: Fields) -> Call:
    refs: dict[str, tuple[int, str]] = {}
    for name, text in step.get("refs", {}).items():
        number, _, path = text.partition(".")
        refs[name] = (int(number), path)
    return Call(step["tool"], step["args"], refs)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    return permutations(range(count)) if count <= _MOST_STEPS else iter([tuple(range(count))])


def _equal(plan: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Return whether both have the same steps, in any order."""
    if len(plan) != len(gold):
        return False
    return any(
        all(_same(plan[order[n]], each, order) for n, each in enumerate(gold))
        for order in _orders(len(gold))
    )


def _same(one: Call, gold: Call, order: Sequence[int]) -> bool:
    """Compare two steps; `order` gives for each step of the gold that of the plan."""
    refs = {name: (order[number], path) for name, (number, path) in gold.refs.items()}
    return one.tool == gold.tool and one.refs == refs and _plain(one.args) == _plain(gold.args)


def _reads(reads: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Return whether each read of `gold` is there, or one that asks for more rows."""
    if len(reads) != len(gold):
        return False
    return any(
        all(
            reads[order[n]].tool == each.tool
            and _plain(reads[order[n]].args).items() <= _plain(each.args).items()
            for n, each in enumerate(gold)
        )
        for order in _orders(len(gold))
    )


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as they are compared: free text without case, lists as sets."""
    return {
        name: _comparable(value)
        for name, value in args.items()
        if not (name == "limit" and value in _UNLIMITED)
    }


def _comparable(value: Json) -> object:
    if isinstance(value, list):
        return frozenset(str(each).casefold() for each in value)
    return value.casefold() if isinstance(value, str) else value


def _is_flip(plan: Sequence[Call], row: Fields, tools: Toolbox) -> bool:
    """Return whether a wrong plan turns a negation round, or changes what is only to be read."""
    expect = row["expect"]
    if "refuse" in expect:
        return False
    if any(call.tool != SQL and tools[call.tool].effects is not Effects.READ for call in plan):
        return True
    if row["kind"] == "negation" and "clarify" not in expect:
        return True
    wanted = [*expect.get("plans", ()), *([expect["plan"]] if "plan" in expect else ())]
    golds = [(step["tool"], step["args"]) for each in wanted for step in each]
    return any(
        call.tool == tool and isinstance(value, bool) and args.get(name) is (not value)
        for call in plan
        for name, value in call.args.items()
        for tool, args in golds
    )


def lines(found: Sequence[Verdict], *, every: bool) -> list[str]:
    """Return the sums by kind, before them what was wrong, and with `every` what was asked back."""
    shown: list[str] = []
    for each in found:
        if each.answered and not each.right:
            shown.append(f"WRONG{' FLIP' if each.flip else ''}  {_title(each)}")
            shown.extend(f"    {call.tool} {call.args} {call.refs or ''}" for call in each.plan)
        elif not each.answered and every:
            shown.append(f"asked  {_title(each)}\n    {each.reply}")
    kinds = dict.fromkeys(str(each.fields["kind"]) for each in found)
    shown.append("")
    shown.extend(
        _sum(kind, figures([each for each in found if each.fields["kind"] == kind]))
        for kind in kinds
    )
    return [*shown, _sum("all", figures(found))]


def _title(each: Verdict) -> str:
    return f"{each.fields['id']} {each.fields['question']}"


def _sum(name: str, sums: Figures) -> str:
    return (
        f"{name:<16} {sums.answered:>3} of {sums.questions:>3} answered ({sums.coverage:6.1%}),"
        f" {sums.right:>3} right ({sums.precision:6.1%}), {sums.flips} flips"
    )


def main() -> None:
    """Ask, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.questions")
    parser.add_argument("data", nargs="?", type=Path, default=DATA, help="a folder with the file")
    parser.add_argument("--wrong", action="store_true", help="only what was answered wrongly")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    path = given.data / FILE
    if not path.exists():
        print(f"There is no {path}: nothing is measured.", file=sys.stderr)
        sys.exit(2)
    found = verdicts(path)
    sums = figures(found)
    if given.json:
        shown = {**sums._asdict(), "precision": sums.precision, "coverage": sums.coverage}
        print(json.dumps(shown))
    else:
        print("\n".join(lines(found, every=not given.wrong)))


if __name__ == "__main__":
    main()
