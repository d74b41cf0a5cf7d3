"""From text to a JSON document, for every dialect that is JSON.

Strict JSON comes first. In other text the block that reads as a plan is looked for, among prose,
code fences and `<think>` blocks, made strict by repairs that keep every token
(`toolplan.plan.text.loose`), and every skip and repair is reported. A block is a pair of
matching brackets that stands in no other such pair; all blocks are found in one pass. All else is
refused with its place. Text that ends inside a value is refused too: a plan that was cut off is not
completed by adding brackets, because steps may be missing.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.dialects.characters import fits, report_character, report_flaws, syntax, without_mark
from toolplan.plan.canonical import Report, check_depth
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Literal
from toolplan.plan.path import Json
from toolplan.plan.text.loose import (
    REPLACEMENT,
    Reader,
    Refused,
    Span,
    is_bad_number,
    nearest,
    not_text,
)
from toolplan.plan.text.tokens import LINE_TOKEN, TOKEN

MOST_OPEN: Final = 1_000
"""Maximum number of open brackets; prose has no more, and plans have far fewer."""

MOST_MARKS: Final = 500_000
"""Maximum number of brackets, commas and colons of a segment; the longest plan has half of it."""

_MOST_SEGMENTS: Final = 1_000
"""Maximum number of fences that are read; the text after them is one segment."""

_CUT = re.compile(
    r"(?P<think>^[ \t]*<think(?:ing)?>)|(?P<end>^[^\n{\[]*?</think(?:ing)?>)"
    r"|(?P<fence>^[ \t]*(?:```|~~~).*$)",
    re.MULTILINE,
)
_CLOSE_THINK = re.compile(r"</think(?:ing)?>")
# a bracket that opens JSON: in prose, other things follow
_OPENING = re.compile(
    r"""\{\s*+(?:["']|[A-Za-z_]\w*+\s*+:|//|/\*|\#|\Z)|\[\s*+(?:[{"'\[]|//|/\*|\#|\Z)"""
)


class Segment(Struct, frozen=True):
    """A part of the text that is read by itself: outside of `<think>`, inside of a fence or not."""

    span: Span
    is_fenced: bool


class Segments(Struct, frozen=True):
    """The parts of a text, and what lies between them: `a code fence`, `a <think> block`."""

    segments: tuple[Segment, ...]
    noise: tuple[str, ...]


def segments(text: str) -> Segments:
    """Divide `text` at its code fences, without its `<think>` blocks."""
    noise: dict[str, None] = {}
    parts: list[Segment] = []
    start = at = 0
    fenced = False
    last_close = max(text.rfind("</think>"), text.rfind("</thinking>"))
    while len(parts) < _MOST_SEGMENTS and (cut := _CUT.search(text, at)):
        end, at = cut.start(), cut.end()
        if cut["fence"] is not None:
            noise["a code fence"] = None
            parts.append(Segment(Span(start, end), fenced))
            fenced = not fenced
        elif cut["think"] is not None:
            close = _CLOSE_THINK.search(text, at) if at <= last_close else None
            if close is None:
                continue  # a tag that nothing closes is prose
            at = close.end()
            noise["a <think> block"] = None
            parts.append(Segment(Span(start, end), fenced))
        else:  # the tag that opened it was cut from the text; all before is thinking
            noise["a <think> block"] = None
            parts.clear()
            fenced = False
        start = at
    parts.append(Segment(Span(start, len(text)), fenced))
    return Segments(tuple(parts), tuple(noise))


def _spans(text: str, span: Span, search: _Search, *, by_line: bool) -> list[Span]:
    """Return the blocks of `text` within `span`, in order, and note their faults in `search`.

    With `by_line`, strings end with their line at the latest, so that a stray quote in the prose
    does not swallow the plan.
    """
    tokens = LINE_TOKEN if by_line else TOKEN
    found: list[Span] = []
    at, marks = span.start, 0
    while opening := _OPENING.search(text, at, span.end):
        at, depth = opening.start(), 0
        for token in tokens.finditer(text, at, span.end):
            if token.lastgroup in ("double", "single") and not (token["dq"] or token["sq"]):
                search.is_spoilt = True
            elif token.lastgroup == "mark":
                marks += 1
                depth += (token[0] in "[{") - (token[0] in "]}")
                if depth > MOST_OPEN or marks > MOST_MARKS:
                    search.too_deep |= depth > MOST_OPEN
                    return []
                if depth == 0:
                    found.append(Span(at, token.end()))
                    at = token.end()
                    break
        else:
            search.cut_off = at if search.cut_off is None else search.cut_off
            return found
    return found


def prose(text: str, parts: Segments, block: Span) -> bool:
    """Return whether anything but white space stands beside `block`, where nothing is cut away."""
    for part in parts.segments:
        said = text[part.span.start : part.span.end]
        if part.span.start <= block.start < part.span.end:
            said = text[part.span.start : block.start] + text[block.end : part.span.end]
        if said.strip():
            return True
    return False


IsPlan: TypeAlias = Callable[[Json], bool]

_ALONE: Final = "Write the plan alone."
_CUT_OFF: Final = "What begins there does not end: the plan was cut off. Write all of it."

MOST_BLOCKS: Final = 64
"""Maximum number of blocks of a segment that are read, the largest ones."""

MOST_LENIENT: Final = 500_000
"""A longer block has to be strict JSON."""

_FLAWS: Final = ("duplicate-key", "bad-number", "bad-encoding")
"""The order in which flaws are reported."""
_ESCAPED_NOT_TEXT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_KEY = re.compile(r"""["']?(\w++)["']?\s*+:""")
_GOES_ON = re.compile(r"""\s*[\[\]{}",:\d-]""")


class Block(Struct, frozen=True):
    """A JSON document and its place in the text.

    `is_irregular` says that JSON readers do not agree about a key or a number in it.
    """

    document: Json
    span: Span
    is_irregular: bool = False
    noise: tuple[str, ...] = ()
    is_fenced: bool = False


class JsonText(Struct, frozen=True):
    """The result of reading: the block that is the plan, or None, and the problems."""

    block: Block | None
    diagnostics: tuple[Diagnostic, ...]


class _Search(Struct):
    """What a search for blocks found: those that can be read, and why the others cannot.

    `cut_off` is where a value begins that does not end. `too_deep` says that too many brackets were
    open, `is_spoilt` that a string did not end, so that another reading of quotes may find more.
    """

    blocks: list[Block] = field(default_factory=list[Block])
    broken: list[tuple[Span, Refused]] = field(default_factory=list[tuple[Span, Refused]])
    cut_off: int | None = None
    too_deep: bool = False
    is_spoilt: bool = False


def read(text: str, is_plan: IsPlan, limits: Limits | None = None) -> JsonText:
    """Return the JSON document in `text` that is the plan. Never raises.

    `is_plan` says whether JSON in the text is a plan of the dialect.
    """
    limits = limits or Limits()
    report = Report()
    if not fits(text, limits, report):
        return JsonText(None, report.diagnostics)
    text, is_suspect = _checked(text, report)
    try:
        block = _read(text, is_plan, is_suspect, limits, report)
    except RecursionError:
        _report_too_deep(limits, report)
        block = None
    return JsonText(block, report.diagnostics)


def write(document: dict[str, Json]) -> str:
    """Return `document` as text: its members on lines of their own, and so is every step."""
    members = [f"  {_compact(key)}: {_member(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _read(
    text: str, is_plan: IsPlan, is_suspect: bool, limits: Limits, report: Report
) -> Block | None:
    try:
        block = _decoded(text)
    except json.JSONDecodeError as error:
        block = _look(text, is_plan, error, limits, report)
    if block is None:
        return None
    if block.is_irregular or is_suspect or _ESCAPED_NOT_TEXT.search(text, *block.span):
        if not check_depth(block.document, limits.depth, report):
            return None
        reader = Reader(text, *block.span)
        block = replace(block, document=reader.read())
        report_flaws(sorted(reader.flaws, key=lambda flaw: _FLAWS.index(flaw.code)), report)
        if is_suspect and all(flaw.code != "bad-encoding" for flaw in reader.flaws):
            report.error("bad-encoding", "The text holds half a character (a lone surrogate).")
    return block


def _look(
    text: str, is_plan: IsPlan, error: json.JSONDecodeError, limits: Limits, report: Report
) -> Block | None:
    """Find the plan in text that is not strict JSON, or report why there is none."""
    if report.diagnostics:  # not even text, which is reported
        return None
    if _goes_on(text):
        what = "The text continues after the end of the plan"
        report.add(syntax(text, error.pos, what, help=_ALONE))
        return None
    parts = segments(text)
    search = _search(text, parts, by_line=True)
    chosen = _chosen(search, is_plan)
    if search.is_spoilt and (len(chosen) != 1 or search.cut_off is not None):
        again = _search(text, parts, by_line=False)
        if len(_chosen(again, is_plan)) == 1 and again.cut_off is None:
            search = again
            chosen = _chosen(again, is_plan)
    if search.too_deep:
        _report_too_deep(limits, report)
    elif len(chosen) > 1:
        at, what = chosen[1].span.start, "The text holds a second plan"
        report.add(syntax(text, at, what, help=_ALONE))
    elif search.cut_off is not None and not (chosen and chosen[0].is_fenced):
        what = "The text ends inside of a value"
        report.add(syntax(text, search.cut_off, what, help=_CUT_OFF))
    elif (broken := _broken_plan(text, search, chosen)) is not None:
        strict = "Write strict JSON."
        report.add(syntax(text, broken.at, str(broken), help=strict, code=broken.code))
    elif not chosen:
        what = f"The text is not JSON: {_said(error)}"
        report.add(syntax(text, error.pos, what, help=_ALONE))
    else:
        noise = [*parts.noise, *chosen[0].noise]
        if prose(text, parts, chosen[0].span):
            noise.insert(0, "prose")
        what = f"The plan was read without what does not belong to it: {', '.join(noise)}."
        report.warning("noise", what, help="Write the plan alone, as strict JSON.")
        return chosen[0]
    return None


def _search(text: str, parts: Segments, *, by_line: bool) -> _Search:
    search = _Search()
    for part in parts.segments:
        spans = _spans(text, part.span, search, by_line=by_line)
        for span in sorted(heapq.nlargest(MOST_BLOCKS, spans, key=_length)):
            try:
                search.blocks.append(_loose(text, span, is_fenced=part.is_fenced))
            except Refused as refused:
                search.broken.append((span, refused))
    return search


def _loose(text: str, span: Span, *, is_fenced: bool) -> Block:
    """Return the block at `span`.

    Raises:
        Refused: no repair makes JSON of it.
    """
    try:
        block = _decoded(text[span.start : span.end])
        return replace(block, span=span, is_fenced=is_fenced)
    except json.JSONDecodeError as error:
        if _length(span) > MOST_LENIENT:
            what = f"The text is not JSON: {_said(error)}"
            raise Refused(what, span.start + error.pos) from None
    reader = Reader(text, *span)
    return Block(reader.read(), span, bool(reader.flaws), tuple(reader.noise), is_fenced)


def _broken_plan(text: str, search: _Search, chosen: list[Block]) -> Refused | None:
    """Return why a block cannot be read that may be the plan, or a part of it."""
    if not chosen:
        largest = max(search.broken, key=lambda each: _length(each[0]), default=None)
        return largest and largest[1]
    # the keys of the objects in the lists of the plan: of its steps, in every dialect
    plan = chosen[0].document
    lists = list(plan.values()) if isinstance(plan, dict) else [plan]
    steps = [step for each in lists if isinstance(each, list) for step in each]
    keys = {key for step in steps if isinstance(step, dict) for key in step}
    for span, broken in search.broken:
        block = text[span.start : span.end]
        if any(found[1] in keys for found in _KEY.finditer(block)):
            return broken
    return None


def _chosen(search: _Search, is_plan: IsPlan) -> list[Block]:
    """Return the blocks that are the plan: one, if all is well; the same plan twice is one."""
    plans = [each for each in search.blocks if is_plan(each.document)]
    if plans:
        first = Literal(plans[0].document)  # of which 1 is not true, and not 1.0
        return [plans[0], *(e for e in plans[1:] if Literal(e.document) != first)]
    objects = [e for e in search.blocks if isinstance(e.document, dict)]
    candidates = objects or search.blocks
    return candidates if len(candidates) == 1 else []


def _goes_on(text: str) -> bool:
    """Return whether a document ends and another, or a stray bracket, follows directly."""
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] not in ("{", "["):
        return False
    try:
        _, end = _decoder()[0].raw_decode(text, start)
    except json.JSONDecodeError:
        return False
    return _GOES_ON.match(text, end) is not None


def _decoded(text: str) -> Block:
    decoder, irregular = _decoder()
    document = decoder.decode(text)
    return Block(document, Span(0, len(text)), is_irregular=bool(irregular))


def _report_too_deep(limits: Limits, report: Report) -> None:
    report.error("too-deep", f"Lists and objects are nested deeper than {limits.depth}.")


def _said(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


def _checked(text: str, report: Report) -> tuple[str, bool]:
    """Return `text` in its length, without byte order mark and NUL; and whether it has halves."""
    text = without_mark(text, report)
    if "\0" in text:
        report_character(text, text.index("\0"), report)
        text = text.replace("\0", REPLACEMENT)
    return text, not text.isascii() and not_text(text) is not None


def _length(span: Span) -> int:
    return span.end - span.start


def _member(value: Json) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_compact(each)}" for each in value) + "\n  ]"
    return _compact(value)


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _decoder() -> tuple[json.JSONDecoder, list[str]]:
    """Return a decoder, and the list of irregular parts that it fills: readers differ on them.

    A key that stands twice, or a bad number, is read all the same, so that the rest of the plan can
    be checked.
    """
    irregular: list[str] = []

    def once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        members = dict(pairs)
        if len(members) != len(pairs):
            irregular.append("a key")
        return members

    def number(word: str) -> int | float:
        if is_bad_number(word):
            irregular.append(word)
        return nearest(word)

    decoder = json.JSONDecoder(
        object_pairs_hook=once, parse_float=number, parse_int=number, parse_constant=number
    )
    return decoder, irregular
