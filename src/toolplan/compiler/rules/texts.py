"""Rules on texts: ellipses, secrets, and misspelt references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan import path as paths
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import (
    RESERVED_IDS,
    Ref,
    Step,
    Value,
    bare,
    constants,
    join_pointer,
    members,
)
from toolplan.plan.path import Json
from toolplan.plan.text.loose import ELLIPSIS, is_ellipsis
from toolplan.schema import Absent


@rule()
def ellipsis(context: PlanContext) -> Iterator[Problem]:
    """An ellipsis stands in place of steps, elements of a list or keys.

    Models shorten long plans and lists by `...` or `…`. What was left out is not known, so a plan
    without it would do something else. The text `...` as an element of a list or as a key is
    refused too; a whole argument may be that text, as the body of a message.

    How to fix: write all of it, or use `for_each` over the result of a step.
    """
    may_have = "..." in context.text or "…" in context.text
    for call in context.calls if may_have else ():
        for name, pointer, value in call.values:
            for place in _ellipses(value, pointer):
                yield call.problem(f"{name!r}: {ELLIPSIS}.", place)


def _ellipses(value: Value | Json, pointer: str) -> Iterator[str]:
    for key, inner in members(bare(value)):
        place = pointer + join_pointer((key,))
        text = key if isinstance(key, str) else bare(inner)
        if isinstance(text, str) and is_ellipsis(text):
            yield place
        yield from _ellipses(inner, place)


_SHAPES: Final = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----")),
    ("a JSON Web Token", re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}")),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,})")),
    ("an API key", re.compile(r"\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", re.compile(r"\bAIza[\w-]{35}\b")),
    ("a Stripe key", re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}")),
)
_MARKS: Final = (
    "eyJ", "AKIA", "ASIA", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "k_live_", "k_test_", "sk-", "xox", "-----BEGIN ",
)  # fmt: skip
"""Each form contains one of the marks. Most plans have no such text and are searched no further."""


@rule()
def secret_literal(context: PlanContext) -> Iterator[Problem]:
    """A secret is written out in an argument, in `for_each` or in `when`.

    Plans are shown, stored and shared, so the secret is no longer secret. Keys and tokens of
    well-known forms are recognised: private keys in PEM, JSON Web Tokens, and the prefixes that
    services put on their tokens for this purpose.

    How to fix: let the tool read the secret from an environment variable.
    """
    found = any(mark in context.text for mark in _MARKS)
    for call, name, pointer, _, text in context.constants() if found else ():
        shapes = _SHAPES if isinstance(text, str) else ()
        kind = next((kind for kind, shape in shapes if shape.search(str(text))), None)
        if kind is not None:
            yield Problem(
                f"{name!r} contains {kind}.",
                pointer,
                call.step.id,
                "Let the tool read it from an environment variable, and replace the "
                "secret: it has been exposed.",
            )


_CLOSING: Final = {
    "{{": "}}", "{": "}", "#{": "}", "@{": "}", "%{": "}", "<%": "%>", "<%=": "%>", "<": ">",
    "[[": "]]", "$(": ")", "$[": "]", "%(": ")s", "$": "", "#": "",
}  # fmt: skip
_NEEDS_PATH: Final = frozenset(("{", "<", "$", "#"))
"""Text such as `<b>`, `$total` and `{name}` means something else, unless it is the whole value."""

_SPELLED: Final = re.compile(
    r"(?<![\w$])(?P<open>\{\{|[#@%]?\{|<%=?|<|\[\[|\$\(|\$\[|%\(|[$#])\s*"
    r"(?:(?:steps?|nodes?|tasks?|results?)(?:\.|\[(?P<quote>['\"])))?"
    r"(?P<step>[A-Za-z0-9_][\w-]{0,63})(?(quote)(?P=quote)\])"
    r"(?P<path>(?:\.[A-Za-z_][\w-]*|\[(?:\d{1,9}|\*|\"[^\"\]]*\"|'[^'\]]*')\])*)"
    r"(?:\s*\|[^{}|]{0,80})?\s*(?P<close>\}\}|\}|%>|>|\]\]|\]|\)s|\)|)"
)
_HINTS: Final = frozenset("{<[$#%")
_WRAPPERS: Final = frozenset(("output", "outputs", "result", "results"))


@rule(Severity.WARNING)
def unread_reference(context: PlanContext) -> Iterator[Problem]:
    """A text looks like a reference in another notation, or in a key, and is sent as it stands.

    References are written `${id.path}`. `{{id.path}}`, `$id.path`, `<id.path>`, `{id.path}`,
    `#id.path` and `%(id)s` are text, and the tool gets them letter for letter. It is reported where
    `id` is a step of the plan, or `item` or `index` in a step with `for_each`; templates with other
    names are not.

        {"tool": "send_mail", "args": {"to": "{{ticket.assignee}}"}}

    How to fix: write `${ticket.assignee}`. If the text is meant as it stands, rename the step.
    """
    for call in context.calls if "${" in context.text else ():
        for _, pointer, value in call.values:
            for place, key in _keys(value, pointer):
                if (read := _IN_A_KEY.search(key)) is not None and read[1] in context.steps:
                    message = f"{read[0]!r} is text in a key: it is not replaced there."
                    yield call.problem(message, place, "Make the object in a step, with a tool.")
    texts: list[tuple[str, Json, Step | None]] = []
    if any(hint in context.text for hint in _HINTS):
        listed = context.constants(literal_only=False)
        texts += [(each.pointer, each.value, each.call.step) for each in listed]
    if context.plan.output is not None:
        texts += [(at, text, None) for at, _, text in constants(context.plan.output, "/output")]
    for pointer, text, step in texts:
        if not isinstance(text, str) or _HINTS.isdisjoint(text):
            continue
        if (found := _spelled(text, context, step)) is not None:
            yield Problem(
                f"{found[0]!r} is text: it is not replaced by what {found['step']!r} gives.",
                pointer,
                step and step.id,
                f"Write it as `{_canonical(context, found, step)}`.",
            )


_IN_A_KEY: Final = re.compile(r"\$\{([A-Za-z0-9_][\w-]{0,63})[^{}]*\}")


def _keys(value: Value | Json, pointer: str) -> Iterator[tuple[str, str]]:
    for key, inner in members(bare(value)):
        place = pointer + join_pointer((key,))
        if isinstance(key, str):
            yield place, key
        yield from _keys(inner, place)


def _spelled(text: str, context: PlanContext, step: Step | None) -> re.Match[str] | None:
    for found in _SPELLED.finditer(text):
        opening = found["open"]
        if not found["close"].startswith(_CLOSING[opening]):
            continue
        name = found["step"]
        is_item = step is not None and step.for_each is not None and name in RESERVED_IDS
        is_other = name in context.steps and (step is None or name != step.id)
        if not is_item and not is_other:
            continue
        if opening in _NEEDS_PATH and not found["path"] and found[0] != text:
            continue
        if (opening == "#" and not found["path"]) or (opening == "<" and " " in found[0]):
            continue
        return found
    return None


def _canonical(context: PlanContext, found: re.Match[str], step: Step | None) -> str:
    name, spelled = found["step"], found["path"].replace("['", '["').replace("']", '"]')
    try:
        path = paths.parse_path(spelled)
    except paths.PathSyntaxError:
        return f"${{{name}.path}}"
    if path and path[0] in _WRAPPERS and isinstance(context.type_of(Ref(name, path), step), Absent):
        path = path[1:]
    return f"${{{name}{paths.print_path(path)}}}"
