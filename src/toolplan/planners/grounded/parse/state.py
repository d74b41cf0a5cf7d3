"""The state of parsing one question, and what can be read from it in any place."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Mention
from toolplan.planners.grounded.parse.requests import Cut, Modifier, ParsedQuestion, ThingRequest

VERBS = (WordClass.LINK, WordClass.HAVE, WordClass.BE, WordClass.RELATIVE)


class ParseState(Struct, eq=False):
    """The mentions of one question, the place `at` which parsing is, and what is not placed yet."""

    mentions: Sequence[Mention]
    catalogue: Catalogue
    at: int = 0
    parsed: ParsedQuestion = field(default_factory=ParsedQuestion)

    current: ThingRequest | None = None
    """the thing that is spoken of here"""
    parents: dict[int, ThingRequest] = field(default_factory=dict[int, ThingRequest])
    """the thing that a nested one, by its `id`, describes"""
    scope: ThingRequest | None = None
    """a thing named first, within which others are asked for: "for each a, …" """
    definite: list[ThingRequest] = field(default_factory=list[ThingRequest])
    """things listed as "the b", which may be those of the thing before"""
    shared: list[tuple[ThingRequest, ThingRequest]] = field(
        default_factory=list[tuple[ThingRequest, ThingRequest]]
    )
    """things coordinated with one that belongs to another: "their a and b" """

    before: list[Modifier] = field(default_factory=list[Modifier])
    """said before a noun that is still to come"""
    leading: list[Modifier] = field(default_factory=list[Modifier])
    """said before any thing was named"""
    cut: Cut | None = None

    cue: Mention | None = None
    verb: Mention | None = None
    column: Mention | None = None
    negation: Mention | None = None
    joiner: Mention | None = None
    their: Mention | None = None
    then: Mention | None = None
    each: Mention | None = None

    search: bool = False
    """the verb looks for something: "check a for b" """
    asked_by_verb: bool = False
    relative: bool = False
    """within a relative clause"""
    boundary: bool = True
    """at the beginning of a part of the sentence"""
    verb_at_boundary: bool = False

    def following(self) -> Mention | None:
        """Return the mention behind this place."""
        return self.mentions[self.at + 1] if self.at + 1 < len(self.mentions) else None

    def mark_unexplained(self, mention: Mention) -> None:
        """Note that `mention` was not understood."""
        self.parsed.unexplained.append(mention)

    def add(self, request: ThingRequest) -> None:
        """Add `request`, which becomes the current one."""
        self.parsed.requests.append(request)
        self.current = request

    def last_main(self, before: ThingRequest | None = None) -> ThingRequest | None:
        """Return the last thing, of those added before `before`, that is asked for itself."""
        requests = self.parsed.requests
        earlier = requests if before is None else requests[: requests.index(before)]
        return next((each for each in reversed(earlier) if not each.nested), None)

    def forget_place(self) -> None:
        """Forget the words that tied the thing just added to what stood before it."""
        self.cue = self.verb = self.their = self.then = self.each = None
        self.boundary = self.verb_at_boundary = False
        self.drop_joiner()

    def drop_joiner(self) -> None:
        """Forget an "and"; an "or" that joined nothing was not understood."""
        if self.joiner is not None and self.joiner.does(WordClass.OR):
            self.mark_unexplained(self.joiner)
        self.joiner = None

    def apply_leading(self, request: ThingRequest) -> None:
        """Say of `request` what stood before any thing."""
        request.modifiers.extend(self.leading)
        self.leading = []

    def value_follows(self) -> bool:
        """Return whether a value stands behind this place."""
        following = self.following()
        return following is not None and following.is_value and not following.nouns
