"""The pages of calls: which are asked for next, and the list that they make together.

A call of a step with `pages` is one call to its readers. Each page is a call to the tool: started
by the scheduler within all limits, tried again by itself, recorded, and never asked for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolplan.engine._attempt import InFlightCall
from toolplan.engine._calls import too_many_calls
from toolplan.engine._execution import Execution
from toolplan.engine._failures import argument_failure
from toolplan.engine._ready_queue import ReadyQueue
from toolplan.events import Failure, PageEnded, Partial
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.schema.paging import PageError, Pager, Paging
from toolplan.schema.tool import Arguments, Tool
from toolplan.storage.journal import Slot

if TYPE_CHECKING:
    from toolplan.engine._steps import Scheduler


class PagedCall:
    """One call whose pages are asked for one by one, or together where they are numbered.

    Attributes:
        queued: the pages that wait for their turn.
        running: the number of pages that are asked for now.
        attempts: maximum number of attempts of one page.
    """

    __slots__ = ("_failed", "_known", "attempts", "pager", "queued", "running", "step", "tool")

    def __init__(
        self,
        step: Step,
        tool: Tool,
        paging: Paging,
        args: Arguments,
        recorded: Mapping[int, PageEnded],
    ) -> None:
        """Begin where an earlier process stopped: the pages `recorded` are there."""
        self.step = step
        self.tool = tool
        self._failed: tuple[int, Failure] | None = None
        self.pager = Pager(paging, args, step.max_pages)
        self.attempts = max((each.attempts for each in recorded.values()), default=0)
        self.running = 0
        self.queued: deque[int] = deque()
        try:
            self.pager.restore({at: (e.output, _said(e.said)) for at, e in recorded.items()})
        except PageError as error:
            self._failed = len(recorded), Failure(error.code, str(error))
        self._known = {*recorded}

    def new_pages(self) -> list[int]:
        """Return the pages that can be asked for now and were not returned before."""
        if self._failed is not None:
            return []
        new = [page for page in self.pager.waiting if page not in self._known]
        self._known.update(new)
        return new

    def take(self, page: int, output: Json, said: Mapping[str, Json]) -> None:
        """Take the result of a page."""
        if self._failed is None:
            try:
                self.pager.take(page, output, said)
            except PageError as error:
                self.fail(page, Failure(error.code, str(error)))

    def fail(self, page: int, failure: Failure) -> None:
        """Take why a page cannot be had; the first in order counts, not in time."""
        if self._failed is None or page < self._failed[0]:
            self._failed = page, failure
        self.queued.clear()

    @property
    def complete(self) -> bool:
        """Whether no page is asked for or waits."""
        return not self.running and (self._failed is not None or self.pager.complete)

    @property
    def outcome(self) -> Json | Failure:
        """The whole list in the shape of the first page, or why it cannot be had."""
        return self.pager.result() if self._failed is None else self._failed[1]

    @property
    def partial(self) -> tuple[Partial, ...]:
        """The part of the list that was not asked for, or may be missing."""
        more, pager = self.pager.more, self.pager
        if more.more is False or self._failed is not None or not more.reason:
            return ()
        return (Partial(self.step.id, pager.rows, pager.total, more.reason, pager.total_path),)


class PagedCalls:
    """The calls with pages of a run, by the position of their step and item.

    Attributes:
        queued: of each step with pages that wait for their turn, the items of these pages.
    """

    __slots__ = ("_calls", "_clock", "_emit", "_limits", "_ready", "_recorded", "_steps", "queued")

    def __init__(
        self,
        execution: Execution,
        steps: Scheduler,
        ready: ReadyQueue,
        recorded: Mapping[Slot, Mapping[int, PageEnded]],
    ) -> None:
        """Prepare without calls; `recorded` are the pages that earlier processes recorded."""
        self._steps = steps
        self._ready = ready
        self._recorded = recorded
        self._emit = execution.emit
        self._clock = execution.clock
        self._limits = execution.limits
        self._calls: dict[tuple[int, int | None], PagedCall] = {}
        self.queued: dict[int, deque[int | None]] = {}

    def begin(
        self, position: int, step: Step, index: int | None, tool: Tool, args: Arguments
    ) -> None:
        """Begin a call of `step` with `args`, for which one call is reserved."""
        if tool.paging is None:
            raise RuntimeError("`callees` has checked that the tool has pages.")
        recorded = self._recorded.get((step.id, index), {})
        self._calls[position, index] = PagedCall(step, tool, tool.paging, args, recorded)
        self._steps.reserve(-1)  # it is reserved again, with the other pages
        self._go_on(position, index)

    def start_next(self, position: int) -> bool:
        """Ask for the next page of a step that waits for its turn; return False if none does."""
        queued = self.queued.get(position, deque())
        while queued:
            index = queued.popleft()
            if not queued:
                del self.queued[position]
            call = self._calls.get((position, index))
            if call is not None and call.queued:
                self._start(position, index, call, call.queued.popleft())
                return True
        return False

    def ended(self, ended: InFlightCall, page: int, outcome: Json | Failure) -> None:
        """Take the result of a page, or why it cannot be had."""
        call = self._calls[ended.position, ended.index]
        call.running -= 1
        call.attempts = max(call.attempts, ended.attempt)
        if isinstance(outcome, Failure):
            call.fail(page, outcome)
        else:
            said: Json = dict(ended.said)
            step, index, attempt = ended.step.id, ended.index, ended.attempt
            self._emit(PageEnded(step, index, page, outcome, attempt, said, self._clock()))
            call.take(page, outcome, ended.said)
        self._go_on(ended.position, ended.index)

    def arguments(self, call: InFlightCall, page: int) -> Arguments:
        """Return the arguments of a page again."""
        return self._calls[call.position, call.index].pager.args_of(page)

    def _go_on(self, position: int, index: int | None) -> None:
        """Let the pages that can be asked for now wait for their turn, or end the call."""
        call = self._calls[position, index]
        new = call.new_pages()
        if self._steps.reserve(len(new)):
            for page in new:
                call.queued.append(page)
                self.queued.setdefault(position, deque()).append(index)
                self._ready.push(position, 1)
        else:
            call.fail(new[0], too_many_calls(self._limits))
        if call.complete:
            del self._calls[position, index]
            self._steps.ended(position, index, call.outcome, call.attempts, call.partial)

    def _start(self, position: int, index: int | None, call: PagedCall, page: int) -> None:
        args = call.pager.args_of(page)
        failure = argument_failure(call.tool, args)
        if failure is None:
            call.running += 1
            made = InFlightCall(self._steps.in_flight, position, index, call.step, call.tool, args)
            made.page = page
            self._steps.make(made)
        else:
            call.fail(page, failure)
            self._go_on(position, index)


def _said(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
