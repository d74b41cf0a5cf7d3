"""Values as JSON: references in text, read and written so that they read back.

A reference is `${` id segment* `}`. Of n dollars directly before `{` each pair is one dollar of
text. An odd one left over opens a reference; none left makes the brace text. So `$${x}` is the text
`${x}`, and `$$${x}` is a dollar with a reference behind it. Text is parsed here once and never
searched again. A dialect that writes them in another way has a `Notation` of its own.
The problems of a text are collected in a `Report`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.plan.diagnostics import Diagnostic, Severity, did_you_mean, near
from toolplan.plan.model import (
    Array,
    Literal,
    Object,
    Plan,
    Ref,
    Template,
    Value,
    array,
    bare,
    escape_pointer,
    members,
    object_,
    template,
)
from toolplan.plan.path import Json, Path, PathSyntaxError, json_type, parse_segments, print_path
from toolplan.plan.text.tokens import DEEPEST

_MOST_DIAGNOSTICS: Final = 1_000
_LONGEST_POINTERS: Final = 4_000_000

_OTHER_NAMES: Final = {
    other: name
    for name, others in {
        "args": "params parameters arguments input inputs",
        "tool": "name tool_name toolName function action",
        "after": "depends_on dependsOn dependencies",
        "for_each": "foreach map",
        "when": "condition if",
        "timeout_s": "timeout",
        "retries": "max_retries",
        "thought": "reason description",
        "toolplan": "version",
    }.items()
    for other in others.split()
}
"""Names of the fields in other plan languages: offered, never read as the field."""


class Parsed(NamedTuple):
    """The result of reading a text: the plan, as far as it was readable, and its problems."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...] = ()


class Report:
    """Collects diagnostics while a plan is read.

    Their number is bounded, for errors and warnings apart, so that a hostile text cannot fill the
    memory with complaints and no number of warnings hides an error.
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._room = dict.fromkeys(Severity, _MOST_DIAGNOSTICS)
        self._characters = _LONGEST_POINTERS

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that were kept, in the order in which they were found."""
        return tuple(self._found)

    def is_full(self, severity: Severity = Severity.ERROR) -> bool:
        """Return whether no further diagnostic of `severity` is kept."""
        if severity is Severity.ERROR and self._room[severity] == _MOST_DIAGNOSTICS:
            return False  # one error at least, however long
        return self._room[severity] < 1 or self._characters < 0

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep `diagnostic`, where there is room."""
        if not self.is_full(diagnostic.severity):
            self._room[diagnostic.severity] -= 1
            self._characters -= len(diagnostic.pointer)
            self._found.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        pointer: str = "",
        step: str | None = None,
        help: str | None = None,
    ) -> None:
        """Keep an error."""
        self.add(Diagnostic(code, Severity.ERROR, message, step, pointer, help))

    def warning(
        self,
        code: str,
        message: str,
        pointer: str = "",
        step: str | None = None,
        help: str | None = None,
    ) -> None:
        """Keep a warning."""
        self.add(Diagnostic(code, Severity.WARNING, message, step, pointer, help))

    def unknown_fields(
        self,
        item: Mapping[str, Json],
        known: Sequence[str],
        pointer: str,
        step: str | None = None,
        other_names: Mapping[str, str] | None = None,
    ) -> None:
        """Report every field of `item` that is not `known`, each with the fields that may be meant.

        `other_names` are the names of fields in other plan languages.
        """
        for name in item:
            if name in known:
                continue
            if self.is_full():
                return
            other = (_OTHER_NAMES if other_names is None else other_names).get(name, "")
            offers = [other] if other in known else near(name, known) if len(name) < 100 else []
            self.error(
                "unknown-field",
                f"There is no field {shown(name)}.",
                f"{pointer}/{escape_pointer(name)}",
                step,
                did_you_mean(offers) or f"The fields are {', '.join(known)}.",
            )

    def wrong_type(
        self, name: str, value: Json, wanted: str, pointer: str, step: str | None = None
    ) -> None:
        """Report that the field `name` at `pointer` holds no `wanted`."""
        self.error("field-type", f"{name!r} is {json_type(value)}, not {wanted}.", pointer, step)


def shown(text: str) -> str:
    """Return `text` in quotes, shortened where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "…")


STEP_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
"""Pattern of the id of a step, for `fullmatch`."""

EARLIER: Final = "run:"
"""Prefix of the name of an earlier run, in the place of a step's id."""

_EARLIER_RUN: Final = re.compile(EARLIER + "[0-9A-Za-z_-]{1,200}")

OPENING: Final = "${"
"""Fast path: a text without it is a plain literal."""

MOST_PROBLEMS: Final = 20
"""Maximum number of problems reported of one text."""

_SHORT: Final = 200
"""The longest text that is remembered: plans say the same few references again and again."""


class ReferenceSyntaxError(ToolplanError, ValueError):
    """The text at `offset` names no step, or no path; `str(error)` says what is there instead."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__("bad-reference", message)
        self.offset = offset


class TextProblem(Struct, frozen=True):
    """A problem of one reference in a text; `offset` counts from the text's start."""

    code: str
    message: str
    help: str | None = None
    severity: Severity = Severity.ERROR
    offset: int = 0

    def at(self, pointer: str, step: str | None = None) -> Diagnostic:
        """Return its diagnostic, where the text stands at `pointer`."""
        return Diagnostic(self.code, self.severity, self.message, step, pointer, self.help)


class ParsedText(Struct, frozen=True):
    """A parsed text. Where there are problems, `value` is the text itself."""

    value: Value
    problems: tuple[TextProblem, ...] = ()


Written: TypeAlias = Literal | Ref | Template
"""The content of one text: a Literal that is a string, a reference, or both in turn."""


class Notation(Struct, frozen=True):
    """How references stand in text: behind a `mark`, of which each pair is one mark of text.

    `opening` matches a run of marks directly before what may be a reference; `closing` also one at
    the end of a text that a reference follows. `read(text, at)` reads what stands behind the marks:
    a reference, a mistake, or None where it is text after all; and where it ends. `write(ref,
    behind)` is its inverse, mark and all, where the text `behind` follows.
    """

    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    read: Callable[[str, int], tuple[Ref | TextProblem | None, int]]
    write: Callable[[Ref, str], str]

    def parse(self, text: str) -> ParsedText:
        """Parse `text` into a Literal, a bare Ref, or a Template.

        Never raises: each bad reference is a problem; with an error, all of the text is literal.
        """
        parts: list[str | Ref] = []
        literal: list[str] = []  # joined once: a text may be one long row of escapes
        problems: list[TextProblem] = []
        at = errors = 0
        while errors < MOST_PROBLEMS and (opening := self.opening.search(text, at)):
            run = len(opening[0])
            literal.append(text[at : opening.start()] + self.mark * (run // 2))
            at = opening.end()
            if run % 2 == 0:
                continue
            found, end = self.read(text, at)
            if isinstance(found, Ref):
                parts += ("".join(literal), found)
                literal.clear()
            else:
                literal.append(text[at - 1 : end])
            if isinstance(found, TextProblem):
                is_error = found.severity is Severity.ERROR
                # warnings are bounded apart, so that none hides an error
                if is_error or len(problems) - errors < MOST_PROBLEMS:
                    problems.append(found)
                errors += is_error
            at = end
        if errors:
            return ParsedText(Literal(text), tuple(problems))
        return ParsedText(template((*parts, "".join(literal) + text[at:])), tuple(problems))

    def print(self, value: Written) -> str:
        """Return the text that `parse` reads as `value`; a Literal must be a string.

        Raises:
            TypeError: the Literal is not a string.
        """
        parts = value.parts if isinstance(value, Template) else (value,)
        written: list[str] = []
        for part, behind in zip(parts, (*parts[1:], ""), strict=True):
            text = part.value if isinstance(part, Literal) else part
            if isinstance(text, Ref):
                # of two references side by side the mark of the second one follows
                written.append(self.write(text, behind if isinstance(behind, str) else self.mark))
            elif isinstance(text, str):
                before_mark = self.closing if isinstance(behind, Ref) else self.opening
                written.append(before_mark.sub(r"\g<0>\g<0>", text) if self.mark in text else text)
            else:
                raise TypeError("only text is printed as text")
        return "".join(written)


def in_braces(
    read_step: Callable[[str, int], tuple[str, int]],
    write_step: Callable[[str], str],
    write_path: Callable[[Path], str],
    help: str,
) -> Notation:
    """Return the notation `${` step path `}`.

    `read_step(text, at)` gives the id of the step and the offset behind its name, or raises
    ReferenceSyntaxError. `write_step` is its inverse.
    """

    def read(text: str, at: int) -> tuple[Ref | TextProblem, int]:
        try:
            step, end = read_step(text, at + 1)
            path, end = parse_segments(text, end)
            if text.startswith("}", end):
                return Ref(step, path), end + 1
            found = f"{text[end]!r} stands where '}}' was expected" if end < len(text) else ""
            raise ReferenceSyntaxError(found or "'}' is missing", end)
        except (ReferenceSyntaxError, PathSyntaxError) as error:
            shown = "".join(text[at - 1 : at + 61].partition("}")[:2])
            message = f"The reference {shown!r} cannot be read: {error}."
            return TextProblem("reference-syntax", message, help, offset=error.offset), at

    # the look-behind keeps a long row of dollars from being tried from each of them
    return Notation(
        "$",
        re.compile(r"(?<!\$)\$++(?=\{)"),
        re.compile(r"(?<!\$)\$++(?=\{|\Z)"),
        read,
        lambda ref, _: "${" + write_step(ref.step) + write_path(ref.path) + "}",
    )


def _canonical_step(text: str, at: int) -> tuple[str, int]:
    if found := _EARLIER_RUN.match(text, at) or STEP_ID.match(text, at):
        return found[0], found.end()
    if text.startswith("}", at):
        raise ReferenceSyntaxError("it is empty", at)
    if text.startswith("${", at):
        raise ReferenceSyntaxError("a reference cannot stand inside another", at)
    raise ReferenceSyntaxError("the id of a step was expected", at)


_CANONICAL: Final = in_braces(
    _canonical_step,
    str,
    print_path,
    "A reference is `${step.path}`, as in `${s0.data[0].id}`; `$${` is the text `${`.",
)
_remembered = lru_cache(maxsize=2048)(_CANONICAL.parse)
print_text: Final = _CANONICAL.print
"""Return the text that `parse_text` reads as a value."""


def parse_text(text: str) -> ParsedText:
    """Parse `text` into a Literal, a bare Ref, or a Template. Never raises."""
    if OPENING not in text:
        return ParsedText(Literal(text))
    return _remembered(text) if len(text) <= _SHORT else _CANONICAL.parse(text)


# a tuple, because `isinstance` is slower with `dict | list`
_NESTED: Final = (dict, list)
_MOST_POINTERS: Final = 1_000


class Syntax(Struct, frozen=True):
    """How a dialect writes references.

    `read_text` takes a string, `read_object` an object, and returns None for one that is no
    reference. `write` is the inverse of both; it need not say all that there is. Text without
    `mark` is read and written as it is.
    """

    read_text: Callable[[str], ParsedText]
    write: Callable[[Written], Json]
    read_object: Callable[[Mapping[str, Json]], ParsedText | None] = lambda _: None
    mark: str = ""

    def read(self, value: Json, pointer: str, step: str | None, report: Report) -> Value:
        """Return `value`, which stands at `pointer`. A bad reference is reported and kept."""
        match value:
            case str():
                found = self.read_text(value)
            case dict():
                found = self.read_object(value)
                if found is None:
                    return object_(tuple(self.read_members(value, pointer, step, report).items()))
            case list():
                items = enumerate(value)
                return array(tuple(self._member(v, pointer, at, step, report) for at, v in items))
            case _:
                return Literal(value)
        for problem in found.problems:
            report.add(problem.at(pointer, step))
        return found.value

    def read_members(
        self, members: Mapping[str, Json], pointer: str, step: str | None, report: Report
    ) -> dict[str, Value]:
        """Return the values of the object at `pointer`, by their keys."""
        return {
            key: self._member(value, pointer, key, step, report) for key, value in members.items()
        }

    def _member(
        self, value: Json, around: str, token: str | int, step: str | None, report: Report
    ) -> Value:
        # the pointer is made only where it may be needed
        if isinstance(value, str):
            if self.mark not in value:
                return Literal(value)
            found = self.read_text(value)
            if not found.problems:
                return found.value
        elif not isinstance(value, _NESTED):
            return Literal(value)
        return self.read(value, f"{around}/{escape_pointer(str(token))}", step, report)

    def dump(self, value: Value | Json) -> Json:
        """Return the JSON that reads as `value`, where the dialect can say it."""
        match value:
            case Literal(literal):
                return self.dump(literal)
            case Ref() | Template():
                return self.write(value)
            case str():
                return self.write(Literal(value)) if self.mark in value else value
            case Object() | dict():
                return {str(key): self.dump(each) for key, each in members(value)}
            case Array() | list():
                return [self.dump(each) for _, each in members(value)]
            case _:
                return value

    def unsaid(self, value: Value, pointer: str) -> Iterator[tuple[str, Value]]:
        """Yield each innermost part of `value` that would not read back, with its pointer."""
        report = Report()
        back = self.read(self.dump(value), pointer, None, report)
        if back == value and not report.diagnostics:
            return
        found = False
        for key, part in members(bare(value)):
            inner = part if isinstance(part, Value) else Literal(part)
            for each in self.unsaid(inner, f"{pointer}/{escape_pointer(str(key))}"):
                found = True
                yield each
        if not found:
            yield pointer, value


CANONICAL: Final = Syntax(parse_text, print_text, mark=OPENING)
"""`${facilities.data[*].id}`"""

dump_value: Final = CANONICAL.dump
"""Return the canonical JSON of a value."""


def check_depth(document: Json, most: int, report: Report) -> bool:
    """Report values that are nested deeper than `most`; return whether there are none."""
    most = min(most, DEEPEST)
    level: list[dict[str, Json] | list[Json]] = [document] if isinstance(document, _NESTED) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTED)
        ]
        if not level:
            return True
    # once more, with the pointers of the first ones
    places: Sequence[tuple[str, Json]] = [("", document)]
    for _ in range(most):
        places = [
            (f"{pointer}/{escape_pointer(str(token))}", inner)
            for pointer, outer in places
            for token, inner in members(outer)
            if isinstance(inner, _NESTED)
        ][:_MOST_POINTERS]
    for pointer, _ in places:
        if not report.is_full():
            message = f"Lists and objects are nested deeper than {most}."
            report.error("too-deep", message, pointer)
    return False
