"""Output of commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Final, TextIO

from msgspec import Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.cli import terminal
from toolplan.events import Event
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import ModelCall, UsageTracker
from toolplan.schema.tool import Tool
from toolplan.show import printable as printables
from toolplan.show.console import Output
from toolplan.show.document import View
from toolplan.show.plan_tree import PlanTree, effect_marks
from toolplan.show.printable import cut, printable
from toolplan.show.runs_view import RunProgress

if sys.platform == "win32":
    import msvcrt
else:
    import termios


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    STORAGE = 3
    INTERRUPTED = 130
    NO_READER = 141


_FAILED: Final = frozenset(
    (
        "approval-required",
        "approval-used",
        "bad-draft",
        "bad-plan",
        "cannot-express",
        "journal-taken",
        "run-stopped",
        "sign-in-failed",
        "unreadable-plan",
    )
)
_STORAGE: Final = frozenset(("run-exists", "storage", "unwritable-file"))
_USAGE_OF_MODELS: Final = frozenset(("llm-missing", "llm-spec"))


_MAKING_WAY: Final[list[Callable[[], None]]] = []


def make_way() -> None:
    """Clear the progress line, before something is printed."""
    for call in _MAKING_WAY:
        call()


class CommandError(ToolplanError):
    """An error with more to print as JSON: the problems of a plan, or other details."""

    def __init__(
        self,
        code: str,
        message: str,
        help: str | None = None,
        *,
        diagnostics: Sequence[Json] = (),
        details: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(code, message, help)
        self.details = dict(details or {})
        if diagnostics:
            self.details["diagnostics"] = list(diagnostics)


def prepare_streams() -> None:
    """Replace standard streams that are missing, and characters that a terminal cannot show."""
    if getattr(sys, "stdin", None) is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def abandon_output() -> None:
    """Discard further output, so that closing the streams does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out(file: TextIO | None = None) -> Output:
    """Return standard output as it is now: plain text, 100 wide, where it is not a terminal."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and columns.isascii() and int(columns) else None
    return Output.of(file or sys.stdout, width)


def err() -> Output:
    """Return standard error as it is now."""
    return out(sys.stderr)


def show_long(output: Output, view: View) -> None:
    """Show `view` in the pager of the terminal, if it is longer than the terminal."""
    screen = sys.__stdout__  # where a pager writes
    if screen is not None and screen.isatty() and output.is_terminal:
        output.page(view)


def discard_input() -> None:
    """Discard input typed before a question: it is no answer."""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        try:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        except (OSError, ValueError, termios.error):  # it is not a terminal
            return


@contextmanager
def making_way(call: Callable[[], None]) -> Generator[None]:
    """Call `call` before each line that is printed in this block."""
    _MAKING_WAY.append(call)
    try:
        yield
    finally:
        _MAKING_WAY.remove(call)


def print_json(value: Json) -> None:
    """Print `value` on standard output; nothing in it steers a terminal."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False)
    sys.stdout.write(printables.harmless_json(text) + "\n")


def note(text: str, *, wrap: bool = True) -> None:
    """Print something beside the result, on standard error; with or without line breaks."""
    make_way()
    err().print(text, style="dim", soft_wrap=None if wrap else True)


def ask_claim(claim: str) -> bool | None:
    """Ask on the terminal whether a source's claim about its tools counts; None without one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    make_way()
    discard_input()
    for line in claim.splitlines():
        err().print(printables.printable(line))
    err().prompt("Take its word for it? Without it these calls need an approval. [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def report(error: ToolplanError, *, as_json: bool) -> int:
    """Print `error` on standard error, and return its exit code."""
    if as_json:
        document: dict[str, Json] = {
            "code": error.code,
            "message": str(error),
            "help": error.help or None,
        }
        if isinstance(error, CommandError):
            document |= error.details
        sys.stderr.write(printables.harmless_json(json.dumps({"error": document})) + "\n")
    else:
        console = err()
        console.print(f"error[{error.code}] {error}", style="bold red")
        if error.help:
            console.print(f"  help: {error.help}")
    code = error.code
    if code in _FAILED or (code.startswith("llm-") and code not in _USAGE_OF_MODELS):
        return Exit.FAILED.value
    is_storage = code in _STORAGE or code.startswith("journal-")
    return (Exit.STORAGE if is_storage else Exit.USAGE).value


class Display:
    """Shows a plan, then the progress of its run; nothing where only JSON is wanted."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._out = out()  # as it is now: while tools run, standard output is redirected
        self._progress: RunProgress | None = None

    def show_plan(self, plan: ExecutionPlan, tools: Mapping[str, Tool]) -> None:
        """Show the plan that is about to run with `tools`."""
        self.close()
        if not self._silent:
            make_way()
            self._out.print(PlanTree(plan.plan, effect_marks(plan.plan, tools)))
            self._out.print()

    def open(self, plan: ExecutionPlan, before: Sequence[Event] = ()) -> None:
        """Begin to show the run of `plan`; `before` are its events so far."""
        if not self._silent:
            self._progress = RunProgress(plan.plan, err(), clock=time.time, before=before)
            self._progress.__enter__()

    def show_event(self, event: Event) -> None:
        """Show one event."""
        if self._progress is not None:
            self._progress(event)

    def pause(self) -> None:
        """Leave the terminal to a question."""
        if self._progress is not None:
            self._progress.__exit__()

    def resume(self) -> None:
        """Show the run again."""
        if self._progress is not None:
            self._progress.__enter__()

    @property
    def is_live(self) -> bool:
        """Whether the progress of a run is drawn."""
        return self._progress is not None

    def close(self) -> None:
        """End the live view, if there is one."""
        self.pause()
        self._progress = None


_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES: Final = "|/-\\"
_EVERY_S: Final = 0.1
_QUIET_S: Final = 0.3
_FIRST_S: Final = 0.5
_CHARACTERS_A_TOKEN: Final = 4
_CLEAR: Final = "\r\x1b[K"


def thinking_text(call: ModelCall, now: float) -> str:
    """Describe a call to a model in progress, at `now` seconds on its clock."""
    text = f"{printable(call.model)} thinks: {now - call.began:.0f} s"
    if call.characters:
        text += f", about {max(1, call.characters // _CHARACTERS_A_TOKEN):,} tokens"
    return text


class Thinking(Struct):
    """Draws the line of the present call, and clears it when there is none.

    `is_hidden` says that something else is drawn at the moment.
    """

    _tracker: UsageTracker
    _file: TextIO
    _is_hidden: Callable[[], bool]
    _clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _quiet_until: float = 0.0
    _is_drawn: bool = False
    _frame: int = 0

    def draw(self) -> None:
        """Draw the line as it is now, or clear it."""
        with self._lock:
            call, now = self._tracker.call, self._clock()
            if call is None or self._is_hidden() or now - call.began < _FIRST_S:
                self._clear()
            elif now >= self._quiet_until:
                is_plain = not (self._file.encoding or "").lower().startswith("utf")
                frames = _PLAIN_FRAMES if is_plain else _FRAMES
                self._frame += 1
                text = f"{frames[self._frame % len(frames)]} {thinking_text(call, now)}"
                self._write(_CLEAR + cut(text, terminal.err().width - 1))
                self._is_drawn = True

    def make_way(self) -> None:
        """Clear the line, and leave the terminal to other output."""
        with self._lock:
            self._quiet_until = self._clock() + _QUIET_S
            self._clear()

    def _clear(self) -> None:
        if self._is_drawn:
            self._write(_CLEAR)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


@contextmanager
def thinking_shown(
    tracker: UsageTracker, *, silent: bool, is_hidden: Callable[[], bool] = lambda: False
) -> Generator[None]:
    """Show the calls to models meanwhile, on a terminal and where more than JSON is wanted."""
    if silent or not terminal.err().is_terminal or terminal.err().is_dumb_terminal:
        yield
        return
    line, over = Thinking(tracker, sys.stderr, is_hidden), threading.Event()

    def draw() -> None:
        while not over.wait(_EVERY_S):
            line.draw()

    thread = threading.Thread(target=draw, name="toolplan-thinking", daemon=True)
    with terminal.making_way(line.make_way):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            line.make_way()
