"""Tokens of one request for a plan, against the requests of a loop over the same calls.

`python -m benchmarks.tokens DATA_DIR [--limit N] [--output-tokens N] [--json]` takes the rows of
published plans that have two calls or more. The plan is one request: the prompt that toolplan
sends, and the plan as its reply. The loop is one request for each call and one more that reads the
last output; each holds the same tools as JSON, the question, the calls so far and their outputs. A
loop writes values where the plan has references; their text is counted as the reference's.

Outputs are counted where the rows hold them, else as `--output-tokens` each: 0, so that the loop
costs at least what is printed. What a chat template adds to each message is not counted, nor is the
text of the loop's answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.llama import llama_server, versions
from benchmarks.plans.readings import read
from benchmarks.plans.rows import LITERAL_SETS, TEXT_SETS, DataFolder, Row
from benchmarks.plans.texts import calls_of
from toolplan.plan.canonical import dump
from toolplan.plan.model import Plan, step_refs
from toolplan.planners import LLMPlanner, Question
from toolplan.schema.tool import Toolbox
from toolplan.testing.tools import ScriptedModel
from toolplan.tools.search import FEW, relevant

Count: TypeAlias = Callable[[str], int]
TODAY: Final = "2025-10-12"
_LOOP: Final = "Answer the question with the tools. Call a tool, read what it returns, and go on."


@dataclass
class Figures:
    """Sums over the rows of one set, in tokens where nothing else is said."""

    set: str
    rows: int = 0
    calls: int = 0
    plan_in: int = 0
    plan_out: int = 0
    loop_requests: int = 0
    loop_in: int = 0
    loop_out: int = 0
    loop_new: int = 0
    """What the loop reads for the first time, if all that was sent before is cached."""
    short_in: int = 0
    """What the loop reads if its tools are written as in the plan's prompt, and not as JSON."""
    level_in: int = 0
    """The loop over JSON, where calls that need nothing of each other are made in one turn."""

    def add(self, other: Figures) -> None:
        """Add the figures of another set."""
        for name, value in asdict(other).items():
            if name != "set":
                setattr(self, name, getattr(self, name) + value)


def levels(plan: Plan) -> list[int]:
    """Return for each step how many steps must end before it, one after the other."""
    found: dict[str, int] = {}
    waiting = list(plan.steps)
    while waiting:
        for step in list(waiting):
            needs = {ref.step for _, ref in step_refs(step)} | set(step.after)
            needs &= {each.id for each in plan.steps}
            if needs <= found.keys():
                found[step.id] = 1 + max((found[each] for each in needs), default=-1)
                waiting.remove(step)
    return [found[step.id] for step in plan.steps]


def request_tokens(query: str, tools: Toolbox, count: Count) -> int:
    """Return the tokens of the request that asks a model for a plan."""
    model = ScriptedModel('{"refusal": {"reason": "none"}}')
    asyncio.run(LLMPlanner(model).propose(Question(query, TODAY), tools, ()))
    return sum(count(message.text) for message in model.requests[0].messages)


def measure(row: Row, plan: Plan, count: Count, output_tokens: int) -> Figures:
    """Return the figures of one row."""
    query = str(row.fields["query"])
    tools = relevant(row.toolbox, query, FEW)  # as many as the plan's prompt shows
    found = Figures(row.set, 1, len(plan.steps), request_tokens(query, tools, count))
    found.plan_out = count(json.dumps(dump(plan), ensure_ascii=False))
    calls, outputs = _exchanges(row, count, output_tokens)
    head = count(_LOOP) + count(query)
    written = [
        {"name": tool.name, "description": tool.description, "parameters": tool.raw_input}
        for tool in tools.values()
    ]
    as_json = count(json.dumps(written, ensure_ascii=False))
    as_lines = found.plan_in - request_tokens(query, Toolbox(()), count)
    found.loop_requests, found.loop_out = len(calls) + 1, sum(calls)
    sent = [sum(calls[:done]) + sum(outputs[:done]) for done in range(len(calls) + 1)]
    found.loop_in = sum(head + as_json + each for each in sent)
    found.short_in = sum(head + as_lines + each for each in sent)
    found.loop_new = head + as_json + sent[-1]
    turns = levels(plan)
    for turn in range(max(turns) + 2):
        before = [at for at, level in enumerate(turns) if level < turn]
        found.level_in += head + as_json + sum(calls[at] + outputs[at] for at in before)
    return found


def _exchanges(row: Row, count: Count, output_tokens: int) -> tuple[list[int], list[int]]:
    calls: list[int] = []
    outputs: list[int] = []
    for step in calls_of(row):
        call = {"name": step["tool"], "arguments": step["arguments"]}
        calls.append(count(json.dumps(call, ensure_ascii=False)))
        result: Any = step.get("result")
        outputs.append(
            output_tokens if result is None else count(json.dumps(result, ensure_ascii=False))
        )
    return calls, outputs


def plans(folder: DataFolder, name: str, limit: int | None) -> Iterator[tuple[Row, Plan]]:
    """Yield the clean rows of a set with two calls or more, each with its plan."""
    taken = 0
    for row in folder.rows(name):
        if limit is not None and taken >= limit:
            return
        if not row.counts or row.has_placeholders or len(row.steps) < 2 or not row.toolbox:
            continue
        reading = read(row)
        plan = None if reading is None or reading.errors else reading.parsed.plan
        if plan is not None and len(plan.steps) == len(calls_of(row)) > 1:
            taken += 1
            yield row, plan


def main() -> None:
    """Measure, and print a line for each set."""
    parser = argparse.ArgumentParser(prog="benchmarks.tokens", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of published plans")
    parser.add_argument("--limit", type=int, help="the most rows of each set")
    parser.add_argument("--output-tokens", type=int, default=0, help="of outputs not recorded")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    folder, total = DataFolder(given.data), Figures("all")
    found: list[Figures] = []
    with llama_server() as server:
        for name in folder.sets():
            if name not in (*TEXT_SETS, *LITERAL_SETS):
                continue
            sums = Figures(name)
            for row, plan in plans(folder, name, given.limit):
                sums.add(measure(row, plan, server.tokens, given.output_tokens))
            if sums.rows:
                found.append(sums)
                total.add(sums)
    found.append(total)
    if given.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return
    print(f"tokenizer: {versions()}")
    print(
        f"{'set':<16}{'rows':>6}{'calls':>7} | {'plan: in':>9}{'out':>6} |"
        f" {'loop: requests':>15}{'in':>8}{'out':>6}{'new':>7} | {'short tools: in':>16} |"
        f" {'by level: in':>13}"
    )
    for each in found:
        print(_line(each))


def _line(each: Figures) -> str:
    def mean(value: int) -> str:
        return f"{value / each.rows:.0f}"

    return (
        f"{each.set:<16}{each.rows:>6}{each.calls / each.rows:>7.1f} |"
        f" {mean(each.plan_in):>9}{mean(each.plan_out):>6} |"
        f" {each.loop_requests / each.rows:>15.1f}{mean(each.loop_in):>8}{mean(each.loop_out):>6}"
        f"{mean(each.loop_new):>7} | {mean(each.short_in):>16} |"
        f" {mean(each.level_in) if each.set in TEXT_SETS else '–':>13}"
    )


if __name__ == "__main__":
    main()
