"""The pages of the codes that readers of text report, before any rule runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SYNTAX_PAGES: Final[Mapping[str, str]] = {
    "syntax": """The text is not a plan of its dialect.

It does not parse, it is cut off in the middle, it holds two plans, or it holds none. A plan that is
cut off is refused, never completed: nobody knows what the missing end would have said.""",
    "noise": """The text holds more than the plan, or spells it loosely.

Prose, code fences, think blocks, trailing commas, comments and loose quotes are passed over where
the plan in them is whole. This is a warning, so that nobody takes what was passed over for a part
of the plan.""",
    "empty-plan": """The plan has no steps.

There would be nothing to run.""",
    "unknown-field": """The plan or a step has a field that does not exist.

A field that is ignored is a wish that is not granted: a misspelt `on_error` would change what runs.
Way out: use a name that the message offers, or leave the field out.""",
    "missing-field": """The plan or a step lacks a field that it must have.

A plan must have `steps`; a step must have `id` and `tool`.""",
    "field-type": """A field has a value of the wrong type, or one that makes no sense there.

The message says what is wanted: `timeout_s` is a number above 0, `retries` a whole number …""",
    "duplicate-key": """An object has one key twice.

JSON readers differ in which of the two they take, so what is shown and what is run could differ.
Way out: leave one of the two out.""",
    "duplicate-id": """Two steps have one id.

A reference could mean either. Way out: rename one of them.""",
    "bad-id": """The id of a step is not well formed.

An id matches `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`; `item` and `index` are taken by `for_each`.""",
    "confusable-id": """The ids of two steps look the same, or nearly so.

They differ only in letter case, or in how their characters are encoded, so that a reader may take
one for the other. Way out: rename one of them.""",
    "bad-number": """A number cannot be kept exactly.

NaN and Infinity are not JSON; whole numbers must lie between -2^63 and 2^63.""",
    "bad-encoding": """The text is not clean UTF-8.

It has a byte order mark, a NUL, half of a surrogate pair, or bytes that are no UTF-8.""",
    "too-large": """The text is larger than the limit, and was not read.

The limit is `Limits.text_bytes`, 2,000,000 bytes unless set otherwise.""",
    "too-deep": """Lists and objects are nested deeper than the limit.

The limit is `Limits.depth`, 64 unless set otherwise.""",
    "too-many-steps": """The plan has more steps than the limit.

The limit is `Limits.steps`, 10,000 unless set otherwise. Way out: `for_each` makes many calls of
one step.""",
    "plan-version": """The plan says that it is written in an unknown version of the format.

This release reads version 1: `{"toolplan": 1, …}`.""",
    "reference-syntax": """A reference is not well written.

A reference is `${` id, then any of `.key`, `["any key"]`, `[n]`, `[*]`, then `}`. For the
characters `${` themselves write `$${`.""",
    "cannot-express": """A dialect has no way to say a plan.

Each dialect was made for some plans; what it cannot say is named, never silently lost. Way out:
write the plan in another dialect; `toolplan` can say all of it.""",
    "needs-tools": """Arguments are given by position, so the tools are needed to read the plan.

Way out: give the tools with `--tools`.""",
    "contradiction": """The plan says one thing in two places, and not the same.

A dialect that lists links, or who does what, beside its steps can say an order there that its
references contradict. Nobody knows which of the two was meant. Way out: say it once.""",
    "one-based-reference": """Steps are counted from 1, where the dialect counts them from 0.

The plan's own links prove it, so every number is mended by one. Way out: count from 0.""",
    "undeclared-dependency": """A step lists what it depends on, but not all that it refers to.

Some dialects list what a step depends on besides referring to it. Here order comes from the
references themselves, so the missing entry does no harm; it is added when the plan is printed.""",
}
"""What `toolplan explain` prints for each code that no rule has."""
