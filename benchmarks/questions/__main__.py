"""Ask, run, compare and print."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import benchmarks.questions as package
from benchmarks.questions.asking import Checked, Verdict, check
from benchmarks.questions.sets import DATA, SETS, Talk, generated, published
from toolplan.base.extensions import Extensions
from toolplan.planners import Planner
from toolplan.planners.context import PlannerContext, PlannerFactory
from toolplan.planners.guarded import guarded_factory


class Figures(NamedTuple):
    """The sum of verdicts. `questions` are those with a right answer, `due` those to be asked."""

    questions: int
    answered: int
    right: int
    wrong: int
    due: int
    flips: int
    milliseconds: float


def figures(found: Sequence[Checked]) -> Figures:
    """Return the sum of `found`; the milliseconds of CPU are the mean of a question."""
    asked = [each for each in found if not each.is_due]
    right = sum(each.verdict is Verdict.RIGHT for each in asked)
    wrong = sum(each.verdict in (Verdict.WRONG, Verdict.FAILED) for each in found)
    return Figures(
        questions=len(asked),
        answered=sum(each.verdict is not Verdict.ASKED for each in asked),
        right=right,
        wrong=wrong,
        due=len(found) - len(asked),
        flips=sum(each.flip for each in found),
        milliseconds=1_000 * sum(each.seconds for each in found) / max(len(found), 1),
    )


def lines(found: Sequence[Checked], *, asked: bool) -> Iterator[str]:
    """Yield what was wrong, with `asked` what was asked back, and the sums by kind."""
    for each in found:
        if each.verdict in (Verdict.WRONG, Verdict.FAILED):
            yield f"{each.verdict.upper()}{' FLIP' if each.flip else ''}  {each.question}"
            yield from (f"    {call.tool} {call.args} {call.refs or ''}" for call in each.plan)
            yield f"    {each.reason}"
        elif asked and each.verdict is Verdict.ASKED and not each.is_due:
            yield f"asked  {each.question}\n    {each.reason}"
    kinds = dict.fromkeys(each.kind for each in found)
    if 1 < len(kinds) <= 40:
        yield ""
        for kind in kinds:
            yield _sum(kind, figures([each for each in found if each.kind == kind]))


def _sum(name: str, sums: Figures) -> str:
    right = f"{sums.right / sums.answered:.1%}" if sums.answered else "-"
    share = f"{sums.answered / sums.questions:.1%}" if sums.questions else "-"
    return (
        f"{name[:24]:<24} {sums.answered:>4} of {sums.questions:>4} answered ({share:>6}),"
        f" {sums.right:>4} right ({right:>6}), {sums.wrong:>3} wrong, {sums.due:>3} to be asked,"
        f" {sums.flips} flips, {sums.milliseconds:6.1f} ms"
    )


def planner_named(name: str) -> Planner:
    """Return the planner that an installed package offers as `name`.

    Raises:
        SystemExit: there is none, or it needs more than tools.
    """
    offered = Extensions[PlannerFactory]("toolplan.planners", guarded_factory)
    planner = offered[name](PlannerContext(Path(), name)) if name in offered else None
    if planner is None:
        sys.exit(f"There is no planner {name!r} that needs no more than tools.")
    return planner


async def _check(talks: Iterator[Talk], planner: Planner) -> list[Checked]:
    return [each async for each in check(talks, planner)]


def main() -> None:
    """Ask, compare and print; exit 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(
        description=package.__doc__, prog="python -m benchmarks.questions"
    )
    parser.add_argument("--planner", default="offline", help="the name of its entry point")
    parser.add_argument("--set", action="append", choices=SETS, help="all when left out")
    parser.add_argument("--seeds", default="1", help="of generated questions: 1, or 1-20")
    parser.add_argument("--each", type=int, default=12, help="generated questions of a family")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the open questions")
    parser.add_argument("--asked", action="store_true", help="print what was asked back, too")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    planner, sums = planner_named(chosen.planner), dict[str, Figures]()
    low, _, high = chosen.seeds.partition("-")
    sets: dict[str, Callable[[], Iterator[Talk]]] = {
        **SETS,
        "open": lambda: published(chosen.data),
        "generated": lambda: generated(range(int(low), int(high or low) + 1), chosen.each),
    }
    gc.disable()  # the time of a question is not that of looking through what others left
    for name in chosen.set or SETS:
        found = asyncio.run(_check(sets[name](), planner))
        if not found:
            print(f"The set {name!r} is not in {chosen.data}: it is left out.", file=sys.stderr)
            continue
        gc.collect()
        sums[name] = figures(found)
        if not chosen.json:
            print(f"== {name}", *lines(found, asked=chosen.asked), sep="\n")
    if chosen.json:
        print(json.dumps({name: each._asdict() for name, each in sums.items()}))
    else:
        print("==", *(_sum(name, each) for name, each in sums.items()), sep="\n")
    sys.exit(1 if any(each.wrong for each in sums.values()) else 0)


if __name__ == "__main__":
    main()
