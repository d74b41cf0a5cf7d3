"""Imperatives: the main verbs of clauses that demand an action.

A clause begins with words of politeness ("could you please", "go ahead and", "I want to"). The verb
behind them is what the user wants, so it is never skipped there, nor read as a noun, a value or a
filler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from typing import Final

from toolplan.planners.grounded.catalogue.kinds import Catalogue, Noun, Reading, ValueOf
from toolplan.planners.grounded.language.phrases import PHRASES, WordClass
from toolplan.planners.grounded.language.verbs import (
    IMPERATIVE_VERBS,
    PHRASAL,
    Action,
    gerund,
    participle,
)
from toolplan.planners.grounded.language.words import word_set
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Imperative, Token

_OPENERS: Final = word_set("""
    please kindly pls can could would will you we i us let lets go ahead just now also next finally
    first then ok okay hey hi hello thank thanks be sure make certain to try need want like wish
    have should must may might shall do help me feel free it is time ask quickly simply immediately
    asap again everyone somebody someone system am gonna wanna maybe perhaps better why lot ought
    getting going able n't not never always later afterwards too directly manually automatically
    i'd and or but so start begin stop keep continue proceed with by
    """)
_BREAKS: Final = word_set(
    ", ; : . ! ? and then but or plus & before after so because while afterwards finally"
)
_MODALS: Final = word_set("to should must shall may might can could would will let ought please")
_BEFORE_VERBS: Final = word_set("you to let lets us ahead please kindly")
_PRONOUNS: Final = word_set("you we i they he she somebody someone")
_POINTERS: Final = word_set("""
    the a an this these that those all every each any some my our your its their his her it them
    him everything everyone another both him new
    """)
_PREPOSITIONS: Final = word_set(
    "in at from to by for of on with within since during before after per over under"
)
_WISHES: Final = word_set("want like wish need have let make")
_FINITE: Final = word_set("""
    that which who whose where is are was were been see know look list show get find has had did
    does n't not
    """)
_GIVING: Final = word_set("give bring return take pull tell")
_RECEIVERS: Final = word_set("me us up you")
_DEFINITE: Final = word_set("the this these that those it them my our")
_WRITES: Final = frozenset({WordClass.CREATE, WordClass.UPDATE, WordClass.DELETE})
_WIDEST_PHRASE: Final = 8


def find_imperatives(
    tokens: Sequence[Token], catalogue: Catalogue, timed: Collection[int]
) -> dict[int, Imperative]:
    """Return the imperatives among `tokens` that no tool is known for, by their index.

    `timed` are the indexes of tokens of times: "in May" demands nothing.
    """
    reading = _Imperatives(tokens, catalogue, timed)
    return {at: Imperative(tokens[at].text, action, known) for at, action, known in reading.find()}


class _Imperatives:
    """Finds the imperatives in one sequence of tokens."""

    def __init__(
        self, tokens: Sequence[Token], catalogue: Catalogue, timed: Collection[int]
    ) -> None:
        self._keys = [token.key for token in tokens]
        self._tokens = tokens
        self._texts = [token.text.casefold() for token in tokens]
        self._lexicon = catalogue.lexicon
        self._linker = Linker(catalogue)
        self._timed = timed

    def find(self) -> Iterator[tuple[int, Action, bool]]:
        """Yield the index of each imperative, its action, and if the word has other meanings."""
        for start, end in self._clauses():
            head = start
            while head < end and self._texts[head] in _OPENERS:
                head += 1
            yield from self._phrasal(start, end, head)
            if head < end and (action := self._headed(head, start)) is not None:
                yield head, action, self._is_known(head)
            if head > start and (done := self._done_to(head, end)):
                yield head - 1, done, True
            for at in range(start + 1, end):
                if at != head and self._is_wanted(at):
                    yield at, IMPERATIVE_VERBS[self._texts[at]], self._is_known(at)
            yield from self._caused(start, end, head)
            yield from self._passive(start, end, head)

    def _clauses(self) -> Iterator[tuple[int, int]]:
        start = 0
        for at, text in enumerate(self._texts):
            if text in _BREAKS and at not in self._timed:
                if at > start:
                    yield start, at
                start = at + 1
        if start < len(self._texts):
            yield start, len(self._texts)

    def _readings(self, at: int) -> tuple[Reading, ...]:
        return self._lexicon.get((self._keys[at],), ()) if at < len(self._keys) else ()

    def _classes(self, at: int) -> frozenset[WordClass]:
        return PHRASES.get((self._keys[at],), frozenset()) if at < len(self._keys) else frozenset()

    def _is_known(self, at: int) -> bool:
        return bool(self._readings(at) or self._classes(at))

    def _headed(self, at: int, start: int) -> Action | None:
        """Return the action that the word at the head of a clause demands."""
        text = self._texts[at]
        if at in self._timed:
            return None
        doing = gerund(text)
        if doing is not None and self._is_compound(at):
            return None
        if doing is not None and text not in IMPERATIVE_VERBS:
            ordering = self._is_pointed_at(at + 1) or not self._is_known(at)
            return doing if ordering else None
        action = IMPERATIVE_VERBS.get(text)
        if action is None or self._is_compound(at) or self._sorts_rows(at):
            return None
        return self._known(at, start, action) if self._is_known(at) else action

    def _known(self, at: int, start: int, action: Action) -> Action | None:
        """Return the action of a word that may be something else, if its place makes it a verb."""
        text, classes = self._texts[at], self._classes(at)
        if text in _GIVING and WordClass.READ in classes:
            return action if self._hands_over(at) else None
        if classes & _WRITES and not self._readings(at):
            return None  # `build.writes` handles it
        if self._is_coordinated(at, start) or self._names_itself(at):
            return None
        if at > start and self._texts[at - 1] in _BEFORE_VERBS:
            return action if WordClass.READ not in classes else None
        if self._readings(at) and action is Action.DESTROY:
            return None if self._ends_at(at + 1) else action
        if WordClass.LINK in classes:
            return action
        if WordClass.READ in classes:
            return None
        if classes & {WordClass.RATE, WordClass.COUNT}:
            # "share of …" is a noun, "share the …" an imperative
            return None if self._text(at + 1) in ("of", "for", "by") else action
        return action if self._is_pointed_at(at + 1) or self._meets_other(at) else None

    def _is_compound(self, at: int) -> bool:
        """Return whether it only begins a term: "follow-up loans", "pass rate"."""
        if self._classes(at + 1) & {WordClass.RATE, WordClass.DETAIL}:
            return True
        following = (tuple(self._keys[at : at + length]) for length in (2, 3, 4))
        return any(phrase in self._lexicon for phrase in following if len(phrase) > 1)

    def _names_itself(self, at: int) -> bool:
        """Return whether it is the noun of the identity behind it: "book K1" books nothing."""
        code = self._tokens[at + 1].text if at + 1 < len(self._tokens) else ""
        return _is_code(code) and self._linker.owner(code) in (self._noun(at), None)

    def _sorts_rows(self, at: int) -> bool:
        sorting = self._texts[at] in ("sort", "order", "arrange")
        return sorting and "by" in self._clause_from(at)

    def _hands_over(self, at: int) -> bool:
        """Return whether "give", "bring", "return" hand something over rather than show it."""
        if self._text(at + 1) in _RECEIVERS:
            return False
        tells = self._texts[at] == "tell"
        return tells or "to" in self._clause_from(at) or self._is_single(at + 1)

    def _clause_from(self, at: int) -> list[str]:
        """Return what follows `at` in its clause."""
        return list(takewhile(lambda text: text not in _BREAKS, self._texts[at + 1 :]))

    def _is_single(self, at: int) -> bool:
        """Return whether one thing is named by its identity from `at` on: "the loan L1", "L1"."""
        while self._text(at) == "the" or self._noun(at):
            at += 1
        return _is_code(self._text(at))

    def _noun(self, at: int) -> str | None:
        return next((r.entity for r in self._readings(at) if isinstance(r, Noun)), None)

    def _is_pointed_at(self, at: int) -> bool:
        if self._text(at) in _POINTERS or _is_code(self._text(at)):
            return True
        return self._noun(at) is not None and self._is_single(at)

    def _meets_other(self, at: int) -> bool:
        """Return whether a noun stands right before the noun of another kind, as a verb would."""
        own, other = self._noun(at), self._noun(at + 1)
        return own is not None and other is not None and own != other

    def _is_coordinated(self, at: int, start: int) -> bool:
        """Return whether a value stands beside another one: "oak and ash"."""
        if at != start or start < 2:
            return False
        before = {_owner(r) for r in self._readings(start - 2) if isinstance(r, ValueOf)}
        return any(_owner(r) in before for r in self._readings(at) if isinstance(r, ValueOf))

    def _ends_at(self, at: int) -> bool:
        return self._text(at) in {"", *_PREPOSITIONS, *_BREAKS}

    def _done_to(self, head: int, end: int) -> Action | None:
        """Return what "do it", "make one", "I need an a" order: a thing where a verb should be."""
        opener = self._texts[head - 1]
        thing = next((at for at in range(head, min(head + 4, end)) if self._noun(at)), None)
        if opener in ("do", "make") and self._text(head) in ("it", "this", "that", "them", "so"):
            return Action.PERFORM
        if thing is None and not self._is_single(head):
            return None
        if self._text(head) in ("a", "an", "another"):
            indefinite = opener in ("do", "make", "have", "need", "want", "like", "let", "get")
            listed = thing is not None and bool(self._classes(thing + 1) & {WordClass.DETAIL})
            return Action.PERFORM if indefinite and not listed else None
        verbs = {WordClass.LINK, WordClass.HAVE, WordClass.BE, WordClass.READ}
        if opener not in ("do", "make") or any(
            self._classes(at) & verbs for at in range(head, end) if at not in self._timed
        ):
            return None
        return Action.PERFORM

    def _text(self, at: int) -> str:
        return self._texts[at] if at < len(self._texts) else ""

    def _is_wanted(self, at: int) -> bool:
        """Return whether the word is the verb of "you should …", "… to do", or ends "the a do"."""
        text, before = self._texts[at], self._texts[at - 1]
        if text not in IMPERATIVE_VERBS or at in self._timed:
            return False
        if self._classes(at) & (_WRITES | {WordClass.READ}):
            return False
        if self._readings(at) and before != "to":
            return False
        if self._closes(at):
            return True
        if before in _PRONOUNS and at > 1:
            return self._texts[at - 2] in _MODALS
        if before == "to" and self._readings(at) and self._ends_at(at + 1):
            return False
        return before in _MODALS

    def _closes(self, at: int) -> bool:
        """Return whether a verb stands last, and no verb before it asks: "loan L1 extend"."""
        last = self._text(at + 1) in ("", *_BREAKS)
        asked = not {"did", "does", "do", "that", "which", "who"}.isdisjoint(self._texts[:at])
        return last and not asked and not self._readings(at) and WordClass.LINK in self._classes(at)

    def _phrasal(self, start: int, end: int, head: int) -> Iterator[tuple[int, Action, bool]]:
        """Yield verbs of several words: at the head, or anywhere as they stand together."""
        for phrase, action in PHRASAL.items():
            at = self._found(phrase, start, end, head)
            if at is not None:
                yield at, action, False

    def _found(self, phrase: tuple[str, ...], start: int, end: int, head: int) -> int | None:
        verb, rest = phrase[0], phrase[1:]
        texts = self._texts
        for at in (at for at in range(start, end) if texts[at] == verb):
            together = tuple(texts[at + 1 : at + 1 + len(rest)]) == rest
            closing = at + len(phrase) == end
            if together and (at <= head or closing or texts[at - 1] in _MODALS | _OPENERS):
                return at
            # the particle may close the clause: "take the old ones down"
            last = min(end, at + _WIDEST_PHRASE) - 1
            if at == head and last > at + 1 and rest == (texts[last],):
                return at
        return None

    def _caused(self, start: int, end: int, head: int) -> Iterator[tuple[int, Action, bool]]:
        """Yield what somebody wants done: "have it moved", "I want the loan L1 extended"."""
        opened = set(self._texts[start:head])
        wishing = bool(opened & _WISHES) or self._texts[start:head] == []
        first = self._texts[start]
        if first in ("get", "make") and self._is_single(start + 1):
            head, wishing, opened = start + 1, True, {"have"}
        if not (opened & _WISHES) or not wishing:
            return
        if any(text in _FINITE for text in self._texts[head:end]):
            return
        if "need" in opened and any(at in self._timed for at in range(start, end)):
            return
        definite = head < end and (self._texts[head] in _DEFINITE or self._is_single(head))
        if not definite and not opened & {"want", "like", "wish", "have"}:
            return
        for at in range(head + 1, end):
            action = self._participle(at)
            if action is not None and self._stands_behind_a_thing(at, end):
                if any(i in self._timed for i in range(at, end)) and "have" not in opened:
                    return
                yield at, action, action is not Action.DESTROY

    def _passive(self, start: int, end: int, head: int) -> Iterator[tuple[int, Action, bool]]:
        """Yield the "be" of what is still to be done: "loans to be closed", "let it be so"."""
        for at in range(start + 1, end):
            wanted = self._texts[at - 1] == "to" or "let" in self._texts[start:head]
            if self._texts[at] == "be" and wanted and self._text(at + 1) != "able":
                yield at, Action.PERFORM, True

    def _participle(self, at: int) -> Action | None:
        text = self._texts[at]
        done = participle(text)
        if done is not None:
            return done
        said = any(isinstance(reading, ValueOf) for reading in self._readings(at))
        return Action.PERFORM if said and text.endswith("ed") else None

    def _stands_behind_a_thing(self, at: int, end: int) -> bool:
        before = at - 1
        thing = self._noun(before) is not None or _is_code(self._texts[before])
        thing = thing or self._texts[before] in ("it", "them", "one", "ones")
        prenominal = at + 1 < end and self._noun(at + 1) is not None
        return thing and not prenominal


def _owner(reading: ValueOf) -> tuple[str, str]:
    return (reading.entity, reading.attribute)


def _is_code(text: str) -> bool:
    return text[:1].isalpha() and any(char.isdigit() for char in text)
