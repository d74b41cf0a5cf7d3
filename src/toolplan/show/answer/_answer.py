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
from toolplan.events import Partial, Run, RunState, StepState, part_to_json
from toolplan.plan.model import Plan, Step, refs, sinks
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.answer.insights import DEFAULT, InsightFunction, Thresholds
from toolplan.show.answer.sections import ROWS, Section, Style, results_of, section_of, size_text
from toolplan.show.answer.shape import NO_HINTS, hints, reported_failure, shape_of
from toolplan.show.document import Block, Bullets, Document, Lead, Note, document_text
from toolplan.show.printable import count_text, cut, number_text, printable

_REPORTED: Final = "reported-failure"
_MOST_PROBLEMS: Final = 20
_MOST_OTHERS: Final = 8
_MOST_SUMMARIES: Final = 3
_MESSAGE_WIDTH: Final = 300
_OPEN: Final = frozenset({StepState.PENDING, StepState.RUNNING})

_VERDICTS: Final = {
    RunState.SUCCEEDED: "",
    RunState.CANCELLED: "The run was cancelled; {done}.",
    RunState.RUNNING: "The run is not over; {done} so far.",
    RunState.WAITING: "The run is waiting; {done} so far.",
    RunState.IN_DOUBT: "The run is in doubt, and a person must decide; {done}.",
}


class Problem(Struct, frozen=True):
    """A step that did not succeed, or whose result itself reports a failure.

    `code` is that of the failure, or the state if there is none; `reported-failure` for a result.
    `fatal` is false if the plan goes on (`on_error: continue`, a false `when`, a result).
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
        if self.code == _REPORTED:
            what = "gave a result that reports a failure"
        elif self.state is StepState.SUCCEEDED:
            what = "failed, and the plan continued"
        return f"{self.step} {what}: {self.message}" if self.message else f"{self.step} {what}."


class Answer(Shown, Struct, frozen=True):
    """The answer to a question, as the user reads it.

    Attributes:
        headline: the result in a sentence or two; failures come first.
        sections: one for each output of the plan.
        problems: steps that failed, were skipped or cancelled, or whose results report failures, in
            plan order.
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
        for section in self.sections:
            if len(self.sections) > _MOST_SUMMARIES and not section.is_shown:
                blocks.append(Note(section.summary))
            blocks += section.blocks()
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
    places = {name: hints(schema) for name, schema in (schemas or {}).items()}
    continued = {name for name, step in run.steps.items() if step.error and step.output is None}
    style = Style(insights, rows, thresholds)
    too_large = run.output is None and run.error is not None
    sections = tuple(
        section_of(each, steps.get(each.step), places.get(each.step, NO_HINTS), run, effects, style)
        for each in (() if too_large else results_of(plan, run))
        if each.step not in continued
    )
    problems = _problems(run, steps, effects)
    ends = sinks(plan) if plan.output is None else (ref.step for ref in refs(plan.output))
    left_out = continued.union(ends)
    on_the_way: list[str] = []
    for name, step in steps.items():
        ran = run.steps.get(name)
        if ran is not None and ran.state is StepState.SUCCEEDED and name not in left_out:
            is_each = step.for_each is not None
            shape = shape_of(ran.output, places.get(name, NO_HINTS), each=is_each)
            on_the_way.append(f"{printable(name)}: {size_text(shape, step.tool)}")
    headline, parts = _headline(run, sections, problems, steps), _parts(run)
    return Answer(headline, sections, problems, tuple(on_the_way), parts)


def _headline(
    run: Run, sections: Sequence[Section], problems: Sequence[Problem], steps: Mapping[str, Step]
) -> str:
    parts = [_verdict(run, problems)]
    parts += [section.summary for section in sections[:_MOST_SUMMARIES]]
    if (more := len(sections) - _MOST_SUMMARIES) > 0:
        parts.append(f"{more} more results are below.")
    if len(parts) == 1 and not parts[0]:
        parts = ["The plan has no results."]
    if parts_of_lists := _parts(run):
        texts = [cut(printable(each.text), _MESSAGE_WIDTH) for each in parts_of_lists]
        if (more := len(texts) - _MOST_SUMMARIES) > 0:
            texts[_MOST_SUMMARIES:] = [count_text(more, "more list")]
        parts.append(f"Over a part only: {'; '.join(texts)}.")
    # the time zones, other than their own, in which SQL has read times
    queries = [run.steps[name] for name in steps if steps[name].tool == "sql" and name in run.steps]
    read = [step.output for step in queries if isinstance(step.output, dict)]
    zones = {str(output["zone"]) for output in read if "zone" in output}
    if zones:
        parts.append(f"Times, days and hours are those of {' and '.join(sorted(zones))}.")
    return " ".join(part for part in parts if part)


def _parts(run: Run) -> tuple[Partial, ...]:
    """Return the lists of which the result has a part; of a waiting run, those known so far."""
    if run.status is not RunState.WAITING:
        return run.partial
    return tuple({part.step: part for step in run.steps.values() for part in step.partial}.values())


def _verdict(run: Run, problems: Sequence[Problem]) -> str:
    """Return a sentence on how the run ended; empty if it succeeded."""
    total = count_text(len(run.steps), "step")
    done = sum(step.state is StepState.SUCCEEDED for step in run.steps.values())
    if run.status is not RunState.FAILED:
        verdict = _VERDICTS[run.status].format(done=f"{done} of {total} succeeded")
        reported = sum(problem.code == _REPORTED for problem in problems)
        subject = "result" if reported == 1 else "results"
        verb = "reports" if reported == 1 else "report"
        warning = f"The {subject} of {reported} of {total} {verb} a failure." if reported else ""
        return f"{verdict} {warning}".strip()
    failed = sum(problem.state is StepState.FAILED for problem in problems)
    if run.error is not None and not failed:  # its output could not be given
        return f"The run failed: {cut(printable(run.error.message), _MESSAGE_WIDTH)}"
    if failed:
        return f"The run failed: {failed} of {total} failed."
    return f"The run failed; {done} of {total} succeeded."


def _problems(
    run: Run, planned: Mapping[str, Step], effects: Collection[str]
) -> tuple[Problem, ...]:
    found: list[Problem] = []
    for name, step in run.steps.items():
        is_open = run.status is RunState.RUNNING and step.state in _OPEN
        if step.state is StepState.SUCCEEDED and step.error is None:
            is_each = name in planned and planned[name].for_each is not None
            if words := reported_failure(step.output, each=is_each, acts=name in effects):
                words = cut(printable(words), _MESSAGE_WIDTH)
                found.append(Problem(name, step.state, _REPORTED, words, fatal=False))
            continue
        if is_open:
            continue
        code = step.state.value.replace("_", "-") if step.error is None else step.error.code
        message = "" if step.error is None else cut(printable(step.error.message), _MESSAGE_WIDTH)
        fatal = step.state is not StepState.SUCCEEDED and code != "when-false"
        found.append(Problem(name, step.state, printable(code), message, fatal))
    return tuple(found)
