"""Tools without hints: what their names, arguments and descriptions say is enough for one call.

- `cards`: the words of a tool; `said`: the words and values of a question.
- `fitting`: which argument takes which value; `proposal`: the one tool that all words fit.
"""

from toolplan.planners.grounded.unhinted.cards import PlainCard, plain_cards
from toolplan.planners.grounded.unhinted.proposal import propose_call

__all__ = ["PlainCard", "plain_cards", "propose_call"]
