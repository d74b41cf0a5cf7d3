"""What a rule is: a function that yields problems and changes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from toolplan.compiler.rules._context import PlanContext
from toolplan.plan.diagnostics import Diagnostic, Fix, Severity


class Problem(Struct, frozen=True):
    """What a rule found: a sentence, the JSON pointer of its place, the step, and what to do."""

    message: str
    pointer: str
    step: str | None = None
    help: str | None = None
    fix: Fix | None = None


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
        return Diagnostic(
            self.code,
            self.severity,
            problem.message,
            problem.step,
            problem.pointer,
            problem.help,
            problem.fix,
        )


def rule(severity: Severity = Severity.ERROR) -> Callable[[RuleFunction], Rule]:
    """Make a function a rule: its name is the code, its docstring the page."""

    def make(function: RuleFunction) -> Rule:
        name = getattr(function, "__name__", "")
        return Rule(name.replace("_", "-"), severity, function.__doc__ or "", function)

    return make
