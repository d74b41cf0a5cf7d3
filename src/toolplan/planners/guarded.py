"""Guards around planners of other packages: errors name the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Final, cast

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, described
from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    DraftText,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.context import PlannerContext, PlannerFactory
from toolplan.schema.tool import Toolbox

_PROPOSALS: Final = "Return a Draft, a Clarification or a Refusal (toolplan.planners)."


async def proposed(
    planner: Planner,
    question: Question,
    tools: Toolbox,
    attempts: Sequence[Attempt],
    on_text: OnText | None,
) -> Proposal:
    """Return the proposal of `planner`.

    Raises:
        ToolplanError: its `propose` is no async function, or returns no proposal.
    """

    def wrong(clause: str, help: str) -> ToolplanError:
        return ToolplanError("bad-planner", f"The planner {type(planner).__name__} {clause}.", help)

    return await _checked(planner.propose(question, tools, attempts, on_text=on_text), wrong)


async def _checked(proposing: object, wrong: Callable[[str, str], Exception]) -> Proposal:
    if not inspect.isawaitable(proposing):
        raise wrong("has a `propose` that is no async function", "Write it with `async def`.")
    proposal = cast("object", await proposing)
    if isinstance(proposal, Clarification | Refusal):
        return proposal
    if not isinstance(proposal, Draft):
        raise wrong(f"returned {described(proposal)} from `propose`", _PROPOSALS)
    if not all(isinstance(cast("object", each), str) for each in (proposal.text, proposal.dialect)):
        raise wrong("returned a Draft whose text or dialect is no text", _PROPOSALS)
    return proposal


def guarded_factory(entry: EntryPoint, offered: object) -> PlannerFactory:
    """Return the factory of planners that a package offers, with a guard around it.

    Raises:
        ExtensionError: it cannot be called.
    """
    if not callable(offered):
        raise entry.wrong("is no function that makes a planner")
    make = cast("PlannerFactory", offered)

    def made(context: PlannerContext) -> Planner | None:
        planner = entry.call(make, context)
        if planner is None:
            return None
        if isinstance(planner, type) or not callable(getattr(planner, "propose", None)):
            raise entry.wrong("was made without a method `propose`")
        kind = _GuardedRemembering if isinstance(planner, Remembering) else _Guarded
        return kind(entry, planner)

    return made


class _Guarded:
    def __init__(self, entry: EntryPoint, inner: Planner) -> None:
        self._entry = entry
        self._inner = inner

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        raised: list[BaseException] = []

        def report(text: DraftText) -> None:
            try:
                if on_text is not None:
                    on_text(text)
            except BaseException as error:
                raised.append(error)
                raise

        given = None if on_text is None else report
        try:
            proposing = self._inner.propose(question, tools, attempts, on_text=given)
            return await _checked(proposing, self._entry.wrong)
        except ToolplanError:
            raise  # on purpose
        except Exception as error:  # the code of another package may raise anything
            if error in raised:
                raise  # by the caller's own `on_text`
            raise self._entry.fault(error) from error


class _GuardedRemembering(_Guarded):
    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        self._entry.call(cast("Remembering", self._inner).keep, question, tools, draft)

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        self._entry.call(cast("Remembering", self._inner).drop, question, tools, draft)
