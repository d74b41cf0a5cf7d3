"""The answer: the results of a run in sentences and tables.

It reads neither the question nor knows a domain: names come from the schemas (`x-entity`,
`x-unit`), everything else from the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.base.shown import Shown, short
from toolplan.events import Partial, Run, RunState, StepRun, StepState, part_to_json
from toolplan.plan.model import Plan, Step
from toolplan.plan.path import EVERY, Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.answer.insights import InsightFunction
from toolplan.show.answer.sections import (
    Result,
    Section,
    result_steps,
    results_of,
    section_of,
    size_text,
)
from toolplan.show.answer.shape import hints, shape_of
from toolplan.show.answer.trend import DEFAULT, Thresholds
from toolplan.show.document import Block, Bullets, Document, Lead, Note, document_text
from toolplan.show.printable import count_text, cut, number_text, printable

ROWS: Final = 10
_MOST_PROBLEMS: Final = 20
_MOST_OTHERS: Final = 8
_MOST_SUMMARIES: Final = 3
_MESSAGE_WIDTH: Final = 300
_OPEN: Final = frozenset({StepState.PENDING, StepState.RUNNING})

_SQL: Final = "sql"
_VERDICTS: Final = {
    RunState.SUCCEEDED: "",
    RunState.CANCELLED: "The run was cancelled; {done}.",
    RunState.RUNNING: "The run is not over; {done} so far.",
    RunState.WAITING: "The run is waiting; {done} so far.",
    RunState.IN_DOUBT: "The run is in doubt, and a person must decide; {done}.",
}


class Problem(Struct, frozen=True):
    """A step that did not succeed.

    `code` is that of the failure, or the state if there is none. `fatal` is false if the plan
    allows it (`on_error: continue`, a false `when`).
    """

    step: str
    state: StepState
    code: str
    message: str
    fatal: bool

    @property
    def text(self) -> str:
        """The problem in a sentence."""
        what = self.state.value.replace("_", " ")
        if self.state is StepState.SUCCEEDED:
            what = "failed, and the plan continued"
        return f"{self.step} {what}: {self.message}" if self.message else f"{self.step} {what}."


class Answer(Shown, Struct, frozen=True):
    """The answer to a question, as the user reads it.

    Attributes:
        headline: the result in a sentence or two; failures come first.
        sections: one for each output of the plan.
        problems: steps that failed, were skipped or cancelled, in plan order.
        on_the_way: the sizes of the other outputs, as `s0: 12 orders`.
        partial: the lists of which the answer has a part only; the headline says so.
    """

    headline: str
    sections: tuple[Section, ...]
    problems: tuple[Problem, ...]
    on_the_way: tuple[str, ...]
    partial: tuple[Partial, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Answer({short(self.headline)})"

    @property
    def document(self) -> Document:
        """The answer as blocks, in reading order."""
        bad = any(problem.fatal for problem in self.problems)
        blocks: list[Block] = [Lead(self.headline, bad=bad)]
        if self.problems:
            texts = [problem.text for problem in self.problems[:_MOST_PROBLEMS]]
            if more := len(self.problems) - len(texts):
                texts.append(f"{number_text(more, grouped=True)} more steps like these.")
            blocks.append(Bullets(tuple(texts), bad=bad))
        several = len(self.sections) > _MOST_SUMMARIES
        for section in self.sections:
            inside = section.blocks()
            if several and not section.is_shown:
                blocks.append(Note(section.summary))
            blocks.extend(inside)
        if self.on_the_way:
            steps = "; ".join(self.on_the_way[:_MOST_OTHERS])
            more = len(self.on_the_way) - _MOST_OTHERS
            rest = f"; and {number_text(more, grouped=True)} more steps" if more > 0 else ""
            blocks.append(Note(f"Other steps: {steps}{rest}."))
        return tuple(blocks)

    @property
    def text(self) -> str:
        """The answer as plain text."""
        return document_text(self.document)

    def to_json(self) -> dict[str, Json]:
        """Return the answer as JSON, with its text."""
        return {
            "headline": self.headline,
            "sections": [section.to_json() for section in self.sections],
            "problems": [
                {**asdict(problem), "state": problem.state.value} for problem in self.problems
            ],
            "on_the_way": list(self.on_the_way),
            **part_to_json(self.partial),
            "text": self.text,
        }


def answer(
    plan: ExecutionPlan | Plan,
    run: Run,
    *,
    schemas: Mapping[str, Json] | None = None,
    insights: Sequence[InsightFunction] = (),
    rows: int = ROWS,
    thresholds: Thresholds = DEFAULT,
    effects: Collection[str] = (),
) -> Answer:
    """Return the answer of `run`, a run of `plan`.

    `schemas` are the known output schemas by step id; for a step with `for_each` either of one call
    or of the whole list. `insights` are functions of a domain, called with the entity and all the
    rows; their exceptions are not caught. `rows` is how many rows of a long list are shown.
    `thresholds` say what is an outlier and what is a trend.
    `effects` are the ids of the steps that change something; an execution plan says so itself.
    """
    if isinstance(plan, ExecutionPlan):
        effects, plan = plan.effects, plan.plan
    steps = {step.id: step for step in plan.steps}
    known = schemas or {}
    too_large = run.output is None and run.error is not None
    results = () if too_large else results_of(plan, run)
    continued = {name for name, step in run.steps.items() if step.error and step.output is None}
    sections = tuple(
        _section(each, steps, known, run, effects, insights, rows, thresholds)
        for each in results
        if each.step not in continued
    )
    problems = _problems(run)
    given = set(result_steps(plan))
    return Answer(
        headline=_headline(run, sections, problems, _zones(run, steps)),
        sections=sections,
        problems=problems,
        on_the_way=tuple(
            _size_text(step, run.steps[name].output, known.get(name))
            for name, step in steps.items()
            if name not in given
            and name in run.steps
            and run.steps[name].state is StepState.SUCCEEDED
            and name not in continued
        ),
        partial=run.partial,
    )


def _zones(run: Run, steps: Mapping[str, Step]) -> list[str]:
    """Return the time zones, other than their own, in which steps of `sql` have read times."""
    ran = [run.steps[name] for name in steps if steps[name].tool == _SQL and name in run.steps]
    outputs = [step.output for step in ran if isinstance(step.output, dict)]
    return sorted({str(output["zone"]) for output in outputs if "zone" in output})


def _headline(
    run: Run, sections: Sequence[Section], problems: Sequence[Problem], zones: Sequence[str]
) -> str:
    parts = [_verdict(run, problems)]
    parts += [section.summary for section in sections[:_MOST_SUMMARIES]]
    if more := len(sections) - _MOST_SUMMARIES:
        parts += [f"{more} more results are below."] if more > 0 else []
    if len(parts) == 1 and not parts[0]:
        return "The plan has no results."
    if run.partial:
        texts = [cut(printable(each.text), _MESSAGE_WIDTH) for each in run.partial]
        if more := len(texts) - _MOST_SUMMARIES:
            texts[_MOST_SUMMARIES:] = [count_text(more, "more list")] if more > 0 else []
        parts.append(f"Over a part only: {'; '.join(texts)}.")
    if zones:
        parts.append(f"Times, days and hours are those of {' and '.join(zones)}.")
    return " ".join(part for part in parts if part)


def _verdict(run: Run, problems: Sequence[Problem]) -> str:
    """Return a sentence on how the run ended; empty if it succeeded."""
    total = count_text(len(run.steps), "step")
    done = sum(step.state is StepState.SUCCEEDED for step in run.steps.values())
    if run.status is not RunState.FAILED:
        return _VERDICTS[run.status].format(done=f"{done} of {total} succeeded")
    failed = sum(problem.state is StepState.FAILED for problem in problems)
    if run.error is not None and not failed:  # its output could not be given
        return f"The run failed: {cut(printable(run.error.message), _MESSAGE_WIDTH)}"
    if failed:
        return f"The run failed: {failed} of {total} failed."
    return f"The run failed; {done} of {total} succeeded."


def _problems(run: Run) -> tuple[Problem, ...]:
    over = run.status is not RunState.RUNNING
    return tuple(
        _problem(name, step)
        for name, step in run.steps.items()
        if (step.state is not StepState.SUCCEEDED or step.error is not None)
        and (over or step.state not in _OPEN)
    )


def _problem(name: str, step: StepRun) -> Problem:
    code = step.state.value.replace("_", "-") if step.error is None else step.error.code
    message = "" if step.error is None else cut(printable(step.error.message), _MESSAGE_WIDTH)
    allowed = step.state is StepState.SUCCEEDED or code == "when-false"
    return Problem(name, step.state, printable(code), message, fatal=not allowed)


def _section(
    result: Result,
    steps: Mapping[str, Step],
    schemas: Mapping[str, Json],
    run: Run,
    effects: Collection[str],
    insights: Sequence[InsightFunction],
    rows: int,
    thresholds: Thresholds,
) -> Section:
    step = steps.get(result.step)
    repeats = step is not None and step.for_each is not None
    place, path, calls = hints(schemas.get(result.step)), result.path, None
    if repeats and path and not place.is_list:
        path = path[1:]  # the schema is that of one call: the first segment picks among calls
    if result.step in effects:
        output = run.steps[result.step].output
        calls = len(output) if repeats and isinstance(output, list) else 1
    return section_of(
        result,
        place.at(path),
        tool="result" if step is None else step.tool,
        each=repeats and result.path in ((), (EVERY,)),
        insights=insights,
        rows=rows,
        thresholds=thresholds,
        calls=calls,
    )


def _size_text(step: Step, output: Json, schema: Json) -> str:
    shape = shape_of(output, hints(schema), each=step.for_each is not None)
    return f"{printable(step.id)}: {size_text(shape, step.tool)}"
