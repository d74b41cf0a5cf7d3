"""How much of a text that is still being written can be read: where its steps end.

Every character is looked at once. Where the text is not what a dialect's plans usually look like,
nothing is found, and the plan is known when it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from toolplan.diagnostics import Diagnostic
from toolplan.plan import Step
from toolplan.plan_json import Parsed

_OPENS: Final = {"{": "}", "[": "]"}

_THOUGHTS: Final = "<think>"
_THOUGHTS_END: Final = "</think>"
_LONGEST_MARK: Final = 40
"""A fence or a tag is not longer."""

# what else may stand before a plan: its fence or its tag
_MARK = re.compile(r"(?:```|~~~)\w*[ \t]*\n|<plan>")
_STRUCTURE = re.compile(r'["{}\[\]]')
_END_OR_ESCAPE = re.compile(r'["\\]')
_NOT_SPACE = re.compile(r"\S")
_NUMBERED = re.compile(r"[ \t]*\d+[ \t]*\.")


class StepText(NamedTuple):
    """Where the text of a step that is complete begins and ends."""

    start: int
    end: int


class Reader(Protocol):
    """Finds the ends of steps in a text that grows."""

    def read(self, text: str) -> Iterator[StepText]:
        """Yield the steps that are complete in `text` and were not before.

        `text` is what it was the last time, and more.
        """
        ...


class JsonReader:
    """Finds the elements of the list under `key` of the object that the text is.

    Where `key` is None the text itself is the list. Elements are objects.
    """

    def __init__(self, key: str | None) -> None:
        self._key = key
        self._at: int = 0
        self._open: list[str] = []  # what closes the brackets that are open
        self._string: int | None = None  # where the string begins that is being written
        self._last_text = ""  # the last text that stood in the outermost object
        self._in_steps = False
        self._begin = 0  # where the element begins that is being written
        self._in_thoughts = False
        self._is_over = False

    def read(self, text: str) -> Iterator[StepText]:
        """Yield the steps that are complete in `text` and were not before."""
        if not self._open and not self._is_over and not self._start(text):
            return
        while not self._is_over:
            if self._string is not None and not self._end_string(text):
                return
            found = _STRUCTURE.search(text, self._at)
            if found is None:
                self._at = len(text)
                return
            self._at = found.end()
            if found[0] == '"':
                self._string = self._at
            elif found[0] in _OPENS:
                self._push(found[0], found.start())
            elif self._pop(found[0]):
                yield StepText(self._begin, self._at)

    def _end_string(self, text: str) -> bool:
        """Look for the end of the string that is being written; say whether it is there."""
        while found := _END_OR_ESCAPE.search(text, self._at):
            if found[0] == "\\":
                if found.end() == len(text):  # what it escapes is still to come
                    self._at = found.start()
                    return False
                self._at = found.end() + 1
                continue
            if len(self._open) == 1:
                self._last_text = text[self._string : found.start()]
            self._at = found.end()
            self._string = None
            return True
        self._at = len(text)
        return False

    def _start(self, text: str) -> bool:
        """Find the bracket that opens the plan; what else stands before it ends the reading."""
        while True:
            if self._in_thoughts and not self._end_thoughts(text):
                return False
            found = _NOT_SPACE.search(text, self._at)
            self._at = len(text) if found is None else found.start()
            rest = text[self._at : self._at + _LONGEST_MARK]
            if rest.startswith(_THOUGHTS):
                self._in_thoughts = True
            elif mark := _MARK.match(text, self._at):
                self._at = mark.end()
            else:
                break
        if not rest or (rest[0] in "`~<" and len(rest) < _LONGEST_MARK):
            return False  # nothing but what may stand there, so far
        self._is_over = rest[0] != ("[" if self._key is None else "{")
        return not self._is_over

    def _end_thoughts(self, text: str) -> bool:
        """Look for the end of the thoughts before the plan; say whether it is there."""
        end = text.find(_THOUGHTS_END, self._at)
        # the end itself may come in two pieces
        self._at = end + len(_THOUGHTS_END) if end >= 0 else len(text) - len(_THOUGHTS_END)
        self._at = max(self._at, 0)
        self._in_thoughts = end < 0
        return end >= 0

    def _push(self, mark: str, at: int) -> None:
        self._open.append(_OPENS[mark])
        base = 1 if self._key is None else 2
        if len(self._open) == base and mark == "[":
            self._in_steps = self._key is None or self._last_text == self._key
        elif len(self._open) == base + 1 and self._in_steps:
            self._begin = at
            self._is_over = mark != "{"

    def _pop(self, mark: str) -> bool:
        """Take the bracket that `mark` closes; say whether a step ends with it."""
        if not self._open or self._open.pop() != mark:
            self._is_over = True
            return False
        base = 1 if self._key is None else 2
        if len(self._open) < base and self._in_steps:
            self._is_over = True  # the list of steps has ended
        return len(self._open) == base and self._in_steps


class LineReader:
    """Finds lines that begin with a number, each a step; a line is complete at its end."""

    def __init__(self) -> None:
        self._begin = 0
        self._at = 0

    def read(self, text: str) -> Iterator[StepText]:
        """Yield the steps that are complete in `text` and were not before."""
        while (end := text.find("\n", self._at)) >= 0:
            start, self._begin = self._begin, end + 1
            self._at = self._begin
            if _NUMBERED.match(text, start, end) is None:
                self._begin = self._at = len(text)  # something else is told from here on
                return
            yield StepText(start, end + 1)
        self._at = len(text)


class RereadSteps:
    """Reads each step together with the text before it, which `closing` makes a whole plan."""

    def __init__(
        self,
        reader: Reader,
        closing: Callable[[int], str],
        parse: Callable[[str], Parsed],
        *,
        alone: bool = False,
    ) -> None:
        self._reader: Reader | None = reader
        self._closing = closing
        self._parse = parse
        self._alone = alone
        self._text = ""
        self._count = 0

    def feed(self, text: str) -> Sequence[Step]:
        """Return the steps that `text`, the next piece, completes."""
        steps: list[Step] = []
        if self._reader is None:
            return steps
        self._text += text
        for found in self._reader.read(self._text):
            step = self._step(found)
            if step is None:
                self._reader = None
                break
            self._count += 1
            steps.append(step)
        return steps

    def _step(self, found: StepText) -> Step | None:
        if self._alone:  # no step depends on the ones before it
            whole, count = f'{{"steps": [{self._text[found.start : found.end]}]}}', 1
        else:
            count = self._count + 1
            whole = self._text[: found.end] + self._closing(count)
        parsed = self._parse(whole)
        if parsed.plan is None or len(parsed.plan.steps) != count:
            return None
        step = parsed.plan.steps[-1]
        if any(_stops(each) and each.step in (step.id, None) for each in parsed.diagnostics):
            return None
        return step


def _stops(diagnostic: Diagnostic) -> bool:
    """Whether the step will be another one, or none, when the plan is whole."""
    is_fixable = diagnostic.fix is not None and diagnostic.fix.safe
    return is_fixable or diagnostic.blocks
