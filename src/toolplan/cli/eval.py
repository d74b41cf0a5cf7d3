"""`toolplan eval FILE…`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from msgspec import Struct

from toolplan.cli.options import JsonFlag, ModelOption, ToolsOption
from toolplan.cli.plan_file import read_text, writing
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.cli.test import Files, JunitOption, PlannerChoice, TimesOption
from toolplan.path import Json
from toolplan.plan_tests.cases import Case, CaseFile, read_cases
from toolplan.plan_tests.data import read_data
from toolplan.plan_tests.measure import Figures, Measured, figures, measured
from toolplan.plan_tests.recorded import Recorded
from toolplan.plan_tests.runner import CaseResult, junit, open_for
from toolplan.render.printable import printable

InstructionsOption = Annotated[
    tuple[Path, ...],
    Parameter(
        help="A file with instructions for the model: the prompt with it is compared with the"
        " prompt without. May be given many times."
    ),
]
DataOption = Annotated[
    tuple[Path, ...],
    Parameter(
        help="A data set: a JSON object with a question, its tools and its plan in each line. May"
        " be given many times."
    ),
]
RowsOption = Annotated[int, Parameter(help="How many rows of each data set, spread over its file.")]
_MOST_TIMES: Final = 1000
_DAY: Final = "2025-01-01"
"""The day of questions of data sets that name none."""
_LONGEST: Final = 100_000
_COUNTS: Final = {
    "asked": "n",
    "right": "right",
    "wrong": "wrong",
    "asked_back": "asked",
    "failed": "failed",
    "first_draft": "1st draft",
    "repaired": "repaired",
    "invented": "invented",
}
"""Numbers of questions by name, with their column."""
_HEADS: Final = ("", *_COUNTS.values(), "calls", "tokens in", "cached", "out", "s", "$")


class _Variant(Struct, frozen=True):
    """A model with a prompt, and the results of its questions."""

    name: str
    model: str | None
    instructions: str
    results: tuple[tuple[Path, Measured], ...] = ()

    @property
    def figures(self) -> Figures:
        return figures(each for _, each in self.results)

    @property
    def cases(self) -> list[tuple[Path, CaseResult]]:
        """The results as those of plan tests, each file by the name of the variant."""
        return [
            (
                Path(f"{self.name}: {path}"),
                CaseResult(each.case, (each.problems,), None, each.seconds),
            )
            for path, each in self.results
        ]


def eval_command(
    *files: Files,
    tools: ToolsOption = (),
    planner: PlannerChoice = None,
    model: ModelOption = (),
    instructions: InstructionsOption = (),
    data: DataOption = (),
    rows: RowsOption = 100,
    times: TimesOption = 1,
    junit_file: JunitOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Measure how good plans are: by model, and by prompt. No tool is called.

    The files are those of `toolplan test`. Each model of --model is measured by itself. Of a
    question that is asked, its plan is right, wrong (it passes the check and is another one),
    asked back about, or failed.
    """
    if not files and not data:
        raise CommandError("usage", "FILE is missing.", "Name a file of plan tests, or --data.")
    if rows < 1:
        raise CommandError("usage", f"--rows {rows} is not 1 or more.")
    if not 1 <= times <= _MOST_TIMES:
        raise CommandError("usage", f"--times {times} is not from 1 to {_MOST_TIMES}.")
    read = [read_cases(path) for path in files]
    for file in read:
        _need_gold(file)
    read += [each for path in data for each in read_data(path, rows, _DAY, note)]
    ended: list[_Variant] = []
    for variant in _variants(read, model, instructions):
        results: list[tuple[Path, Measured]] = []
        for file in read:
            found = _asked(file, variant, tools=tools, planner=planner, times=times)
            results += [(file.path, each) for each in found]
        ended.append(_Variant(variant.name, variant.model, variant.instructions, tuple(results)))
        note(f"{printable(variant.name)}: {len(results)} asked.")
    if junit_file is not None:
        with writing(junit_file):
            junit_file.write_text(junit([each for one in ended for each in one.cases]), "utf-8")
    if as_json:
        print_json({"variants": [_to_json(each) for each in ended]})
    else:
        _print(ended)
    return Exit.FINE.value


def _variants(
    files: Sequence[CaseFile], models: Sequence[str], instructions: Sequence[Path]
) -> list[_Variant]:
    named = models or tuple(dict.fromkeys(each.model for each in files))
    texts = [("", ""), *((path.name, _text(path)) for path in instructions)]
    return [
        _Variant(" + ".join(filter(None, (each or "no model", name))), each, text)
        for each, (name, text) in product(named, texts)
    ]


def _text(path: Path) -> str:
    text = read_text(path).strip()
    if not text or len(text) > _LONGEST:
        raise CommandError("usage", f"{path} has no text, or more than {_LONGEST:,} characters.")
    return text


def _need_gold(file: CaseFile) -> None:
    recorded = Recorded(file.path)
    for case in file.cases:
        if case.expect is None and case not in recorded:
            raise CommandError(
                "usage",
                f"{file.path}: nothing is expected of {case.question!r}.",
                "Write `expect`, or record plans that are right: toolplan test --record.",
            )


def _asked(
    file: CaseFile, variant: _Variant, *, tools: Sequence[str], planner: str | None, times: int
) -> list[Measured]:
    chosen = planner or (None if variant.model is None else "llm")
    recorded = Recorded(file.path)
    with open_for(
        file,
        tools=tools,
        planner=chosen,
        model=() if variant.model is None else (variant.model,),
        instructions=variant.instructions,
        on_note=note,
    ) as app:

        async def ask_all() -> list[Measured]:
            every: list[Case] = [case for case in file.cases for _ in range(times)]
            return [await measured(app, case, recorded) for case in every]

        return asyncio.run(ask_all())


def _print(variants: Sequence[_Variant]) -> None:
    rows = [_HEADS, *(_row(each) for each in variants)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
    console = out()
    for row in rows:
        name, *numbers = (
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        console.print("  ".join((name, *numbers)).rstrip(), soft_wrap=True)
    first, *others = variants
    for other in others:
        console.print(f"\n{first.name} -> {other.name}", style="bold")
        pairs = zip(first.results, other.results, strict=True)
        changed = [(one, two) for (_, one), (_, two) in pairs if one.outcome != two.outcome]
        for one, two in changed:
            console.print(f"  {one.outcome} -> {two.outcome}: {printable(one.case.question)}")
        if not changed:
            console.print("  No question has another outcome.")


def _row(variant: _Variant) -> tuple[str, ...]:
    f = variant.figures
    counts = (getattr(f, name) for name in _COUNTS)
    used = (f.usage.calls, f.usage.input_tokens, f.usage.cached_tokens, f.usage.output_tokens)
    cost = "-" if f.usage.cost_usd is None else f"{f.usage.cost_usd:.4f}"
    numbers = (f"{each:,}" for each in (*counts, *used))
    return (printable(variant.name), *numbers, f"{f.seconds:.1f}", cost)


def _to_json(variant: _Variant) -> Json:
    f = variant.figures
    return {
        "name": variant.name,
        "model": variant.model,
        "instructions": variant.instructions,
        **{name: getattr(f, name) for name in _COUNTS},
        **_used(f.seconds, f),
        "questions": [_question(*each) for each in variant.results],
    }


def _used(seconds: float, of: Figures | Measured) -> dict[str, Json]:
    usage = of.usage
    return {
        "seconds": seconds,
        "calls": usage.calls,
        "tokens_in": usage.input_tokens,
        "tokens_cached": usage.cached_tokens,
        "tokens_out": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }


def _question(path: Path, each: Measured) -> Json:
    return {
        "file": str(path),
        "question": each.case.question,
        "today": each.case.today,
        "outcome": each.outcome,
        "problems": list(each.problems),
        "drafts": each.drafts,
        "invented": each.invented,
        **_used(each.seconds, each),
    }
