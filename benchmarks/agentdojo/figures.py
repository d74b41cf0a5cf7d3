"""The figures of one kind of policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.agentdojo.attack import Reached, attacked, shown
from benchmarks.agentdojo.tasks import load_tasks, load_tools, policies
from toolplan.compiler import compile_plan
from toolplan.plan.path import Json
from toolplan.policy import Verdict


@dataclass(slots=True)
class Figures:
    """What was found.

    `asked` are the steps of each task that a person is asked about; `refused` are the tasks whose
    plans do not pass the check. `reached` is what outsiders reach where nobody is asked, and
    `shown` what they reach where a person says yes to every table of calls with their values.
    """

    kind: str
    tasks: int = 0
    planned: int = 0
    asked: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refused: list[str] = field(default_factory=list[str])
    reached: Reached = field(default_factory=Reached)
    shown: Reached = field(default_factory=Reached)

    def to_json(self) -> dict[str, Json]:
        """Return the figures as JSON."""
        return {
            "policy": self.kind,
            "tasks": self.tasks,
            "planned": self.planned,
            "asked": {name: [*steps] for name, steps in self.asked.items()},
            "refused": [*self.refused],
            "allowed_values": self.reached.looked_at,
            "calls": self.reached.calls,
            "won": [*self.reached.won],
            "shown_texts": self.shown.looked_at,
            "shown_calls": self.shown.calls,
            "won_unseen": [*self.shown.won],
        }


def measure(data: Path, kind: str, seeds: int) -> Figures:
    """Check the plans of all tasks under one kind of policy, and attack them."""
    tools = load_tools(data)
    by_suite = policies(kind, tools)
    found = Figures(kind)
    for task in load_tasks(data):
        found.tasks += 1
        if task.plan is None:
            continue
        given, policy = tools[task.suite], by_suite[task.suite]
        compiled = compile_plan(task.plan, tools=given, policy=policy)
        if compiled.plan is None:
            problems = "; ".join(each.message for each in compiled.diagnostics if each.blocks)
            found.refused.append(f"{task.name}: {problems}")
            continue
        found.planned += 1
        asked = [each.step for each in compiled.plan.flows if each.verdict is Verdict.ASK]
        if asked:
            found.asked[task.name] = [*dict.fromkeys(asked)]
        under = (task.name, task.plan, given, policy, range(seeds))
        found.reached = found.reached.plus(attacked(*under))
        found.shown = found.shown.plus(shown(*under))
    return found
