"""Plans for clients: made from questions, checked, and remembered by their digests."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from dataclasses import replace
from datetime import datetime
from typing import Final

from toolplan.app._session import Session
from toolplan.app.notes import estimate, foreseen, noted
from toolplan.app.results import AskResult
from toolplan.compiler import Compiled, compile_plan
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._options import Options
from toolplan.mcp_server._refused import CallRefused, of_journal
from toolplan.mcp_server._told import kept_metadata
from toolplan.plan_json import dump
from toolplan.planners import Planner
from toolplan.providers import ModelError
from toolplan.storage.journal import Journal, JournalError
from toolplan.tools import Toolbox

logger = logging.getLogger(__name__)

MOST_PLANS: Final = 200
"""How many plans are remembered."""

MOST_KEPT: Final = 50_000_000
"""Characters of JSON that all remembered plans have, the latest left out."""


class Plans:
    """The plans that were made or checked here, the latest of them by digest."""

    def __init__(
        self, toolbox: Toolbox, *, journal: Journal, planner: Planner, options: Options
    ) -> None:
        """Hold what plans are made with."""
        self._toolbox = toolbox
        self._journal = journal
        self._options = options
        self._session = Session(
            toolbox,
            planner,
            policy=options.policy,
            limits=options.limits,
            run_options=options.run_options,
            journal=journal,
            metadata=options.metadata,
            clock=options.clock,
        )
        self._known: OrderedDict[str, ExecutionPlan] = OrderedDict()
        self._sizes: dict[str, int] = {}

    async def plan(self, question: str, today: str | None) -> AskResult:
        """Return what the planner makes of `question` as of `today`, checked.

        Raises:
            CallRefused: the planner, its model or the journal failed.
        """
        now = datetime.fromtimestamp(self._options.clock())
        try:
            asked = await self._session.plan(question, today=today or now.date())
        except ModelError as error:
            raise CallRefused(error.code, str(error), error.help) from None
        except JournalError as error:
            raise of_journal(error) from None
        except Exception as error:  # a planner may be anybody's, and so may what it raises
            logger.exception("The planner failed.")
            raise CallRefused(
                "planner-failed",
                f"The planner failed: {type(error).__name__}.",
                "The server's log says more; a plan can be given to `check` as well.",
            ) from error
        if asked.plan is not None:
            self._remember(asked.plan)
        return asked

    async def check(self, text: str, dialect: str) -> Compiled:
        """Check a plan that came from a client; one that may run is remembered.

        Of its metadata only the question is kept.

        Raises:
            CallRefused: the journal cannot be read.
        """
        compiled = await asyncio.to_thread(
            compile_plan,
            text,
            dialect,
            tools=self._toolbox,
            limits=self._options.limits,
            policy=self._options.policy,
        )
        if compiled.plan is None:
            return compiled
        plan = await self._with_advice(compiled.plan)
        self._remember(plan)
        return compiled._replace(plan=plan, draft=plan.plan)

    def known(self, digest: str) -> ExecutionPlan:
        """Return the plan that was made or checked here, by its digest.

        Raises:
            CallRefused: there was none, or it is forgotten.
        """
        plan = self._known.get(digest)
        if plan is None:
            raise CallRefused(
                "unknown-digest",
                f"No plan with the digest {digest} was planned or checked here.",
                f"Use `plan` or `check` first, or give the plan itself; the last {MOST_PLANS} are "
                "remembered for as long as the server runs.",
            )
        self._known.move_to_end(digest)
        return plan

    async def _with_advice(self, plan: ExecutionPlan) -> ExecutionPlan:
        try:
            expected = await asyncio.to_thread(
                foreseen, plan, self._journal, self._toolbox, self._options.run_options
            )
        except JournalError as error:
            raise of_journal(error) from None
        bare = replace(plan, plan=replace(plan.plan, metadata=kept_metadata(plan.plan.metadata)))
        return noted(bare, {**self._options.metadata, **estimate(expected)})

    def _remember(self, plan: ExecutionPlan) -> None:
        self._known[plan.digest] = plan
        self._known.move_to_end(plan.digest)
        self._sizes[plan.digest] = len(json.dumps(dump(plan.plan)))
        while len(self._known) > 1 and (
            len(self._known) > MOST_PLANS or sum(self._sizes.values()) > MOST_KEPT
        ):
            digest, _ = self._known.popitem(last=False)
            del self._sizes[digest]
