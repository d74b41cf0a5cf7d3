"""Policies: permitted tools, trusted outputs, requirements of arguments."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import date
from math import isfinite
from typing import Final, TypeAlias, cast, get_args
from typing import Literal as OneOf

from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.policy.labels import PLAIN, Decide, Guard, Need, Standing, Trust, Verdict
from toolplan.schema import Schema, SchemaError, idle_keywords

ApprovalRule: TypeAlias = OneOf["always", "when-needed"]

Keys: TypeAlias = tuple[str | int, ...]
"""The place of something in a policy: `("sinks", "send_mail", "to")`."""

_LISTS: Final = {
    "trusted": "outputs",
    "listed": "outputs",
    "secret": "outputs",
    "egress": "tools",
    "closed": "tools",
}
_NAMES: Final = ("allow", "approval", "trusted", "listed", "secret", "sinks", "decide", "egress",
                 "closed", "unasked")  # fmt: skip
_WORDS: Final = {
    "said": Trust.SAID, "trusted": Trust.TRUSTED, "listed": Trust.LISTED, "any": None,
    PLAIN: Trust.TRUSTED,
}  # fmt: skip
_APPROVALS: Final[tuple[ApprovalRule, ...]] = get_args(ApprovalRule)
_WRITTEN: Final = ("text", "file")
"""Fields that say how a policy was written."""

_MOST_DEPTH: Final = 64
MAX_TEXT: Final = 200_000
"""Maximum number of characters of a policy."""


class PolicyError(ToolplanError, ValueError):
    """A policy cannot be used; the code is `bad-policy`. `keys` lead to the place."""

    def __init__(self, message: str, keys: Keys = (), help: str | None = None) -> None:
        super().__init__("bad-policy", message, help)
        self.keys = keys


Needs: TypeAlias = Mapping[str, Mapping[str, Need]]


class Policy(Struct, frozen=True, eq=False):
    """The tools that plans may use, and the permitted sources of dangerous arguments.

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
        unasked: standing approvals, by tool.
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
    unasked: Mapping[str, Standing] = field(default_factory=dict[str, Standing])
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
        """Return the content of the policy, for the libraries that print values."""
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
            document["decide"] = {
                tool: _need_to_json(each.when)
                if each.when == each.for_each
                else {"when": _need_to_json(each.when), "for_each": _need_to_json(each.for_each)}
                for tool, each in self.decide.items()
            }
        if self.approval != "always":
            document["approval"] = self.approval
        if self.unasked:
            document["unasked"] = {name: to_builtins(s) for name, s in self.unasked.items()}
        return document

    @classmethod
    def from_json(cls, document: object, *, text: str = "", file: str = "") -> Policy:
        """Read a policy document: what `to_json` returns, or the content of a policy file.

        Raises:
            PolicyError: it is not valid.
        """
        table = _table(document, (), _NAMES)
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
        for one, other in (("trusted", "listed"), ("egress", "closed")):
            for at, each in enumerate(lists[other]):
                if each in lists[one]:
                    message = f"{each!r} is in [{one}] and in [{other}]."
                    raise PolicyError(message, (other, _LISTS[other], at))
        allow, stated = table.get("allow"), table.get("approval", "always")
        if stated not in _APPROVALS:
            message = f"'approval' is {_shown(stated)}."
            raise PolicyError(message, ("approval",), _known(_APPROVALS))
        return cls(
            allow=None if allow is None else _texts(allow, ("allow",)),
            sinks=sinks,
            decide=decide,
            approval=stated,
            unasked={
                tool: _standing(given, ("unasked", tool))
                for tool, given in _table(table.get("unasked", {}), ("unasked",)).items()
            },
            text=text,
            file=file,
            **lists,
        )


def _decide(given: object, keys: Keys) -> Decide:
    """Read what decides about a tool's calls needs: one need for both, or a table of two."""
    parts = dict[str, object]() if isinstance(given, str) else _table(given, keys)
    if not {"when", "for_each"} & parts.keys():
        need = _need(given, keys, guards=False)
        return Decide(need, need)
    parts = _table(given, keys, ("when", "for_each"))
    needs = {name: _need(each, (*keys, name), guards=False) for name, each in parts.items()}
    return Decide(**needs)


def _need_to_json(need: Need) -> Json:
    schema = None if need.guard in (None, PLAIN) else need.guard
    if schema is None and need.otherwise is Verdict.ASK:
        return need.word
    document: dict[str, Json] = {"needs": need.word}
    if schema is not None:
        document["or"] = schema
    if need.otherwise is not Verdict.ASK:
        document["else"] = need.otherwise.value
    return document


def _need(given: object, keys: Keys, *, guards: bool = True) -> Need:
    names = ("needs", "or", "else")
    table = {"needs": given} if isinstance(given, str) else _table(given, keys, names)
    words = tuple(word for word in _WORDS if guards or word != PLAIN)
    word, otherwise = table.get("needs", "trusted"), table.get("else", "ask")
    if not isinstance(word, str) or word not in words:
        raise PolicyError(f"{_shown(word)} is nothing that can be needed.", keys, _known(words))
    if otherwise not in ("ask", "refuse"):
        message = f"'else' is {_shown(otherwise)}."
        raise PolicyError(message, (*keys, "else"), 'Write "ask" or "refuse".')
    if word == "any" and "else" in table:
        raise PolicyError(f"{keys[-1]!r} takes anything, so that 'else' never comes.", keys)
    guard: Guard = PLAIN if word == PLAIN else None
    if "or" in table:
        if word in (PLAIN, "any") or not guards:
            raise PolicyError(f"'or' cannot stand beside {word!r}.", (*keys, "or"))
        guard = _schema(table["or"], (*keys, "or"))
    return Need(_WORDS[word], guard, Verdict(str(otherwise)))


def _schema(given: object, keys: Keys) -> Json:
    if not isinstance(given, Mapping):
        raise PolicyError(f"{keys[-1]!r} is not a JSON Schema.", keys)
    try:
        raw = _json(cast("object", given), keys)
        loaded = Schema.load(raw)
        if not loaded.is_whole:
            raise PolicyError(f"{keys[-1]!r} has a pattern that cannot be used.", keys)
    except SchemaError as error:
        raise PolicyError(f"{keys[-1]!r} is not a usable JSON Schema: {error}.", keys) from None
    for _, what, help_ in idle_keywords(raw):
        raise PolicyError(f"{keys[-1]!r} {what}.", keys, help_)
    return loaded.document


def _standing(given: object, keys: Keys) -> Standing:
    table = _table(given, keys, ("args", "until"))
    args: dict[str, Guard] = {}
    for name, bound in _table(table.get("args", {}), (*keys, "args")).items():
        words: dict[object, Guard] = {PLAIN: PLAIN, "any": {}}
        is_word = isinstance(bound, str) and bound in words
        args[name] = words[bound] if is_word else _schema(bound, (*keys, "args", name))
    until = table.get("until")
    if until is None:
        return Standing(args)
    text = until.isoformat() if type(until) is date else until  # TOML has days of its own
    try:
        return Standing(args, date.fromisoformat(cast("str", text)).isoformat())
    except (TypeError, ValueError):
        message = f"'until' is {_shown(until)}, and not a day."
        raise PolicyError(message, (*keys, "until"), "Write a day as 2027-01-31.") from None


def _json(value: object, keys: Keys, depth: int = 0) -> Json:
    if depth > _MOST_DEPTH:
        raise PolicyError(f"{keys[-1]!r} is nested too deeply.", keys)
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
            raise PolicyError(f"{_shown(value)} is no JSON value.", keys)


def _listed(table: Mapping[str, object], name: str, key: str) -> tuple[str, ...]:
    found = _texts(_table(table.get(name, {}), (name,), (key,)).get(key, []), (name, key))
    for at, each in enumerate(found):
        if each in found[:at]:
            raise PolicyError(f"{each!r} stands twice in [{name}].", (name, key, at))
    return found


def _texts(given: object, keys: Keys) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise PolicyError(f"{keys[-1]!r} is not a list of texts.", keys)
    found: list[str] = []
    for at, each in enumerate(cast("list[object]", given)):
        if not isinstance(each, str) or not each:
            raise PolicyError(f"{_shown(each)} in {keys[-1]!r} is not a name.", (*keys, at))
        found.append(each)
    return tuple(found)


def _table(given: object, keys: Keys, known: Iterable[str] | None = None) -> Mapping[str, object]:
    """Return a table; where its names are `known`, it may only have these."""
    if not isinstance(given, Mapping):
        name = repr(keys[-1]) if keys else "The policy"
        raise PolicyError(f"{name} is not a table.", keys)
    table = {str(key): value for key, value in cast("Mapping[object, object]", given).items()}
    known = table if known is None else known
    for name in table:
        if name not in known:
            where = f"[{'.'.join(map(str, keys))}]" if keys else "a policy"
            raise PolicyError(f"There is no {name!r} in {where}.", (*keys, name), _known(known))
    return table


def _known(words: Iterable[str]) -> str:
    return f"Known: {', '.join(words)}."


def _shown(value: object) -> str:
    return repr(value)[:60]


# The text of a policy


def parse_policy(text: str, file: str = "policy") -> Policy:
    """Return the policy that `text` writes in TOML; `file` names it in messages.

    Raises:
        PolicyError: it is not valid; the message has the line.
    """
    if len(text) > MAX_TEXT:
        raise PolicyError(f"{file}: the policy has more than {MAX_TEXT:,} characters.")
    try:
        return Policy.from_json(tomllib.loads(text), text=text, file=file)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{file}: not valid TOML: {error}.") from None
    except RecursionError:
        raise PolicyError(f"{file}: the policy is nested too deeply.") from None
    except PolicyError as error:
        line = line_of(text, error.keys)
        place = file if line is None else f"{file}:{line}"
        raise PolicyError(f"{place}: {error}", error.keys, error.help) from None


def place_of(policy: Policy, keys: Keys) -> str:
    """Return where `keys` stand in the policy's file, for messages."""
    if not policy.file:
        return "the policy"
    line = line_of(policy.text, keys)
    return policy.file if line is None else f"{policy.file}:{line}"


def line_of(text: str, keys: Keys) -> int | None:
    """Return the first line of the value at `keys`, counted from 1; None if it is missing.

    Found by bisecting prefixes with tomllib, so that TOML has one reader only.
    """
    lines = text.splitlines()

    def has(line: int) -> bool:
        return _at(_beginning(lines, line)[0], keys) is not None

    if not keys or not has(len(lines)):
        return None
    first = bisect_left(range(len(lines) + 1), True, key=has)
    document, end = _beginning(lines, first)
    element = _at(document, keys)
    if isinstance(keys[-1], int) and isinstance(element, str):
        for line in range(first, end + 1):
            if element in lines[line - 1]:
                return line
    return first


def _beginning(lines: list[str], count: int) -> tuple[object, int]:
    """Return the content of the first `count` lines, and as many more as make them valid."""
    for end in range(count, len(lines) + 1):
        try:
            return tomllib.loads("\n".join(lines[:end])), end
        except tomllib.TOMLDecodeError:
            continue
    return {}, len(lines)


def _at(document: object, keys: Keys) -> object:
    """Return the value at `keys`; TOML has no null."""
    for key in keys:
        match document:
            case dict() if key in document:
                document = cast("dict[object, object]", document)[key]
            case list() if isinstance(key, int) and key < len(cast("list[object]", document)):
                document = cast("list[object]", document)[key]
            case _:
                return None
    return document
