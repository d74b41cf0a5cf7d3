"""What a follow-up says of the previous result: "are they red" does not choose the red ones."""

from __future__ import annotations

from toolplan.planners.grounded.dialogue.constraints import is_cut
from toolplan.planners.grounded.dialogue.exchange import Exchange, Unsure
from toolplan.planners.grounded.dialogue.insert import anchors
from toolplan.planners.grounded.dialogue.messages import Message
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.judgements import judges
from toolplan.planners.grounded.parse.mentions import Time
from toolplan.planners.grounded.parse.sharing import FINDING, HOLDING


def judgement(exchange: Exchange, message: Message) -> Unsure | None:
    """Ask, where what is said would choose other things than those that it is said of."""
    mentions = [each.mention for each in message.placed]
    turn = exchange.turn
    chosen = any(is_cut(anchor, turn) for anchor in anchors(turn.plan, exchange.catalogue))
    if judges(exchange.message, mentions, chosen):
        return Unsure(
            f"{message.rest!r} is said of the result: the rows show it. To choose by it, say"
            " 'only those that …'."
        )
    said = {fold(word) for word in message.rest.split()}
    timed = any(isinstance(mention.what, Time) for mention in mentions)
    if timed and not said.isdisjoint(FINDING) and not said.isdisjoint(HOLDING):
        # "with letters found in May": when they were found, not when the boxes came
        return Unsure(f"Please ask the whole question: what is the time of {message.rest!r}?")
    return None
