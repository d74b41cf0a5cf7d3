"""Checks of plans: one rule a file, listed in `RULES` in the order of report."""

from toolplan.compiler.rules._all import RULES, SYNTAX_PAGES, all_rules, diagnose, rule_pages
from toolplan.compiler.rules._context import PlanContext, Problem, Use, ordered
from toolplan.compiler.rules._rule import Rule, rule

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
