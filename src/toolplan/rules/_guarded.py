"""Rules of other packages: what they raise or return wrongly names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from toolplan.extensions import EntryPoint, described
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, Rule


def guarded_rules(entry: EntryPoint, offered: object) -> object:
    """Return the rules that a package offers, each with a guard around it.

    What is no rule is returned as it is.
    """
    if isinstance(offered, tuple):
        return tuple(_guarded(entry, each) for each in cast("tuple[object, ...]", offered))
    return _guarded(entry, offered)


def _guarded(entry: EntryPoint, offered: object) -> object:
    if not isinstance(offered, Rule):
        return offered
    find = offered.find

    def found(context: PlanContext) -> Iterable[Problem]:
        problems = cast("object", entry.call(find, context))
        if not isinstance(problems, Iterable) or isinstance(problems, str):
            raise entry.wrong(
                f"returned {described(problems)}, where problems are needed",
                "Make the function of the rule yield each problem.",
            )
        listed = entry.call(lambda: [*cast("Iterable[object]", problems)])
        return [entry.returned(each, Problem, by=offered.code) for each in listed]

    return replace(offered, find=found)
