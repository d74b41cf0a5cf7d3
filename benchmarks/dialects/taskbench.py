"""The dialect of the TaskBench data sets.

`{"task_steps", "task_nodes": [{"task", "arguments"}], "task_links": [{"source", "target"}]}`.
Arguments are a list of values by position, of `{"name", "value"}`, or an object. `<node-0>` is the
output of the first node, as a value or inside of text. Links name the tools of two nodes; they
repeat the references, or give order besides. Nodes are read as `s0`, `s1`, … by position, and the
lines of `task_steps` as the thoughts of the steps, where there is one for each; else they
are kept in the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from benchmarks.dialects.links import read_links, with_links, write_links
from toolplan.dialects import form, has_key, json_text, values
from toolplan.dialects.form import bounded
from toolplan.plan.canonical import (
    Parsed,
    ParsedText,
    Report,
    StepFields,
    Syntax,
    TextProblem,
    Written,
    shown,
)
from toolplan.plan.diagnostics import Diagnostic, suggest
from toolplan.plan.model import (
    Limits,
    Literal,
    Plan,
    Ref,
    Signature,
    Step,
    Value,
    escape_pointer,
    needs,
)
from toolplan.plan.path import Json, Path, copied, json_type

_NODES: Final = ("task_nodes", "tool_nodes")
_LINKS: Final = ("task_links", "tool_links")
_LINES: Final = ("task_steps", "tool_steps")
_FIELDS: Final = (*_LINES, *_NODES, *_LINKS)
_NODE_FIELDS: Final = ("task", "arguments", "id")
_OTHER_NAMES: Final = {
    "nodes": "task_nodes",
    "links": "task_links",
    "steps": "task_steps",
    "name": "task",
    "tool": "task",
    "args": "arguments",
    "parameters": "arguments",
}
_TASK_STEPS: Final = "task_steps"
"""Where in the metadata lines are kept that are not as many as there are nodes."""

_MOST_GUESSES: Final = 100
"""So many unknown names of tools are compared with the known ones."""

# a field behind a node is not part of the source's syntax, but of what models write
_REFERENCE = re.compile(
    r"<(?:output[ _]of[ _])?node[-_ ]?(?P<number>0|[1-9][0-9]{0,8})>"
    r"(?P<path>(?:\.[A-Za-z_][A-Za-z0-9_]*+|\[[0-9]{1,9}\])*+)"
    r"|<output[ _]of[ _](?P<tool>[^<>\n]{1,100})>",
    re.IGNORECASE,
)
_SEGMENT = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")


def _plan_syntax(plan: Plan) -> Syntax:
    return _References([s.id for s in plan.steps], [s.tool for s in plan.steps]).syntax


def is_plan(document: Json) -> bool:
    """Return whether `document` is an object with a list of nodes."""
    if not isinstance(document, dict):
        return False
    return any(form.objects(document.get(name), ("task",)) for name in _NODES)


def load(document: Json, signatures: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return Parsed(None, report.diagnostics)
    report.unknown_fields(document, _FIELDS, "", None, _OTHER_NAMES)
    items = _items(document, limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    nodes = [StepFields(item, f"/steps/{at}", f"s{at}", report) for at, item in enumerate(items)]
    for node in nodes:
        node.only(_NODE_FIELDS, _OTHER_NAMES)
    tools = [node.tool(("task",)) for node in nodes]
    references = _References([node.step for node in nodes], tools)
    known = _Signatures(signatures)
    steps = tuple(
        Step(node.step, tool, _args(node, tool, known, references.syntax))
        for node, tool in zip(nodes, tools, strict=True)
    )
    plan = _with_lines(Plan(steps), document, report)
    links = read_links(_field(document, _LINKS) or [], tools, report)
    plan = with_links(plan, links, report, by_number=not references.by_tool)
    return Parsed(plan, report.diagnostics)


class _References:
    """The references of a plan with these steps; `by_tool` is whether any named a tool.

    A number that no step has refers to a step that is not there: the rules say so.
    """

    def __init__(self, ids: Sequence[str], tools: Sequence[str]) -> None:
        self.by_tool = False
        self.syntax = Syntax(self._read_text, self._write)
        self._ids = ids
        self._numbers = {name: at for at, name in enumerate(ids)}
        self._users: dict[str, list[str]] = {}
        for name, tool in zip(ids, tools, strict=True):
            self._users.setdefault(_folded(tool), []).append(name)

    def _read_text(self, text: str) -> ParsedText:
        if "<" not in text:
            return ParsedText(Literal(text))
        return values.read_parts(text, _REFERENCE, self._resolve)

    def _resolve(self, found: re.Match[str]) -> values.Resolved:
        if found["tool"] is not None:
            users = self._users.get(_folded(found["tool"]), [])
            if not users:
                return None  # `<output_of_it>` may be any text
            if len(users) > 1:
                said = f"{shown(found[0])} may be any of {len(users)} nodes."
                return TextProblem("reference-syntax", said, "Write `<node-0>`, with its number.")
            self.by_tool = True
            return (Ref(users[0]),)
        number = int(found["number"])
        name = self._ids[number] if number < len(self._ids) else f"s{number}"
        return (Ref(name, _path(found["path"])),)

    def _write(self, value: Written) -> str:
        return values.write_parts(value, lambda ref: f"<node-{self._numbers[ref.step]}>")


class _Signatures:
    """The signatures of tools, and of those that were surely meant by an unknown name."""

    def __init__(self, signatures: form.Signatures | None) -> None:
        self.are_known = signatures is not None
        self._signatures = signatures or {}
        self._guesses: dict[str, Signature | None] = {}

    def of(self, tool: str) -> Signature | None:
        """Return the signature of `tool`, None where there is none.

        A rule that fixes the name of the tool needs the names of its arguments.
        """
        if tool in self._signatures:
            return self._signatures[tool]
        if tool not in self._guesses and len(self._guesses) < _MOST_GUESSES:
            sure = suggest(tool, self._signatures).sure
            self._guesses[tool] = None if sure is None else self._signatures[sure]
        return self._guesses.get(tool)


def _items(document: Mapping[str, Json], limits: Limits, report: Report) -> list[Json] | None:
    items = _field(document, _NODES)
    if isinstance(items, list):
        return bounded(items, dict(document), limits, report)
    if items is None:
        report.error("missing-field", f"The plan has no {_NODES[0]!r}.", "/steps")
    else:
        report.wrong_type(_NODES[0], items, "a list", "/steps")
    return None


def _field(document: Mapping[str, Json], names: Sequence[str]) -> Json:
    return next((document[name] for name in names if name in document), None)


def _args(node: StepFields, tool: str, signatures: _Signatures, syntax: Syntax) -> dict[str, Value]:
    written = node.item.get("arguments")
    if isinstance(written, dict):
        return node.args(("arguments",), syntax)
    if not isinstance(written, list):
        if written is not None:
            node.report.wrong_type(
                "arguments", written, "a list", f"{node.pointer}/args", node.step
            )
        return {}
    args: dict[str, Value] = {}
    for name, value in _named(written, node, tool, signatures):
        pointer = f"/args/{escape_pointer(name)}"
        if name in args:
            said = f"The argument {shown(name)} is given twice."
            node.report.error("duplicate-key", said, node.pointer + pointer, node.step)
        else:
            args[name] = node.value(value, pointer, syntax)
    return args


def _named(
    entries: Sequence[Json], node: StepFields, tool: str, signatures: _Signatures
) -> Iterator[tuple[str, Json]]:
    """Yield every argument with its name; report those that have none, or no value."""
    is_reported = False
    for at, entry in enumerate(entries):
        match entry:
            case {"name": str(name), "value": value} if len(entry) == 2:
                yield name, value
            case {"name": str(name)} if len(entry) == 1:
                place = f"{node.pointer}/args/{escape_pointer(name)}"
                said = f"The argument {shown(name)} has no 'value'."
                node.report.error("missing-field", said, place, node.step)
            case dict() if entry and "name" not in entry:
                yield from entry.items()
            case _:
                if not signatures.are_known and not is_reported:
                    is_reported = True
                    _report_positions(node)
                name = _name_at(at, node, tool, signatures)
                if name is not None:
                    yield name, entry


def _name_at(at: int, node: StepFields, tool: str, signatures: _Signatures) -> str | None:
    signature = signatures.of(tool) if tool else None
    if signature is None:
        return str(at)
    if at < len(signature.inputs):
        return signature.inputs[at]
    node.report.error(
        "unknown-argument",
        f"{shown(tool)} declares {len(signature.inputs)} argument(s); there is one more.",
        f"{node.pointer}/args/{at}",
        node.step,
        "Leave it out, or give it by name.",
    )
    return None


def _report_positions(node: StepFields) -> None:
    node.report.error(
        "needs-tools",
        "Arguments are given by position; their names cannot be known.",
        f"{node.pointer}/args",
        node.step,
        'Give the tools, or write each argument as {"name": …, "value": …}.',
    )


def _with_lines(plan: Plan, document: Mapping[str, Json], report: Report) -> Plan:
    """Return `plan` with its lines as thoughts, or in the metadata where not each step has one."""
    lines = _field(document, _LINES)
    if lines is None or lines == []:
        return plan
    if not isinstance(lines, list):
        report.wrong_type(_LINES[0], lines, "a list of lines", "/metadata/task_steps")
        return plan
    thoughts = [line for line in lines if isinstance(line, str)]
    if len(thoughts) != len(lines) or len(lines) != len(plan.steps):
        return replace(plan, metadata={_TASK_STEPS: copied(lines)})
    return replace(
        plan,
        steps=tuple(
            replace(step, thought=thought)
            for step, thought in zip(plan.steps, thoughts, strict=True)
        ),
    )


def _dump(plan: Plan) -> dict[str, Json]:
    syntax = _plan_syntax(plan)
    lines = plan.metadata.get(_TASK_STEPS)
    thoughts: list[Json] = [step.thought for step in plan.steps]
    document: dict[str, Json] = {}
    if lines is not None or None not in thoughts:
        document["task_steps"] = thoughts if lines is None else lines
    document["task_nodes"] = [
        {
            "task": step.tool,
            "arguments": [
                {"name": name, "value": syntax.dump(value)} for name, value in step.args.items()
            ],
        }
        for step in plan.steps
    ]
    numbers = {step.id: at for at, step in enumerate(plan.steps)}
    edges = sorted(
        {
            (numbers[n], at)
            for at, step in enumerate(plan.steps)
            for n in needs(step)
            if n != step.id
        }
    )
    document["task_links"] = write_links(edges, [step.tool for step in plan.steps])
    return document


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    found = form.unsaid(plan, _SAYS, _plan_syntax(plan), [step.id for step in plan.steps])
    return [*found, *_unsaid_order(plan)]


def _unsaid_order(plan: Plan) -> Iterator[Diagnostic]:
    """Yield what TaskBench cannot say of thoughts, of metadata, and of order."""
    ids = {step.id for step in plan.steps}
    is_mixed = any(step.thought is None for step in plan.steps)
    for key in plan.metadata:
        if key != _TASK_STEPS:
            yield form.cannot(f"TaskBench has no {key!r} in the metadata.", f"/metadata/{key}")
    for at, step in enumerate(plan.steps):
        if step.thought is not None and (is_mixed or _TASK_STEPS in plan.metadata):
            said = "TaskBench has a thought for every step, or for none."
            yield form.cannot(said, f"/steps/{at}/thought", step.id)
        for each in step.after:
            if each not in ids:
                yield form.cannot(f"No step has the id {each!r}.", f"/steps/{at}/after", step.id)
            elif each == step.id:
                said = "TaskBench has no link from a node to itself."
                yield form.cannot(said, f"/steps/{at}/after", step.id)


def _path(text: str) -> Path:
    return tuple(
        found[1] if found[1] is not None else int(found[2]) for found in _SEGMENT.finditer(text)
    )


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name).casefold().strip()


def _argument_place(args: Json, name: str) -> str:
    """Return the pointer of the argument `name` inside of `args`, as it is written."""
    if not isinstance(args, list):
        return f"/{escape_pointer(name)}"
    for at, entry in enumerate(args):
        if isinstance(entry, dict) and entry.get("name") == name:
            return f"/{at}/value"
        if isinstance(entry, dict) and "name" not in entry and name in entry:
            return f"/{at}/{escape_pointer(name)}"
    return f"/{name}" if name.isdigit() else ""


def _refusal(ref: Ref) -> str | None:
    return "has references to whole outputs only" if ref.path else None


_PLACES: Final = form.Places(
    tuple(f"/{name}" for name in _NODES),
    {"tool": ("task",), "args": ("arguments",)},
    _argument_place,
)
_FORM: Final = form.Form(is_plan, load, _PLACES)
_SAYS: Final = form.Says("TaskBench", frozenset({"after", "thought", "metadata"}), _refusal)
DIALECT: Final = form.FunctionDialect(
    name="taskbench",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=_unsaid,
    write=lambda plan, _: json_text.write(_dump(plan)),
    expected=form.sorted_by_position,
    looks_like=lambda text: has_key(text, "task_nodes"),
)
"""Says tools, arguments, order, thoughts, and references to whole outputs.

It has no escape: text that reads as a reference cannot be said. Arguments by position are named by
the tools' signatures; without them they are called `0`, `1`, …, and reported.
"""
