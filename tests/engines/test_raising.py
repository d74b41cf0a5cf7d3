"""Tools that raise, in sixty ways: each fails its own step, and the other branch is finished."""

import asyncio
import concurrent.futures
import errno
import json
import multiprocessing
import os
import queue
import socket
import sqlite3
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Callable

import pytest

from tests.engines._running import codes, ran, scripted
from tests.plans_strategy import execution_plan
from toolplan.engine import run
from toolplan.events import RunState, StepState
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, OutcomeUnknown, Tool, ToolError
from toolplan.testing import Gives, Raises


class Own(Exception):
    pass


class OwnBase(BaseException):
    pass


class Silent(Exception):
    def __str__(self) -> str:
        return ""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even this fails")

    __repr__ = __str__


class ExitsWhenPrinted(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Endless(Exception):
    def __str__(self) -> str:
        return "x" * 50_000_000


class Hostile(Exception):
    def __str__(self) -> str:
        return "\x1b[2J\u202e ${a.n} \ud800 \0"


def chained() -> Exception:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    return error


def in_a_cycle() -> Exception:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def noted() -> Exception:
    error = ValueError("noted")
    error.add_note("a note")
    return error


def decode_error() -> Exception:
    try:
        json.loads("{")
    except ValueError as error:
        return error
    raise AssertionError


KINDS: tuple[Callable[[], BaseException], ...] = (
    ArithmeticError, AssertionError, AttributeError, BlockingIOError, BrokenPipeError,
    BufferError, ChildProcessError, ConnectionAbortedError, ConnectionRefusedError,
    ConnectionResetError, EOFError, FileExistsError, FileNotFoundError, FloatingPointError,
    GeneratorExit, ImportError, IndentationError, IndexError, InterruptedError, IsADirectoryError,
    KeyError, KeyboardInterrupt, LookupError, MemoryError, ModuleNotFoundError, NameError,
    NotADirectoryError, NotImplementedError, OSError, OverflowError, PermissionError,
    ProcessLookupError, RecursionError, ReferenceError, RuntimeError, StopAsyncIteration,
    StopIteration, SyntaxError, SystemError, SystemExit, TabError, TimeoutError, TypeError,
    UnboundLocalError, UnicodeError, ValueError, ZeroDivisionError, asyncio.CancelledError,
    asyncio.InvalidStateError, asyncio.QueueFull, concurrent.futures.BrokenExecutor, queue.Empty,
    socket.gaierror, sqlite3.OperationalError, ssl.SSLError, threading.BrokenBarrierError,
    zipfile.BadZipFile, Own, OwnBase, Silent, Unprintable, Endless, Hostile, OutcomeUnknown,
    lambda: ToolError("It says no."), lambda: OSError(errno.ENOSPC, "disk full"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), lambda: StopIteration(5),
    lambda: SystemExit(3), lambda: subprocess.CalledProcessError(1, "ls"),
    lambda: ExceptionGroup("many", [ValueError("one"), Own("two")]),
    lambda: BaseExceptionGroup("many", [KeyboardInterrupt(), SystemExit(1)]),
    lambda: ExceptionGroup("many", [ExceptionGroup("more", [ToolError("the reason")])]),
    lambda: ToolError("half a pair: \ud800"), lambda: ToolError("long " * 10_000),
    ConnectionError, UserWarning, asyncio.QueueEmpty, BaseException, ExitsWhenPrinted,
    chained, in_a_cycle, noted, decode_error,
)  # fmt: skip


def test_a_tool_whose_process_dies_fails_its_step_and_nothing_else() -> None:
    async def die(args: Arguments) -> Json:
        del args
        pool = concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn")
        )
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, os._exit, 7)
        finally:
            pool.shutdown(wait=False)

    dying = Tool("die", "Dies.", {"type": "object"}, effects=Effects.READ, call=die)
    box = scripted(fine=Gives({"n": 1})).toolbox.with_tools(dying)
    plan = execution_plan(Plan((Step("bad", "die"), Step("good", "fine"))))
    done = asyncio.run(run(plan, box))
    assert done.steps["bad"].state is StepState.FAILED
    assert "BrokenProcessPool" in str(done.steps["bad"].error)
    assert done.steps["good"].output == {"n": 1}


def test_there_are_sixty_kinds() -> None:
    assert len(KINDS) >= 60


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: getattr(kind, "__name__", "kind"))
def test_whatever_a_tool_raises_fails_its_step_alone(kind: Callable[[], BaseException]) -> None:
    tools = scripted(fail=Raises(kind()), fine=Gives({"n": 1}), echo=None)
    done, _ = ran(
        tools,
        Step("bad", "fail"),
        Step("behind", "echo", {"x": Ref("bad")}),
        Step("good", "fine"),
        Step("other", "echo", {"x": Ref("good", ("n",))}),
    )
    assert done.status is RunState.FAILED
    assert done.steps["bad"].state is StepState.FAILED
    assert done.steps["behind"].state is StepState.SKIPPED
    assert done.steps["other"].output == {"x": 1}
    is_unknown = kind is OutcomeUnknown
    assert codes(done)["bad"] == ("outcome-unknown" if is_unknown else "tool-error")
    failure = done.steps["bad"].error
    assert failure is not None
    assert failure.message
    assert len(failure.message) <= 2_100
    failure.message.encode()  # no half characters
