"""The rule `unread-reference`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolplan import path as paths
from toolplan.diagnostics import Severity
from toolplan.plan import RESERVED_IDS, Ref, Step, Value, escape_pointer
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.rules._texts import texts
from toolplan.schema import Absent

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
    """A text looks like a reference in another notation, and is sent as it stands.

    References are written `${id.path}`. `{{id.path}}`, `$id.path`, `<id.path>`, `{id.path}`,
    `#id.path` and `%(id)s` are text, and the tool gets them letter for letter. It is reported where
    `id` is a step of the plan, or `item` or `index` in a step with `for_each`; templates with other
    names are not.

        {"tool": "send_mail", "args": {"to": "{{ticket.assignee}}"}}

    How to fix: write `${ticket.assignee}`. If the text is meant as it stands, rename the step.
    """
    text = context.text
    steps = context.plan.steps if any(hint in text for hint in _HINTS) else ()
    for position, step in enumerate(steps):
        tool = context.tool(step)
        literal = () if tool is None else tool.input.literal_only
        for name, value in step.args.items():
            if name not in literal:
                place = f"/steps/{position}/args/{escape_pointer(name)}"
                yield from _problems(context, value, place, step)
    if context.plan.output is not None:
        yield from _problems(context, context.plan.output, "/output", None)


def _problems(
    context: PlanContext, value: Value, place: str, step: Step | None
) -> Iterator[Problem]:
    for pointer, text in texts(value, place):
        found = None if _HINTS.isdisjoint(text) else _spelled(text, context, step)
        if found is not None:
            yield Problem(
                f"{found[0]!r} is text: it is not replaced by what {found['step']!r} gives.",
                pointer,
                None if step is None else step.id,
                f"Write it as `{_canonical(context, found, step)}`.",
            )


def _spelled(text: str, context: PlanContext, step: Step | None) -> re.Match[str] | None:
    for found in _SPELLED.finditer(text):
        opening = found["open"]
        if not found["close"].startswith(_CLOSING[opening]):
            continue
        if not _is_in_scope(found["step"], context, step):
            continue
        if opening in _NEEDS_PATH and not found["path"] and found[0] != text:
            continue
        if (opening == "#" and not found["path"]) or (opening == "<" and " " in found[0]):
            continue
        return found
    return None


def _is_in_scope(name: str, context: PlanContext, step: Step | None) -> bool:
    """Return whether a reference in `step`, or in the output without one, may begin with `name`."""
    if step is not None and step.for_each is not None and name in RESERVED_IDS:
        return True
    return name in context.steps and (step is None or name != step.id)


def _canonical(context: PlanContext, found: re.Match[str], step: Step | None) -> str:
    name, spelled = found["step"], found["path"].replace("['", '["').replace("']", '"]')
    try:
        path = paths.parse_path(spelled)
    except paths.PathSyntaxError:
        return f"${{{name}.path}}"
    if path and path[0] in _WRAPPERS and isinstance(context.type_of(Ref(name, path), step), Absent):
        path = path[1:]
    return f"${{{name}{paths.print_path(path)}}}"
