"""Mentions joined to requests: which things are asked for, and what is said of which.

English puts what is said of a thing right before its noun, or behind it. So there is one pass from
left to right; the only look ahead is from something that may stand before a noun to that noun.
What does not fit is left over, and then nobody plans.
"""

from __future__ import annotations

from dataclasses import replace

from toolplan.planners.grounded.language import phrases, words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import key
from toolplan.planners.grounded.parse.amounts import (
    CUTS,
    Bound,
    bound_at,
    bound_from_number,
    cut_at,
    share_at,
)
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.parser_state import VERBS
from toolplan.planners.grounded.parse.relations import Relations
from toolplan.planners.grounded.parse.requests import (
    Cut,
    Link,
    Modifier,
    ParsedQuestion,
    ThingRequest,
)

_BENIGN = (
    WordClass.FILLER,
    WordClass.DETAIL,
    WordClass.WHICH,
    WordClass.READ,
    WordClass.COMPARE,
)
_BEFORE_COLUMNS = frozenset({"with", "of", "in", "at", "by", "for", "on"})
_SEARCHES = frozenset({"check", "search", "examine", "analyze", "review", "investigate"})


class Parser(Relations):
    """Reads one row of mentions. `implied` is the kind of thing where no noun says it."""

    def read(self) -> ParsedQuestion:
        """Return what the mentions ask for, with those that found no place."""
        while self._at < len(self._all):
            self._step(self._all[self._at])
            self._at += 1
        self._finish()
        return self._parsed

    def _step(self, mention: Mention) -> None:
        match mention.what:
            case Time():
                self._modify(mention)
            case Number():
                self._number(mention)
            case _ if self._at == 0 and words.fold(mention.text) in phrases.ASKING:
                self._parsed.asked.append(mention)
            case _ if mention.nouns and self._orders(mention):
                self._leave(mention)
            case _ if mention.nouns and self._measures_here(mention):
                self._name_column(mention)
            case _ if mention.nouns and not self._is_value_here(mention):
                self._noun(mention)
            case _ if mention.is_value and self._is_value_here(mention):
                self._modify(mention)
            case _ if mention.verbs and self._cue is None:
                self._take_verb(mention)
            case _ if mention.columns and not self._is_only_a_word(mention):
                self._name_column(mention)
            case _:
                self._word(mention)

    def _is_value_here(self, mention: Mention) -> bool:
        """Whether `mention`, which may also be a noun or a verb, is a value in this place."""
        if not mention.is_value:
            return False
        if mention.nouns:
            return False
        if mention.does(WordClass.LINK, WordClass.AND, WordClass.FILLER, WordClass.CUE):
            if self._at > 0 and self._all[self._at - 1].does(WordClass.BE, WordClass.NOT):
                return True
            ahead = self._phrases.noun_from(self._at, self._current)
            return ahead is not None or self._column is not None
        return True

    def _measures_here(self, mention: Mention) -> bool:
        """Whether `mention`, which may also be a noun, names a number of the thing before it."""
        owners = {c.entity for c in mention.columns if self._catalogue.attribute(c).shape.is_number}
        if not owners or not is_singular(mention) or self._before:
            return False
        if self._boundary:  # "the length and height of …"
            named = {c.entity for asked in self._parsed.asked[-1:] for c in asked.columns}
            return not named.isdisjoint(owners)
        return self._current is not None and self._current.entity in owners

    def _is_only_a_word(self, mention: Mention) -> bool:
        # a column's name may also be a word that needs no explaining: "the result", "the record"
        return mention.does(WordClass.DETAIL, WordClass.FILLER) and self._value_follows() is None

    def _orders(self, mention: Mention) -> bool:
        """Whether `mention` orders something that nothing here is known to do."""
        folded = words.fold(mention.text)
        if not self._boundary or self._asked_by_verb or folded not in phrases.LEADING_IMPERATIVES:
            return False
        if mention.does(WordClass.FILLER):
            return False
        following = self._following()
        if mention.does(
            WordClass.READ, WordClass.DETAIL
        ):  # "report a fault", but "report of", "report on"
            return following is not None and words.fold(following.text) in ("a", "an", "the", "new")
        return True

    def _word(self, mention: Mention) -> None:
        if self._orders(mention):
            self._leave(mention)
            return
        if words.fold(mention.text.split()[0]) in phrases.AUXILIARIES:
            self._asked_by_verb = True
        self._climb(mention)
        if mention.does(
            WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.OR, WordClass.THEN
        ):
            self._separate(mention)
            self._then = mention if mention.does(WordClass.THEN) else self._then
        elif mention.does(WordClass.THEIR):
            self._point_back(mention)
        elif mention.does(WordClass.NOT, WordClass.WITHOUT):
            self._negate(mention)
        elif (mention.does(*CUTS) and (self._take_cut(mention) or self._comes_first(mention))) or (
            mention.does(WordClass.ABOVE, WordClass.BELOW, WordClass.BETWEEN, WordClass.EXACTLY)
            and self._bound()
        ):
            pass
        elif mention.does(WordClass.EACH):
            self._take_each(mention)
        elif mention.does(*VERBS) and not self._is_asked(mention):
            self._verb = mention if mention.does(WordClass.LINK, WordClass.HAVE) else self._verb
            self._cue = mention if mention.cue else self._cue
        elif mention.cue is not None:
            self._take_cue(mention)
        elif mention.does(*_BENIGN):
            self._benign(mention)
        else:
            self._leave(mention)

    def _take_each(self, mention: Mention) -> None:
        """Keep "for each", and an "each" that points back; else it only says "all"."""
        plain = words.fold(mention.text) in ("each", "every")
        spoken = self._current is not None and self._current.noun is not None
        if not plain or self._cue is not None or spoken:
            self._each = mention

    def _climb(self, mention: Mention) -> None:
        """Return to the thing asked for where its verb comes: "which a of b were …"."""
        if mention.does(WordClass.RELATIVE):
            self._relative = True
        finite = words.fold(mention.text.split()[0]) in phrases.FINITE
        closes = self._asked_by_verb and mention.does(WordClass.LINK)  # "which a did b receive …"
        if not (finite or closes) or mention.does(WordClass.RELATIVE):
            return
        while not self._relative and id(self._current) in self._parents:
            self._current = self._parents[id(self._current)]
        self._relative = False

    def _is_asked(self, mention: Mention) -> bool:
        """Whether a word that may be a verb opens a request here, or stands before a value."""
        if mention.does(WordClass.READ):
            return self._boundary and not self._asked_by_verb
        return mention.cue is not None and self._value_follows() is not None

    def _comes_first(self, mention: Mention) -> bool:
        """Whether it only begins a sequence: "first get …, then …"."""
        following = self._following()
        first = mention.does(WordClass.FIRST) and self._boundary
        return first and following is not None and following.does(WordClass.READ)

    def _benign(self, mention: Mention) -> None:
        if mention.does(WordClass.READ, WordClass.WHICH):
            if self._negation is not None:  # "don't show": nothing here can mean that
                self._leave(self._negation)
                self._negation = None
            self._verb_at_boundary = self._boundary
            self._search = key(mention.text.split()[0]) in _SEARCHES

    def _take_cue(self, mention: Mention) -> None:
        if self._cue is not None and not self._cue.does(*VERBS):
            self._leave(self._cue)
        self._cue = mention

    def _separate(self, mention: Mention) -> None:
        if self._before and mention.does(WordClass.AND, WordClass.OR, WordClass.COMMA):
            self._joiner = mention  # "red and blue things": the same noun is still to come
            return
        self._release_cue()
        self._drop_column()
        if self._joiner is not None and self._joiner.does(WordClass.OR):
            self._leave(self._joiner)
        self._joiner = mention
        self._boundary = True
        self._verb_at_boundary = False
        self._verb = None
        self._search = False
        self._asked_by_verb = False

    def _release_cue(self) -> None:
        cue = self._cue
        if (
            cue is not None
            and not cue.does(*VERBS, WordClass.READ)
            and not self._closes_relation(cue)
        ):
            self._leave(cue)
        self._cue = None

    def _negate(self, mention: Mention) -> None:
        if self._negation is not None:
            self._leave(mention)
        self._negation = mention

    def _point_back(self, mention: Mention) -> None:
        last = self._last_main()
        if self._phrases.noun_from(self._at + 1, None) is not None or self._column_follows():
            self._their = mention
        elif last is None:
            self._leave(mention)
        elif (earlier := self._main_before(last)) is not None and not last.links:
            last.links.append(Link(earlier, None, False, True, (mention,)))
            self._cue = None
        else:
            self._cue = None

    def _column_follows(self) -> bool:
        following = self._all[self._at + 1 : self._at + 2]
        return bool(following and following[0].columns)

    def _noun(self, mention: Mention) -> None:
        entity = self._phrases.entity_of(mention)
        earlier = self._referred(entity)
        if earlier is not None:
            self._return_to(earlier)
            return
        request = ThingRequest(entity, mention, self._before, [], self._take_pending_cut(mention))
        self._before = []
        self._relate(request)
        self._current = self._add(request)
        self._forget_place()
        self._codes(request)

    def _codes(self, request: ThingRequest) -> None:
        """Take the identities behind a noun: "loans L1 and L2"."""
        at = self._at + 1
        while at < len(self._all) and self._all[at].does(WordClass.DETAIL, WordClass.FILLER):
            at += 1
        if at >= len(self._all) or not isinstance(self._all[at].what, Code):
            return
        codes, end = self._phrases.codes_from(at)
        request.modifiers.append(
            Modifier(codes[0], column=request.noun, alternatives=tuple(codes[1:]), either=True)
        )
        self._at = end - 1

    def _modify(self, mention: Mention) -> None:
        ahead = self._phrases.noun_from(self._at, self._current)
        if ahead is None and (entity := self._stands_for_itself(mention)) is not None:
            self._current = self._add(ThingRequest(entity, None, [Modifier(mention)]))
            self._forget_place()
            return
        if ahead is None and (entity := self._tells_other(mention)) is not None:
            self._modify_other(mention, entity)
            return
        negation = self._take_negation(adjacent_only=ahead is not None)
        goes_before = ahead is not None and self._column is None
        cue = None if goes_before else self._cue
        modifier = Modifier(
            mention,
            cue=None if goes_before else self._cue_text(),
            column=self._column,
            negated=negation is not None,
            before=goes_before,
            evidence=tuple(
                m for m in (cue, self._column, negation, self._verb_before()) if m is not None
            ),
        )
        self._column = None
        if not goes_before:
            self._cue = None
        target = self._target(goes_before)
        self._attach(target, modifier)

    def _verb_before(self) -> Mention | None:
        """Return the verb right before this place: "found since Monday" says when it was found."""
        before = self._all[self._at - 1] if self._at > 0 else None
        return before if before is not None and before is self._verb else None

    def _cue_text(self) -> str | None:
        """Return the words before a value; a verb that says what is held is such a word too."""
        if self._cue is not None:
            return self._cue.cue
        held = words.fold(self._verb.text) if self._verb is not None else ""
        return held if held in phrases.HOLDING and self._column is None else None

    def _target(self, goes_before: bool) -> list[Modifier]:
        if goes_before:
            return self._before
        if self._current is None:
            return self._leading
        return self._current.modifiers

    def _attach(self, target: list[Modifier], modifier: Modifier) -> None:
        joiner = self._joiner
        last = target[-1] if target else None
        if joiner is not None and self._denies_unsaid(joiner, last, modifier):
            self._leave(joiner)
            joiner = self._joiner = None
        if joiner is not None and last is not None and self._phrases.alike(last, modifier):
            evidence = (*last.evidence, *modifier.evidence, joiner)
            alternatives = (*last.alternatives, modifier.mention)
            either = last.either or joiner.does(WordClass.OR)
            target[-1] = replace(last, alternatives=alternatives, either=either, evidence=evidence)
            self._joiner = None
        else:
            target.append(modifier)
            if joiner is not None and not joiner.does(WordClass.OR):
                self._joiner = None
        if target is not self._before:
            self._boundary = False

    def _denies_unsaid(self, joiner: Mention, last: Modifier | None, modifier: Modifier) -> bool:
        """Whether it cannot be told how far a denial goes: "all a but b", "not red and long"."""
        if modifier.negated or not modifier.mention.is_value:
            return False
        if words.fold(joiner.text) == "but":
            return True
        if last is None or not last.negated or joiner.does(WordClass.COMMA):
            return False
        return modifier.cue is None and not self._phrases.alike(last, modifier)

    def _number(self, mention: Mention) -> None:
        bound = bound_from_number(self._all, self._at) or share_at(self._all, self._at)
        ahead = self._phrases.noun_from(self._at + 1, None)
        match mention.what:
            case Number() if bound is not None:
                self._add_bound(bound)
            case Number(value, None) if ahead is not None and value >= 1 and self._cut is None:
                self._cut = Cut(int(value), False, False, (mention,))
            case _ if self._column is not None:
                self._modify(mention)
            case _:
                self._leave(mention)

    def _bound(self) -> bool:
        """Take "over 5 kg", "between 1 and 2 kg"; False where there is no such thing here."""
        bound = bound_at(self._all, self._at)
        if bound is not None:
            self._add_bound(bound)
        return bound is not None

    def _add_bound(self, bound: Bound) -> None:
        negation = self._take_negation(adjacent_only=False)
        more = tuple(m for m in (self._column, self._cue, negation) if m is not None)
        modifier = Modifier(
            bound.number,
            column=self._column,
            operator=bound.operator,
            upper=bound.upper,
            negated=negation is not None,
            evidence=(*bound.said, *more),
        )
        self._column = self._cue = None
        self._at = bound.last
        self._attach(self._target(False), modifier)

    def _take_cut(self, mention: Mention) -> bool:
        found = cut_at(self._all, self._at)
        if found is None:
            return False
        cut, behind = found
        if self._cut is not None:
            said = (*self._cut.mentions, *cut.mentions)
            cut = replace(cut, count=cut.count or self._cut.count, mentions=said)
        if self._phrases.noun_from(behind, None) is not None:
            self._cut = cut
        elif mention.does(WordClass.LIMIT) and self._current is not None and cut.count is not None:
            self._current.cut = cut
            self._cue = None
        else:
            return False
        self._at = behind - 1
        return True

    def _take_pending_cut(self, noun: Mention) -> Cut | None:
        cut, self._cut = self._cut, None
        if cut is not None and cut.count is None and is_singular(noun):
            return replace(cut, count=1)
        return cut

    def _name_column(self, mention: Mention) -> None:
        last = self._before[-1] if self._before else None
        if last is None and self._current is not None and self._current.modifiers:
            last = self._current.modifiers[-1]
        if last is not None and self._phrases.names(mention, last):
            # "red colour": the column only says again what the value belongs to
            target = self._before if self._before else self._target(False)
            target[-1] = replace(last, evidence=(*last.evidence, mention))
            return
        if self._measures(last, mention) or self._misses(mention):
            return
        self._drop_column()
        self._column = mention
        if self._cue is not None and (self._cue.does(*VERBS) or self._cue.cue in _BEFORE_COLUMNS):
            self._cue = None

    def _measures(self, last: Modifier | None, column: Mention) -> bool:
        """Take "at least 5 kg weight", "5 kg of weight": the number is that column's."""
        if last is None or self._current is None or not isinstance(last.mention.what, Number):
            return False
        behind = [m for m in self._all if last.mention.end <= m.first < column.first]
        if last.column is not None or any(m.cue != "of" for m in behind):
            return False
        evidence = (*last.evidence, column, *behind)
        self._current.modifiers[-1] = replace(last, column=column, evidence=evidence)
        self._cue = None
        return True

    def _misses(self, column: Mention) -> bool:
        """Take "without a sender": no value of that column is there."""
        negation = self._negation
        if negation is None or not negation.does(WordClass.WITHOUT) or self._current is None:
            return False
        between = [m for m in self._all if negation.end <= m.first < column.first]
        if self._value_follows() is not None or any(not m.does(WordClass.FILLER) for m in between):
            return False
        self._negation = self._cue = None
        self._current.modifiers.append(Modifier(column, negated=True, evidence=(negation,)))
        return True

    def _drop_column(self) -> None:
        if self._column is not None:
            self._parsed.asked.append(self._column)
        self._column = None

    def _value_follows(self) -> Mention | None:
        following = self._following()
        if following is None:
            return None
        return following if following.is_value and not following.nouns else None

    def _finish(self) -> None:
        self._settle_definite()
        self._release_cue()
        self._drop_column()
        for mention in (self._negation, self._their, self._each):
            if mention is not None:
                self._leave(mention)
        if self._joiner is not None and self._joiner.does(WordClass.OR):
            self._leave(self._joiner)
        for modifier in (*self._before, *self._leading):
            self._parsed.unexplained.extend(modifier.mentions)
        if self._cut is not None:
            self._parsed.unexplained.extend(self._cut.mentions)
        if self._scope is not None and self._last_main() is None:
            self._scope.nested = False  # "in the a that …": there was nothing else to be asked for
