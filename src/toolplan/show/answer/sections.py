"""Sections of an answer: one for each output of the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.events import Run, StepState
from toolplan.plan.model import Array, Literal, Object, Plan, Ref, Step, Value, refs, sinks
from toolplan.plan.path import EVERY, Json, NotThere, Path, print_path, select
from toolplan.show.answer.insights import (
    DEFAULT,
    Column,
    Insight,
    InsightFunction,
    Kind,
    Thresholds,
    columns_of,
    label_columns,
    ranking_insights,
    row_insights,
)
from toolplan.show.answer.shape import Hints, Record, Row, Rows, Single, shape_of
from toolplan.show.document import Block, Bullets, Fields, Heading, Note, Table, hidden_text
from toolplan.show.printable import cell, count_text, cut, number_text, printable

ROWS: Final = 10
_SMALL: Final = 24  # rows of a computed table that is shown in full: the hours of a day
_MOST_COLUMNS: Final = 8
_MOST_HIDDEN: Final = 24
_MOST_FIELDS: Final = 40
_MOST_SAID: Final = 3
_MOST_CALLER_INSIGHTS: Final = 12
_FIELD_WIDTH: Final = 72
_SENTENCE_WIDTH: Final = 300
_RANKS: Final = {Kind.OTHER: 2, Kind.NESTED: 3, Kind.CONSTANT: 4, Kind.EMPTY: 5}


class Style(Struct, frozen=True):
    """Options of the wording, as `answer` takes them."""

    insights: Sequence[InsightFunction] = ()
    rows: int = ROWS
    thresholds: Thresholds = DEFAULT


class Result(Struct, frozen=True):
    """A value of the plan's output, at `path` in the output of `step`.

    `name` is its key in the plan's output, or empty.
    """

    step: str
    path: Path
    value: Json
    name: str = ""


class Section(Struct, frozen=True):
    """An output of the plan, of the step `step`.

    Attributes:
        title: the entity in the plural, or the name of the tool.
        summary: a sentence on the result.
        total: the number of rows; 1 for a record or a single value.
        columns: names of the fields that are shown; `hidden` are the others.
        shown: the first rows, unchanged.
        insights: sentences about all rows.
        numeric: for each column whether it has numbers.
        ranks: for each column a number, lower for columns that are needed more.
        is_complete: whether the summary contains everything.
    """

    step: str
    title: str
    summary: str
    total: int
    columns: tuple[str, ...] = ()
    shown: tuple[Row, ...] = ()
    hidden: tuple[str, ...] = ()
    insights: tuple[Insight, ...] = ()
    numeric: tuple[bool, ...] = ()
    is_complete: bool = False
    ranks: tuple[int, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether there is a table or a list of fields."""
        return bool(self.columns) and not self.is_complete

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks after the summary."""
        blocks: list[Block] = []
        if self.is_shown:
            hidden = tuple(map(cell, self.hidden[:_MOST_HIDDEN]))
            if more := len(self.hidden) - len(hidden):
                hidden = (*hidden, f"and {number_text(more, grouped=True)} more")
            names = tuple(map(cell, self.columns))
            blocks.append(Heading(f"{self.title} [{self.step}]"))
            if self.total == 1:
                values = (cell(self.shown[0].get(n), _FIELD_WIDTH) for n in self.columns)
                blocks.append(Fields(tuple(zip(names, values, strict=True))))
                blocks += [Note(hidden_text(hidden))] if hidden else []
            else:
                rows = tuple(tuple(cell(row.get(n)) for n in self.columns) for row in self.shown)
                blocks.append(Table(names, self.numeric, rows, self.ranks, hidden))
            if len(self.shown) < self.total:
                shown = number_text(len(self.shown), grouped=True)
                of = number_text(self.total, grouped=True)
                blocks.append(Note(f"{shown} of {of} rows shown."))
        if self.insights:
            blocks.append(Bullets(tuple(insight.text for insight in self.insights)))
        return tuple(blocks)

    def to_json(self) -> dict[str, Json]:
        """Return the section as JSON, with unchanged rows."""
        return {
            "step": self.step,
            "title": self.title,
            "summary": self.summary,
            "total": self.total,
            "columns": list(self.columns),
            "rows": [dict(row) for row in self.shown],
            "hidden": list(self.hidden),
            "insights": [
                {**asdict(insight), "columns": list(insight.columns)} for insight in self.insights
            ],
        }


def section_of(
    result: Result,
    step: Step | None,
    hints: Hints,
    run: Run,
    effects: Collection[str],
    style: Style,
) -> Section:
    """Return the section of `result`, of `step`, whose output has `hints`.

    The steps `effects` change something: their calls find nothing, and are counted.
    """
    repeats = step is not None and step.for_each is not None
    tool, path = "result" if step is None else step.tool, result.path
    if repeats and path and not hints.is_list:
        path = path[1:]  # the schema is that of one call: the first segment picks among calls
    each = repeats and result.path in ((), (EVERY,))
    shape = shape_of(result.value, hints.at(path), each=each)
    title = printable(result.name or tool)
    match shape:
        case Rows():
            found = _section_of_rows(result.step, title, shape, style)
            if result.step not in effects:
                return found
            output = run.steps[result.step].output
            calls = len(output) if repeats and isinstance(output, list) else 1
            rows = _counted(len(shape.rows), shape.hints.entity) if shape.rows else "no rows"
            times = "once" if calls == 1 else f"{number_text(calls, grouped=True)} times"
            done = f"was called {times} and returned {rows}" if calls else "was not called"
            return replace(found, summary=f"{printable(tool)} {done} [{result.step}].")
        case Record():
            return _section_of_record(result.step, title, shape)
        case Single(value):
            last = print_path(result.path[-1:]).lstrip(".")
            name = printable(result.name) or printable(last) or printable(tool)
            text = cell(value, _SENTENCE_WIDTH)
            summary = f"{name}: {text} [{result.step}]." if text else f"{name} is empty."
            return Section(result.step, title, summary, 1)


def size_text(shape: Rows | Record | Single, tool: str) -> str:
    """Return the size of `shape` in words, as `12 orders`."""
    if not isinstance(shape, Rows):
        return printable(shape.hints.entity) or f"1 result by {printable(tool)}"
    by = "" if shape.hints.entity else f" by {printable(tool)}"
    return _counted(len(shape.rows), shape.hints.entity) + by


def plural(entity: str) -> str:
    """Return the plural of an English noun.

    >>> plural("city"), plural("box"), plural("day")
    ('cities', 'boxes', 'days')
    """
    if entity.endswith("y") and entity[-2:-1] not in "aeiou":
        return entity[:-1] + "ies"
    return entity + ("es" if entity.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _section_of_rows(step: str, tool: str, shape: Rows, style: Style) -> Section:
    entity = printable(shape.hints.entity)
    title = plural(entity) if entity else tool
    total = len(shape.rows)
    columns = columns_of(shape.rows, shape.hints)
    notes = _notes(step, shape)
    if total == 0:
        what = f"{title} were found" if entity else f"rows were found by {title}"
        return Section(step, title, f"No {what} [{step}].", 0, insights=notes)
    computed = not entity and not shape.plain and total <= _SMALL
    insights = _caller_insights(step, entity, shape, style.insights)
    thresholds, whole = style.thresholds, shape.counted is None
    ranked = ranking_insights(step, columns, shape.rows, thresholds) if computed else ()
    insights += ranked or row_insights(
        step, columns, shape.rows, whole=whole, thresholds=thresholds
    )

    def rank(column: Column) -> int:
        is_first = column.is_unique or (computed and column.kind is Kind.NUMBERS)
        return 0 if is_first else _RANKS.get(column.kind, 1)

    def is_numeric(column: Column) -> bool:
        first = shape.rows[0].get(column.name)
        is_number = isinstance(first, int | float) and not isinstance(first, bool)
        return column.kind is Kind.NUMBERS or is_number

    # empty and constant columns are hidden first; one row is shown as a list of fields
    kept = columns[:_MOST_FIELDS] if total == 1 else sorted(columns, key=rank)[:_MOST_COLUMNS]
    shown = [column for column in columns if column in kept]
    return Section(
        step,
        title,
        _summary_of_rows(step, shape, columns, computed=computed, tool=title),
        total,
        columns=tuple(column.name for column in shown),
        shown=tuple(shape.rows[: max(style.rows, _SMALL if computed else 0)]),
        hidden=tuple(column.name for column in columns if column not in kept),
        insights=(*notes, *insights),
        numeric=tuple(map(is_numeric, shown)),
        is_complete=total == 1 and not entity and len(columns) <= _MOST_SAID,
        ranks=tuple(map(rank, shown)),
    )


def _summary_of_rows(
    step: str, shape: Rows, columns: Sequence[Column], *, computed: bool, tool: str
) -> str:
    total = len(shape.rows)
    entity = printable(shape.hints.entity)
    if not entity and total == 1 and 0 < len(columns) <= _MOST_SAID:
        return f"{_pairs(shape.rows[0], [column.name for column in columns])} [{step}]."
    labels = label_columns(columns)
    if computed and len(labels) == 1 and len({cell(r.get(labels[0])) for r in shape.rows}) == total:
        return f"{_counted(total, '')}, one for each {cell(labels[0])} [{step}]."
    verb = "was" if total == 1 else "were"
    gave = "" if entity else f" by {tool}"
    return f"{_counted(total, entity)} {verb} found{gave} [{step}]."


def _section_of_record(step: str, tool: str, shape: Record) -> Section:
    title = printable(shape.hints.entity) or tool
    names = tuple(shape.fields)
    if not names:
        return Section(step, title, f"{title} is empty [{step}].", 1)
    simple = [n for n in names if not isinstance(shape.fields[n], list | dict | None)]
    summary = f"{title}: {_pairs(shape.fields, simple[:4] or names[:1])} [{step}]."
    if len(names) == 1:
        return Section(step, title, summary, 1)
    shown, hidden = names[:_MOST_FIELDS], names[_MOST_FIELDS:]
    return Section(step, title, summary, 1, shown, (shape.fields,), hidden)


def _notes(step: str, shape: Rows) -> tuple[Insight, ...]:
    """Describe the missing part of a list, and the values beside it."""
    notes: list[Insight] = []
    if shape.counted is not None:
        listed = number_text(len(shape.rows), grouped=True)
        counted = number_text(shape.counted, grouped=True)
        text = f"The list has {listed} of the {counted} rows that the tool counts."
        notes.append(Insight(text, step))
    if shape.gaps:
        calls = count_text(shape.gaps, "call")
        notes.append(Insight(f"{calls} returned nothing; their rows are missing here.", step))
    if shape.beside:
        names = tuple(shape.beside)
        notes.append(Insight(f"{_pairs(shape.beside, names)}.", step, names))
    return tuple(notes)


def _caller_insights(
    step: str, entity: str, shape: Rows, functions: Sequence[InsightFunction]
) -> tuple[Insight, ...]:
    if shape.plain:
        return ()
    sentences = [
        printable(text) for function in functions for text in function(entity, list(shape.rows))
    ]
    kept = [cut(text, _SENTENCE_WIDTH) for text in sentences[:_MOST_CALLER_INSIGHTS]]
    if more := len(sentences) - len(kept):
        kept.append(f"And {more} more of this kind.")
    return tuple(Insight(text, step) for text in kept)


def _pairs(row: Row, names: Sequence[str]) -> str:
    more = "" if len(names) <= _MOST_COLUMNS else ", …"
    text = ", ".join(f"{cell(n)}: {cell(row.get(n))}" for n in names[:_MOST_COLUMNS])
    return text + more


def _counted(count: int, entity: str) -> str:
    entity = printable(entity) or "row"
    return f"{number_text(count, grouped=True)} {entity if count == 1 else plural(entity)}"


def results_of(plan: Plan, run: Run) -> tuple[Result, ...]:
    """Return the results of `plan` in order, without those of steps that have no output.

    They are the values of the plan's `output`, or the outputs of the steps that no other refers to.
    """
    if plan.output is None:
        found = (step for step in sinks(plan) if _gave(run, step))
        return tuple(Result(step, (), run.steps[step].output) for step in found)
    return tuple(_named(plan.output, run.output, run, ""))


def _named(value: Value, output: Json, run: Run, name: str) -> Iterator[Result]:
    """Yield the results of `value`; `output` is its value in the run."""
    match value:
        case Literal():
            return  # a constant of the plan is no result
        case Ref(step, path):
            if _gave(run, step):
                try:
                    yield Result(step, path, select(run.steps[step].output, path), name)
                except NotThere:
                    return  # the run has failed for this reason
        case Object(fields):
            for key, inner in fields:
                given = output.get(key) if isinstance(output, dict) else None
                yield from _named(inner, given, run, key)
        case Array(items):
            listed = output if isinstance(output, list) else []
            for at, item in enumerate(items):
                yield from _named(item, listed[at] if at < len(listed) else None, run, name)
        case _:
            steps = dict.fromkeys(ref.step for ref in refs(value))
            if output is not None:
                yield Result(", ".join(steps), (), output, name)


def _gave(run: Run, step: str) -> bool:
    return step in run.steps and run.steps[step].state is StepState.SUCCEEDED
