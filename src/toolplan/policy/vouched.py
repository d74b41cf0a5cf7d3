"""Policies applied to known tools: labels of outputs, and faults of the policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from toolplan import schema as schemas
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import EVERY, Json, Path, PathSyntaxError, Segment, parse_path, print_path
from toolplan.policy.labels import Label, Need, Source, Trust
from toolplan.policy.policy import Keys, Policy
from toolplan.schema import Absent, Schema
from toolplan.schema.tool import EGRESS, Tool
from toolplan.schema.tool_call import StatedLabel

OWN_SOURCES: Final = frozenset({"python", "builtin"})
"""Sources whose tools may vouch for their own outputs: the user's program."""

_MOST_PARTS: Final = 5_000
_MOST_DEPTH: Final = 64
_TRUSTS: Final = {
    "trusted": Trust.TRUSTED, "listed": Trust.LISTED, "untrusted": Trust.UNTRUSTED,
}  # fmt: skip
_NEEDS: Final = {
    "said": Need(Trust.SAID), "trusted": Need(), "listed": Need(Trust.LISTED), "any": Need(None),
}  # fmt: skip


class Fault(Struct, frozen=True):
    """Something that is wrong with a policy: the code of the rule, a sentence, its place, help."""

    code: str
    message: str
    keys: Keys
    help: str | None = None


class Outputs:
    """The policy for the output of one tool: trust by path, and the secret paths."""

    def __init__(
        self, trusts: tuple[tuple[Path, Trust], ...] = (), secrets: tuple[Path, ...] = ()
    ) -> None:
        self.trusts = trusts
        self.secrets = secrets
        self._found: dict[Path, tuple[Trust, bool]] = {}

    def label(self, step: str, tool: str, path: Path) -> Label:
        """Return the label of the part of the output at `path`."""
        if path not in self._found:
            depth, trust = -1, Trust.UNTRUSTED
            of_parts = Trust.SAID
            for place, given in self.trusts:
                if not _covers(place, path):
                    # a part of it may be worth less
                    of_parts = min(of_parts, given) if _meets(place, path) else of_parts
                elif len(place) > depth:  # the entry for the smaller part holds
                    depth, trust = len(place), given
                elif len(place) == depth:  # `a[0].b` and `a[*].b`
                    trust = min(trust, given)
            is_secret = any(_meets(place, path) for place in self.secrets)
            self._found[path] = min(trust, of_parts), is_secret
        trust, is_secret = self._found[path]
        source = (Source(step, tool, path),)
        return Label(trust, source, source if is_secret else ())


_NOTHING: Final = Outputs()


class Vouched:
    """A policy for known tools."""

    def __init__(self, policy: Policy, tools: Mapping[str, Tool]) -> None:
        self.policy = policy
        self._tools = tools
        self._own: dict[str, Outputs] = {}
        self._needs: dict[str, Mapping[str, Need] | None] = {}

    def outputs(self, tool: str) -> Outputs:
        """Return the labels of a tool's outputs: the policy's, else the tool's own."""
        if tool not in self._own:
            known, own, stated = self._tools.get(tool), _NOTHING, self._read[0].get(tool)
            if known is not None and known.output is not None and _is_own(known):
                words = _Words(known.output).read()
                trusts = tuple((path, _TRUSTS[word]) for path, word in words if word in _TRUSTS)
                own = Outputs(trusts, tuple(path for path, word in words if word == "secret"))
            # a policy says what is trusted instead of the tool, and what is secret besides it
            found = stated and Outputs(stated.trusts, (*stated.secrets, *own.secrets))
            self._own[tool] = found or own
        return self._own[tool]

    def objection(self, tool: str, stated: StatedLabel) -> str | None:
        """Return why a result cannot be used with the label that its tool states; None if it can.

        It cannot where the policy says more: what was allowed because of that would be wrong.
        """
        said = self.outputs(tool)
        if stated.is_untrusted and any(trust > Trust.UNTRUSTED for _, trust in said.trusts):
            return (
                f"The tool {tool!r} states that its result is untrusted, and the policy trusts it:"
                " leave the tool out of [trusted] and [listed]."
            )
        says_secrets = self.policy.egress or self.policy.secret
        if stated.is_secret and says_secrets and () not in said.secrets:
            return (
                f"The tool {tool!r} states that its result is secret, and the policy does not say"
                " so: name the tool in [secret]."
            )
        return None

    def needs(self, tool: Tool) -> Mapping[str, Need] | None:
        """Return the requirements of the arguments of a tool; None where the tool is no sink.

        An argument that is not named needs to be trusted.
        """
        name, known = tool.name, self._needs
        if name not in known:
            stated, own = self.policy.sinks.get(name), _own_needs(tool)
            # without rules, arguments of tools that only read stay as free as they always were
            is_open = is_open_world(tool) and self.policy.has_flows
            is_sink = stated is not None or own or tool.has_effects or is_open
            known[name] = {**own, **(stated or {})} if is_sink else None
        return known[name]

    def is_sink(self, tool: Tool) -> bool:
        """Return whether values that flow into the tool are checked."""
        return (
            self.needs(tool) is not None or tool.name in self.policy.decide or self.is_egress(tool)
        )

    def is_egress(self, tool: Tool) -> bool:
        """Return whether somebody outside can read the calls of a tool."""
        return (
            tool.name in self.policy.egress
            or tool.annotations.get(EGRESS) is True
            or is_open_world(tool)
            # whoever runs it reads what it is sent: only the user's policy says that it may
            or (tool.remote and tool.name not in self.policy.closed)
        )

    @property
    def leaks(self) -> tuple[str, ...]:
        """The tools by which a secret could leave."""
        return tuple(name for name, tool in self._tools.items() if self.is_egress(tool))

    @property
    def abilities(self) -> Mapping[str, tuple[str, ...]]:
        """The combined abilities of the tools, each with its tools: a stranger's text may use them.

        Who writes into what tools read is not known: all that no policy trusts counts.
        """
        tools = [tool for tool in self._tools.values() if tool.compute_flow is None]
        trusted = {name for name, said in self._read[0].items() if said.trusts}
        reads = [tool for tool in tools if not tool.has_effects]
        strangers = [t for t in reads if t.name not in trusted and (t.remote or is_open_world(t))]
        found = {
            "reads private data": [tool for tool in reads if not is_open_world(tool)],
            "reads strangers' text": strangers,
            "can send": [tool for tool in tools if tool.has_effects or self.is_egress(tool)],
        }
        return {what: tuple(tool.name for tool in able) for what, able in found.items()}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of the policy: unknown tools, outputs and arguments."""
        return (*self._read[1], *self._sink_faults())

    @cached_property
    def _read(self) -> tuple[Mapping[str, Outputs], tuple[Fault, ...]]:
        """Return the outputs of each tool that the policy names, and the faults."""
        faults: list[Fault] = []
        trusts: dict[str, dict[Path, Trust]] = {}
        secrets: dict[str, list[Path]] = {}
        for name, trust in (("trusted", Trust.TRUSTED), ("listed", Trust.LISTED), ("secret", None)):
            patterns: tuple[str, ...] = getattr(self.policy, name)
            for position, pattern in enumerate(patterns):
                place = (name, "outputs", position)
                read = self._pattern(pattern, place)
                if isinstance(read, Fault):
                    faults.append(read)
                    continue
                tool, path = read
                if trust is None:
                    secrets.setdefault(tool, []).append(path)
                    continue
                if self._tools[tool].compute_flow is not None:
                    message = f"The output of {tool!r} is trusted as far as its arguments are."
                    faults.append(Fault("policy-output", message, place, "Take it out."))
                if trusts.setdefault(tool, {}).setdefault(path, trust) is not trust:
                    message = f"{pattern!r} is in [trusted] and in [listed]."
                    faults.append(Fault("policy-output", message, place))
        outputs = {
            tool: Outputs(tuple(trusts.get(tool, {}).items()), tuple(secrets.get(tool, ())))
            for tool in {*trusts, *secrets}
        }
        return outputs, tuple(faults)

    def _pattern(self, pattern: str, keys: Keys) -> tuple[str, Path] | Fault:
        """Return the tool and the path of `pattern`; a tool's name may have dots itself."""
        ends = [*(at for at, char in enumerate(pattern) if char in ".["), len(pattern)]
        tool = next((pattern[:end] for end in reversed(ends) if pattern[:end] in self._tools), None)
        if tool is None:
            # a name ends at the first bracket, or where no longer name is known
            name = pattern.partition("[")[0]
            meant = near(name, self._tools) or near(name.partition(".")[0], self._tools)
            return _no_tool(name, keys, did_you_mean(meant))
        try:
            path = parse_path(pattern[len(tool) :])
        except PathSyntaxError as error:
            return Fault("policy-output", f"{pattern!r} cannot be read: {error}.", keys)
        schema = self._tools[tool].output
        found = None if schema is None else schemas.at(schema, path)
        if isinstance(found, Absent):
            return Fault(
                "policy-output",
                f"The tool {tool!r} has no output {print_path(path)!r}.",
                keys,
                _hint(self._tools[tool], path),
            )
        return tool, path

    def _sink_faults(self) -> Iterator[Fault]:
        policy = self.policy
        named: list[tuple[str, Keys]] = [
            *((tool, ("sinks", tool)) for tool in policy.sinks),
            *((tool, ("decide", tool)) for tool in policy.decide),
            *((tool, ("unasked", tool)) for tool in policy.unasked),
            *((tool, ("egress", "tools", at)) for at, tool in enumerate(policy.egress)),
            *((tool, ("closed", "tools", at)) for at, tool in enumerate(policy.closed)),
        ]
        if policy.has_flows:
            named += ((tool, ("allow", at)) for at, tool in enumerate(policy.allow or ()))
        for tool, keys in named:
            if tool not in self._tools:
                yield _no_tool(tool, keys, did_you_mean(near(tool, self._tools)))
        arguments: list[tuple[Keys, str, Iterable[str]]] = [
            *((("sinks", tool), tool, needs) for tool, needs in policy.sinks.items()),
            *((("unasked", tool, "args"), tool, s.args) for tool, s in policy.unasked.items()),
        ]
        for keys, tool, names in arguments:
            known = self._tools.get(tool)
            if known is None or known.unusable is not None:
                continue
            for name in names:
                if isinstance(schemas.at(known.input, (name,)), Absent):
                    yield Fault(
                        "policy-argument",
                        f"The tool {tool!r} has no argument {name!r}.",
                        (*keys, name),
                        did_you_mean(near(name, known.signature.inputs)),
                    )


def _no_tool(name: str, keys: Keys, hint: str | None) -> Fault:
    return Fault("policy-tool", f"There is no tool {name!r}.", keys, hint)


def _hint(tool: Tool, path: Path) -> str | None:
    for length, segment in enumerate(path):
        schema = None if tool.output is None else schemas.at(tool.output, path[:length])
        node = schema.node if isinstance(schema, Schema) else None
        properties = node.get("properties", {}) if isinstance(node, dict) else None
        if isinstance(segment, str) and isinstance(properties, dict) and segment not in properties:
            return did_you_mean(near(segment, list(properties)))
    return None


def _covers(pattern: Path, path: Path) -> bool:
    """Return whether all that `path` may select is below `pattern`."""
    return len(pattern) <= len(path) and all(
        one == other or (one is EVERY and isinstance(other, int))
        for one, other in zip(pattern, path, strict=False)
    )


def _meets(pattern: Path, path: Path) -> bool:
    """Return whether one of the two may select something below the other."""
    return all(map(_may_be_same, pattern, path))


def _may_be_same(one: Segment, other: Segment) -> bool:
    if one == other:
        return True
    if one is EVERY or other is EVERY:
        return not isinstance(one, str) and not isinstance(other, str)
    return False


# Statements of the user's own tools about themselves, in `x-` keywords of their schemas


def _is_own(tool: Tool) -> bool:
    """Return whether a tool is of the user's program; a server may be called `python`, too."""
    return tool.source in OWN_SOURCES and not tool.remote


class _Words:
    """The values of `x-trust` in the parts of an output.

    Where no path leads to a part, or only some values have it, it cannot make more of a value, but
    less: of all that is there.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._left = _MOST_PARTS
        self._found: list[tuple[Path, str]] = []
        self._ends: list[Path] = []  # where the schema repeats itself

    def read(self) -> list[tuple[Path, str]]:
        """Return each word with its path."""
        self._walk(self._schema.node, (), True, frozenset())
        lower = {_lowered(word) for _, word in self._found}
        return [*self._found, *((path, word) for path in self._ends for word in sorted(lower))]

    def _walk(self, node: Json, path: Path, is_exact: bool, behind: frozenset[int]) -> None:
        if not isinstance(node, dict):
            return
        self._left -= 1
        if id(node) in behind or self._left < 0 or len(behind) > _MOST_DEPTH:
            self._ends.append(path)
            return
        if isinstance(word := node.get("x-trust"), str):
            self._found.append((path, word if is_exact else _lowered(word)))
        for more, inner, exact in self._inside(node):
            self._walk(inner, (*path, *more), is_exact and exact, behind | {id(node)})

    def _inside(self, node: dict[str, Any]) -> Iterator[tuple[Path, Json, bool]]:
        """Yield the parts of a schema: the path to each, and whether all values there fit it."""
        yield (), self._schema.target(node.get("$ref")), True
        yield from (((), each, True) for each in node.get("allOf", ()))
        for keyword in ("anyOf", "oneOf"):
            some = [each for each in node.get(keyword, ()) if each != {"type": "null"}]
            yield from (((), each, len(some) == 1) for each in some)
        yield from (((name,), each, True) for name, each in node.get("properties", {}).items())
        first = node.get("prefixItems", [])
        yield from (((at,), each, True) for at, each in enumerate(first))
        yield (EVERY,), node.get("items"), not first
        for keyword in ("patternProperties", "dependentSchemas"):
            yield from (((), each, False) for each in node.get(keyword, {}).values())
        for keyword in _SOMEWHERE:
            yield (), node.get(keyword), False


_SOMEWHERE: Final = (
    *("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"),
    *("if", "then", "else"),
)


def _lowered(word: str) -> str:
    return "secret" if word == "secret" else "untrusted"


def _own_needs(tool: Tool) -> dict[str, Need]:
    """Return the needs that a tool states itself; only a tool of the user's own may lower them.

    Of several words the strictest counts; an unknown word is the strictest.
    """
    stated = {
        name: max((_NEEDS.get(str(word), _NEEDS["said"]) for word in words), key=_strictness)
        for name, words in tool.stated_needs.items()
    }
    return {
        name: need
        for name, need in stated.items()
        if (need.trust in (Trust.SAID, Trust.TRUSTED) or _is_own(tool))
    }


def _strictness(need: Need) -> int:
    return -1 if need.trust is None else need.trust


def is_open_world(tool: Tool) -> bool:
    """Return whether a tool declares that its calls reach beyond its source."""
    hints = tool.annotations
    return hints.get("openWorldHint") is True or hints.get("open_world_hint") is True
