"""Checks of plans: one rule a file, listed in `RULES` in the order of report."""

from toolplan.compiler.rules._all import RULES as RULES
from toolplan.compiler.rules._all import SYNTAX_PAGES as SYNTAX_PAGES
from toolplan.compiler.rules._all import all_rules as all_rules
from toolplan.compiler.rules._all import diagnose as diagnose
from toolplan.compiler.rules._all import rule_pages as rule_pages
from toolplan.compiler.rules._context import PlanContext as PlanContext
from toolplan.compiler.rules._context import Problem as Problem
from toolplan.compiler.rules._context import Use as Use
from toolplan.compiler.rules._context import ordered as ordered
from toolplan.compiler.rules._rule import Rule as Rule
from toolplan.compiler.rules._rule import rule as rule
