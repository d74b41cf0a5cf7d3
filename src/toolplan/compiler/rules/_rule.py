"""Rules: functions that yield problems and change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.plan.diagnostics import Diagnostic, Severity

RuleFunction: TypeAlias = Callable[[PlanContext], Iterable[Problem]]


class Rule(Struct, frozen=True):
    """A check of plans. `code` is its name, `page` the docstring that `toolplan explain` prints."""

    code: str
    severity: Severity
    page: str
    find: RuleFunction

    def __repr__(self) -> str:
        return self.code

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.text.partition("\n")[0]

    @property
    def text(self) -> str:
        """The page without the indentation of a docstring."""
        return inspect.cleandoc(self.page)

    def diagnostic(self, problem: Problem) -> Diagnostic:
        """Return `problem`, which this rule found, as a diagnostic."""
        message, place, step, help, fix = astuple(problem)
        return Diagnostic(self.code, self.severity, message, step, place, help, fix)


def rule(severity: Severity = Severity.ERROR) -> Callable[[RuleFunction], Rule]:
    """Make a function a rule: its name is the code, its docstring the page."""

    def make(function: RuleFunction) -> Rule:
        name = getattr(function, "__name__", "")
        return Rule(name.replace("_", "-"), severity, function.__doc__ or "", function)

    return make
