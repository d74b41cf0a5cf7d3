"""How often the plan cache serves another wording, and that it never serves another question.

`python -m benchmarks.plan_cache [--json] [--show] [--edits N] [--seed N]` reads the pairs of
questions over the demo in `tests/planners/cache_pairs.json`. The plan for the first question of a
pair is kept, the second is asked. A hit is right if its steps are those of the right plan: what the
grounded planner plans for the second question alone, or what is written beside it; where neither
is, no hit is right.

The sets that are called unseen were written after the rules of wording, and nothing was changed
for them. Each set is measured three times: with the plan as the grounded planner gives it; with the
bare plan that a model might give, without metadata; and with the plans of all pairs in one cache.

With `--edits` as many questions are made besides by changing a word or two of the first questions,
sense or nonsense; a hit must be what the grounded planner plans for the changed question, where it
plans it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from toolplan.demo import demo_tools
from toolplan.path import Json
from toolplan.planners import Draft, GroundedPlanner, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.planners.grounded.language.words import word_set
from toolplan.sources.sql import sql_tool
from toolplan.storage.plan_cache import PlanCache
from toolplan.tools import Toolbox

TODAY: Final = "2025-10-12"
PAIRS: Final = Path(__file__).parent.parent / "tests" / "planners" / "cache_pairs.json"
PARAPHRASES: Final = ("paraphrases", "unseen_paraphrases")
NEAR_MISSES: Final = ("near_misses", "unseen_near_misses")
SETS: Final = (*PARAPHRASES, *NEAR_MISSES)
WAYS: Final = ("grounded", "bare", "together")


class Pair(NamedTuple):
    """Two questions. `steps` are the right ones for `asked`, None where nothing is right."""

    kept: str
    asked: str
    steps: str | None


@dataclass(frozen=True, slots=True)
class Hits:
    """What came of a set. `wrong` lists the questions that got another question's plan."""

    pairs: int
    right: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]
    lookup_ms: float

    @property
    def share(self) -> float:
        """Right hits as a share of all pairs."""
        return self.right / self.pairs


@cache
def demo() -> Toolbox:
    """Return the demo's tools over made-up data of one day, and the one that computes."""
    tools = demo_tools(date.fromisoformat(TODAY), rows=50)
    return tools if "sql" in tools else tools.with_tools(sql_tool())


_GROUNDED: Final = GroundedPlanner()


@cache
def planned(question: str) -> str | None:
    """Return the grounded planner's draft for `question`, None where it has none."""
    proposal = _GROUNDED.plan(Question(question, TODAY), demo())
    return proposal.text if isinstance(proposal, Draft) else None


def steps(text: str) -> str:
    """Return the steps of a draft, as text that is equal for equal steps."""
    return spelt(json.loads(text)["steps"])


def spelt(value: Json) -> str:
    """Return the JSON text of `value`; unlike numbers in Python, 1 and 1.0 are two."""
    return json.dumps(value, sort_keys=True)


def bare(text: str) -> str:
    """Return a draft as a model might write it: the plan alone."""
    return json.dumps({"toolplan": 1, "steps": json.loads(text)["steps"]})


def pairs(name: str) -> list[Pair]:
    """Read the set `name`, with the right steps of each second question."""
    rows = json.loads(PAIRS.read_text(encoding="utf-8"))[name]
    read: list[Pair] = []
    for row in rows:
        text = None if "steps" in row else planned(row["asked"])
        written = row.get("steps")
        right = steps(text) if text is not None else None
        if written is not None:
            right = spelt(written)
        read.append(Pair(row["kept"], row["asked"], right))
    return read


def keeper(size: int) -> CachedPlanner:
    """Return a planner with an empty cache for `size` plans."""
    store = PlanCache(max_size=size)
    return CachedPlanner(_GROUNDED, store, name="grounded", version="1")


def keep(planner: CachedPlanner, question: str, plain: bool) -> None:
    """Have `planner` keep the plan for `question`; it must have one."""
    text = planned(question)
    if text is None:
        raise ValueError(f"There is no plan to keep for {question!r}.")
    draft = Draft(bare(text) if plain else text)
    planner.keep(Question(question, TODAY), demo(), draft)


def apart(rows: Sequence[Pair], *, plain: bool) -> Hits:
    """Measure pair by pair: the cache has the plan for the first question only."""
    found: list[tuple[Pair, Draft | None]] = []
    spent = 0.0
    planner = keeper(1)
    for pair in rows:
        planner.cache.clear()
        keep(planner, pair.kept, plain)
        started = time.perf_counter()
        draft = planner.recall(Question(pair.asked, TODAY), demo())
        spent += time.perf_counter() - started
        found.append((pair, draft))
    return _hits(found, spent)


def together(rows: Sequence[Pair], kept: Iterable[str]) -> Hits:
    """Measure with the plans for all of `kept` in one cache.

    A question that is itself among them is not asked: it would find its own plan.
    """
    questions = list(dict.fromkeys(kept))
    planner = keeper(len(questions))
    for question in questions:
        keep(planner, question, False)
    asked = [pair for pair in rows if pair.asked not in questions]
    started = time.perf_counter()
    found = [(pair, planner.recall(Question(pair.asked, TODAY), demo())) for pair in asked]
    return _hits(found, time.perf_counter() - started)


def _hits(found: Sequence[tuple[Pair, Draft | None]], spent: float) -> Hits:
    right = sum(1 for pair, draft in found if draft is not None and steps(draft.text) == pair.steps)
    wrong = [
        f"{pair.kept} -> {pair.asked}"
        for pair, draft in found
        if draft is not None and steps(draft.text) != pair.steps
    ]
    missed = [f"{pair.kept} -> {pair.asked}" for pair, draft in found if draft is None]
    return Hits(len(found), right, tuple(wrong), tuple(missed), 1000 * spent / len(found))


def measure(ways: Sequence[str] = WAYS) -> dict[str, dict[str, Hits]]:
    """Return the figures of each set, by the ways in which it was measured."""
    read = {name: pairs(name) for name in SETS}
    kept = [pair.kept for rows in read.values() for pair in rows]
    return {name: {way: _measured(rows, kept, way) for way in ways} for name, rows in read.items()}


def _measured(rows: Sequence[Pair], kept: Sequence[str], way: str) -> Hits:
    return together(rows, kept) if way == "together" else apart(rows, plain=way == "bare")


WORDS: Final = tuple(
    sorted(
        word_set("""
    only not except no without with first last this next before after until since more less fewer
    most and or each every all some any how many other than never one those them same also again
    both neither yet but if who when where which what were is are have still per by for from to in
    on of at highest lowest average total share number latest oldest top today yesterday October
    week month Monday 2 3 5 50 100 kg tonnes ppm rejected pending delivered accepted clean
    contaminated plastic paper lead mercury critical high low risk Berlin Munich Hamburg Paris F2 F7
    S20251011-001 EcoTrans GreenHaul Becker carriers facility facilities shipment shipments
    deliveries inspections contaminants status type weight delete update create show list please
    """)
    )
)
"""What `edited` puts into questions."""


def edited(question: str, places: Sequence[int], words: Sequence[str]) -> str:
    """Change `question` at the words that `places` point to, each with one of `words`.

    A place is a number from 0; what is done there, putting in, taking out or replacing, hangs on it
    too, so that any row of numbers gives an edit.
    """
    parts = question.split()
    for place, word in zip(places, words, strict=True):
        at, deed = place % len(parts), place // len(parts) % 4
        if deed == 0 and len(parts) > 1:
            del parts[at]
        elif deed == 1:
            parts.insert(at, word)
        else:
            parts[at] = word
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Edits:
    """What came of changed questions: `unplanned` hits are those that the planner asks back on."""

    questions: int
    right: int
    unplanned: int
    wrong: tuple[str, ...]


def measure_edits(count: int, seed: int) -> Edits:
    """Ask `count` changed questions, each of a cache with the plan of the unchanged one."""
    chance = random.Random(seed)
    kept = [row.kept for name in SETS for row in pairs(name)]
    right = unplanned = 0
    wrong: list[str] = []
    planner = keeper(1)
    for at in range(count):
        question = chance.choice(kept)
        changes = chance.choice([1, 1, 2])
        places = [chance.randrange(200) for _ in range(changes)]
        asked = edited(question, places, chance.choices(WORDS, k=changes))
        planner.cache.clear()
        keep(planner, question, bool(at % 2))
        draft = planner.recall(Question(asked, TODAY), demo())
        fresh = planned(asked) if draft is not None else None
        if draft is None:
            continue
        if fresh is None:
            unplanned += 1
        elif steps(draft.text) == steps(fresh):
            right += 1
        else:
            wrong.append(f"{question} -> {asked}")
    return Edits(count, right, unplanned, tuple(wrong))


def lines(figures: dict[str, dict[str, Hits]], show: bool) -> list[str]:
    """Return the table; with `show` also the pairs that were missed."""
    table = [f"{'set':<20}{'plans':<10}{'pairs':>6}{'right hits':>12}{'wrong':>7}{'ms':>7}"]
    for name, ways in figures.items():
        for way, hits in ways.items():
            told = f"{hits.right} ({100 * hits.share:.0f} %)"
            row = f"{name:<20}{way:<10}{hits.pairs:>6}{told:>12}{len(hits.wrong):>7}"
            table.append(f"{row}{hits.lookup_ms:>7.2f}")
            table.extend(f"    WRONG {each}" for each in hits.wrong)
            if show:
                table.extend(f"    missed {each}" for each in hits.missed)
    return table


def main() -> None:
    """Measure, and print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.plan_cache", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--show", action="store_true", help="print what was missed")
    parser.add_argument("--edits", type=int, default=0, help="so many changed questions besides")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    given = parser.parse_args()
    figures = measure()
    edits = measure_edits(given.edits, given.seed) if given.edits else None
    if given.json:
        ways = {
            name: {way: asdict(hits) for way, hits in each.items()}
            for name, each in figures.items()
        }
        shown = {"pairs": ways, "edits": None if edits is None else asdict(edits)}
        print(json.dumps(shown, indent=2))
        return
    print("\n".join(lines(figures, given.show)))
    if edits is not None:
        hits = edits.right + edits.unplanned + len(edits.wrong)
        print(
            f"{edits.questions} changed questions: {hits} hits, {edits.right} right,"
            f" {edits.unplanned} where the grounded planner asks back, {len(edits.wrong)} wrong"
        )
        print("\n".join(f"    WRONG {each}" for each in edits.wrong))


if __name__ == "__main__":
    main()
