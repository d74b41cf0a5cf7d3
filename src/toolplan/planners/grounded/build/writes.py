"""Requests to create, change or delete one thing: every argument stands in the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolplan.path import Json
from toolplan.plan import Literal
from toolplan.planners.grounded.build.drafts import Argument, DraftPlan
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, Kind, ToolCard, Verb
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.linker import Filter, Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Name, Number, Quoted, Time
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
_OPENING = (WordClass.READ, WordClass.WHICH, WordClass.COUNT, WordClass.COMPARE, *_VERBS)


@dataclass(slots=True)
class Written:
    """What came of a request to change something."""

    unexplained: list[Mention] = field(default_factory=list[Mention])
    reasons: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    refusal: str | None = None


def writes(mentions: Sequence[Mention]) -> bool:
    """Whether the question asks to change something: its first verb says so."""
    first = _opening(mentions)
    return first is not None and _verb(first) is not None


def _opening(mentions: Sequence[Mention]) -> Mention | None:
    return next((m for m in mentions if _verb(m) or m.does(*_OPENING) or m.readings), None)


def _verb(mention: Mention) -> Verb | None:
    """Return what `mention` orders, where it is the first word that matters."""
    if mention.readings:
        return None
    if words.fold(mention.text) == "record":
        return Verb.CREATE
    return next((verb for sort, verb in _VERBS.items() if mention.does(sort)), None)


def write(mentions: Sequence[Mention], catalogue: Catalogue, draft: DraftPlan) -> Written:
    """Add the call that changes what is asked for; nothing is added that the words do not say."""
    written = Written()
    start = next(at for at, m in enumerate(mentions) if _verb(m) is not None)
    verb = _verb(mentions[start]) or Verb.CREATE
    negated = [m for m in mentions[:start] if not m.does(*_BENIGN)]
    if negated:
        written.unexplained.extend([*negated, mentions[start]])
        return written
    rest = mentions[start + 1 :]
    kind = _target(rest, catalogue, verb)
    card = kind.card(verb) if kind is not None else None
    if kind is None or card is None:
        _explain_no_target(mentions[start], rest, catalogue, verb, written)
        return written
    reading = _Assignments(kind, card, catalogue, draft)
    reading.read(rest)
    written.unexplained.extend(reading.unexplained)
    written.missing = [name for name in card.required if name not in reading.arguments]
    if verb is Verb.UPDATE and not written.missing and len(reading.arguments) == 1:
        written.missing.append("the new value")
    if reading.arguments:
        ordered = {n: reading.arguments[n] for n in card.arguments if n in reading.arguments}
        draft.add(f"{verb.value}_{kind.entity}", card.name, ordered)
    return written


def _target(rest: Sequence[Mention], catalogue: Catalogue, verb: Verb) -> Kind | None:
    """Return the thing to change: the first noun, or the one whose identity is said."""
    for mention in rest:
        for entity in mention.nouns:
            kind = catalogue.kinds[entity]
            return kind if kind.card(verb) is not None else None
        if isinstance(mention.what, Code):
            owner = Linker(catalogue).owner(mention.what.text)
            kind = catalogue.kinds.get(owner or "")
            return kind if kind is not None and kind.card(verb) is not None else None
    return None


def _explain_no_target(
    said: Mention, rest: Sequence[Mention], catalogue: Catalogue, verb: Verb, written: Written
) -> None:
    nouns = [entity for mention in rest for entity in mention.nouns]
    if nouns:
        plural = catalogue.kinds[nouns[0]].plural
        written.refusal = f"No tool can {verb.value} {plural}."
    written.unexplained.append(said)
    written.unexplained.extend(m for m in rest if not m.does(*_BENIGN) and not m.readings)


class _Assignments:
    """Reads what is said behind the verb into arguments of one tool."""

    def __init__(self, kind: Kind, card: ToolCard, catalogue: Catalogue, draft: DraftPlan) -> None:
        attributes = {name: _attribute(kind, name, card) for name in card.arguments}
        self._own = Kind(kind.entity, kind.cards, attributes)
        self._linker = Linker(replace(catalogue, kinds={**catalogue.kinds, kind.entity: self._own}))
        self._card = card
        self._draft = draft
        self._column: Mention | None = None
        self._cue: Mention | None = None
        self._noun: Mention | None = None
        self._named = False
        self.arguments: dict[str, Argument] = {}
        self.unexplained: list[Mention] = []

    def read(self, rest: Sequence[Mention]) -> None:
        """Read all of `rest`."""
        for mention in rest:
            self._step(mention)
        for left in (self._column, self._noun):
            if left is not None:
                self.unexplained.append(left)

    def _step(self, mention: Mention) -> None:
        if mention.does(WordClass.COMMA, WordClass.AND) and self._column is not None:
            self.unexplained.append(self._column)
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
            self._take_column(mention)
        elif mention.cue is not None or mention.does(WordClass.LINK):
            self._cue = mention
        elif not mention.does(*_BENIGN) and not self._is_new(mention):
            self.unexplained.append(mention)

    def _is_new(self, mention: Mention) -> bool:
        return words.key(mention.text) in ("new", "another", "following") and not self._named

    def _take_noun(self, mention: Mention) -> None:
        if self._own.entity in mention.nouns and not self._named:
            self._named = True
        elif self._noun is not None:
            self.unexplained.append(mention)
        else:
            self._noun = mention

    def _take_column(self, mention: Mention) -> None:
        if self._column is not None:
            self.unexplained.append(self._column)
        self._column = mention
        self._cue = None

    def _code(self, mention: Mention, text: str) -> None:
        wanted = (
            {f"{entity}.id" for entity in self._noun.nouns}
            if self._noun is not None
            else {f"{owner}.id" for owner in (self._linker.owner(text) or self._own.entity,)}
        )
        fitting = [n for n, each in self._card.arguments.items() if each.ref in wanted]
        if len(fitting) != 1:
            self.unexplained.append(mention)
            return
        said = tuple(m for m in (self._cue, self._noun, mention) if m is not None)
        self._give({fitting[0]: text}, said)
        self._noun = self._cue = None

    def _day(self, mention: Mention, time: Time) -> None:
        start, end = time.mention.range
        dated = [name for name, each in self._card.arguments.items() if each.is_date]
        if start is None or start != end or len(dated) != 1:
            self.unexplained.append(mention)
            return
        self._draft.note(time.mention.reading)
        self._give({dated[0]: start.isoformat()}, (mention,))
        self._cue = None

    def _value(self, mention: Mention) -> None:
        cue = self._cue.cue if self._cue is not None else None
        if cue == "by" and isinstance(mention.what, Number):
            self.unexplained.append(mention)  # a difference is not a value
            return
        modifier = Modifier(mention, cue=cue, column=self._column)
        binding = self._linker.bind(self._own.entity, modifier)
        if binding is None and (self._column is not None or cue == "as"):
            binding = self._linker.bind(self._own.entity, replace(modifier, cue=None))
        said = tuple(m for m in (self._column, self._cue, mention) if m is not None)
        if isinstance(binding, Filter) and len(binding.choices) == 1:
            self._give(dict(binding.choices[0]), said)
            self._column = None
        elif (name := self._bare_name(mention)) is not None:
            self._give(name, said)
        else:
            self.unexplained.append(mention)
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

    def _give(self, given: dict[str, Json], said: tuple[Mention, ...]) -> None:
        if not self.arguments.keys().isdisjoint(given):
            self.unexplained.extend(said[-1:])
            return
        reason = self._draft.words(said)
        self.arguments |= {n: Argument(Literal(value), reason) for n, value in given.items()}


def _attribute(kind: Kind, name: str, card: ToolCard) -> Attribute:
    """Return the argument `name` as something that is said of the thing: it takes it as it is."""
    shape = card.arguments[name]
    return Attribute(kind.entity, name, shape, equal=name)
