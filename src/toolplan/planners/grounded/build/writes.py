"""Requests to create, change or delete one thing: every argument stands in the question."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Literal
from toolplan.planners.grounded.build.drafts import Argument, Outcome, ordered
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, Kind, ToolCard, Verb
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.linker import Filter, Linker
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Mention,
    Name,
    Number,
    Quoted,
    Time,
    present,
)
from toolplan.planners.grounded.parse.requests import Modifier

_VERBS = {
    WordClass.CREATE: Verb.CREATE,
    WordClass.UPDATE: Verb.UPDATE,
    WordClass.DELETE: Verb.DELETE,
}
_BENIGN = (
    WordClass.FILLER, WordClass.DETAIL, WordClass.BE, WordClass.RELATIVE, WordClass.COMMA,
    WordClass.STOP, WordClass.AND, WordClass.HAVE,
)  # fmt: skip
_NOT_OF_ONE = frozenset(
    words.phrase_list("""
    all|all of|all of them|any|some|every one of|both|anything|if|whether|only|at all|in total
    |overall|altogether|respectively|separately|different|distinct|unique|yet|ever|but|while
    |versus|vs|what if|or not ?
""")
)
"""Words that a question may leave out, and that say another change than one of one thing."""
_OPENING = (WordClass.READ, WordClass.WHICH, WordClass.COUNT, WordClass.COMPARE, *_VERBS)


def writes(mentions: Sequence[Mention]) -> bool:
    """Return whether the question asks to change something: its first verb says so."""
    first = next((m for m in mentions if _verb(m) or m.does(*_OPENING) or m.readings), None)
    return first is not None and _verb(first) is not None


def _verb(mention: Mention) -> Verb | None:
    """Return what `mention` orders, where it is the first word that matters."""
    if mention.readings:
        return None
    if words.fold(mention.text) == "record":
        return Verb.CREATE
    return next((verb for sort, verb in _VERBS.items() if mention.does(sort)), None)


def write(mentions: Sequence[Mention], catalogue: Catalogue, outcome: Outcome) -> None:
    """Add the call that changes what is asked for; nothing is added that the words do not say."""
    start = next(at for at, m in enumerate(mentions) if _verb(m) is not None)
    verb = _verb(mentions[start]) or Verb.CREATE
    negated = [m for m in mentions[:start] if not m.does(*_BENIGN)]
    if negated:
        outcome.reject([*negated, mentions[start]])
        return
    rest = mentions[start + 1 :]
    kind = _target(rest, catalogue)
    card = kind.card(verb) if kind is not None else None
    if kind is None or card is None:
        nouns = [entity for mention in rest for entity in mention.nouns]
        if nouns:
            outcome.refusal = f"No tool can {verb.value} {catalogue.kinds[nouns[0]].plural}."
        outcome.reject(m for m in rest if not m.does(*_BENIGN) and not m.readings)
        outcome.reject([mentions[start]])
        return
    reading = _Assignments(kind, card, catalogue, outcome)
    reading.read(rest)
    outcome.missing = [name for name in card.required if name not in reading.arguments]
    if verb is Verb.UPDATE and not outcome.missing and len(reading.arguments) == 1:
        outcome.missing.append("the new value")
    if reading.arguments:
        arguments = ordered(card, reading.arguments)
        outcome.draft.add(f"{verb.value}_{kind.entity}", card.name, arguments)


def _target(rest: Sequence[Mention], catalogue: Catalogue) -> Kind | None:
    """Return the thing to change: the first noun, or the one whose identity is said."""
    for mention in rest:
        for entity in mention.nouns:
            return catalogue.kinds[entity]
        if isinstance(mention.what, Code):
            owner = Linker(catalogue).owner(mention.what.text)
            return catalogue.kinds.get(owner or "")
    return None


class _Assignments:
    """Reads what is said behind the verb into arguments of one tool."""

    def __init__(self, kind: Kind, card: ToolCard, catalogue: Catalogue, outcome: Outcome) -> None:
        attributes = {name: _attribute(kind, name, card) for name in card.arguments}
        self._own = Kind(kind.entity, kind.cards, attributes)
        self._linker = Linker(replace(catalogue, kinds={**catalogue.kinds, kind.entity: self._own}))
        self._card = card
        self._draft = outcome.draft
        self._outcome = outcome
        self._column: Mention | None = None
        self._cue: Mention | None = None
        self._noun: Mention | None = None
        self._named = False
        self.arguments: dict[str, Argument] = {}

    def read(self, rest: Sequence[Mention]) -> None:
        """Read all of `rest`."""
        for mention in rest:
            self._step(mention)
        self._outcome.reject(present(self._column, self._noun))

    def _step(self, mention: Mention) -> None:
        asks = mention.does(WordClass.READ) and not (mention.readings or mention.is_value)
        if asks or words.fold(mention.text) in _NOT_OF_ONE:
            self._outcome.reject([mention])  # "and list the boxes": two things are wanted
        if mention.does(WordClass.COMMA, WordClass.AND):
            self._outcome.reject(present(self._column))
            self._column = None
        if isinstance(mention.what, Code):
            self._code(mention, mention.what.text)
        elif isinstance(mention.what, Time):
            self._day(mention, mention.what)
        elif mention.nouns:
            self._take_noun(mention)
        elif isinstance(mention.what, Number) or mention.is_value:
            self._value(mention)
        elif mention.columns:
            self._outcome.reject(present(self._column))
            self._column, self._cue = mention, None
        elif mention.cue is not None or mention.does(WordClass.LINK):
            self._cue = mention
        elif not mention.does(*_BENIGN) and (
            self._named or words.key(mention.text) not in ("new", "another", "following")
        ):
            self._outcome.reject([mention])

    def _take_noun(self, mention: Mention) -> None:
        if self._own.entity in mention.nouns and not self._named:
            self._named = True
        elif self._noun is not None:
            self._outcome.reject([mention])
        else:
            self._noun = mention

    def _code(self, mention: Mention, text: str) -> None:
        owner = self._linker.owner(text) or self._own.entity
        owners = self._noun.nouns if self._noun is not None else (owner,)
        wanted = {f"{entity}.id" for entity in owners}
        fitting = [n for n, each in self._card.arguments.items() if each.ref in wanted]
        if len(fitting) != 1:
            self._outcome.reject([mention])
            return
        said = present(self._cue, self._noun, mention)
        self._assign({fitting[0]: text}, said)
        self._noun = self._cue = None

    def _day(self, mention: Mention, time: Time) -> None:
        start, end = time.mention.range
        dated = [name for name, each in self._card.arguments.items() if each.is_date]
        named = self._column is not None and (
            words.key(self._column.text) in ("date", "day")
            or any(each.attribute in dated for each in self._column.columns)
        )
        if self._card.verb is Verb.UPDATE and not named:
            dated = []  # "mark it as sold tomorrow": its date is not to be changed
        if start is None or start != end or len(dated) != 1:
            self._outcome.reject([mention])
            return
        if named:
            self._column = None
        self._draft.note(time.mention.reading)
        self._assign({dated[0]: start.isoformat()}, (mention,))
        self._cue = None

    def _value(self, mention: Mention) -> None:
        cue = self._cue.cue if self._cue is not None else None
        if cue == "by" and isinstance(mention.what, Number):
            self._outcome.reject([mention])  # a difference is not a value
            return
        modifier = Modifier(mention, cue=cue, column=self._column)
        binding = self._linker.bind(self._own.entity, modifier)
        if binding is None and (self._column is not None or cue == "as"):
            binding = self._linker.bind(self._own.entity, replace(modifier, cue=None))
        said = present(self._column, self._cue, mention)
        if isinstance(binding, Filter) and len(binding.choices) == 1:
            self._assign(dict(binding.choices[0]), said)
            self._column = None
        elif (name := self._bare_name(mention)) is not None:
            self._assign(name, said)
        else:
            self._outcome.reject([mention])
        self._cue = None

    def _bare_name(self, mention: Mention) -> dict[str, Json] | None:
        """Take a name that stands alone as the one name that the new thing must have."""
        if self._cue is not None or self._column is not None:
            return None
        wanted = [
            name
            for name in self._card.required
            if (shape := self._card.arguments.get(name)) is not None
            and shape.kind == "name"
            and not shape.gazetteer
            and name not in self.arguments
        ]
        match mention.what:
            case Quoted(text) | Name(text) if len(wanted) == 1:
                return {wanted[0]: text}
            case _:
                return None

    def _assign(self, given: dict[str, Json], said: tuple[Mention, ...]) -> None:
        if not self.arguments.keys().isdisjoint(given):
            self._outcome.reject(said[-1:])
            return
        reason = self._draft.words(said)
        self.arguments |= {n: Argument(Literal(value), reason) for n, value in given.items()}


def _attribute(kind: Kind, name: str, card: ToolCard) -> Attribute:
    """Return the argument `name` as an attribute that takes a value unchanged."""
    shape = card.arguments[name]
    return Attribute(kind.entity, name, shape, equal=name)
