"""What a rule is: a function that yields problems, and changes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from toolplan.diagnostics import Diagnostic, Fix, Severity
from toolplan.rules._facts import PlanContext


class Problem(NamedTuple):
    """What a rule found: a sentence, the JSON pointer of its place, the step, and the way out."""

    message: str
    pointer: str
    step: str | None = None
    help: str | None = None
    fix: Fix | None = None


RuleFunction: TypeAlias = Callable[[PlanContext], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A law of plans. `code` is its one name; `page` is what `toolplan explain` prints."""

    code: str
    severity: Severity
    page: str
    find: RuleFunction

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]

    def check(self, context: PlanContext) -> Iterator[Diagnostic]:
        """Yield what this rule objects to, as diagnostics."""
        return map(self.diagnostic, self.find(context))

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
    """Make a rule of a function: its name is the code, its docstring the page."""

    def make(function: RuleFunction) -> Rule:
        name = getattr(function, "__name__", "")
        return Rule(name.replace("_", "-"), severity, inspect.getdoc(function) or "", function)

    return make
