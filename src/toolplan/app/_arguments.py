"""Checks of the arguments of an app's methods; wrong ones are refused before any work."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast, get_args

from toolplan.app.resume import VALUES, ByPlan
from toolplan.app.setup import User
from toolplan.base.errors import ToolplanError
from toolplan.compiler.rules import Rule
from toolplan.engine import RunOptions
from toolplan.events import Event, ItemEnded, StepStarted, StepSucceeded
from toolplan.plan.model import Limits
from toolplan.planners import Attempt
from toolplan.policy import Policy
from toolplan.policy.approval import Approval
from toolplan.policy.consent import Effect, ValueApproval
from toolplan.policy.execution_plan import is_digest
from toolplan.storage.journal import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Fits: TypeAlias = Callable[[object], bool]


def checked_arguments(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Refuse wrong values of the arguments that `KINDS` has, by their names."""
    names = [*inspect.signature(function).parameters]

    @wraps(function)
    def checking(*args: _P.args, **options: _P.kwargs) -> _T:
        check_arguments(**dict(zip(names, args, strict=False)), **options)
        return function(*args, **options)

    if not inspect.iscoroutinefunction(function):
        return checking

    @wraps(function)
    async def later(*args: _P.args, **options: _P.kwargs) -> object:
        return await cast("Callable[..., Any]", checking)(*args, **options)

    return cast("Callable[_P, _T]", later)


def checked_methods(kind: type[_T]) -> type[_T]:
    """Check the arguments of the public methods of a class, and of its constructor."""
    for name, method in [*vars(kind).items()]:
        if (not name.startswith("_") or name == "__init__") and inspect.isfunction(method):
            setattr(kind, name, checked_arguments(method))
    return kind


def check_arguments(**given: object) -> None:
    """Refuse wrong values of the arguments that `KINDS` has, by their names."""
    for name, value in given.items():
        fits, expected = KINDS.get(name, (None, ""))
        if fits is None or fits(value):
            continue
        if callable(value) and _is_async(value):
            message = f"{name} is an async function, which nothing would await."
        else:
            shown = f": {value!r:.200}" if isinstance(value, str | int | float) else ""
            message = f"{name} is a value of type {type(value).__name__}{shown}."
        raise ToolplanError("usage", message, f"Give {expected}.")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and _is_json(dict(cast("Mapping[Any, Any]", value)))


def _is_async(value: object) -> bool:
    while isinstance(value, partial):
        value = cast("partial[object]", value).func
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (value, cast("Any", value).__call__)
    )


def _is_approval(value: object) -> bool:
    if isinstance(value, str):
        return value == VALUES or is_digest(value)
    is_one = isinstance(value, Approval | ValueApproval | ByPlan)
    return is_one or (callable(value) and not isinstance(value, type))


def _is(*kinds: type) -> _Fits:
    return lambda value: isinstance(value, kinds)


def _or_none(fits: _Fits) -> _Fits:
    return lambda value: value is None or fits(value)


def _each(fits: _Fits) -> _Fits:
    def all_fit(value: object) -> bool:
        if isinstance(value, str):
            return fits(value)
        is_list = isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes)
        return is_list and all(map(fits, cast("Iterable[object]", value)))

    return all_fit


def _has(method: str) -> _Fits:
    return lambda value: not isinstance(value, type) and callable(getattr(value, method, None))


_CALLS: Final = _each(_is_text)
_TABLE: Final[Sequence[tuple[str, _Fits, str]]] = (
    ("plan_only yes eager replan dry_run quick", _is(bool), "True or False"),
    ("dialect run", _is_text, "a text that is not empty"),
    ("conversation run_id toolbox after", _or_none(_is_text), "a text that is not empty"),
    ("question reason", _is(str), "a text"),
    (
        "on_step on_plan on_delta on_event on_note assess",
        _or_none(lambda value: callable(value) and not _is_async(value)),
        "a function that is not async, or leave it out",
    ),
    ("clock new_id", callable, "a function, or leave it out"),
    ("retry abort", _CALLS, "texts such as `mail` or `mail:2`"),
    (
        "allow deny leave_out",
        _each(lambda value: _is_text(value) or isinstance(value, Effect)),
        "names of steps, or calls as they were shown",
    ),
    (
        "limit attempts",
        lambda value: isinstance(value, int) and _is_number(value) and value >= 1,
        "a whole number from 1",
    ),
    ("contracts", _CALLS, "the paths of folders and files of contracts"),
    (
        "resolve",
        lambda value: _CALLS(value) or _is_mapping(value),
        "texts such as `mail=null`, or a mapping of calls to JSON values",
    ),
    ("context", _is_json, "a JSON value, as the planner keeps it"),
    ("metadata", _is_mapping, "a mapping of JSON values"),
    (
        "done",
        _each(_is(StepStarted, ItemEnded, StepSucceeded)),
        "the events of `toolplan.engine.deltas.delta(…)`",
    ),
    ("events", _or_none(_each(_is(*get_args(Event)))), "the events of a run, or None"),
    ("tried", _each(_is(Attempt)), "a list of toolplan.planners.Attempt"),
    (
        "approve",
        _or_none(_is_approval),
        'a function that is asked, an approval, the digest of a plan, or "values"',
    ),
    (
        "summary",
        lambda value: value in (None, "plain", "markdown", "json"),
        "plain, markdown or json",
    ),
    (
        "grace",
        _or_none(lambda value: _is_number(value) and 0 <= cast("float", value) < math.inf),
        "seconds from 0 on, or None",
    ),
    ("weeks", lambda value: value in ("rolling", "calendar"), "rolling or calendar"),
    ("policy", _is(Policy), "a toolplan.Policy"),
    ("limits", _is(Limits), "a toolplan.Limits"),
    ("options", _or_none(_is(RunOptions)), "a toolplan.RunOptions"),
    ("rules", _or_none(_each(_is(Rule))), "a list of rules, as toolplan.compiler.rules has"),
    ("insights", _each(callable), "a list of functions"),
    ("user", _or_none(_is(User)), "a User, or leave it out"),
    ("planner", _has("propose"), "a planner: it has the method `propose`"),
    ("model", _or_none(_has("stream")), "a model: it has the method `stream`"),
    (
        "journal",
        _or_none(lambda v: _is_text(v) or isinstance(v, Store) or hasattr(v, "__fspath__")),
        "the path of a file, the address of a database, or a toolplan.Journal",
    ),
    ("memory", _or_none(_has("semantic")), "a memory: it has the method `semantic`"),
)
KINDS: Final[Mapping[str, tuple[_Fits, str]]] = {
    name: (fits, expected) for names, fits, expected in _TABLE for name in names.split()
}
"""The check of each argument, by its name; arguments without a line check themselves."""
