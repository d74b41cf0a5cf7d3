"""References by number, in text: a mark directly before the number of a step, as `$1` or `#E1`.

Of n marks before a number each pair is one mark of text. An odd one left over opens a reference,
none left makes the number text: `$$1` is the text `$1`. The number is read whole, so that `$10` is
step 10 and never step 1 with a `0` behind it. Text is parsed here once and never searched again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from toolplan.plan.canonical import MOST_PROBLEMS, ParsedText, ReferenceSyntaxError, TextProblem
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Literal, Ref, Template, template
from toolplan.plan.path import Path, PathSyntaxError

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


class References(Struct, frozen=True):
    """Reads the references of a plan whose steps have `ids` by their numbers.

    `closers` are numbers that stand in the plan, and are not steps. A bad reference is a problem,
    and is text.
    """

    marks: Marks
    ids: Mapping[int, str]
    closers: frozenset[int] = frozenset()

    def read(self, text: str) -> ParsedText:
        """Parse `text` into a value."""
        mark = self.marks.mark
        parts: list[str | Ref] = []
        literal: list[str] = []  # joined once: a text may be one long row of escapes
        problems: list[TextProblem] = []
        room = dict.fromkeys(Severity, MOST_PROBLEMS)  # so that no warning hides an error
        at = 0
        while opening := self.marks.opening.search(text, at):
            run = len(opening[0])
            literal.append(text[at : opening.start()] + mark * (run // 2))
            at = opening.end()
            if run % 2 == 0:
                continue
            found, end = self._mention(text, at)
            if isinstance(found, Ref):
                parts += ("".join(literal), found)
                literal.clear()
            else:
                literal.append(text[at - 1 : end])
                if found is not None and room[found.severity]:
                    room[found.severity] -= 1
                    problems.append(found)
            at = end
        return ParsedText(template((*parts, "".join(literal) + text[at:])), tuple(problems))

    def bare_end(self, text: str, at: int) -> int | None:
        """Return where the reference ends that begins at `at` outside of quotes, if one does."""
        bare = self.marks.bare
        if bare is None or not bare.match(text, at):
            return None
        try:
            mention = self.marks.read(text, at + 1)
        except (ReferenceSyntaxError, PathSyntaxError):
            return None
        return None if mention is None else mention.end

    def _mention(self, text: str, at: int) -> tuple[Ref | TextProblem | None, int]:
        """Read what follows the mark that ends at `at`, and return where that ends.

        It is None where it is text.
        """
        help_ = self.marks.help
        try:
            mention = self.marks.read(text, at)
        except (ReferenceSyntaxError, PathSyntaxError) as error:
            shown = text[at - 1 : at + 40].partition("\n")[0]
            said = f"The reference {shown!r} cannot be read: {error}."
            return TextProblem("reference-syntax", said, help_), at
        if mention is None:
            return None, at
        number = mention.number
        if number in self.ids:
            return Ref(self.ids[number], mention.path), mention.end
        written = text[at - 1 : mention.end]
        severity = Severity.ERROR
        if number in self.closers:
            said = f"{written!r} refers to the call that ends the plan, which gives nothing."
        elif mention.is_sure or written == text:
            said = f"There is no step {number} for {written!r} to refer to."
            first, last = min(self.ids, default=number), max(self.ids, default=number)
            help_ = f"The steps are {first} to {last}. {help_}"
        else:  # a price inside of a text; one that is all of an argument has no sign
            severity = Severity.WARNING
            said = f"There is no step {number}, so {written!r} is text."
            help_ = f"Where text is meant, `{self.marks.mark}{written}` says so for certain."
        return TextProblem("unknown-step", said, help_, severity), mention.end


def number_of(digits: str) -> int | None:
    """Return the number that `digits` spell, None where no plan would number a step so."""
    if len(digits) > _LONGEST_NUMBER or (digits[0] == "0" and digits != "0"):
        return None
    return int(digits)


def print_text(value: Literal | Ref | Template, marks: Marks, numbers: Mapping[str, int]) -> str:
    """Return the text that is read as `value`; a Literal must be a string.

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
