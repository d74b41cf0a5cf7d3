"""The answer: what came of a run, in words and tables, from results alone.

An answer never reads the question and knows no domain: what things are called comes from the
schemas (`x-entity`, `x-unit`), everything else from the rows. So it can be wrong only where the
plan is, and the plan can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolplan.answer.hints import Hints, hints
from toolplan.answer.insights import InsightFunction
from toolplan.answer.results import Result, result_steps, results_of
from toolplan.answer.sections import Section, count_text, section_of
from toolplan.answer.shape import shape_of
from toolplan.events import Run, RunState, StepRun, StepState
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import EVERY, Json
from toolplan.plan import Step
from toolplan.render.document import Block, Bullets, Document, Lead, Note, document_text
from toolplan.render.printable import cut, number_text, printable

ROWS: Final = 10
_MOST_PROBLEMS: Final = 20
_MOST_ON_THE_WAY: Final = 8
_MOST_SUMMARIES: Final = 3
_MESSAGE_WIDTH: Final = 300
_OPEN: Final = frozenset({StepState.PENDING, StepState.RUNNING})


@dataclass(frozen=True, slots=True)
class Problem:
    """A step that did not do what was planned, in the words of the run.

    `code` is the failure's, or the state's where the run gives no reason. `fatal` is false where
    the plan allowed for it (`on_error: continue`, a `when` that was false).
    """

    step: str
    state: StepState
    code: str
    message: str
    fatal: bool

    @property
    def text(self) -> str:
        """The sentence that tells of it."""
        what = "failed, and the plan went on" if self._gone_on else self.state.value
        what = what.replace("_", " ")
        return f"{self.step} {what}: {self.message}" if self.message else f"{self.step} {what}."

    @property
    def _gone_on(self) -> bool:
        return self.state is StepState.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user reads.

    Attributes:
        headline: what came of it, in a sentence or two; a failure comes first.
        sections: one for each thing that the plan gives.
        problems: steps that failed, were skipped or cancelled, in the order of the plan.
        on_the_way: what the other steps gave, shortly: `s0: 12 orders`.
    """

    headline: str
    sections: tuple[Section, ...]
    problems: tuple[Problem, ...]
    on_the_way: tuple[str, ...]

    @property
    def document(self) -> Document:
        """The whole answer as blocks, in the order in which they are read."""
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
            steps = "; ".join(self.on_the_way[:_MOST_ON_THE_WAY])
            more = len(self.on_the_way) - _MOST_ON_THE_WAY
            rest = f"; and {number_text(more, grouped=True)} more steps" if more > 0 else ""
            blocks.append(Note(f"On the way: {steps}{rest}."))
        return tuple(blocks)

    @property
    def text(self) -> str:
        """The whole answer as plain text, the same for every terminal."""
        return document_text(self.document)

    def to_json(self) -> dict[str, Json]:
        """Return the wire form; `text` is in it as well."""
        return {
            "headline": self.headline,
            "sections": [section.to_json() for section in self.sections],
            "problems": [
                {
                    "step": problem.step,
                    "state": problem.state.value,
                    "code": problem.code,
                    "message": problem.message,
                    "fatal": problem.fatal,
                }
                for problem in self.problems
            ],
            "on_the_way": list(self.on_the_way),
            "text": self.text,
        }


def answer(
    plan: ExecutionPlan,
    run: Run,
    *,
    schemas: Mapping[str, Json] | None = None,
    insights: Sequence[InsightFunction] = (),
    rows: int = ROWS,
) -> Answer:
    """Return the answer that `run`, a run of `plan`, allows.

    `schemas` are the known output schemas by step id; for a step with `for_each` either of one call
    or of the whole list. `insights` are functions of a domain, called with the entity and all the
    rows; their exceptions are not caught. `rows` is how many rows of a long list are shown.
    """
    steps = {step.id: step for step in plan.plan.steps}
    known = schemas or {}
    results = results_of(plan.plan, run)
    sections = tuple(
        section_of(
            result,
            _hints(result, steps, known),
            tool=_tool(result, steps),
            each=_each(result, steps),
            insights=insights,
            rows=rows,
        )
        for result in results
        if not _gone_on(run, result.step)
    )
    problems = _problems(run)
    given = set(result_steps(plan.plan))
    return Answer(
        headline=_headline(run, sections, problems),
        sections=sections,
        problems=problems,
        on_the_way=tuple(
            _shortly(step, run.steps[name].output, known.get(name))
            for name, step in steps.items()
            if name not in given
            and name in run.steps
            and run.steps[name].state is StepState.SUCCEEDED
            and not _gone_on(run, name)
        ),
    )


def _headline(run: Run, sections: Sequence[Section], problems: Sequence[Problem]) -> str:
    parts = [_verdict(run, problems)]
    parts += [section.summary for section in sections[:_MOST_SUMMARIES]]
    if more := len(sections) - _MOST_SUMMARIES:
        parts += [f"{more} more results are below."] if more > 0 else []
    if len(parts) == 1 and not parts[0]:
        return "The plan gave nothing."
    return " ".join(part for part in parts if part)


def _verdict(run: Run, problems: Sequence[Problem]) -> str:
    """Return the sentence on how the run ended; an empty text where it ended well."""
    total = len(run.steps)
    done = sum(step.state is StepState.SUCCEEDED for step in run.steps.values())
    steps = f"{done} of {total} {'step' if total == 1 else 'steps'} succeeded"
    match run.status:
        case RunState.SUCCEEDED:
            return ""
        case RunState.FAILED:
            failed = sum(problem.state is StepState.FAILED for problem in problems)
            which = f"{failed} of {total} {'step' if total == 1 else 'steps'} failed"
            return f"The run failed: {which}." if failed else f"The run failed; {steps}."
        case RunState.CANCELLED:
            return f"The run was cancelled; {steps}."
        case RunState.RUNNING:
            return f"The run is not over; {steps} so far."
        case RunState.WAITING:
            return f"The run is waiting; {steps} so far."
        case RunState.IN_DOUBT:
            return f"The run is in doubt, and a person must decide; {steps}."


def _problems(run: Run) -> tuple[Problem, ...]:
    over = run.status is not RunState.RUNNING
    return tuple(
        _problem(name, step)
        for name, step in run.steps.items()
        if (step.error is not None if step.state is StepState.SUCCEEDED else True)
        and (over or step.state not in _OPEN)
    )


def _problem(name: str, step: StepRun) -> Problem:
    code = step.state.value.replace("_", "-") if step.error is None else step.error.code
    message = "" if step.error is None else cut(printable(step.error.message), _MESSAGE_WIDTH)
    allowed = step.state is StepState.SUCCEEDED or code == "when-false"
    return Problem(name, step.state, printable(code), message, fatal=not allowed)


def _gone_on(run: Run, step: str) -> bool:
    """Whether the step failed and `on_error: continue` put null in the place of its output."""
    return (
        step in run.steps and run.steps[step].error is not None and run.steps[step].output is None
    )


def _hints(result: Result, steps: Mapping[str, Step], schemas: Mapping[str, Json]) -> Hints:
    place = hints(schemas.get(result.step))
    step = steps.get(result.step)
    path = result.path
    if step is not None and step.for_each is not None and path and not place.is_list:
        path = path[1:]  # the schema is that of one call: the first segment picks among calls
    return place.at(path)


def _tool(result: Result, steps: Mapping[str, Step]) -> str:
    step = steps.get(result.step)
    return "result" if step is None else step.tool


def _each(result: Result, steps: Mapping[str, Step]) -> bool:
    step = steps.get(result.step)
    if step is None or step.for_each is None:
        return False
    return result.path in ((), (EVERY,))


def _shortly(step: Step, output: Json, schema: Json) -> str:
    shape = shape_of(output, hints(schema), each=step.for_each is not None)
    return f"{printable(step.id)}: {count_text(shape, step.tool)}"
