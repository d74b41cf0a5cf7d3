"""What a message is in a conversation: a whole question, a follow-up, an answer.

A message that could stand alone is never a follow-up: a follow-up refers back (*their*, *the
same*), or begins like no whole question (*and …*, *only …*).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, Literal, TypeAlias

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dialogue.actions import Act, acts_of
from toolplan.planners.grounded.dialogue.reading import known
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Imperative,
    Mention,
    Name,
    Number,
    Phrase,
    Quoted,
    Time,
    Unknown,
)
from toolplan.planners.grounded.parse.reader import Reader
from toolplan.planners.grounded.planner import MAX_CHARACTERS
from toolplan.tools import Toolbox

Kind: TypeAlias = Literal[
    "query", "question", "followup", "confirmation", "clarification", "unclear"
]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a message is.

    Attributes:
        kind: `query` (asks for something), `question` (a query in the form of a question),
            `followup` (continues what was asked before), `confirmation` (yes or no),
            `clarification` (answers what was asked back) or `unclear` (says nothing that a tool
            could be called for).
        confidence: from 0 to 1.
        agrees: for a confirmation, whether it is a yes.
        act: what it wants done; None for a confirmation, and where it says nothing.
        action: the verb that says so, as it is said ("show"), or None.
        operations: each verb with what it is about, and each value that narrows it:
            `delete_order`, `analyze_sales`, `filter_overdue`.

    Two intents are equal if the first three are.
    """

    kind: Kind
    confidence: float
    agrees: bool | None = None
    act: Act | None = field(default=None, compare=False)
    action: str | None = field(default=None, compare=False)
    operations: tuple[str, ...] = field(default=(), compare=False)


_AGREE: Final = word_set("""
    yes yeah yep yup sure ok okay right correct exactly indeed agreed confirm confirmed affirmative
    absolutely definitely certainly fine proceed go aye
    """)
_DISAGREE: Final = word_set("""
    no nope nah never not don't dont stop cancel wrong abort negative nevermind
    """)
_POLITE: Final = word_set("""
    please thanks thank you ahead it that's that sounds good great perfect do run with mind
    a of course i am we are is the one this so then on thing for me
    """)
_MOST_CONFIRMING_WORDS: Final = 5

_VAGUE: Final = word_set("""
    stuff stuffs thing things something anything everything all data it that this those these some
    analysis analyse analyze run check whatever same talked talk discussed mentioned said spoke
    asked looked earlier before previously again last time other day about we i you us they he she
    from on of the a an to for with and or please
    """)

_NAMELESS: Final = word_set("stuff stuffs thing things something anything everything whatever")
_BEFORE: Final = word_set("""
    talked talk discussed mentioned said spoke asked looked earlier before previously again
    """)

_OPENING: Final = re.compile(
    r"(?:(?:ok|okay|thanks|thank you|great|good|so|then|well|hm+|yes|no|oh|right"
    r"|actually|rather|i mean|i meant)\b[,.!]?\s+)*"
)
_CONTINUING: Final = re.compile(
    r"(?:what about|how about|and|now|but|also|only|just|instead|without|except|excluding|not"
    r"|sort(?:ed)?|order(?:ed)?|limit(?:ed)?|top|group(?:ed)?|the same|same|ditto|of (?:those|these"
    r"|them)|which of|how many of|none of|remove the|drop the|no limit|regardless|by|per|for each"
    r"|repeat|again)\b",
)
_CORRECTING: Final = re.compile(r"\s*(?:no,? )?(?:actually|rather|i mean|i meant)\b")
_BARE: Final = re.compile(r"\s*(?:and )?(?:which|what) \w+(?: \w+)?\s*\?*\s*")
_REMOVING: Final = ("remove the", "drop the", "no limit", "regardless", "without")
_NARROWED: Final = re.compile(r"now,?\s+(?:only|just)\b")
_RESTRICTING: Final = re.compile(r"\s*(?:for|of|in|at|from|to|with|on|since|until)\b")
_FINITE: Final = re.compile(
    r"\b(?:did|do|does|is|are|was|were|have|has|had|can|could|will|would)\b"
)
_INSTEAD: Final = re.compile(r"\binstead\b|\brather than\b")
_THERE: Final = re.compile(
    r"\b(?:from|to|at|in|of|found|held|stored|made) there\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere\W*$"
)
_IN_THEM: Final = re.compile(
    r"^(?:(?:and|now|so|then),?\s+)*(?:which|what|how many|are there|were there|is there)\b.*"
    r"\b(?:in|of|for|from|to|at|on|by|with) (?:them|it|those|these)\b"
)
_THEY: Final = re.compile(
    r"\bthey\b.*\b(?:in|of|for|from|to|at|on|by|with|into|through)[\s.!?]*$"
    r"|^(?:(?:and|now|so|then),?\s+)*(?:which|what|who|where|how many)\b"
    r".*\b(?:they\b|(?:did|does|do|is|was|are|were|has|have) (?:it|those|these)\b"
    r"|(?:them|it|those|these|that)[\s.!?]*$)"
)
_ONES: Final = re.compile(r"\bones?\b(?!\s+(?:of|by)\b)")
_SAME: Final = re.compile(r"\b(?:same|ditto)\b")
_BACK: Final = word_set("their its them those these they it theirs")

_SAID_OF_ROWS: Final = (
    WordClass.COUNT, WordClass.LIMIT, WordClass.SORTED, WordClass.DESCENDING,
    WordClass.ASCENDING, WordClass.LATEST, WordClass.OLDEST,
    WordClass.FIRST,
)  # fmt: skip
_WHOLE_MODIFIERS: Final = 2
_ANY_DAY: Final = date(2000, 1, 3)  # only where times stand matters here, not which they are


def read_intent(text: str, tools: Toolbox | Catalogue, *, awaiting: bool = False) -> Intent:
    """Return what the message `text` is; `awaiting` is true after a clarification.

    The words for things, values and columns come from `tools`.
    """
    text = text[:MAX_CHARACTERS]
    if (agrees := confirms(text)) is not None:
        return Intent("confirmation", 0.95, agrees)
    catalogue = known(tools)
    mentions = _mentions(text, catalogue)
    intent = _intent(text, mentions, awaiting=awaiting)
    if intent.kind == "unclear":
        return intent
    acts = acts_of(mentions, catalogue)
    return replace(intent, act=acts.act, action=acts.action, operations=acts.operations)


def names_a_kind(text: str, catalogue: Catalogue) -> bool:
    """Return whether the message `text` says what kind of thing it is about."""
    return any(mention.nouns for mention in _mentions(text[:MAX_CHARACTERS], catalogue))


def only_points_back(text: str, catalogue: Catalogue) -> bool:
    """Return whether the message `text` adds nothing to what was spoken of: "how many?"."""
    mentions = _mentions(text[:MAX_CHARACTERS], catalogue)
    counts = any(m.does(WordClass.COUNT, WordClass.HOW_MUCH) for m in mentions)
    adds = any(
        m.nouns or m.values or m.columns or m.verbs or not isinstance(m.what, Phrase)
        for m in mentions
    )
    return counts and not adds


def _mentions(text: str, catalogue: Catalogue) -> tuple[Mention, ...]:
    return next(Reader(text, catalogue, _ANY_DAY, "rolling").readings(), ())


def _intent(text: str, mentions: tuple[Mention, ...], *, awaiting: bool) -> Intent:
    nouns = {mention.nouns[0] for mention in mentions if mention.nouns}
    continues = _continues(text, mentions)
    if awaiting and (continues or not _is_whole(mentions)):
        return Intent("clarification", 0.9)
    if continues:
        return Intent("followup", 0.85)
    if not mentions or is_vague(text, mentions):
        return Intent("unclear", 0.3)
    if _is_restriction(text, mentions) or _is_figure(mentions):
        return Intent("followup", 0.6)
    if (
        not nouns
        and _is_fragment(mentions)
        and (_says_value(mentions) or not _has_columns(mentions))
    ):
        return Intent("followup", 0.6)
    if _BARE.fullmatch(fold(text)) is not None and len(nouns) == 1 and _is_bare(mentions):
        return Intent("followup", 0.6)
    if mentions[0].does(
        WordClass.WHICH, WordClass.COUNT, WordClass.HOW_MUCH, WordClass.BE
    ) or _begins_question(text):
        return Intent("question", 0.9)
    if nouns:
        return Intent("query", 0.9 if len(nouns) > 1 else 0.85)
    return Intent("query", 0.5)


def confirms(text: str) -> bool | None:
    """Return True for a mere yes, False for a mere no, and None for anything else."""
    said = re.findall(r"[\w']+", fold(text))
    if not 0 < len(said) <= _MOST_CONFIRMING_WORDS:
        return None
    if not set(said) <= _AGREE | _DISAGREE | _POLITE:
        return None
    agrees, disagrees = _AGREE.intersection(said), _DISAGREE.intersection(said)
    if said[0] not in _AGREE | _DISAGREE and not (agrees or disagrees):
        return True if said in (["do", "it"], ["please", "do"], ["sounds", "good"]) else None
    if agrees and disagrees:
        return None
    return bool(agrees)


def vague_words(text: str) -> tuple[str, ...]:
    """Return the words of `text` like *stuff* and *everything*."""
    return tuple(word for word in re.findall(r"[^\W_]+", text) if fold(word) in _NAMELESS)


def asks_for_the_past(text: str) -> bool:
    """Return whether `text` refers to something that was discussed before."""
    return not _BEFORE.isdisjoint(re.findall(r"[^\W_]+", fold(text)))


def is_vague(text: str, mentions: tuple[Mention, ...]) -> bool:
    """Return whether `text` names nothing at all: "show me stuff"."""
    said = re.findall(r"[^\W_]+", fold(text))
    if not said or any(m.nouns or m.values or m.columns or m.reports for m in mentions):
        return False
    general = all(
        word in _VAGUE or _is_general(mention)
        for mention in mentions
        for word in re.findall(r"[^\W_]+", fold(mention.text))
    )
    pointless = not any(isinstance(m.what, Time | Number | Code | Quoted | Name) for m in mentions)
    return general and pointless and not _VAGUE.isdisjoint(said)


def _is_general(mention: Mention) -> bool:
    return mention.does(
        WordClass.FILLER, WordClass.READ, WordClass.DETAIL, WordClass.WHICH,
        WordClass.RELATIVE, WordClass.BE, WordClass.CUE,
        WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.LINK, WordClass.HAVE,
    )  # fmt: skip


def _continues(text: str, mentions: tuple[Mention, ...]) -> bool:
    """Return whether `text` refers to what was said before it, or continues it."""
    if _points_back(text, mentions):
        return True
    opened = fold(text)[len(_opening(fold(text))) :]
    if _INSTEAD.search(opened) and not _is_whole(mentions):
        return True
    if _CORRECTING.match(fold(text)) and not _is_whole(mentions):
        return True
    begun = _CONTINUING.match(opened)
    if begun is None:
        return False
    named = any(m.nouns for m in mentions)
    if begun[0] in _REMOVING and not named:
        return True
    if begun[0] == "now" and named and not _NARROWED.match(opened):
        return not any(m.values or isinstance(m.what, Time | Number | Code) for m in mentions)
    if begun[0] in ("what about", "how about"):
        said = [m for m in mentions if m.values or isinstance(m.what, Time | Number | Code)]
        return not (named and len(said) >= _WHOLE_MODIFIERS)
    return not _is_whole(mentions)


def _opening(folded: str) -> str:
    found = _OPENING.match(folded)
    return found[0] if found is not None else ""


def _points_back(text: str, mentions: tuple[Mention, ...]) -> bool:
    """Return whether a pronoun stands before any noun that it could refer to."""
    first = next((m for m in mentions if m.nouns), None)
    end = len(text) if first is None else _at(text, first)
    head = fold(text[:end])
    spoken = set(re.findall(r"\w+", head))
    if not spoken.isdisjoint(_BACK) and not _is_idle(head):
        return True
    if _SAME.search(head) or _asks_about_them(text, mentions):
        return True
    named = any(m.columns or m.values for m in mentions)
    if first is None and _ONES.search(head) and (named or len(spoken) > 1):
        return True
    return _THERE.search(fold(text)) is not None and not _placed(mentions)


def _asks_about_them(text: str, mentions: tuple[Mention, ...]) -> bool:
    """Return whether "them" cannot be the named things: "which a were found in them?"."""
    nouns = {noun for mention in mentions for noun in mention.nouns}
    said = fold(text)
    asks = _IN_THEM.search(said) is not None or _THEY.search(said) is not None
    return len(nouns) <= 1 and asks


def _is_idle(head: str) -> bool:
    """Return whether the only pronoun is the empty one of "is it true that"."""
    return re.search(r"\bis it (?:true|the case|so) that\b", head) is not None


def _placed(mentions: tuple[Mention, ...]) -> bool:
    return sum(1 for m in mentions if m.nouns) > 1


def _at(text: str, mention: Mention) -> int:
    """Return the offset at which the word stands in which `mention` begins."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    return starts[mention.words[0]]


def _is_whole(mentions: tuple[Mention, ...]) -> bool:
    """Return whether it has a verb or a question word, and a thing or a column."""
    asks = any(
        m.does(
            WordClass.READ,
            WordClass.WHICH,
            WordClass.COUNT,
            WordClass.CREATE,
            WordClass.UPDATE,
            WordClass.DELETE,
        )
        or isinstance(m.what, Imperative)
        for m in mentions
    )
    return asks and any(m.nouns or m.columns or m.reports for m in mentions)


def _has_columns(mentions: tuple[Mention, ...]) -> bool:
    return any(m.columns and not m.values for m in mentions) or any(m.reports for m in mentions)


def _is_fragment(mentions: tuple[Mention, ...]) -> bool:
    """Return whether it only has values, times or numbers of things that are not named."""
    if any(isinstance(m.what, Unknown | Imperative) for m in mentions):
        return False
    said = any(
        m.is_value or isinstance(m.what, Time | Number) or m.does(*_SAID_OF_ROWS) for m in mentions
    )
    return said and not any(
        m.does(WordClass.CREATE, WordClass.UPDATE, WordClass.DELETE) for m in mentions
    )


def _says_value(mentions: tuple[Mention, ...]) -> bool:
    """Return whether it is a column with its value, and asks nothing: "status pending"."""
    return any(m.values for m in mentions) and not any(
        m.does(WordClass.READ, WordClass.WHICH, WordClass.STATISTIC, WordClass.RATE)
        for m in mentions
    )


def _is_bare(mentions: tuple[Mention, ...]) -> bool:
    """Return whether it only names a thing."""
    return not any(
        m.is_value or (m.columns and not m.nouns) or isinstance(m.what, Time | Number | Unknown)
        for m in mentions
    )


def _is_restriction(text: str, mentions: tuple[Mention, ...]) -> bool:
    """Return whether it is only a restriction: "for the ones in York"."""
    said = fold(text)
    begins = _RESTRICTING.match(said) is not None and _FINITE.search(said) is None
    return begins and not _is_whole(mentions)


def _is_figure(mentions: tuple[Mention, ...]) -> bool:
    """Return whether it asks for a figure without the things: "what's the total weight?"."""
    asks = any(m.does(WordClass.STATISTIC, WordClass.HOW_MUCH) for m in mentions)
    counts = any(m.does(WordClass.COUNT) for m in mentions) and any(
        m.does(WordClass.BY) for m in mentions
    )
    columns = [m for m in mentions if m.columns and not m.values]
    of_what = any(m.nouns or m.values or isinstance(m.what, Time | Unknown) for m in mentions)
    return (asks or counts) and len(columns) == 1 and not of_what


def _begins_question(text: str) -> bool:
    return (
        re.match(
            r"\s*(?:how|why|when|where|who|whose|which|what|is|are|was|were|do|does|did|has|have|can)\b",
            fold(text),
        )
        is not None
    )
