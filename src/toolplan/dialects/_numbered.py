"""References by number, in text: a mark directly before the number of a step, as `$1` or `#E1`.

Of n marks before a number each pair is one mark of text. An odd one left over opens a reference,
none left makes the number text: `$$1` is the text `$1`. The number is read whole, so that `$10` is
step 10 and never step 1 with a `0` behind it. Text is parsed here once and never searched again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from toolplan.diagnostics import CannotExpress, Diagnostic, Severity
from toolplan.path import Path, PathSyntaxError
from toolplan.plan import (
    DEFAULT_MAX_ITEMS,
    Limits,
    Literal,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
    located_refs,
    positional,
    step_refs,
    template,
)
from toolplan.plan_json import DEEPEST, ReferenceSyntaxError

NO_LIMITS: Final = Limits(text_bytes=2**40, steps=2**31, depth=DEEPEST)
"""For text that was written here, when it is read back."""

NUMBER: Final = re.compile(r"[0-9]++")
"""The number of a step. `number_of` says which of them are none."""

MOST_PROBLEMS: Final = 20
"""So many problems are told of one text; whoever has more has seen enough."""

_LONGEST_NUMBER: Final = 9


class Mention(NamedTuple):
    """A reference as it was read: the number of a step, the path in its output, where it ends.

    `is_sure` says that it can be nothing else: a number without a step is then a mistake, not text.
    """

    number: int
    path: Path
    end: int
    is_sure: bool


class Marks(NamedTuple):
    """How a dialect writes references.

    `opening` matches a run of `mark` directly before what may be a reference, `closing` one at the
    end of a text besides. `read(text, at)` reads what follows the mark: None where that is text
    after all; it raises ReferenceSyntaxError or PathSyntaxError. `write(number, path, behind)` is
    its inverse, mark and all, where the text `behind` follows.
    """

    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    read: Callable[[str, int], Mention | None]
    write: Callable[[int, Path, str], str]
    help: str


class Steps(NamedTuple):
    """The steps that a plan numbers: the id of each by its number.

    `closers` are numbers that stand in the plan, and are no steps.
    """

    ids: Mapping[int, str]
    closers: frozenset[int] = frozenset()


class Problem(NamedTuple):
    """What is wrong with one reference."""

    code: str
    severity: Severity
    message: str
    help: str


class MarkedText(NamedTuple):
    """What a text says, and what is wrong with it."""

    value: Value
    problems: tuple[Problem, ...] = ()


def number_of(digits: str) -> int | None:
    """Return the number that `digits` spell, None where no plan would number a step so."""
    if len(digits) > _LONGEST_NUMBER or (digits[0] == "0" and digits != "0"):
        return None
    return int(digits)


def parse_text(text: str, marks: Marks, steps: Steps) -> MarkedText:
    """Return what `text` says: a Literal, a bare Ref, or a Template.

    Never raises. A bad reference is a problem and is kept as text.
    """
    if marks.mark not in text:
        return MarkedText(Literal(text))
    parts: list[str | Ref] = []
    literal: list[str] = []  # joined once: a text may be one long row of escapes
    problems: list[Problem] = []
    at = 0
    while opening := marks.opening.search(text, at):
        run = len(opening[0])
        literal.append(text[at : opening.start()] + marks.mark * (run // 2))
        at = opening.end()
        if run % 2 == 0:
            continue
        read = read_mention(text, at, marks, steps)
        if isinstance(read.value, Ref):
            parts += ("".join(literal), read.value)
            literal.clear()
        else:
            literal.append(text[at - 1 : read.end])
        at = read.end
        if read.problem is not None and len(problems) < MOST_PROBLEMS:
            problems.append(read.problem)
    return MarkedText(template((*parts, "".join(literal) + text[at:])), tuple(problems))


class ReadMention(NamedTuple):
    """What stands behind a mark: a Ref, or None where it is text; where it ends."""

    value: Ref | None
    end: int
    problem: Problem | None = None


def read_mention(
    text: str, at: int, marks: Marks, steps: Steps, *, is_bare: bool = False
) -> ReadMention:
    """Read what follows the mark that ends at `at`; `is_bare` where no text can stand."""
    try:
        mention = marks.read(text, at)
    except (ReferenceSyntaxError, PathSyntaxError) as error:
        shown = text[at - 1 : at + 40].partition("\n")[0]
        problem = Problem(
            "reference-syntax",
            Severity.ERROR,
            f"The reference {shown!r} cannot be read: {error}.",
            marks.help,
        )
        return ReadMention(None, at, problem)
    if mention is None:
        return ReadMention(None, at)
    name = steps.ids.get(mention.number)
    if name is not None:
        return ReadMention(Ref(name, mention.path), mention.end)
    said = text[at - 1 : mention.end]
    is_sure = is_bare or mention.is_sure or mention.number in steps.closers
    return ReadMention(None, mention.end, _no_step(mention.number, said, is_sure, marks, steps))


def print_text(value: Literal | Ref | Template, marks: Marks, numbers: Mapping[str, int]) -> str:
    """Return the text that `parse_text` reads as `value`; a Literal must be a string.

    `numbers` are those of all steps that `value` refers to.
    """
    match value:
        case Literal(str(text)):
            return marks.opening.sub(_twice, text) if marks.mark in text else text
        case Literal():
            raise TypeError("only text is printed as text")
        case Ref():
            return marks.write(numbers[value.step], value.path, "")
        case Template(parts):
            return "".join(_part(parts, at, marks, numbers) for at in range(len(parts)))


def unsaid(plan: Plan, title: str) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each thing in `plan` that numbered calls have no word for.

    They have tools, arguments and thoughts, and the order that references show; no more.
    """
    if plan.output is not None:
        yield cannot(f"{title} has no 'output'.", "/output")
    if plan.metadata:
        yield cannot(f"{title} has no 'metadata'.", "/metadata")
    if not plan.steps:
        yield cannot(f"{title} has no plan without steps.", "/steps")
    known: set[str] = set()
    every = {step.id for step in plan.steps}
    for at, step in enumerate(plan.steps):
        if step.id in known:
            yield cannot(f"Two steps have the id {step.id!r}.", f"/steps/{at}/id", step.id)
        known.add(step.id)
        for field, is_used in _more_than_calls(step).items():
            if is_used:
                yield cannot(f"{title} has no {field!r}.", f"/steps/{at}/{field}", step.id)
        for name, value in step.args.items():
            for place, ref in located_refs(value, f"/steps/{at}/args/{escape_pointer(name)}"):
                if ref.step not in every:
                    said = f"{title} has no reference to {ref.step!r}, which is no step."
                    yield cannot(said, place, step.id)


def cannot(message: str, pointer: str, step: str | None = None) -> Diagnostic:
    """Return the diagnostic that a dialect has no way to say something."""
    return Diagnostic("cannot-express", Severity.ERROR, message, step, pointer)


def refuse_unlike(plan: Plan, back: Plan | None, diagnostics: tuple[Diagnostic, ...]) -> None:
    """Make sure that what was written of `plan` reads `back` as it.

    Raises:
        CannotExpress: it does not; the errors of reading say what the dialect has no way to say.
    """
    if back == normalised(plan):
        return
    found = [
        cannot(each.message, each.pointer, each.step)
        for each in diagnostics
        if each.severity is Severity.ERROR
    ]
    raise CannotExpress(
        "the dialect cannot say this plan",
        found or [cannot("What was written would be read otherwise.", "")],
    )


def normalised(plan: Plan) -> Plan:
    """Return `plan` as numbered calls read it back: by position, and without redundant `after`."""
    plan = positional(plan)
    return replace(plan, steps=tuple(replace(step, after=()) for step in plan.steps))


def _more_than_calls(step: Step) -> dict[str, bool]:
    implied = {ref.step for _, ref in step_refs(step)}
    return {
        "after": any(each not in implied for each in step.after),
        "for_each": step.for_each is not None,
        "max_items": step.max_items != DEFAULT_MAX_ITEMS,
        "when": step.when is not None,
        "on_error": step.on_error != "fail",
        "timeout_s": step.timeout_s is not None,
        "retries": step.retries != 0,
    }


def _no_step(number: int, said: str, is_sure: bool, marks: Marks, steps: Steps) -> Problem:
    if number in steps.closers:
        return Problem(
            "unknown-step",
            Severity.ERROR,
            f"{said!r} refers to the call that ends the plan, which gives nothing.",
            marks.help,
        )
    if not is_sure:
        return Problem(
            "unknown-step",
            Severity.WARNING,
            f"There is no step {number}, so {said!r} is text.",
            f"Where text is meant, `{marks.mark}{said}` says so for certain.",
        )
    last = max(steps.ids, default=number)
    return Problem(
        "unknown-step",
        Severity.ERROR,
        f"There is no step {number} for {said!r} to refer to.",
        f"The steps are {min(steps.ids, default=number)} to {last}. {marks.help}",
    )


def _part(parts: tuple[str | Ref, ...], at: int, marks: Marks, numbers: Mapping[str, int]) -> str:
    part = parts[at]
    behind = parts[at + 1] if at + 1 < len(parts) else ""
    if isinstance(part, Ref):
        # two references side by side: the mark of the second one follows
        text = marks.mark if isinstance(behind, Ref) else behind
        return marks.write(numbers[part.step], part.path, text)
    return (marks.closing if isinstance(behind, Ref) else marks.opening).sub(_twice, part)


def _twice(found: re.Match[str]) -> str:
    return found[0] * 2
