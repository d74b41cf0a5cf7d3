"""`toolplan test` and `toolplan eval`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter, validators

from toolplan.app.app import App
from toolplan.cli.options import ContractsOption, JsonFlag, ModelOption, ToolsOption, whole
from toolplan.cli.plan_file import read_text, writing
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan.providers import total
from toolplan.show.document import Prose
from toolplan.show.printable import count_text, printable
from toolplan.testing.plans import runner
from toolplan.testing.plans.cases import CaseFile, Recorded, read_cases, read_data

Files = Annotated[
    Path, Parameter(name="FILE", help="Files of questions with their expected plans; YAML or JSON.")
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """The options of `toolplan test` and `toolplan eval`.

    Attributes:
        planner: The planner, instead of the file's: as for `toolplan plan`.
        times: How many times each question is asked.
        junit_file: Write the results to this file, as JUnit XML.
    """

    tools: ToolsOption = None
    planner: str | None = None
    model: ModelOption = None
    times: Annotated[
        int,
        Parameter(
            name=("--times", "-n"), converter=whole, validator=validators.Number(gte=1, lte=1_000)
        ),
    ] = 1
    junit_file: Annotated[Path | None, Parameter(name="--junit")] = None
    as_json: JsonFlag = False


@dataclass(frozen=True, kw_only=True)
class RecordOptions(TestOptions):
    """The options of `toolplan test`.

    Attributes:
        record: Record the plans of questions without `expect`, beside the file: FILE.plans.json.
    """

    contracts: ContractsOption = ()
    record: bool = False


def test_command(*files: Files, options: RecordOptions = RecordOptions()) -> int:
    """Ask questions, and compare their plans with what is expected. No tool is called.

    A question without `expect` is compared with its recorded plan. Options win over what a file
    says. Exits 1 where a plan is not as expected.
    """
    if not files:
        raise CommandError("usage", "FILE is missing.", "Name a file of plan tests.")
    read = [read_cases(path) for path in files]
    results: list[tuple[Path, runner.CaseResult]] = []
    for file in read:
        recorded = Recorded(file.path)
        with runner.open_for(
            file,
            tools=options.tools or (),
            planner=options.planner,
            model=options.model or (),
            contracts=options.contracts,
            on_note=note,
        ) as app:
            if options.record:
                asyncio.run(_record(app, file, recorded))
            ended = asyncio.run(_tested(app, file, recorded, options))
        results += [(file.path, each) for each in ended]
    _write_junit(options.junit_file, results)
    failed = sum(not each.succeeded for _, each in results)
    if options.as_json:
        print_json({"failed": failed, "tests": [_to_json(*each) for each in results]})
    else:
        out().print(f"{count_text(len(results), 'question')}, {failed} failed.", style="bold")
    return (Exit.FAILED if failed else Exit.FINE).value


def _write_junit(path: Path | None, results: Sequence[tuple[Path, runner.CaseResult]]) -> None:
    if path is not None:
        with writing(path):
            path.write_text(runner.junit(results), "utf-8")


async def _record(app: App, file: CaseFile, recorded: Recorded) -> None:
    """Record the plan of each question that expects nothing, and save them all."""
    count = 0
    for case in file.cases:
        if case.expect is None:
            asked = await app.plan(case.question, today=case.today)
            recorded[case] = None if asked.plan is None else asked.plan.plan
            count += asked.plan is not None
            if asked.plan is None:
                note(printable(f"Recorded that there is no plan for: {case.question}"))
    recorded.save()
    note(f"{count_text(count, 'plan')} recorded in {recorded.path}.")


async def _tested(
    app: App, file: CaseFile, recorded: Recorded, options: TestOptions
) -> Sequence[runner.CaseResult]:
    results: list[runner.CaseResult] = []
    for case in file.cases:
        result = await runner.run_case(app, case, recorded, options.times)
        results.append(result)
        if not options.as_json:
            print_result(result)
    return results


def print_result(result: runner.CaseResult) -> None:
    """Print whether a question has its plan, and the problems where it has not."""
    console, many = out(), len(result.problems)
    sign, style = ("✓", "green") if result.succeeded else ("✗", "bold red")
    share = f"  {result.passed}/{many}" if many > 1 else ""
    console.print(Prose(f"{sign} {printable(result.case.question)}{share}", style, below="    "))
    if not result.succeeded:
        for line in "\n".join(next(each for each in result.problems if each)).splitlines():
            console.print(Prose(f"    {line}"))


def _to_json(path: Path, result: runner.CaseResult) -> Json:
    return {
        "file": str(path),
        "question": result.case.question,
        "today": result.case.today,
        "passed": result.passed,
        "times": len(result.problems),
        "problems": [list(each) for each in result.problems],
        "plan": None if result.plan is None else dump(result.plan),
    }


_DAY: Final = "2025-01-01"
"""The day of questions of data sets that name none."""
_LONGEST: Final = 100_000
_COLUMNS: Final = {
    "asked": "n",
    "right": "right",
    "wrong": "wrong",
    "asked_back": "asked",
    "failed": "failed",
    "first_draft": "1st draft",
    "repaired": "repaired",
    "invented": "invented",
    "calls": "calls",
    "tokens_in": "tokens in",
    "tokens_cached": "cached",
    "tokens_out": "out",
}
"""Numbers by name, with their column."""


@dataclass(frozen=True, kw_only=True)
class EvalOptions(TestOptions):
    """The options of `toolplan eval`.

    Attributes:
        instructions: A file of instructions: the prompt is compared with and without. Repeatable.
        data: A data set: in each line a question, its tools and its plan, as JSON. Repeatable.
        rows: How many rows of each data set, spread over its file.
    """

    instructions: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    rows: Annotated[int, Parameter(converter=whole, validator=validators.Number(gte=1))] = 100


def eval_command(*files: Files, options: EvalOptions = EvalOptions()) -> None:
    """Measure how good plans are: by model, and by prompt. No tool is called.

    The files are those of `toolplan test`. Each model of --model is measured by itself. Of a
    question that is asked, its plan is right, wrong (it passes the check and is another one),
    asked back about, or failed.
    """
    if not files and not options.data:
        raise CommandError("usage", "FILE is missing.", "Name a file of plan tests, or --data.")
    read = [read_cases(path) for path in files]
    for file in read:
        recorded = Recorded(file.path)
        for case in file.cases:
            if case.expect is None and case not in recorded:
                raise CommandError(
                    "usage",
                    f"{file.path}: nothing is expected of {case.question!r}.",
                    "Write `expect`, or record plans that are right: toolplan test --record.",
                )
    read += [each for path in options.data for each in read_data(path, options.rows, _DAY, note)]
    documents: list[dict[str, Json]] = []
    cases: list[tuple[Path, runner.CaseResult]] = []
    for name, chosen, text in _variants(read, options.model or (), options.instructions):
        results: list[tuple[Path, runner.Measured]] = []
        for file in read:
            found = _asked(file, chosen, text, options)
            results += [(file.path, each) for each in found]
        documents.append(_document(name, chosen, text, results))
        for path, each in results:
            case = runner.CaseResult(each.case, (each.problems,), None, each.seconds)
            cases.append((Path(f"{name}: {path}"), case))
        note(f"{printable(name)}: {len(results)} asked.")
    _write_junit(options.junit_file, cases)
    if options.as_json:
        print_json({"variants": [*documents]})
    else:
        _print(documents)


def _variants(
    files: Sequence[CaseFile], models: Sequence[str], instructions: Sequence[Path]
) -> list[tuple[str, str | None, str]]:
    """Return each model with each prompt: a name, the model, its instructions."""
    named = models or tuple(dict.fromkeys(each.model for each in files))
    texts = [("", ""), *((path.name, read_text(path).strip()) for path in instructions)]
    for path, (_, text) in zip(instructions, texts[1:], strict=True):
        if not text or len(text) > _LONGEST:
            message = f"{path} has no text, or more than {_LONGEST:,} characters."
            raise CommandError("usage", message)
    return [
        (" + ".join(filter(None, (each or "no model", name))), each, text)
        for each, (name, text) in product(named, texts)
    ]


def _asked(
    file: CaseFile, model: str | None, instructions: str, options: TestOptions
) -> list[runner.Measured]:
    recorded = Recorded(file.path)
    with runner.open_for(
        file,
        tools=options.tools or (),
        planner=options.planner or ("llm" if model else None),
        model=() if model is None else (model,),
        instructions=instructions,
        on_note=note,
    ) as app:

        async def ask_all() -> list[runner.Measured]:
            every = [case for case in file.cases for _ in range(options.times)]
            return [await runner.measured(app, case, recorded) for case in every]

        return asyncio.run(ask_all())


def _document(
    name: str, model: str | None, instructions: str, results: Sequence[tuple[Path, runner.Measured]]
) -> dict[str, Json]:
    """Return a model with a prompt, its figures, and the results of its questions."""
    every = [each for _, each in results]
    questions: list[Json] = [
        {
            "file": str(path),
            "question": each.case.question,
            "today": each.case.today,
            "outcome": each.outcome,
            "problems": list(each.problems),
            "drafts": each.drafts,
            "invented": each.invented,
            **_used([each]),
        }
        for path, each in results
    ]
    return {
        "name": name,
        "model": model,
        "instructions": instructions,
        **runner.figures(every),
        **_used(every),
        "questions": questions,
    }


def _used(results: Sequence[runner.Measured]) -> dict[str, Json]:
    usage = total(each.usage for each in results)
    return {
        "seconds": sum(each.seconds for each in results),
        "calls": usage.calls,
        "tokens_in": usage.input_tokens,
        "tokens_cached": usage.cached_tokens,
        "tokens_out": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }


def _print(documents: Sequence[Any]) -> None:
    """Print the figures of each model and prompt, and whose outcomes differ from the first."""
    rows = [("", *_COLUMNS.values(), "s", "$")]
    for each in documents:
        cost = "-" if each["cost_usd"] is None else f"{each['cost_usd']:.4f}"
        numbers = (f"{each[name]:,}" for name in _COLUMNS)
        rows.append((printable(each["name"]), *numbers, f"{each['seconds']:.1f}", cost))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    console = out()
    for name, *numbers in rows:
        right = (text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))
        console.print("  ".join((name.ljust(widths[0]), *right)), soft_wrap=True)
    first, *others = documents
    for other in others:
        console.print(f"\n{first['name']} -> {other['name']}", style="bold")
        pairs = zip(first["questions"], other["questions"], strict=True)
        changed = [(one, two) for one, two in pairs if one["outcome"] != two["outcome"]]
        for one, two in changed:
            console.print(f"  {one['outcome']} -> {two['outcome']}: {printable(one['question'])}")
        if not changed:
            console.print("  No question has another outcome.")
