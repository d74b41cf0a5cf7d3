"""A real small model behind `--model URL#NAME`: what its replies are worth.

`python -m benchmarks.local_model DATA_DIR [--form small] [--rows N] [--demo N] [--minutes N]
[--threads N] [--json]` starts a llama.cpp server with SmolLM2-135M-Instruct (see
`benchmarks.llama`) and asks it for plans: rows of published plans with two calls or more, drawn by
seed, whose request has at most 1,100 tokens, then the demo's questions. A reply may have 1,000
tokens; two drafts are asked for at the most. After so many minutes no further question is asked.

`--form small` constrains replies as `PLANNER_SMALL_MODEL` does, with short lists and texts; `full`
as toolplan does without that setting. What is asked and written is counted by the server's
tokenizer, also where a reply is cut off.

Counted are: replies that are read as a plan, first drafts that pass the check, plans that pass it
after feedback, plans that call exactly the expected tools, and first drafts that are one of the
prompt's example plans or hold one of its sample values.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.llama import LlamaServer, llama_server, versions
from benchmarks.plans.readings import UNREADABLE
from benchmarks.plans.rows import DataFolder
from benchmarks.tokens import plans, request_tokens
from toolplan.app.app import App, AskResult
from toolplan.compiler import parse
from toolplan.planners import Attempt, Draft, LLMPlanner, OnText, Proposal, Question
from toolplan.planners.llm._prompt import example_plans
from toolplan.providers import Model, ModelError, ModelRequest, Piece, Text, open_model
from toolplan.schema.tool import Toolbox
from toolplan_demo import TOOLS
from toolplan_sql import sql_tool

TODAY: Final = "2025-10-12"
SETS: Final = ("nestful_v2", "nestools", "acebench", "agentdojo", "tau", "workbench")
LONGEST_PROMPT: Final = 1_100
DRAFTS: Final = 2
REPLY_TOKENS: Final = 1_000
FORMS: Final = ("small", "full")
SEED: Final = "local model"
_QUESTIONS: Final = Path(__file__).parents[1] / "tests/planners/questions/demo.json"
_SAMPLE: Final = '"text 1"'


class Counted:
    """A model whose requests and replies are counted, also those that are cut off."""

    def __init__(self, inner: Model, count: Callable[[str], int]) -> None:
        self._inner, self._count = inner, count
        self.requests = self.tokens_in = self.tokens_out = 0

    @property
    def name(self) -> str:
        """Display name."""
        return self._inner.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply of the model."""
        self.requests += 1
        self.tokens_in += sum(self._count(each.text) for each in request.messages)
        written: list[str] = []
        try:
            async with aclosing(self._inner.stream(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Text):
                        written.append(piece.text)
                    yield piece
        finally:
            self.tokens_out += self._count("".join(written))


class Case(NamedTuple):
    """A question, the tools for it, and the tools that its plan is expected to call."""

    question: str
    tools: Toolbox
    expected: Counter[str]


@dataclass
class Figures:
    """Counts over the questions of one group; tokens and seconds are sums."""

    group: str
    questions: int = 0
    read: int = 0
    first_try: int = 0
    after_feedback: int = 0
    right_tools: int = 0
    copied: int = 0
    asked_back: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    failures: dict[str, int] = field(default_factory=dict[str, int])


def demo_cases(count: int) -> list[Case]:
    """Return the first `count` questions about the demo's data."""
    tools = TOOLS.with_tools(sql_tool())
    listed: list[dict[str, Any]] = json.loads(_QUESTIONS.read_text("utf-8"))
    return [
        Case(each["question"], tools, Counter(step["tool"] for step in each["steps"]))
        for each in listed[:count]
    ]


def row_cases(data: Path, count: int, server: LlamaServer) -> Iterator[Case]:
    """Yield `count` rows of published plans, drawn by seed, as many of each set as of another."""
    folder, chance = DataFolder(data), random.Random(SEED)
    found = [_fitting(folder, name, chance, server) for name in SETS]
    left = count
    while left > 0:
        taken = [case for each in found for case in [next(each, None)] if case is not None]
        if not taken:
            return
        yield from taken[:left]
        left -= len(taken)


def _fitting(
    folder: DataFolder, name: str, chance: random.Random, server: LlamaServer
) -> Iterator[Case]:
    """Yield the rows of a set with a short request, in an order by chance."""
    rows = list(plans(folder, name, None))
    chance.shuffle(rows)
    for row, plan in rows:
        query = str(row.fields["query"])
        if request_tokens(query, row.toolbox, server.tokens) <= LONGEST_PROMPT:
            yield Case(query, row.toolbox, Counter(step.tool for step in plan.steps))


async def ask(case: Case, server: LlamaServer, found: Figures, *, small: bool) -> None:
    """Ask the model for the plan of one question, and count what came of it."""
    inner = open_model(server.model, keys={}, timeout_s=600, between_pieces_s=300, tries=1)
    model = Counted(inner, server.tokens)
    planner = LLMPlanner(model, max_tokens=REPLY_TOKENS, small=small)
    seen = _Seen(planner)
    app = App(case.tools, seen, attempts=DRAFTS)
    started, asked = time.perf_counter(), None
    try:
        asked = await app.plan(case.question, today=TODAY)
    except ModelError as error:
        found.failures[error.code] = found.failures.get(error.code, 0) + 1
    found.seconds += time.perf_counter() - started
    found.questions += 1
    found.requests += model.requests
    found.tokens_in += model.tokens_in
    found.tokens_out += model.tokens_out
    _count(case, seen.drafts, asked, found)


class _Seen:
    """A planner that keeps the drafts of another."""

    def __init__(self, inner: LLMPlanner) -> None:
        self._inner = inner
        self.drafts: list[Draft] = []

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        proposal = await self._inner.propose(question, tools, attempts, on_text=on_text)
        if isinstance(proposal, Draft):
            self.drafts.append(proposal)
        return proposal


def _count(case: Case, drafts: Sequence[Draft], asked: AskResult | None, found: Figures) -> None:
    plan = None if asked is None else asked.plan
    if not drafts:
        found.asked_back += asked is not None
        return
    first = drafts[0]
    parsed = parse(first.text, first.dialect, case.tools)
    codes = {each.code for each in parsed.diagnostics if each.blocks}
    found.read += parsed.plan is not None and not codes & UNREADABLE
    found.first_try += plan is not None and len(drafts) == 1
    found.after_feedback += plan is not None
    if plan is not None:
        found.right_tools += Counter(step.tool for step in plan.plan.steps) == case.expected
    steps = [] if parsed.plan is None else [(s.tool, s.args) for s in parsed.plan.steps]
    examples = [parse(text, "toolplan", case.tools).plan for text in example_plans(case.tools)]
    copies = [[(s.tool, s.args) for s in each.steps] for each in examples if each is not None]
    found.copied += _SAMPLE in first.text or (bool(steps) and steps in copies)


def main() -> None:
    """Measure, and print the figures of each group."""
    parser = argparse.ArgumentParser(prog="benchmarks.local_model", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of published plans")
    parser.add_argument("--rows", type=int, default=50, help="rows of published plans")
    parser.add_argument("--demo", type=int, default=10, help="questions about the demo")
    parser.add_argument("--minutes", type=float, default=600, help="ask no more after that")
    parser.add_argument("--threads", type=int, default=1, help="threads of the model")
    parser.add_argument("--form", choices=FORMS, default="small", help="the form of replies")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    every: list[Figures] = []
    started = time.perf_counter()
    with llama_server(given.threads) as server:
        cases: dict[str, Iterable[Case]] = {
            "rows": row_cases(given.data, given.rows, server),
            "demo": demo_cases(given.demo),
        }
        for name, listed in cases.items():
            found = Figures(f"{name}, {given.form}")
            every.append(found)
            for case in listed:
                if time.perf_counter() - started > 60 * given.minutes:
                    break
                asyncio.run(ask(case, server, found, small=given.form == "small"))
                print(json.dumps(asdict(found)), file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps([asdict(each) for each in every], indent=2))
        return
    print(f"model: {versions()}")
    for each in every:
        _print(each)


def _print(each: Figures) -> None:
    n = max(each.questions, 1)
    print(f"{each.group}: {each.questions} questions")
    for name in ("read", "first_try", "after_feedback", "right_tools", "copied", "asked_back"):
        count = getattr(each, name)
        print(f"  {name.replace('_', ' '):<16}{count:>4} ({100 * count / n:.0f} %)")
    print(
        f"  for a question: {each.requests / n:.1f} requests, {each.tokens_in / n:.0f} tokens in,"
        f" {each.tokens_out / n:.0f} out, {each.seconds / n:.1f} s"
    )
    if each.failures:
        print("  no reply to use: " + ", ".join(f"{c} {k}" for k, c in each.failures.items()))


if __name__ == "__main__":
    main()
