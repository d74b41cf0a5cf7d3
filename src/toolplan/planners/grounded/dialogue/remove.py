"""Removal of arguments from the previous plan: *without the limit*, *no dates*."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import sinks
from toolplan.planners.grounded.catalogue.kinds import ToolCard, Verb
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revised, Revision, Unsure
from toolplan.planners.grounded.dialogue.insert import closure
from toolplan.planners.grounded.dialogue.messages import Message, speaks_of_limit, speaks_of_time
from toolplan.planners.grounded.dialogue.origins import words_of
from toolplan.planners.grounded.dialogue.replace import change


def remove(exchange: Exchange, message: Message) -> Revision | None:
    """Return the plan without what `message` removes; None where it removes nothing."""
    what = message.removed
    arguments = None if what is None else _arguments(exchange, what)
    if what is None or arguments is None:
        return None
    turn = exchange.turn
    present: dict[tuple[str, str], Json] = {
        (step.id, name): None
        for step in turn.plan.steps
        for name in arguments.get(step.tool, ())
        if name in step.args
    }
    if not present:
        return Unsure(f"The previous plan does not use the {what}. What should change?")
    plan = change(turn.plan, present)
    # a step that only served the removed value must not become a result
    kept = closure(plan, sinks(turn.plan))
    plan = replace(plan, steps=tuple(step for step in plan.steps if step.id in kept))
    return Revised(plan, _without_words(exchange, present), notes=(f"without the {what}",))


def _arguments(exchange: Exchange, what: str) -> dict[str, list[str]] | None:
    """Return the arguments that `what` names, by tool, or None."""
    columns = {
        (each.entity, each.attribute)
        for placed in exchange.words.read(what)
        for each in placed.mention.columns
    }
    found: dict[str, list[str]] = {}
    for card in exchange.catalogue.cards.values():
        named = [attribute for entity, attribute in columns if entity == card.entity]
        names = list(_named(exchange, card, what, named)) if card.verb is Verb.LIST else []
        if names:
            found[card.name] = names
    return found or None


def _named(
    exchange: Exchange, card: ToolCard, what: str, attributes: Iterable[str]
) -> Iterator[str]:
    kind = exchange.catalogue.kinds[card.entity]
    filters = {
        argument
        for name in attributes
        if (attribute := kind.attributes.get(name)) is not None
        for argument in (attribute.equal, attribute.minimum, attribute.maximum)
    }
    for name, shape in card.arguments.items():
        limits = speaks_of_limit(what) and shape.role == "limit"
        times = speaks_of_time(what) and shape.role in ("range.start", "range.end")
        if limits or times or name in filters:
            yield name


def _without_words(exchange: Exchange, arguments: Iterable[tuple[str, str]]) -> str | None:
    """Return the whole question without the words of the arguments."""
    turn = exchange.turn
    whole = turn.whole
    for text in {words_of(turn.plan, step, name) for step, name in arguments}:
        if whole is None or text is None or whole.count(text) != 1:
            return None
        whole = re.sub(rf"\s*(?:,|\bwith\b|\band\b)?\s*{re.escape(text)}", "", whole)
    return whole
