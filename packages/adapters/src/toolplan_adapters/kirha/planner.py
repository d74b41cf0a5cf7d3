"""The planner as the SDK has it: `await Planner(base_url).generate_plan(query, tools=tools)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from toolplan.compiler import parse, to_text
from toolplan.plan.model import Plan as TypedPlan
from toolplan.plan.model import rename_steps
from toolplan.plan.path import Json
from toolplan.planners import Question
from toolplan.planners.llm import kirha_messages
from toolplan.policy.approval import Approver
from toolplan.providers import Model, ModelError, ModelRequest, complete, open_model
from toolplan.tools.search import relevant
from toolplan_adapters.kirha.execution import StepResult, execute
from toolplan_adapters.kirha.steps import PlannerError, Step, parse_error
from toolplan_adapters.kirha.tools import AnyTool, toolbox

DIALECT = "kirha"
_THINKING = re.compile(r"\s*<think(ing)?>.*?</think(ing)?>", re.DOTALL)
_MARKS = ("<plan>", "toolName")
"""One of these is in every reply that has a plan."""


class Plan(Struct, frozen=True, dict=True):
    """A plan that can be shown, validated and executed. `typed` is the plan that runs."""

    typed: TypedPlan

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order in which they were written."""
        return tuple(map(Step.of, self.typed.steps))

    @property
    def think(self) -> str | None:
        """The model's thinking before the plan."""
        notes = self.typed.metadata.get("notes")
        return notes if isinstance(notes, str) else None

    async def execute(
        self,
        *,
        tools: Iterable[AnyTool],
        approval: Approver | None = None,
        timeout_s: float = 60.0,
    ) -> list[StepResult]:
        """Run the plan: see `toolplan_adapters.kirha.execute` for arguments and errors."""
        return await execute(self.typed, tools, approval=approval, timeout_s=timeout_s)

    def to_json(self) -> list[Json]:
        """Return the wire form: the list of steps."""
        return [step.to_json() for step in self.steps]

    @property
    def text(self) -> str:
        """The plan in the canonical form, for `toolplan check`, `show` and `run`."""
        return to_text(self.typed)


def parse_plan(text: str) -> Plan | None:
    """Read a model's reply, `<think>…</think><plan>[…]</plan>`; None if no plan is written in it.

    Of several plans the first is read. A list of steps without the tag is a plan too.

    Raises:
        PlannerError: the plan has no steps.
        PlanParseError: the tag holds no plan, or the plan refers to a step that does not exist.
    """
    said = _THINKING.sub("", text)
    if not any(mark in said for mark in _MARKS):
        return None
    parsed = parse(text, DIALECT)
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        raise parse_error(parsed.diagnostics)
    names = {step.id: str(at) for at, step in enumerate(parsed.plan.steps)}
    return Plan(rename_steps(parsed.plan, names))


DEFAULT_MODEL: Final = "kirha/planner"
MAX_TOKENS: Final = 10_000


class Planner:
    """Asks a model that was trained for planning for a whole plan, in one call."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        model: str = DEFAULT_MODEL,
        *,
        endpoint: Model | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        """Open the endpoint.

        Args:
            base_url: of any endpoint that is compatible with OpenAI: `http://localhost:8080/v1`.
            api_key: its key, if it needs one.
            model: the model's name at the endpoint.
            endpoint: a model to use in place of the one at `base_url`.
            today: returns the date of the question.

        Raises:
            ModelError: the address is not valid.
        """
        self.model = model
        self._endpoint = _opened(base_url, api_key, model) if endpoint is None else endpoint
        self._today = today

    async def generate_plan(
        self,
        query: str,
        *,
        tools: Iterable[AnyTool],
        instructions: str | None = None,
        temperature: float = 0.0,
        max_tokens: int = MAX_TOKENS,
    ) -> Plan | None:
        """Return the model's plan for `query` as it was written, or None if it wrote none.

        The plan was parsed, but not compared with the tools: use `is_valid_plan`. `execute` runs
        only a plan that passes.

        Args:
            query: the question.
            tools: the tools that the plan may call.
            instructions: more instructions for the model.
            temperature: of the model; 0 for the most likely words.
            max_tokens: the maximum number of tokens of its reply.

        Raises:
            PlannerError: there was no response ("No response from model"), or it or its plan is
                empty ("No plan generated").
            PlanParseError: the plan's tag holds no plan.
            ModelError: the endpoint failed.
        """
        question = Question(query, self._today().isoformat())
        shown = relevant(toolbox(tools), query)
        messages = kirha_messages(question, shown, (), instructions=instructions or "")
        request = ModelRequest(messages, None, temperature, max_tokens)
        try:
            reply = await complete(self._endpoint, request)
        except ModelError as error:
            if error.code != "llm-bad-response":  # an answer without choices, for instance
                raise
            raise PlannerError("No response from model", help=error.with_help) from error
        if not reply.text.strip():
            raise PlannerError("No plan generated")
        return parse_plan(reply.text)


def _opened(base_url: str, api_key: str | None, model: str) -> Model:
    address = urlsplit(base_url)
    keys: Mapping[str, str] = {f"{address.scheme}://{address.netloc}": api_key} if api_key else {}
    return open_model(f"{base_url}#{model}", keys=keys)
