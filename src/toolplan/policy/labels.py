"""Labels of values: how far each is to be trusted, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Final, TypeAlias
from typing import Literal as OneOf

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json, Path, print_path

MOST_SOURCES: Final = 32
"""Maximum number of sources of one value that are named."""


class Trust(IntEnum):
    """How far a value is to be trusted, the least first.

    `untrusted`: anybody may have written it. `listed`: a trusted list has it, and somebody
    untrusted may have chosen which. `trusted`: the policy trusts the tool at that path. `said`: it
    stands in the plan.
    """

    UNTRUSTED = 0
    LISTED = 1
    TRUSTED = 2
    SAID = 3

    @property
    def word(self) -> str:
        """The word for it in policies and messages."""
        return self.name.lower()

    def __str__(self) -> str:
        return self.word


class Source(Struct, frozen=True):
    """The part of a step's output that a value comes from; `path` is one into the tool's result."""

    step: str
    tool: str
    path: Path = ()

    def __str__(self) -> str:
        return f"{self.step}{print_path(self.path)} ({self.tool})"


class Label(Struct, frozen=True):
    """How far a value is to be trusted.

    `sources` are the parts of outputs that make it no more than that; none for a value that stands
    in the plan. `secrets` are those of them, or of others behind it, that are secret. Of each, at
    most `MOST_SOURCES` are named.
    """

    trust: Trust
    sources: tuple[Source, ...] = ()
    secrets: tuple[Source, ...] = ()


SAID: Final = Label(Trust.SAID)
"""The label of what stands in the plan."""


def least(labels: Iterable[Label]) -> Label:
    """Return the label of a value that is made of parts with these labels."""
    found = SAID
    for label in labels:
        if label is not SAID and label is not found:  # the usual cases cost nothing
            found = label if found is SAID else _both(found, label)
    return found


def picked(value: Label, by: Label) -> Label:
    """Return the label of `value` where something with the label `by` decides which one it is."""
    if by is SAID:
        return value
    if by.trust >= Trust.TRUSTED or value.trust < Trust.LISTED:
        return replace(value, secrets=_joined(value.secrets, by.secrets)) if by.secrets else value
    if value.trust is Trust.LISTED:
        return _both(value, replace(by, trust=Trust.LISTED))
    return Label(Trust.LISTED, by.sources, _joined(value.secrets, by.secrets))


def _both(one: Label, other: Label) -> Label:
    if one is other or other is SAID:
        return one
    if one is SAID:
        return other
    secrets = _joined(one.secrets, other.secrets)
    if one.trust != other.trust:
        low = one if one.trust < other.trust else other
        return low if low.secrets == secrets else replace(low, secrets=secrets)
    return Label(one.trust, _joined(one.sources, other.sources), secrets)


def _joined(one: tuple[Source, ...], other: tuple[Source, ...]) -> tuple[Source, ...]:
    if not other or one == other:
        return one
    if not one:
        return other
    return tuple(dict.fromkeys((*one, *other)))[:MOST_SOURCES]


class Verdict(StrEnum):
    """The decision about a flow.

    `check`: a guard looks at the value. `ask`: a person decides. `refuse`: the plan does not run.
    """

    ALLOW = "allow"
    CHECK = "check"
    ASK = "ask"
    REFUSE = "refuse"


PLAIN: Final = "plain"
Guard: TypeAlias = Json
"""A check of a value: `PLAIN` (no links, addresses or pictures), or a JSON Schema."""


class Need(Struct, frozen=True):
    """The requirement of a place: a label of at least `trust`, or a value that passes the guard.

    `trust` None means any label. `otherwise` is the verdict where neither is so: `ask` or `refuse`.
    """

    trust: Trust | None = Trust.TRUSTED
    guard: Guard = None
    otherwise: Verdict = Verdict.ASK

    def verdict(self, label: Label) -> Verdict:
        """Return the decision about a value with this label."""
        if self.trust is None or label.trust >= self.trust:
            return Verdict.ALLOW
        return self.otherwise if self.guard is None else Verdict.CHECK

    @property
    def word(self) -> str:
        """The word for it in policies."""
        if self.trust is None:
            return "any"
        return PLAIN if self.guard == PLAIN else self.trust.word

    def __str__(self) -> str:
        return self.word if self.guard in (None, PLAIN) else f"{self.word}, or of a form"


FlowKind: TypeAlias = OneOf["argument", "condition", "count", "secret", "default"]


class Decide(Struct, frozen=True):
    """The requirements of decisions about the calls of a tool: conditions, number of calls."""

    when: Need = Need()
    for_each: Need = Need()

    def of(self, kind: FlowKind) -> Need:
        """Return the requirement of a flow of `kind`: `condition` or `count`."""
        return self.for_each if kind == "count" else self.when


class Standing(Struct, frozen=True, omit_defaults=True):
    """An approval that a person gives beforehand, for all calls of a tool within bounds.

    A call is within them if each of its arguments is named in `args` and passes its check; an
    omitted one counts as null. `until` is the last day, in ISO 8601; empty for no end.
    """

    args: Mapping[str, Guard]
    until: str = ""


class Flow(Struct, frozen=True):
    """A value on its way into a place where it can do harm, and what is decided about it.

    `pointer` leads to the place in the plan: an argument, or what decides whether and how often the
    step is made (`kind`). A secret that would leave has the kind `secret`, and an argument that the
    plan leaves out the kind `default`: the tool's own value, `default`, is sent.
    """

    step: str
    pointer: str
    needs: Need
    label: Label
    verdict: Verdict
    kind: FlowKind = "argument"
    default: Json = None
