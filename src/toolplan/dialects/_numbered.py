"""References by number, in text: a mark directly before the number of a step, as `$1` or `#E1`.

Of n marks before a number each pair is one mark of text. An odd one left over opens a reference,
none left makes the number text: `$$1` is the text `$1`. The number is read whole, so that `$10` is
step 10 and never step 1 with a `0` behind it. Text is parsed here once and never searched again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from toolplan.diagnostics import Diagnostic, Severity
from toolplan.dialects import form
from toolplan.dialects.form import cannot
from toolplan.path import Path, PathSyntaxError
from toolplan.plan import Literal, Plan, Ref, Template, template
from toolplan.plan_json import MOST_PROBLEMS, ParsedText, ReferenceSyntaxError, TextProblem

NUMBER: Final = re.compile(r"[0-9]++")
"""The number of a step. `number_of` says which of them are none."""

_LONGEST_NUMBER: Final = 9


class Mention(Struct, frozen=True):
    """A reference as it was read: the number of a step, the path in its output, where it ends.

    `is_sure` says that it can be nothing else: a number without a step is then a mistake, not text.
    """

    number: int
    path: Path
    end: int
    is_sure: bool


class Marks(Struct, frozen=True):
    """How a dialect writes references.

    `opening` matches a run of `mark` directly before what may be a reference, `closing` one at the
    end of a text besides. `read(text, at)` reads what follows the mark: None where that is text
    after all; it raises ReferenceSyntaxError or PathSyntaxError. `write(number, path, behind)` is
    its inverse, mark and all, where the text `behind` follows. `bare` matches what may be a
    reference outside of quotes.
    """

    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    read: Callable[[str, int], Mention | None]
    write: Callable[[int, Path, str], str]
    help: str
    bare: re.Pattern[str] | None = None


class Steps(Struct, frozen=True):
    """The steps that a plan numbers: the id of each by its number.

    `closers` are numbers that stand in the plan, and are not steps.
    """

    ids: Mapping[int, str]
    closers: frozenset[int] = frozenset()


def number_of(digits: str) -> int | None:
    """Return the number that `digits` spell, None where no plan would number a step so."""
    if len(digits) > _LONGEST_NUMBER or (digits[0] == "0" and digits != "0"):
        return None
    return int(digits)


def parse_text(text: str, marks: Marks, steps: Steps) -> ParsedText:
    """Return what `text` says: a Literal, a bare Ref, or a Template.

    Never raises. A bad reference is a problem and is kept as text.
    """
    if marks.mark not in text:
        return ParsedText(Literal(text))
    parts: list[str | Ref] = []
    literal: list[str] = []  # joined once: a text may be one long row of escapes
    problems: list[TextProblem] = []
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
    return ParsedText(template((*parts, "".join(literal) + text[at:])), tuple(problems))


class ReadMention(Struct, frozen=True):
    """What stands behind a mark: a Ref, or None where it is text; where it ends."""

    value: Ref | None
    end: int
    problem: TextProblem | None = None


def read_mention(
    text: str, at: int, marks: Marks, steps: Steps, *, is_bare: bool = False
) -> ReadMention:
    """Read what follows the mark that ends at `at`; `is_bare` where no text can stand."""
    try:
        mention = marks.read(text, at)
    except (ReferenceSyntaxError, PathSyntaxError) as error:
        shown = text[at - 1 : at + 40].partition("\n")[0]
        said = f"The reference {shown!r} cannot be read: {error}."
        problem = TextProblem("reference-syntax", said, marks.help)
        return ReadMention(None, at, problem)
    if mention is None:
        return ReadMention(None, at)
    name = steps.ids.get(mention.number)
    if name is not None:
        return ReadMention(Ref(name, mention.path), mention.end)
    said = text[at - 1 : mention.end]
    is_alone = is_bare or said == text  # a price that is all of an argument has no sign
    is_sure = is_alone or mention.is_sure or mention.number in steps.closers
    return ReadMention(None, mention.end, _no_step(mention.number, said, is_sure, marks, steps))


def found_in(problem: TextProblem, step: str, pointer: str) -> Diagnostic:
    """Return the diagnostic of a problem of the text at `pointer`."""
    return Diagnostic(problem.code, problem.severity, problem.message, step, pointer, problem.help)


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
    says = form.Says(title, frozenset({"thought"}))
    yield from form.unsaid(plan, says, None, [step.id for step in plan.steps])
    if not plan.steps:
        yield cannot(f"{title} has no plan without steps.", "/steps")
    known: set[str] = set()
    for at, step in enumerate(plan.steps):
        if step.id in known:
            yield cannot(f"Two steps have the id {step.id!r}.", f"/steps/{at}/id", step.id)
        known.add(step.id)


def _no_step(number: int, said: str, is_sure: bool, marks: Marks, steps: Steps) -> TextProblem:
    if number in steps.closers:
        return TextProblem(
            "unknown-step",
            f"{said!r} refers to the call that ends the plan, which gives nothing.",
            marks.help,
        )
    if not is_sure:
        return TextProblem(
            "unknown-step",
            f"There is no step {number}, so {said!r} is text.",
            f"Where text is meant, `{marks.mark}{said}` says so for certain.",
            Severity.WARNING,
        )
    last = max(steps.ids, default=number)
    return TextProblem(
        "unknown-step",
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
