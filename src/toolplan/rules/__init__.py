"""The laws of plans: one rule a file, listed by hand in `RULES`."""

from toolplan.rules._all import RULES, check_facts
from toolplan.rules._facts import PlanContext, Use
from toolplan.rules._rule import Problem, Rule, rule
from toolplan.rules._syntax import SYNTAX_PAGES

__all__ = ["RULES", "SYNTAX_PAGES", "PlanContext", "Problem", "Rule", "Use", "check_facts", "rule"]
