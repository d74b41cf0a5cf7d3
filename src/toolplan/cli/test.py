"""`toolplan test FILE…`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from toolplan.app.app import App
from toolplan.cli.options import ContractsOption, JsonFlag, ModelOption, ToolsOption
from toolplan.cli.plan_file import writing
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.path import Json
from toolplan.plan_json import dump
from toolplan.plan_tests.cases import CaseFile, read_cases
from toolplan.plan_tests.recorded import Recorded
from toolplan.plan_tests.runner import CaseResult, junit, open_for, run_cases
from toolplan.render._lines import Prose
from toolplan.render.printable import count_text, printable

Files = Annotated[
    Path, Parameter(name="FILE", help="Files of questions with their expected plans; YAML or JSON.")
]
PlannerChoice = Annotated[
    str | None, Parameter(help="The planner, instead of the file's: as for `toolplan plan`.")
]
TimesOption = Annotated[
    int,
    Parameter(
        name=("--times", "-n"),
        help="How many times each question is asked.",
        validator=validators.Number(gte=1, lte=1_000),
    ),
]
RecordFlag = Annotated[
    bool,
    Parameter(
        help="Record the plans of questions without `expect`, beside the file: FILE.plans.json."
    ),
]
JunitOption = Annotated[
    Path | None, Parameter(name="--junit", help="Write the results to this file, as JUnit XML.")
]


def test_command(
    *files: Files,
    tools: ToolsOption = (),
    planner: PlannerChoice = None,
    model: ModelOption = (),
    contracts: ContractsOption = (),
    times: TimesOption = 1,
    record: RecordFlag = False,
    junit_file: JunitOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Ask questions, and compare their plans with what is expected. No tool is called.

    A question without `expect` is compared with its recorded plan. Options win over what a file
    says. Exits 1 where a plan is not as expected.
    """
    if not files:
        raise CommandError("usage", "FILE is missing.", "Name a file of plan tests.")
    read = [read_cases(path) for path in files]
    results: list[tuple[Path, CaseResult]] = []
    for file in read:
        recorded = Recorded(file.path)
        with open_for(
            file, tools=tools, planner=planner, model=model, contracts=contracts, on_note=note
        ) as app:
            if record:
                asyncio.run(_record(app, file, recorded))
            ended = asyncio.run(_tested(app, file, recorded, times, as_json=as_json))
        results += [(file.path, each) for each in ended]
    if junit_file is not None:
        with writing(junit_file):
            junit_file.write_text(junit(results), "utf-8")
    failed = sum(not each.succeeded for _, each in results)
    if as_json:
        print_json({"failed": failed, "tests": [_to_json(*each) for each in results]})
    else:
        out().print(f"{count_text(len(results), 'question')}, {failed} failed.", style="bold")
    return (Exit.FAILED if failed else Exit.FINE).value


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
    app: App, file: CaseFile, recorded: Recorded, times: int, *, as_json: bool
) -> Sequence[CaseResult]:
    results: list[CaseResult] = []
    async for result in run_cases(app, file.cases, recorded, times):
        results.append(result)
        if not as_json:
            print_result(result)
    return results


def print_result(result: CaseResult) -> None:
    """Print whether a question has its plan, and the problems where it has not."""
    console, many = out(), len(result.problems)
    sign, style = ("✓", "green") if result.succeeded else ("✗", "bold red")
    share = f"  {result.passed}/{many}" if many > 1 else ""
    console.print(Prose(f"{sign} {printable(result.case.question)}{share}", style, below="    "))
    if not result.succeeded:
        for line in "\n".join(next(each for each in result.problems if each)).splitlines():
            console.print(Prose(f"    {line}"))


def _to_json(path: Path, result: CaseResult) -> Json:
    return {
        "file": str(path),
        "question": result.case.question,
        "today": result.case.today,
        "passed": result.passed,
        "times": len(result.problems),
        "problems": [list(each) for each in result.problems],
        "plan": None if result.plan is None else dump(result.plan),
    }
