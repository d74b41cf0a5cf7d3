"""Checks of plans: one rule a file, listed in `RULES` in the order of report."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.rules._all import RULES, all_rules, diagnose, rule_pages
    from toolplan.rules._context import PlanContext, Use, ordered
    from toolplan.rules._rule import Problem, Rule, rule
    from toolplan.rules._syntax import SYNTAX_PAGES
else:
    __getattr__ = names_of(
        __name__,
        _all="RULES all_rules diagnose rule_pages",
        _context="PlanContext Use ordered",
        _rule="Problem Rule rule",
        _syntax="SYNTAX_PAGES",
    )

__all__ = [
    "RULES",
    "SYNTAX_PAGES",
    "PlanContext",
    "Problem",
    "Rule",
    "Use",
    "all_rules",
    "diagnose",
    "ordered",
    "rule",
    "rule_pages",
]
