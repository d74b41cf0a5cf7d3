"""Plans for clients: made from questions, checked, and cached by their digests."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from typing import Final

from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.results import AskResult, CheckResult
from toolplan.errors import ToolplanError
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._errors import CallRefused
from toolplan.plan_json import dump
from toolplan.threads import in_thread

logger = logging.getLogger(__name__)

MOST_PLANS: Final = 200
"""The maximum number of cached plans."""

MOST_KEPT: Final = 50_000_000
"""The maximum size of all cached plans but the latest, in characters of JSON."""


class Plans:
    """The latest plans that were made or checked here, by digest."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._known: OrderedDict[str, ExecutionPlan] = OrderedDict()
        self._sizes: dict[str, int] = {}

    async def plan(self, question: str, today: str | None) -> AskResult:
        """Return a checked plan for `question` as of `today`, or why there is none.

        Raises:
            CallRefused: the planner, its model or the journal failed.
        """
        try:
            asked = await self._app.plan(question, today=today)
        except ToolplanError as error:
            raise CallRefused.of(error) from None
        except Exception as error:  # a planner may raise anything
            logger.exception("The planner failed.")
            raise CallRefused(
                "planner-failed",
                f"The planner failed: {type(error).__name__}.",
                "The server's log has the details. You can also write a plan and `check` it.",
            ) from error
        if asked.plan is not None:
            self._remember(asked.plan)
        return asked

    async def check(self, text: str, dialect: str) -> CheckResult:
        """Check a plan of a client, and cache it if it may run.

        Only the question is kept of its metadata: other entries would be read as our own, such as
        where to load tools from.
        """
        checked = await in_thread(self._app.check, text, dialect=dialect)
        if checked.plan is None:
            return checked
        plan = checked.plan.plan
        query = plan.metadata.get("query")
        metadata = {"query": query} if isinstance(query, str) else {}
        checked = replace(
            checked, plan=replace(checked.plan, plan=replace(plan, metadata=metadata))
        )
        self._remember(checked.needed())
        return checked

    def known(self, digest: str) -> ExecutionPlan:
        """Return the plan with this digest.

        Raises:
            CallRefused: it was not made or checked here, or is no longer cached.
        """
        plan = self._known.get(digest)
        if plan is None:
            raise CallRefused(
                "unknown-digest",
                f"No plan with the digest {digest} was planned or checked here.",
                f"Use `plan` or `check` first, or pass the plan itself. The last {MOST_PLANS} "
                "plans are kept while the server runs.",
            )
        self._known.move_to_end(digest)
        return plan

    def _remember(self, plan: ExecutionPlan) -> None:
        self._known[plan.digest] = plan
        self._known.move_to_end(plan.digest)
        self._sizes[plan.digest] = len(json.dumps(dump(plan.plan)))
        while len(self._known) > 1 and (
            len(self._known) > MOST_PLANS or sum(self._sizes.values()) > MOST_KEPT
        ):
            digest, _ = self._known.popitem(last=False)
            del self._sizes[digest]
