"""The pages of the codes that readers of text report, before any rule runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SYNTAX_PAGES: Final[Mapping[str, str]] = {
    "syntax": """The text is not a plan of its dialect.

It cannot be parsed, is cut off, contains two plans, or contains none. A plan that is cut off is
refused, never completed: the missing end could have said anything.

How to fix: write one complete plan.""",
    "noise": """The text contains more than the plan, or loose syntax.

Prose, code fences and think blocks are skipped if the plan itself is complete. Trailing and missing
commas, comments, single quotes and bare keys are repaired, since every value stays what was
written; anything else that is not JSON is an error.

How to fix: nothing, or write only the plan; `--fix` leaves the rest of the file as it is.""",
    "empty-plan": """The plan has no steps.

There would be nothing to run.""",
    "unknown-field": """The plan or a step has a field that does not exist.

An ignored field would change what runs without notice: a misspelt `on_error`, for example.

How to fix: use a name that the message offers, or remove the field.""",
    "missing-field": """The plan or a step lacks a required field.

A plan must have `steps`; a step must have `id` and `tool`.""",
    "field-type": """A field has a value of the wrong type or out of range.

The message says what is expected: `timeout_s` is a number above 0, `retries` a whole number, …""",
    "duplicate-key": """An object has one key twice.

JSON readers differ in which of the two they use, so what is shown and what is run could differ.

How to fix: remove one of the two.""",
    "duplicate-id": """Two steps have the same id.

A reference could mean either of them.

How to fix: rename one of them.""",
    "bad-id": """The id of a step is not valid.

An id matches `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`; `item` and `index` are reserved for `for_each`.""",
    "confusable-id": """The ids of two steps look the same, or nearly so.

They differ only in letter case or in the encoding of their characters, so a reader may mistake one
for the other.

How to fix: rename one of them.""",
    "bad-number": """A number cannot be stored exactly.

NaN and Infinity are not JSON; whole numbers must lie between -2^63 and 2^63.""",
    "bad-encoding": """The text is not clean UTF-8.

It has a byte order mark, a NUL, half of a surrogate pair, or bytes that are not UTF-8.""",
    "too-large": """The text is larger than the limit and was not read.

The limit is `Limits.text_bytes`, by default 2,000,000 bytes.""",
    "too-deep": """Lists and objects are nested deeper than the limit.

The limit is `Limits.depth`, by default 64.""",
    "too-many-steps": """The plan has more steps than the limit.

The limit is `Limits.steps`, by default 10,000.

How to fix: use `for_each`, which makes many calls with one step.""",
    "plan-version": """The plan uses an unknown version of the format.

This release reads version 1: `{"toolplan": 1, …}`.""",
    "reference-syntax": """A reference is not valid.

A reference is `${` id, then any of `.key`, `["any key"]`, `[n]`, `[*]`, then `}`. For the literal
characters `${` write `$${`.""",
    "cannot-express": """A dialect has no way to write a plan.

Each dialect was made for certain plans; what it cannot express is reported, never dropped.

How to fix: write the plan in another dialect; `toolplan` can express every plan.""",
    "needs-tools": """Arguments are given by position, so the tools are needed to read the plan.

How to fix: load the tools with `--tools`.""",
    "contradiction": """The plan says two different things about the same order or owner.

Some dialects list links or owners beside the steps; here the list and the references differ, and
either could be meant.

How to fix: say it once.""",
    "one-based-reference": """Steps are counted from 1, where the dialect counts from 0.

The plan's own links prove it, so every number is lowered by one.

How to fix: count from 0.""",
    "undeclared-dependency": """A step does not list all the steps that it refers to.

Some dialects list the dependencies of a step besides its references. The order comes from the
references, so the missing entry does no harm; it is added when the plan is printed.""",
}
"""The text that `toolplan explain` prints for each code that no rule has."""
