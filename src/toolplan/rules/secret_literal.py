"""The rule `secret-literal`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolplan.plan import escape_pointer
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
"""Each form contains one of the marks. Most plans have no such text and are searched no further;
marks that share a rare character are searched for only if it occurs."""


@rule()
def secret_literal(context: PlanContext) -> Iterator[Problem]:
    """A secret is written out in an argument.

    Plans are shown, stored and shared, so the secret is no longer secret. Keys and tokens of
    well-known forms are recognised: private keys in PEM, JSON Web Tokens, and the prefixes that
    services put on their tokens for this purpose.

    How to fix: let the tool read the secret from an environment variable.
    """
    text = context.text
    if not any(rare in text and any(mark in text for mark in marks) for rare, marks in _MARKS):
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


def _kind(text: str) -> str | None:
    return next((kind for kind, shape in _SHAPES if shape.search(text)), None)
