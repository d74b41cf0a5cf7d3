"""A package of somebody else: a rule, a dialect, a tool, a source of tools, a planner, a command.

`test_scratch_package.py` copies this module into a folder of its own, with the entry points that an
installer would write. It imports public modules of toolplan only.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from toolplan import CannotExpress, Diagnostic, Limits, Parsed, Plan, Severity, Step, Toolbox, tool
from toolplan.cli.terminal import Exit, out
from toolplan.compiler.rules import PlanContext, Problem, rule
from toolplan.dialects import Dialect, StepStream
from toolplan.plan.model import Literal, Ref, Signature, Value
from toolplan.plan.text.loose import Span
from toolplan.planners import Attempt, Draft, DraftText, Planner, Proposal, Question
from toolplan.planners.context import PlannerContext
from toolplan.providers import Ended, ModelRequest, Piece, Text, Usage
from toolplan.tools import OpenedTools, SourceContext

TEXT = 'DO greet name="Ada"\nDO greet name=@s0\nEND\n'


@rule(Severity.WARNING)
def greeted_twice(context: PlanContext) -> Iterator[Problem]:
    """Two steps greet.

    How to fix: greet once.
    """
    greeting = [step for step in context.plan.steps if step.tool == "greet"]
    if len(greeting) > 1:
        yield Problem("The plan greets twice.", "/steps", greeting[1].id)


_LINE = re.compile(r"^DO (?P<tool>\w+)(?: (?P<name>\w+)=(?P<value>.*))?$", re.MULTILINE)


def _step(found: re.Match[str], at: int) -> Step:
    args: dict[str, Value] = {}
    if found["name"] is not None:
        value = found["value"]
        reference = value.removeprefix("@")
        args[found["name"]] = Ref(reference) if reference != value else Literal(json.loads(value))
    return Step(f"s{at}", found["tool"], args)


class ScratchDialect:
    """A call a line: `DO tool name=value`, where a value is JSON or `@step`."""

    name = "scratch"
    json = False

    def parse(
        self,
        text: str,
        signatures: Mapping[str, Signature] | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return the plan, or that there is none."""
        steps = tuple(_step(found, at) for at, found in enumerate(_LINE.finditer(text)))
        if steps and "END" in text:
            return Parsed(Plan(steps))
        return Parsed(None, (Diagnostic("syntax", Severity.ERROR, "There is no END."),))

    def print(self, plan: Plan, signatures: Mapping[str, Signature] | None = None) -> str:
        """Return a line for each step.

        Raises:
            CannotExpress: a step has more than one argument.
        """
        lines: list[str] = []
        for at, step in enumerate(plan.steps):
            if len(step.args) > 1:
                said = Diagnostic("cannot-express", Severity.ERROR, "There is a second argument.")
                raise CannotExpress("scratch cannot say this plan", [said])
            args = "".join(f" {name}={_value(value)}" for name, value in step.args.items())
            lines.append(f"DO {plan.steps[at].tool}{args}\n")
        return "".join(lines) + "END\n"

    def locate(self, text: str, pointer: str, *, key: bool = False) -> Span | None:
        """Return the place of the whole text."""
        return Span(0, len(text))

    def recognises(self, text: str) -> bool:
        """Return whether there is a line of this dialect."""
        return _LINE.search(text) is not None

    def stream(
        self, signatures: Mapping[str, Signature] | None = None, limits: Limits | None = None
    ) -> StepStream:
        """Return a reader of lines."""
        return _Lines()


def _value(value: Value) -> str:
    match value:
        case Literal(literal):
            return json.dumps(literal)
        case Ref(step):
            return f"@{step}"
        case _:
            raise CannotExpress("scratch cannot say this plan", [])


class _Lines:
    def __init__(self) -> None:
        self._text = ""
        self._count = 0

    def feed(self, text: str) -> Sequence[Step]:
        *lines, self._text = (self._text + text).split("\n")
        found = [match for line in lines if (match := _LINE.match(line))]
        self._count += len(found)
        return [_step(each, self._count - len(found) + at) for at, each in enumerate(found)]


DIALECT: Dialect = ScratchDialect()


@tool(effects="read")
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}"


@tool(effects="read")
def twice(text: str) -> str:
    """Say a text twice."""
    return text + text


class ScratchSource:
    """Opens `scratch://NAME`."""

    takes_base_url = False
    help = "Name tools as scratch://NAME."

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` begins with the name of this source."""
        return spec.startswith("scratch://")

    def open(self, spec: str, context: SourceContext) -> AbstractContextManager[OpenedTools]:
        """Open the one tool that there is."""
        owner = context.settings["scratch"].get("owner", "everybody")
        context.note(f"{spec} has one tool, for {owner}.")
        return nullcontext(OpenedTools(Toolbox([greet])))


SOURCE = ScratchSource()


class ScratchPlanner:
    """Writes the same plan for every question, line by line."""

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: Callable[[DraftText], None] | None = None,
    ) -> Proposal:
        """Return the plan."""
        for at, line in enumerate(TEXT.splitlines(keepends=True)):
            if on_text is not None:
                on_text(DraftText(line, "scratch", "scratch", starts=at == 0))
        return Draft(TEXT, "scratch", "scratch")


def planner(context: PlannerContext) -> Planner:
    """Return the planner."""
    return ScratchPlanner()


class ScratchModel:
    """A model that answers in the dialect of this package."""

    name = "scratch:model"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply."""
        yield Text("Here is the plan.\n\n```\n")
        yield Text(TEXT)
        yield Text("```\n")
        yield Ended(self.name, Usage())


def greet_command(name: str, *, times: int = 1) -> int:
    """Greet somebody."""
    out().print("Hello, " * times + name)
    return Exit.FINE.value
