"""The planner as the SDK has it: `await Planner(base_url).generate_plan(query, tools=tools)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from toolplan.integrations.kirha.errors import PlannerError
from toolplan.integrations.kirha.plan import Plan, parse_plan
from toolplan.integrations.kirha.tools import AnyTool, toolbox
from toolplan.planners import Clarification, Draft, LLMPlanner, Question, Refusal
from toolplan.providers import Model, ModelError, open_model

DEFAULT_MODEL: Final = "kirha/planner"
MAX_TOKENS: Final = 10_000


class Planner:
    """Asks a model that was trained for it for a whole plan, in one pass."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        model: str = DEFAULT_MODEL,
        *,
        endpoint: Model | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        """Hold whom to ask.

        Args:
            base_url: of any endpoint that is compatible with OpenAI: `http://localhost:8080/v1`.
            api_key: its key, where it needs one.
            model: the model's name at the endpoint.
            endpoint: a model that is asked in place of the one at `base_url`.
            today: the day of the question.

        Raises:
            ModelError: there can be no such endpoint, or the extra `llm` is not installed.
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
        """Return the model's plan for `query`, as it was written; None where it gave none.

        It was read, and not yet held against the tools: `is_valid_plan` does that, and `execute`
        runs nothing that does not pass.

        Args:
            query: what is asked.
            tools: what the plan may call.
            instructions: what the model is to heed besides.
            temperature: of the model, 0 for the likeliest words.
            max_tokens: the most tokens of its reply.

        Raises:
            PlannerError: there was no response, or an empty plan.
            PlanParseError: what stands in the plan's tag is no plan.
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
        try:
            proposal = await planner.propose(question, toolbox(tools), ())
        except ModelError as error:
            if error.code == "llm-empty":
                raise PlannerError("No response from model") from error
            raise
        match proposal:
            case Draft(text=text):
                return parse_plan(text)
            case Clarification() | Refusal():
                return None


def _opened(base_url: str, api_key: str | None, model: str) -> Model:
    address = urlsplit(base_url)
    keys: Mapping[str, str] = {f"{address.scheme}://{address.netloc}": api_key} if api_key else {}
    return open_model(f"{base_url}#{model}", keys=keys)
