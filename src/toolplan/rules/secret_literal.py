"""The rule `secret-literal`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeGuard

from toolplan.path import Json
from toolplan.plan import Ref, Template, escape_pointer
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.rules._texts import texts

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
    ("J", ("eyJ",)),
    ("I", ("AKIA", "ASIA", "AIza")),
    ("_", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "k_live_", "k_test_")),
    ("sk-", ("sk-",)),
    ("xox", ("xox",)),
    ("-----BEGIN ", ("-----BEGIN ",)),
)
_NESTED: Final = (list, dict)
_SHORTEST: Final = 15
"""Each form contains one of the marks, and is at least this long. Most plans have no such text and
are searched no further; marks that share a rare character are searched for only if it occurs."""


@rule()
def secret_literal(context: PlanContext) -> Iterator[Problem]:
    """A secret is written out in an argument.

    Plans are shown, stored and shared, so the secret is no longer secret. Keys and tokens of
    well-known forms are recognised: private keys in PEM, JSON Web Tokens, and the prefixes that
    services put on their tokens for this purpose.

    How to fix: let the tool read the secret from an environment variable.
    """
    if not _is_suspect(context):
        return
    for position, step in enumerate(context.plan.steps):
        for name, value in step.args.items():
            place = f"/steps/{position}/args/{escape_pointer(name)}"
            for pointer, text in texts(value, place):
                kind = _kind(text)
                if kind is not None:
                    yield Problem(
                        f"{name!r} contains {kind}.",
                        pointer,
                        step.id,
                        "Let the tool read it from an environment variable, and replace the "
                        "secret: it has been exposed.",
                    )


def _is_text(part: str | Ref) -> TypeGuard[str]:
    return isinstance(part, str)


def _is_suspect(context: PlanContext) -> bool:
    found: list[str] = []
    for each in context.arguments:
        for constant in each.literals.values():
            if isinstance(constant, str):
                if len(constant) >= _SHORTEST:
                    found.append(constant)
            elif isinstance(constant, _NESTED):
                _collect(constant, found)
        for _, value in each.others:
            if isinstance(value, Template):
                found.extend(filter(_is_text, value.parts))
            elif not isinstance(value, Ref):
                found += [text for _, text in texts(value, "")]
    text = "\n".join(found)
    return any(rare in text and any(mark in text for mark in marks) for rare, marks in _MARKS)


def _collect(nested: list[Json] | dict[str, Json], texts: list[str]) -> None:
    """Add every text in `nested` that is long enough to `texts`, in any order."""
    for constant in nested.values() if isinstance(nested, dict) else nested:
        if isinstance(constant, str):
            if len(constant) >= _SHORTEST:
                texts.append(constant)
        elif isinstance(constant, _NESTED):
            _collect(constant, texts)


def _kind(text: str) -> str | None:
    return next((kind for kind, shape in _SHAPES if shape.search(text)), None)
