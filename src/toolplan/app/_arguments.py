"""What the methods of an app may be given; anything else is refused before something happens."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeVar, cast, get_args

from msgspec import Struct

from toolplan.app._approve import VALUES, ByPlan
from toolplan.app._runs import User
from toolplan.approval import Approval
from toolplan.consent import Effect, ValueApproval
from toolplan.engines import RunOptions
from toolplan.errors import ToolplanError
from toolplan.events import Event, ItemEnded, StepStarted, StepSucceeded
from toolplan.execution_plan import is_digest
from toolplan.flows import Policy
from toolplan.plan import Limits
from toolplan.planners import Attempt
from toolplan.rules import Rule
from toolplan.storage.journal import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")
FORMATS: Final = ("plain", "markdown", "json")


class _Kind(Struct, frozen=True):
    fits: Callable[[object], bool]
    help: str


def checked_arguments(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Refuse wrong values of the arguments that `KINDS` has, by their names.

    Raises:
        ToolplanError: one is wrong; nothing was done.
    """
    code = inspect.unwrap(function).__code__  # a signature takes ten times as long
    names = code.co_varnames[: code.co_argcount]

    def check(args: tuple[object, ...], options: Mapping[str, object]) -> None:
        check_arguments(**dict(zip(names, args, strict=False)))
        check_arguments(**options)

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def later(*args: _P.args, **options: _P.kwargs) -> object:
            check(args, options)
            return await cast("Callable[..., Any]", function)(*args, **options)

        return cast("Callable[_P, _T]", later)

    @wraps(function)
    def now(*args: _P.args, **options: _P.kwargs) -> _T:
        check(args, options)
        return function(*args, **options)

    return now


def checked_methods(kind: type[_T]) -> type[_T]:
    """Check the arguments of the public methods of a class, and of its constructor."""
    for name, method in [*vars(kind).items()]:
        is_public = not name.startswith("_") or name == "__init__"
        if is_public and inspect.isfunction(method):
            setattr(kind, name, checked_arguments(method))
    return kind


def check_arguments(**given: object) -> None:
    """Refuse wrong values of the arguments that `KINDS` has, by their names.

    Raises:
        ToolplanError: one is wrong.
    """
    for name, value in given.items():
        kind = KINDS.get(name)
        if kind is None or kind.fits(value):
            continue
        if isinstance(value, str) or (kind is _WHOLE and _is_number(value)):
            said = f"{name}={value!r:.200} cannot be used."
        elif name in _LISTENERS and _is_async(value):
            said = f"{name} is an async function, which nothing would await."
        else:
            said = f"{name} is a value of type {type(value).__name__}."
        raise ToolplanError("usage", said, kind.help)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_async(value: object) -> bool:
    while isinstance(value, partial):
        value = cast("partial[object]", value).func
    functions = (value, cast("Any", value).__call__) if callable(value) else ()
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in functions
    )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_approval(value: object) -> bool:
    if isinstance(value, str):
        return value == VALUES or is_digest(value)
    is_one = isinstance(value, Approval | ValueApproval | ByPlan)
    return is_one or (callable(value) and not isinstance(value, type))


def _or_none(kind: _Kind) -> _Kind:
    return _Kind(lambda value: value is None or kind.fits(value), kind.help)


def _each(fits: Callable[[object], bool], help: str) -> _Kind:
    def all_fit(value: object) -> bool:
        if isinstance(value, str):
            return fits(value)
        is_list = isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes)
        return is_list and all(fits(each) for each in cast("Iterable[object]", value))

    return _Kind(all_fit, help)


def _instance(kind: type) -> _Kind:
    return _Kind(lambda value: isinstance(value, kind), f"Give a toolplan.{kind.__name__}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return _is_number(value) and isinstance(value, int) and value >= 1


def _has_names(*names: str) -> Callable[[object], bool]:
    return lambda value: (
        not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)
    )


_FLAG: Final = _Kind(_is_flag, "Give True or False.")
_TEXT: Final = _Kind(_is_text, "Give a text that is not empty.")
_FUNCTION: Final = _Kind(callable, "Give a function, or leave it out.")
_LISTENERS: Final = ("on_step", "on_plan", "on_delta", "on_event", "on_note", "assess")
_LISTENER: Final = _Kind(
    lambda value: callable(value) and not _is_async(value),
    "Give a function that is not async, or leave it out.",
)
_CALLS: Final = _each(_is_text, "Give texts such as `mail` or `mail:2`.")
_WAITING: Final = _each(
    lambda value: _is_text(value) or isinstance(value, Effect),
    "Give names of steps, or calls as they were shown.",
)
_WHOLE: Final = _Kind(_is_whole, "Give a whole number from 1.")
_MAPPING: Final = _Kind(
    lambda value: isinstance(value, Mapping) and _is_json(dict(cast("Mapping[Any, Any]", value))),
    "Give a mapping of JSON values.",
)
KINDS: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("plan_only", "yes", "eager", "replan", "dry_run"), _FLAG),
    **dict.fromkeys(("dialect", "run"), _TEXT),
    **dict.fromkeys(("conversation", "run_id", "toolbox", "after"), _or_none(_TEXT)),
    **dict.fromkeys(_LISTENERS, _or_none(_LISTENER)),
    **dict.fromkeys(("clock", "new_id"), _FUNCTION),
    **dict.fromkeys(("retry", "abort"), _CALLS),
    "contracts": _each(_is_text, "Give the paths of folders and files of contracts."),
    **dict.fromkeys(("allow", "deny", "leave_out"), _WAITING),
    "resolve": _Kind(
        lambda value: _CALLS.fits(value) or _MAPPING.fits(value),
        "Give texts such as `mail=null`, or a mapping of calls to JSON values.",
    ),
    **dict.fromkeys(
        ("question", "reason"), _Kind(lambda value: isinstance(value, str), "Give a text.")
    ),
    "context": _Kind(_is_json, "Give a JSON value, as the planner keeps it."),
    "done": _each(
        lambda value: isinstance(value, StepStarted | ItemEnded | StepSucceeded),
        "Give the events of `toolplan.deltas.delta(…)`.",
    ),
    "tried": _each(
        lambda value: isinstance(value, Attempt), "Give a list of toolplan.planners.Attempt."
    ),
    "approve": _or_none(
        _Kind(
            _is_approval,
            "Give a function that is asked, an approval, the digest of a plan (64 letters and"
            ' digits), or "values".',
        )
    ),
    "summary": _or_none(
        _Kind(lambda value: value in FORMATS, f"Give one of {', '.join(FORMATS)}.")
    ),
    **dict.fromkeys(("limit", "attempts"), _WHOLE),
    "policy": _instance(Policy),
    "limits": _instance(Limits),
    "options": _or_none(_instance(RunOptions)),
    "rules": _or_none(
        _each(lambda value: isinstance(value, Rule), "Give a list of rules, as toolplan.rules has.")
    ),
    "insights": _each(callable, "Give a list of functions."),
    "user": _or_none(_Kind(lambda value: isinstance(value, User), "Leave it out, or give a User.")),
    "metadata": _MAPPING,
    "events": _or_none(
        _each(
            lambda value: isinstance(value, get_args(Event)), "Give the events of a run, or None."
        )
    ),
    "planner": _Kind(_has_names("propose"), "Give a planner: it has the method `propose`."),
    "model": _or_none(_Kind(_has_names("stream"), "Give a model: it has the method `stream`.")),
    "journal": _or_none(
        _Kind(
            lambda value: (
                isinstance(value, Store) or (_is_text(value) or hasattr(value, "__fspath__"))
            ),
            "Give the path of a file, the address of a database, or a toolplan.Journal.",
        )
    ),
    "memory": _or_none(
        _Kind(_has_names("semantic"), "Give a memory: it has the method `semantic`.")
    ),
}
"""What each argument takes, by its name; arguments without a line check themselves."""
