"""A model whose requests are spans, with what they used."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter

from toolplan import traces
from toolplan.path import Json
from toolplan.providers import Ended, Model, ModelError, ModelRequest, Piece, Restarted, Text


class TracedModel:
    """Passes requests on to a model; each is a span `chat`."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """Display name of the model."""
        return self._inner.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply as it is written.

        Raises:
            ModelError: there is no whole reply.
        """
        if not traces.is_on():
            async with aclosing(self._inner.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        async with aclosing(self._traced(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def _traced(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        content = traces.captures_content()
        # not the current span: a generator's context is that of whoever reads it
        opened = traces.start(
            f"chat {self.name}",
            {
                traces.OPERATION: "chat",
                traces.PROVIDER: self.name.partition(":")[0],
                traces.REQUEST_MODEL: self.name,
            },
            kind="CLIENT",
        )
        if content:
            messages: Json = [
                {"role": each.role, "content": each.text} for each in request.messages
            ]
            opened.set_attribute(traces.INPUT_MESSAGES, traces.content_text(messages))
        began, said = perf_counter(), list[str]()
        try:
            async with aclosing(self._inner.stream(request)) as pieces:
                async for piece in pieces:
                    match piece:
                        case Text(text=text) if content:
                            said.append(text)
                        case Restarted():
                            said.clear()
                        case Ended(model=name, usage=used):
                            tokens = {"input": used.input_tokens, "output": used.output_tokens}
                            opened.set_attributes(
                                {
                                    traces.RESPONSE_MODEL: name,
                                    traces.INPUT_TOKENS: used.input_tokens,
                                    traces.OUTPUT_TOKENS: used.output_tokens,
                                }
                            )
                            took = perf_counter() - began
                            traces.measure_tokens("chat", name, tokens, took, used.cost_usd)
                        case _:
                            pass
                    yield piece
        except ModelError as error:
            traces.fail(opened, error.code)
            raise
        finally:
            if said:
                reply: Json = [{"role": "assistant", "content": "".join(said)}]
                opened.set_attribute(traces.OUTPUT_MESSAGES, traces.content_text(reply))
            opened.end()
