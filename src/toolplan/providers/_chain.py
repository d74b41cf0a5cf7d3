"""A chain of models: the first that gives a whole reply has answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.providers import _faults
from toolplan.providers._base import (
    Ended,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    Usage,
)
from toolplan.providers._breaker import Breaker
from toolplan.providers._endpoint import Answered, Endpoint
from toolplan.providers._failures import CallFailed, Course, Failure, none_replied
from toolplan.providers._retry import RetryPolicy, Runtime, in_time
from toolplan.providers._text_bounds import TextBounds, most_chars
from toolplan.providers._usage import UsageTracker, total


class Link(Struct):
    """One model of a chain.

    Attributes:
        name: display name.
        endpoint: makes the calls.
        breaker: stops calls to an endpoint that keeps failing.
        blocked: why it cannot be asked at all.
        plain: whether it has refused a schema.
    """

    name: str
    endpoint: Endpoint
    breaker: Breaker
    blocked: Failure | None = None
    plain: bool = False


class _Asked(Struct):
    """The state of one request."""

    request: ModelRequest
    spent: list[Usage] = field(default_factory=list[Usage])
    failures: list[Failure] = field(default_factory=list[Failure])
    latest: Failure | None = None
    has_text: bool = False
    refused: int = 0

    @property
    def usage(self) -> Usage:
        return total(self.spent)


class Chain:
    """Asks its models in order.

    A model is asked again after a rate limit, a failure of its server or a broken connection. After
    a timeout, a malformed reply or a rejected key the next model is asked. A refusal, or a request
    that is wrong in itself, ends the call.
    """

    def __init__(
        self,
        links: Sequence[Link],
        *,
        retry_policy: RetryPolicy,
        runtime: Runtime,
        tracker: UsageTracker | None = None,
    ) -> None:
        """Prepare the chain; nothing is called."""
        self._links = tuple(links)
        self._retry_policy = retry_policy
        self._runtime = runtime
        self._tracker = UsageTracker() if tracker is None else tracker

    def __repr__(self) -> str:
        """Name the models."""
        return f"Chain({self.name!r})"

    @property
    def name(self) -> str:
        """The names of its models, in order."""
        return ", ".join(link.name for link in self._links)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply as it is written.

        Raises:
            ModelError: no model gave a whole one.
        """
        asked = _Asked(request)
        for link in self._links:
            async with aclosing(self._ask(link, asked)) as pieces:
                async for piece in pieces:
                    yield piece
                    if isinstance(piece, Ended):
                        return
        raise none_replied(asked.failures, asked.usage)

    async def _ask(self, link: Link, asked: _Asked) -> AsyncGenerator[Piece]:
        """Ask one model as often as that may help; without `Ended` it has failed."""
        if link.blocked is not None:
            asked.failures.append(link.blocked)
            return
        constrained = asked.request.schema is not None and not link.plain
        tried = 0
        failure: Failure | None = None
        while True:
            if not link.breaker.admits():
                wait_s = link.breaker.wait_s()
                resting = _faults.resting(link.name, link.breaker.failures, wait_s)
                asked.failures.append(failure or resting)
                return
            try:
                async with aclosing(self._call(link, asked, constrained)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except CallFailed as error:
                failure = error.failure
                spent = error.spent
            finally:
                self._tracker.ended()
            self._note(link, asked, failure, spent)
            if failure.changed:
                asked.refused += 1
                continue
            if failure.schema and constrained:
                constrained = False
                continue
            tried += 1
            pause_s = self._pause_s(link, asked, failure, tried)
            if pause_s is None:
                self._give_up(asked, failure)
                return
            await self._runtime.sleep(pause_s)

    async def _call(
        self, link: Link, asked: _Asked, constrained: bool
    ) -> AsyncGenerator[Text | Restarted | Ended]:
        """Make one call.

        Raises:
            CallFailed: there is no whole reply.
            ModelError: no more calls are allowed.
        """
        self._charge(link, asked)
        if asked.has_text and asked.latest is not None:
            asked.has_text = False
            yield Restarted(asked.latest.reason)
        request = asked.request
        bounds = TextBounds(most_chars(request.max_tokens))
        spoken = False
        async with (
            aclosing(link.endpoint.ask(request, constrained=constrained)) as parts,
            aclosing(in_time(parts, link.name, self._retry_policy)) as timed,
        ):
            async for part in timed:
                match part:
                    case Text(text) if text:
                        if code := bounds.breach(text):
                            raise CallFailed(_faults.said_too_much(link.name, code))
                        spoken = spoken or not text.isspace()
                        asked.has_text = True
                        self._tracker.wrote(text)
                        yield part
                    case Answered(spent) if spoken:
                        # Recorded first: the caller may close this generator after the end.
                        self._settle(link, asked, spent)
                        link.breaker.succeeded()
                        link.plain |= asked.latest is not None and asked.latest.schema
                        yield Ended(link.name, asked.usage)
                    case Answered(spent):
                        raise CallFailed(_faults.said_nothing(link.name), spent)
                    case _:
                        pass  # a sign of life

    def _charge(self, link: Link, asked: _Asked) -> None:
        """Count the call that is made now.

        Raises:
            ModelError: no more calls are allowed.
        """
        calls = asked.usage.calls
        if calls - asked.refused >= self._retry_policy.max_calls:
            last = f" The last failure: {asked.latest.reason}" if asked.latest else ""
            raise ModelError(
                "llm-budget",
                f"{calls} calls to models gave no reply, and no more are allowed.{last}",
                "Allow more calls, or name fewer models.",
                asked.usage,
            )
        self._tracker.begin(link.name)
        asked.spent.append(Usage(calls=1))

    def _settle(self, link: Link, asked: _Asked, spent: Usage) -> None:
        self._tracker.end(link.name, spent)
        asked.spent.append(replace(spent, calls=0))

    def _note(self, link: Link, asked: _Asked, failure: Failure, spent: Usage) -> None:
        self._settle(link, asked, spent)
        asked.latest = failure
        if failure.of_the_endpoint:
            link.breaker.failed()
        else:
            link.breaker.succeeded()

    def _pause_s(self, link: Link, asked: _Asked, failure: Failure, tried: int) -> float | None:
        """Return the pause before the same model is asked again, or None if it is not."""
        if failure.course is not Course.AGAIN:
            return None
        most = asked.request.most_calls
        if most is not None and asked.usage.calls - asked.refused >= most:
            return None
        if failure.code == "llm-stream-cut" and link is not self._links[-1]:
            return None  # the caller has waited once already
        return self._retry_policy.pause_s(failure, tried, self._runtime.chance())

    def _give_up(self, asked: _Asked, failure: Failure) -> None:
        """Continue with the next model.

        Raises:
            ModelError: no other model could help.
        """
        asked.failures.append(failure)
        if failure.course is Course.NOWHERE:
            raise ModelError(failure.code, failure.reason, failure.help, asked.usage)
