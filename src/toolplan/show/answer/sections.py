"""Sections of an answer: one for each output of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import Run, StepState
from toolplan.plan.model import Array, Literal, Object, Plan, Ref, Value, refs, sinks
from toolplan.plan.path import Json, NotThere, Path, print_path, select
from toolplan.show.answer.columns import Column, Kind, columns_of
from toolplan.show.answer.insights import (
    Insight,
    InsightFunction,
    label_columns,
    ranking_insights,
    row_insights,
)
from toolplan.show.answer.shape import Hints, Record, Row, Rows, Single, shape_of
from toolplan.show.answer.trend import DEFAULT, Thresholds
from toolplan.show.document import (
    Block,
    Bullets,
    Fields,
    Heading,
    Note,
    Table,
    hidden_text,
)
from toolplan.show.printable import cell, count_text, cut, number_text, printable

_SMALL: Final = 24  # rows of a computed table that is shown in full: the hours of a day
_MOST_COLUMNS: Final = 8
_MOST_HIDDEN: Final = 24
_MOST_FIELDS: Final = 40
_MOST_SAID: Final = 3
_MOST_CALLER_INSIGHTS: Final = 12
_FIELD_WIDTH: Final = 72
_SENTENCE_WIDTH: Final = 300


class Result(Struct, frozen=True):
    """A value of the plan's output.

    It is at `path` in the output of `step`; `name` is its key in the plan's output, or empty.
    """

    step: str
    path: Path
    value: Json
    name: str = ""


class Section(Struct, frozen=True):
    """An output of the plan.

    Attributes:
        step: the id of the step that it comes from.
        title: the entity in the plural, or the name of the tool.
        summary: a sentence on what was found.
        total: the number of rows; 1 for a record or a single value.
        columns: names of the fields that are shown.
        shown: the first rows, unchanged.
        hidden: names of the fields that are not shown.
        insights: sentences about all rows.
        numeric: for each column whether it has numbers.
        ranks: for each column a number, lower for what is needed more.
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
            blocks.append(Heading(f"{self.title} [{self.step}]"))
            blocks += self._one() if self.total == 1 else [self._table()]
        if len(self.shown) < self.total and self.is_shown:
            shown = number_text(len(self.shown), grouped=True)
            blocks.append(Note(f"{shown} of {number_text(self.total, grouped=True)} rows shown."))
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
                {"text": insight.text, "step": insight.step, "columns": list(insight.columns)}
                for insight in self.insights
            ],
        }

    def _one(self) -> list[Block]:
        row = self.shown[0]
        pairs = tuple((cell(n), cell(row.get(n), _FIELD_WIDTH)) for n in self.columns)
        return [Fields(pairs), *([Note(hidden_text(self._hidden()))] if self.hidden else ())]

    def _table(self) -> Table:
        rows = tuple(tuple(cell(row.get(name)) for name in self.columns) for row in self.shown)
        names = tuple(map(cell, self.columns))
        return Table(names, self.numeric, rows, self.ranks, self._hidden())

    def _hidden(self) -> tuple[str, ...]:
        names = tuple(map(cell, self.hidden[:_MOST_HIDDEN]))
        more = len(self.hidden) - len(names)
        return (*names, f"and {number_text(more, grouped=True)} more") if more else names


def section_of(
    result: Result,
    hints: Hints,
    *,
    tool: str,
    each: bool,
    insights: Sequence[InsightFunction],
    rows: int,
    thresholds: Thresholds = DEFAULT,
    calls: int | None = None,
) -> Section:
    """Return the section of `result`.

    `hints` are those of its schema, `tool` is its tool, `each` says that it lists the outputs of a
    `for_each`, and `rows` is the number of rows that are shown of a long list. `thresholds` say
    what is an outlier and what is a trend. `calls` is how often the tool was called, where it
    changes something; None where it finds something.
    """
    title = result.name or tool
    shape = shape_of(result.value, hints, each=each)
    match shape:
        case Rows():
            found = _section_of_rows(result.step, title, shape, insights, rows, thresholds)
            if calls is None:
                return found
            return replace(found, summary=_summary_of_calls(result.step, tool, shape, calls))
        case Record():
            return _section_of_record(result.step, title, shape)
        case Single(value):
            last = print_path(result.path[-1:]).lstrip(".")
            name = printable(result.name) or printable(last) or printable(tool)
            text = cell(value, _SENTENCE_WIDTH)
            summary = f"{name}: {text} [{result.step}]." if text else f"{name} is empty."
            return Section(result.step, printable(title), summary, 1)


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


def _section_of_rows(
    step: str,
    tool: str,
    shape: Rows,
    functions: Sequence[InsightFunction],
    most: int,
    thresholds: Thresholds,
) -> Section:
    entity = printable(shape.hints.entity)
    title = plural(entity) if entity else printable(tool)
    total = len(shape.rows)
    columns = columns_of(shape.rows, shape.hints)
    notes = _notes(step, shape)
    if total == 0:
        things = plural(entity) if entity else "rows"
        where = f"[{step}]" if entity else f"by {title} [{step}]"
        return Section(step, title, f"No {things} were found {where}.", 0, insights=notes)
    computed = not entity and not shape.plain and total <= _SMALL
    insights = _caller_insights(step, entity, shape, functions)
    ranked = ranking_insights(step, columns, shape.rows, thresholds) if computed else ()
    insights += ranked or row_insights(
        step, columns, shape.rows, whole=shape.counted is None, thresholds=thresholds
    )
    listed = shape.rows[: max(most, _SMALL if computed else 0)]
    # empty and constant columns are hidden first; one row is shown as a list of fields
    by_worth = sorted(columns, key=lambda column: _worth(column, computed=computed))
    kept = columns[:_MOST_FIELDS] if total == 1 else by_worth[:_MOST_COLUMNS]
    shown = [column for column in columns if column in kept]
    return Section(
        step,
        title,
        _summary_of_rows(step, shape, columns, computed=computed, tool=title),
        total,
        columns=tuple(column.name for column in shown),
        shown=tuple(listed),
        hidden=tuple(column.name for column in columns if column not in kept),
        insights=(*notes, *insights),
        numeric=tuple(_is_numeric(column, shape.rows) for column in shown),
        is_complete=total == 1 and not entity and len(columns) <= _MOST_SAID,
        ranks=tuple(_worth(column, computed=computed) for column in shown),
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


def _summary_of_calls(step: str, tool: str, shape: Rows, calls: int) -> str:
    """Return what calls that change something have done: they find nothing."""
    tool = printable(tool)
    if not calls:
        return f"{tool} was not called [{step}]."
    times = "once" if calls == 1 else f"{number_text(calls, grouped=True)} times"
    rows = _counted(len(shape.rows), shape.hints.entity) if shape.rows else "no rows"
    return f"{tool} was called {times} and returned {rows} [{step}]."


def _section_of_record(step: str, tool: str, shape: Record) -> Section:
    title = printable(shape.hints.entity) or printable(tool)
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
    """Return what is missing from a list, and the values beside it."""
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
        names = tuple(shape.beside)[:4]
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


_WORTH: Final = {Kind.OTHER: 2, Kind.NESTED: 3, Kind.CONSTANT: 4, Kind.EMPTY: 5}


def _worth(column: Column, *, computed: bool) -> int:
    """Return the sort rank of a column: those with a lower rank are shown first."""
    if column.is_unique or (computed and column.kind is Kind.NUMBERS):
        return 0
    return _WORTH.get(column.kind, 1)


def _is_numeric(column: Column, rows: Sequence[Row]) -> bool:
    if column.kind is Kind.NUMBERS:
        return True
    first = rows[0].get(column.name) if rows else None
    return isinstance(first, int | float) and not isinstance(first, bool | None)


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
        return tuple(
            Result(step, (), run.steps[step].output) for step in sinks(plan) if _gave(run, step)
        )
    return tuple(_named(plan.output, run.output, run, ""))


def result_steps(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the steps of the results, each once."""
    if plan.output is None:
        return sinks(plan)
    return tuple(dict.fromkeys(ref.step for ref in refs(plan.output)))


def _named(value: Value, output: Json, run: Run, name: str) -> Iterator[Result]:
    """Yield the results of `value`; `output` is its value in the run."""
    match value:
        case Literal():
            return  # a constant of the plan is not a result
        case Ref(step, path):
            if _gave(run, step):
                try:
                    yield Result(step, path, select(run.steps[step].output, path), name)
                except NotThere:
                    return  # the run has failed for this reason
        case Object(fields):
            given: Mapping[str, Json] = output if isinstance(output, dict) else {}
            for key, inner in fields:
                yield from _named(inner, given.get(key), run, key)
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
