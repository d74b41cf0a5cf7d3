"""Policies: which tools plans may use, which of their outputs are trusted, what arguments need."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final, TypeAlias, cast
from typing import Literal as OneOf

from msgspec import Struct, field
from msgspec.structs import asdict

from toolplan.errors import ToolplanError
from toolplan.flows.labels import PLAIN, Decide, Guard, Need, Trust, Verdict
from toolplan.path import Json
from toolplan.schema import Schema, SchemaError

ApprovalRule: TypeAlias = OneOf["always", "when-needed"]

Keys: TypeAlias = tuple[str | int, ...]
"""The place of something in a policy: `("sinks", "send_mail", "to")`."""

TABLES: Final = ("trusted", "listed", "secret", "sinks", "decide", "egress", "closed")
_LISTS: Final = {
    "trusted": "outputs",
    "listed": "outputs",
    "secret": "outputs",
    "egress": "tools",
    "closed": "tools",
}
NAMES: Final = ("allow", "approval", *TABLES)
_WORDS: Final = {**{trust.word: trust for trust in reversed(Trust)}, "any": None}
NEEDS: Final = ("said", "trusted", "listed", "any", PLAIN)
_MOST_DEPTH: Final = 64
APPROVALS: Final[tuple[ApprovalRule, ...]] = ("always", "when-needed")


class PolicyError(ToolplanError, ValueError):
    """A policy cannot be used; the code is `bad-policy`. `keys` lead to the place."""

    def __init__(self, message: str, keys: Keys = (), help: str | None = None) -> None:
        super().__init__("bad-policy", message, help)
        self.keys = keys


_KINDS: Final = frozenset(("when", "for_each"))
_WRITTEN: Final = ("text", "file")
"""Fields that say how a policy was written."""

Needs: TypeAlias = Mapping[str, Mapping[str, Need]]


class Policy(Struct, frozen=True, eq=False):
    """What plans may use, and where the values of dangerous arguments may come from.

    Attributes:
        allow: the tools that plans may use; None allows all.
        trusted: outputs that are trusted: `contacts_search`, `accounts_list[*].iban`.
        listed: outputs that exist, but may have been chosen by somebody untrusted.
        secret: outputs that may not reach an `egress` tool.
        sinks: by tool and argument, what the argument needs.
        decide: by tool, what conditions before a call of it, and the number of calls, need.
        egress: tools whose calls somebody outside can read, besides those of remote sources.
        closed: tools of remote sources whose calls nobody outside can read.
        approval: when a plan with effects is approved: `always`, or where a flow needs it.
        text: the text of the file that it was read from; it is not part of what is compared.
        file: the name of that file.
    """

    allow: tuple[str, ...] | None = None
    trusted: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    sinks: Needs = field(default_factory=dict[str, Mapping[str, Need]])
    decide: Mapping[str, Decide] = field(default_factory=dict[str, Decide])
    egress: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    approval: ApprovalRule = "always"
    text: str = ""
    file: str = ""

    def __eq__(self, other: object) -> bool:
        """Compare what the policies say, and not how and where they are written."""
        return self._said() == other._said() if isinstance(other, Policy) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct's own compares identity

    def __hash__(self) -> int:
        return hash(tuple(self._said().values()))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._said().items())
        return f"Policy({said})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return what the policy says, for the libraries that print values."""
        return [*self._said().items()]

    def _said(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name not in _WRITTEN}

    @property
    def has_flows(self) -> bool:
        """Whether it says anything about where values come from."""
        rules = (self.trusted, self.listed, self.secret, self.sinks, self.decide, self.egress)
        return any(rules) or self.approval != "always"

    def to_json(self) -> dict[str, Json]:
        """Return the policy document, which the plan's digest covers."""
        document: dict[str, Json] = {
            "allow": None if self.allow is None else [*sorted(self.allow)],
        }
        for name, key in _LISTS.items():
            listed: tuple[str, ...] = getattr(self, name)
            if listed:
                document[name] = {key: [*sorted(listed)]}
        if self.sinks:
            document["sinks"] = {
                tool: {name: _need_to_json(need) for name, need in needs.items()}
                for tool, needs in self.sinks.items()
            }
        if self.decide:
            document["decide"] = {name: _decide_to_json(d) for name, d in self.decide.items()}
        if self.approval != "always":
            document["approval"] = self.approval
        return document

    @classmethod
    def from_json(cls, document: object, *, text: str = "", file: str = "") -> Policy:
        """Read a policy document: what `to_json` returns, or the content of a policy file.

        Raises:
            PolicyError: it is not valid.
        """
        table = _table(document, ())
        for name in table:
            if name not in NAMES:
                raise _error(f"There is no {name!r} in a policy.", (name,), _known(NAMES))
        sinks = {
            tool: {
                name: _need(need, ("sinks", tool, name))
                for name, need in _table(needs, ("sinks", tool)).items()
            }
            for tool, needs in _table(table.get("sinks", {}), ("sinks",)).items()
        }
        decide = {
            tool: _decide(given, ("decide", tool))
            for tool, given in _table(table.get("decide", {}), ("decide",)).items()
        }
        lists = {name: _listed(table, name, key) for name, key in _LISTS.items()}
        _refuse_contradictions(lists, "trusted", "listed", "outputs")
        _refuse_contradictions(lists, "egress", "closed", "tools")
        allow = table.get("allow")
        return cls(
            allow=None if allow is None else _texts(allow, ("allow",)),
            trusted=lists["trusted"],
            listed=lists["listed"],
            secret=lists["secret"],
            sinks=sinks,
            decide=decide,
            egress=lists["egress"],
            closed=lists["closed"],
            approval=_approval(table.get("approval", "always")),
            text=text,
            file=file,
        )


def _decide_to_json(decide: Decide) -> Json:
    if decide.when == decide.for_each:
        return _need_to_json(decide.when)
    return {"when": _need_to_json(decide.when), "for_each": _need_to_json(decide.for_each)}


def _decide(given: object, keys: Keys) -> Decide:
    """Read what decides about a tool's calls needs: one need for both, or a table of two."""
    parts = dict[str, object]() if isinstance(given, str) else _table(given, keys)
    if not _KINDS & parts.keys():
        need = _need(given, keys, guards=False)
        return Decide(need, need)
    for name in parts:
        if name not in _KINDS:
            raise _error(f"There is no {name!r} beside 'when' and 'for_each'.", (*keys, name))
    needs = {name: _need(each, (*keys, name), guards=False) for name, each in parts.items()}
    return Decide(**needs)


def _need_to_json(need: Need) -> Json:
    if need.trust is None:
        word = "any"
    elif need.guard == PLAIN:
        word = PLAIN
    else:
        word = need.trust.word
    schema = None if need.guard in (None, PLAIN) else need.guard
    if schema is None and need.otherwise is Verdict.ASK:
        return word
    document: dict[str, Json] = {"needs": word}
    if schema is not None:
        document["or"] = schema
    if need.otherwise is not Verdict.ASK:
        document["else"] = need.otherwise.value
    return document


def _need(given: object, keys: Keys, *, guards: bool = True) -> Need:
    table = {"needs": given} if isinstance(given, str) else _table(given, keys)
    for name in table:
        if name not in ("needs", "or", "else"):
            raise _error(
                f"There is no {name!r} in what an argument needs.",
                (*keys, name),
                _known(("needs", "or", "else")),
            )
    word = table.get("needs", "trusted")
    if word not in NEEDS or (word == PLAIN and not guards):
        words = NEEDS if guards else NEEDS[:-1]
        raise _error(f"{_shown(word)} is nothing that can be needed.", keys, _known(words))
    otherwise = table.get("else", "ask")
    if otherwise not in ("ask", "refuse"):
        raise _error(f"'else' is {_shown(otherwise)}.", (*keys, "else"), 'Write "ask" or "refuse".')
    trust = Trust.TRUSTED if word == PLAIN else _WORDS[str(word)]
    guard = _guard(table, keys, str(word), guards)
    if trust is None and "else" in table:
        raise _error(f"{keys[-1]!r} takes anything, so that 'else' never comes.", keys)
    return Need(trust, guard, Verdict(str(otherwise)))


def _guard(table: Mapping[str, object], keys: Keys, word: str, allowed: bool) -> Guard:
    if "or" not in table:
        return PLAIN if word == PLAIN else None
    if word in (PLAIN, "any") or not allowed:
        raise _error(f"'or' cannot stand beside {word!r}.", (*keys, "or"))
    schema = table["or"]
    if not isinstance(schema, Mapping):
        raise _error("'or' is not a JSON Schema.", (*keys, "or"))
    try:
        loaded = Schema.load(_json(cast("object", schema), (*keys, "or")))
        if not loaded.is_whole:
            raise _error("'or' has a pattern that cannot be used.", (*keys, "or"))
    except SchemaError as error:
        raise _error(f"'or' is not a usable JSON Schema: {error}.", (*keys, "or")) from None
    return loaded.document


def _json(value: object, keys: Keys, depth: int = 0) -> Json:
    if depth > _MOST_DEPTH:
        raise _error(f"{keys[-1]!r} nests too deep.", keys)
    match value:
        case None | bool() | int() | str():
            return value
        case float() if isfinite(value):
            return value
        case list():
            return [_json(each, keys, depth + 1) for each in cast("list[object]", value)]
        case Mapping():
            table = cast("Mapping[object, object]", value)
            return {str(key): _json(each, keys, depth + 1) for key, each in table.items()}
        case _:  # TOML has dates, and numbers without an end
            raise _error(f"{_shown(value)} is no JSON value.", keys)


def _listed(table: Mapping[str, object], name: str, key: str) -> tuple[str, ...]:
    inner = _table(table.get(name, {}), (name,))
    for other in inner:
        if other != key:
            raise _error(f"There is no {other!r} in [{name}].", (name, other), _known((key,)))
    found = _texts(inner.get(key, []), (name, key))
    for at, each in enumerate(found):
        if each in found[:at]:
            raise _error(f"{each!r} stands twice in [{name}].", (name, key, at))
    return found


def _refuse_contradictions(
    lists: Mapping[str, tuple[str, ...]], one: str, other: str, key: str
) -> None:
    known = lists[one]
    for at, each in enumerate(lists[other]):
        if each in known:
            raise _error(f"{each!r} is in [{one}] and in [{other}].", (other, key, at))


def _approval(given: object) -> ApprovalRule:
    for each in APPROVALS:
        if given == each:
            return each
    raise _error(f"'approval' is {_shown(given)}.", ("approval",), _known(APPROVALS))


def _texts(given: object, keys: Keys) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise _error(f"{keys[-1]!r} is not a list of texts.", keys)
    found: list[str] = []
    for at, each in enumerate(cast("list[object]", given)):
        if not isinstance(each, str) or not each:
            raise _error(f"{_shown(each)} in {keys[-1]!r} is not a name.", (*keys, at))
        found.append(each)
    return tuple(found)


def _table(given: object, keys: Keys) -> Mapping[str, object]:
    if not isinstance(given, Mapping):
        name = repr(keys[-1]) if keys else "The policy"
        raise _error(f"{name} is not a table.", keys)
    return {str(key): value for key, value in cast("Mapping[object, object]", given).items()}


def _known(words: tuple[str, ...]) -> str:
    return f"Known: {', '.join(words)}."


def _shown(value: object) -> str:
    return repr(value)[:60]


def _error(message: str, keys: Keys, help: str | None = None) -> PolicyError:
    return PolicyError(message, keys, help)
