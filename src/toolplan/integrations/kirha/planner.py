"""The planner as the SDK has it: `await Planner(base_url).generate_plan(query, tools=tools)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from toolplan.integrations.kirha.errors import PlannerError
from toolplan.integrations.kirha.plan import Plan, parse_plan
from toolplan.integrations.kirha.tools import AnyTool, toolbox
from toolplan.planners import DraftText, LLMPlanner, Question
from toolplan.providers import Model, ModelError, open_model

DEFAULT_MODEL: Final = "kirha/planner"
MAX_TOKENS: Final = 10_000
_NO_REPLY: Final = frozenset({"llm-bad-response", "llm-stream-cut"})
"""Codes of what an endpoint sent in place of a reply: an answer without choices, for instance."""


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
        planner = LLMPlanner(
            self._endpoint,
            style="kirha",
            temperature=temperature,
            max_tokens=max_tokens,
            instructions=instructions or "",
        )
        question = Question(query, self._today().isoformat())
        written: list[str] = []

        def keep(piece: DraftText) -> None:
            if piece.starts:
                written.clear()
            written.append(piece.text)

        try:
            await planner.propose(question, toolbox(tools), (), on_text=keep)
        except ModelError as error:
            has_text = bool("".join(written).strip())
            if error.code == "llm-ambiguous":
                return parse_plan("".join(written))
            if error.code == "llm-empty":
                if has_text:  # it thought, and wrote no plan
                    return None
                raise PlannerError("No plan generated") from error
            if error.code in _NO_REPLY and not has_text:
                raise PlannerError("No response from model", help=error.with_help) from error
            raise
        # the draft is only a part of the reply; `parse_plan` reads all of it, as everywhere
        return parse_plan("".join(written))


def _opened(base_url: str, api_key: str | None, model: str) -> Model:
    address = urlsplit(base_url)
    keys: Mapping[str, str] = {f"{address.scheme}://{address.netloc}": api_key} if api_key else {}
    return open_model(f"{base_url}#{model}", keys=keys)
