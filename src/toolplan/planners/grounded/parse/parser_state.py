"""Requests while they are made.

The state of a reading, and how a new thing relates to the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Code, Mention
from toolplan.planners.grounded.parse.noun_phrase import NounPhrases, asks_for_details
from toolplan.planners.grounded.parse.requests import (
    Cut,
    Link,
    Modifier,
    ParsedQuestion,
    ThingRequest,
)

VERBS = (WordClass.LINK, WordClass.HAVE, WordClass.BE, WordClass.RELATIVE)


class ParserState:
    """What one reading has found so far, and what it still waits for a place for."""

    def __init__(
        self, mentions: Sequence[Mention], catalogue: Catalogue, implied: str | None = None
    ) -> None:
        """Prepare to read `mentions`; `implied` is the thing where no noun says it."""
        self._all = mentions
        self._phrases = NounPhrases(mentions, catalogue)
        self._catalogue = catalogue
        self._at = 0
        self._parsed = ParsedQuestion()
        self._current: ThingRequest | None = None
        self._parents: dict[int, ThingRequest] = {}
        self._scope: ThingRequest | None = None
        self._before: list[Modifier] = []
        self._leading: list[Modifier] = []
        self._cut: Cut | None = None
        self._cue: Mention | None = None
        self._verb: Mention | None = None
        self._column: Mention | None = None
        self._negation: Mention | None = None
        self._joiner: Mention | None = None
        self._their: Mention | None = None
        self._then: Mention | None = None
        self._each: Mention | None = None
        self._search = False
        self._asked_by_verb = False
        self._relative = False
        self._definite: list[ThingRequest] = []
        self._shared: list[tuple[ThingRequest, ThingRequest]] = []
        self._boundary = True
        self._verb_at_boundary = False
        if implied is not None:
            self._current = self._add(ThingRequest(implied, None))
            self._boundary = False

    def _take_negation(
        self, adjacent_only: bool, besides: Collection[Mention] = ()
    ) -> Mention | None:
        """Return the negation that belongs to what stands here, and use it up."""
        negation = self._negation
        if negation is None or self._is_rhetorical(negation):
            return None  # "weren't there any" expects them rather than denies them
        here = self._all[self._at].first
        between = [m for m in self._all if negation.end <= m.first < here and m not in besides]
        if adjacent_only and (between or not negation.does(WordClass.NOT)):
            return None  # "no red things" are things that are not there, not things not red
        benign = (WordClass.FILLER, *VERBS, WordClass.CUE)
        if not all(m.does(*benign) or m is self._cue or m is self._column for m in between):
            return None
        self._negation = None
        return negation

    def _referred(self, entity: str) -> ThingRequest | None:
        """Return the request that "those a" or "each a" speaks of again."""
        if (self._their is None and self._each is None) or self._before:
            return None
        same = [request for request in self._parsed.requests if request.entity == entity]
        return same[-1] if same else None

    def _return_to(self, earlier: ThingRequest) -> None:
        """Go on with a thing that was spoken of before, or tie the present one to it."""
        current = self._current
        pointer = self._their or self._each
        said = tuple(m for m in (self._cue, pointer) if m is not None)
        again = current is not None and any(link.to is earlier for link in current.links)
        if again and self._negation is None:
            pass  # "then the copies of these books": that was known
        elif current is not None and current is not earlier and self._cue is not None:
            if current.links or self._negation is not None:
                self._parsed.unexplained.extend(said)
            current.links.append(Link(earlier, self._cue.cue, False, True, said))
        else:
            self._current = earlier
            self._scope = earlier
        self._forget_place()

    def _relate(self, request: ThingRequest) -> None:
        current = self._current
        own = {mention for modifier in request.modifiers for mention in modifier.mentions}
        negation = self._take_negation(adjacent_only=False, besides=own)
        said = tuple(m for m in (self._cue, self._verb, negation, self._each) if m is not None)
        cue = self._cue.cue if self._cue is not None else None
        last = self._last_main()
        if self._their is not None and last is None and self._scope is None:
            self._leave(self._their)
        if self._their is not None and last is not None:
            request.links.append(Link(self._owner(last), None, False, True, (self._their,)))
        elif current is not None and self._searches_in(current, cue):
            request.links.append(Link(current, cue, False, False, said))
            current.nested = True
        elif self._is_scope(current):
            request.links.extend(Link(f, None, False, False, ()) for f in (self._scope,) if f)
            self._apply_leading(request)
        elif current is not None and self._possesses(current):
            request.links.append(Link(current, None, False, False, said))
            current.nested = True
        elif current is not None and self._ties(negation):
            request.nested = True
            self._uncut(request)
            self._parents[id(request)] = current
            current.links.append(Link(request, cue, negation is not None, False, said))
            negation = None
        elif current is None and (self._cue is not None or self._each is not None):
            request.nested = True
            self._scope = request
        else:
            self._main(request, last, current)
        if negation is not None:
            self._leave(negation)

    def _owner(self, last: ThingRequest) -> ThingRequest:
        """Return what "their" speaks of: in "a, their b and their c", the a both times."""
        owners = [link.to for link in last.links if link.loose]
        goes_on = self._then is not None or self._verb_at_boundary
        return owners[0] if owners and not goes_on else last

    def _uncut(self, request: ThingRequest) -> None:
        """Leave "two" of "boxes with two letters": it counts the letters of each box."""
        if request.cut is not None and not (request.cut.newest or request.cut.oldest):
            self._parsed.unexplained.extend(request.cut.mentions)
            request.cut = None

    def _ties(self, negation: Mention | None) -> bool:
        """Whether a word here ties the noun to the thing before it."""
        asked = self._asked_by_verb and not self._boundary
        verb = self._verb is not None or self._relative
        tied = self._cue is not None or verb or negation is not None or asked
        return tied and not (self._boundary and self._cue is None)

    def _searches_in(self, current: ThingRequest, cue: str | None) -> bool:
        return self._search and cue == "for" and not current.nested

    def _is_scope(self, current: ThingRequest | None) -> bool:
        return self._scope is not None and (
            current is self._scope or self._boundary or id(current) in self._parents
        )

    def _possesses(self, current: ThingRequest) -> bool:
        """Whether the noun follows an identity directly: "loan L1's copies"."""
        return (
            not self._boundary
            and self._cue is None
            and self._verb is None
            and any(isinstance(m.mention.what, Code) for m in current.modifiers)
        )

    def _main(
        self, request: ThingRequest, last: ThingRequest | None, current: ThingRequest | None
    ) -> None:
        if last is None or current is None:
            self._apply_leading(request)
            return
        if not self._boundary and request.noun is not None:
            self._leave(request.noun)
            return
        if current.nested and not self._verb_at_boundary and self._then is None:
            # "a of b and c": c may stand beside a or b
            self._parsed.problem = f"'{request.noun.text if request.noun else request.entity}'"
        details = request.noun is not None and asks_for_details(request.noun, self._following())
        if self._then is not None or details:
            said = (self._then,) if self._then is not None else ()
            request.links.append(Link(last, None, False, True, said))
        else:
            request.coordinated = not self._verb_at_boundary
            if request.coordinated and any(link.loose for link in last.links):
                self._shared.append((request, last))
            if self._verb_at_boundary and self._all[self._at - 1].text.casefold() == "the":
                self._definite.append(request)

    def _is_rhetorical(self, negation: Mention) -> bool:
        return negation.words[0] == 0 and negation.text.casefold() != "non"

    def _following(self) -> Mention | None:
        return self._all[self._at + 1] if self._at + 1 < len(self._all) else None

    def _apply_leading(self, request: ThingRequest) -> None:
        request.modifiers.extend(self._leading)
        self._leading = []

    def _forget_place(self) -> None:
        self._cue = self._verb = self._their = self._then = self._each = None
        self._boundary = self._verb_at_boundary = False
        if self._joiner is not None and self._joiner.does(WordClass.OR):
            self._leave(self._joiner)
        self._joiner = None

    def _add(self, request: ThingRequest) -> ThingRequest:
        self._parsed.requests.append(request)
        return request

    def _last_main(self) -> ThingRequest | None:
        return next((f for f in reversed(self._parsed.requests) if not f.nested), None)

    def _main_before(self, request: ThingRequest) -> ThingRequest | None:
        at = self._parsed.requests.index(request)
        return next((f for f in reversed(self._parsed.requests[:at]) if not f.nested), None)

    def _leave(self, mention: Mention) -> None:
        self._parsed.unexplained.append(mention)

    def _settle_definite(self) -> None:
        """Tie "and list the b" to the a before it, where a chain of such things has begun."""
        for request, before in self._shared:
            if request.modifiers or request.links or request.cut:
                self._parsed.problem = f"'{request.noun.text if request.noun else ''}'"
            else:  # "their a and b" are both theirs
                request.links.extend(link for link in before.links if link.loose)
        for request in self._definite:
            before = self._main_before(request)
            if request.modifiers or request.links or request.cut or before is None:
                continue
            if any(link.loose for link in before.links):
                request.links.append(Link(before, None, False, True, ()))
            else:
                self._parsed.problem = (
                    f"'the {request.noun.text if request.noun else ''}': all of them?"
                )
