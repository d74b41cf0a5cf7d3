"""Things that are told by what was done with them: "towns that got oak", "boxes opened by Ann".

Here no noun names the other thing, which a verb, a value that only it has, or a word before that
value stands for.
"""

from __future__ import annotations

from toolplan.planners.grounded.catalogue.connections import connect, shown
from toolplan.planners.grounded.catalogue.kinds import ValueOf
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Time
from toolplan.planners.grounded.parse.parser_state import ParserState
from toolplan.planners.grounded.parse.requests import Link, Modifier, ThingRequest

_HABITS = frozenset({"process", "handle", "take", "make", "do", "offer", "provide", "produce"})
_PLACES = frozenset({"in", "at", "on"})


class Relations(ParserState):
    """Makes requests of things that no noun names."""

    def _take_verb(self, mention: Mention) -> None:
        """Take a verb made from a noun: what was "reviewed" is what has a review."""
        entity = mention.verbs[0]
        current = self._current
        self._asked_by_verb = True
        if current is None:
            self._verb_alone(mention, entity)
        elif current.entity != entity:
            self._nest(ThingRequest(entity, mention), (mention,))
        elif current.noun is None:
            current.noun = mention

    def _verb_alone(self, mention: Mention, entity: str) -> None:
        request = ThingRequest(entity, mention)
        request.modifiers.extend(self._leading)
        self._leading = []
        self._current = self._add(request)
        self._forget_place()

    def _tells_other(self, mention: Mention) -> str | None:
        """Return the kind of thing, other than the present one, that a value here must be of."""
        current = self._current
        if current is None or self._column is not None or not mention.values:
            return None
        if any(value.entity == current.entity for value in mention.values):
            return None
        found = {value.entity for value in mention.values if self._is_told(value)}
        near = [entity for entity in found if self._leads(entity, current.entity)]
        return near[0] if len(near) == 1 else None

    def _is_told(self, value: ValueOf) -> bool:
        """Whether a verb, or the very word before the value, says which thing has it."""
        shape = self._catalogue.attribute(value).shape
        if self._catalogue.attribute(value).equal is None or shape.kind == "place":
            return False
        cue = self._cue.cue if self._cue is not None else None
        if cue is not None and " " in cue:
            return cue in (" ".join(words.keys(each)) for each in shape.cues)
        if shape.is_boolean or shape.enum:
            return False
        return cue in (None, "of") and (self._relative or self._verb_is_near())

    def _verb_is_near(self) -> bool:
        """Whether a verb ties the value here to the present thing: "that got a", "was a found"."""
        if self._verb is not None and self._verb.does(WordClass.LINK):
            # what a place "handles" may be what it could: only what it "handled" was there
            return words.fold(self._verb.text) not in _HABITS
        for mention in self._all[self._at + 1 : self._at + 4]:
            if mention.does(WordClass.LINK) or mention.verbs:
                return True
            if not mention.does(WordClass.BE, WordClass.FILLER, WordClass.HAVE):
                return False
        return False

    def _leads(self, entity: str, to: str) -> bool:
        kinds = self._catalogue.kinds
        if kinds[entity].listing is None:
            return False
        way = connect(self._catalogue, kinds[to], entity, shown(kinds[entity]))
        return way is not None and way.direct

    def _nest(self, request: ThingRequest, said: tuple[Mention, ...]) -> None:
        """Make `request` tell which of the present things are meant."""
        current = self._current
        negation = self._take_negation(adjacent_only=False)
        more = (m for m in (self._cue, self._verb, negation) if m is not None)
        request.nested = True
        if current is not None:
            self._parents[id(request)] = current
            mentions = tuple(dict.fromkeys((*more, *said)))
            current.links.append(Link(request, None, negation is not None, False, mentions))
        self._current = self._add(request)
        self._forget_place()

    def _modify_other(self, mention: Mention, entity: str) -> None:
        """Take a value of another thing, which it alone stands for."""
        cue = self._cue
        text = cue.cue if cue is not None and " " in (cue.cue or "") else None
        said = (cue,) if cue is not None else ()
        request = ThingRequest(entity, None, [Modifier(mention, cue=text, evidence=said)])
        self._nest(request, said)

    def _closes_relation(self, cue: Mention) -> bool:
        """Whether a cue without a value ends a relation: "the town that box B1 went to"."""
        current = self._current
        parent = self._parents.get(id(current))
        text = (cue.cue or "").rpartition(" ")[2]
        if current is None or parent is None or cue.first != self._last_said():
            return False
        if text in _PLACES:
            return True
        wanted = f"{parent.entity}.id"
        cards = self._catalogue.kinds[current.entity].cards
        taking = [a for card in cards for a in card.arguments.values() if a.ref == wanted]
        return any(text == " ".join(words.keys(each)) for a in taking for each in a.cues)

    def _last_said(self) -> int:
        """Return the index of the first token of the last mention before this place."""
        at = min(self._at, len(self._all)) - 1
        while at > 0 and isinstance(self._all[at].what, Time):
            at -= 1
        return self._all[at].first

    def _stands_for_itself(self, mention: Mention) -> str | None:
        """Return the kind of thing that an identity alone speaks of: "show L1 with its copies"."""
        if not isinstance(mention.what, Code) or self._current is not None:
            return None
        if self._cue is not None or self._column is not None or self._negation is not None:
            return None
        following = self._all[self._at + 1 : self._at + 2]
        if following and following[0].does(WordClass.COMMA, WordClass.AND, WordClass.OR):
            return None
        return Linker(self._catalogue).owner(mention.what.text)
