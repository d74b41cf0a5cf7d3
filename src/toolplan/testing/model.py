"""A model with scripted replies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, TypeAlias

from toolplan.providers import Ended, ModelError, ModelRequest, Piece, Text, Usage

ModelReply: TypeAlias = (
    str | ModelError | Sequence[Piece | ModelError] | Callable[[ModelRequest], str]
)

_CHARS_PER_TOKEN: Final = 4


class ScriptedModel:
    """Returns `replies` one after the other, and then the last one again.

    A reply is a text, which comes in pieces of `piece_chars` characters; an error, which is raised;
    a list of pieces, in which an error is raised at its place (without `Ended` the reply is
    incomplete); or a function from the request to a text. `requests` holds all requests.
    """

    def __init__(
        self,
        replies: str | Sequence[ModelReply],
        *,
        name: str = "scripted:model",
        piece_chars: int = 16,
    ) -> None:
        """Prepare the replies.

        Raises:
            ValueError: there is none.
        """
        self._replies: list[ModelReply] = [replies] if isinstance(replies, str) else [*replies]
        if not self._replies:
            raise ValueError("A scripted model needs at least one reply.")
        self._name = name
        self._piece_chars = piece_chars
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The display name."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the next reply.

        Raises:
            ModelError: the reply is an error.
        """
        at = min(len(self.requests), len(self._replies) - 1)
        self.requests.append(request)
        for piece in self._pieces(request, self._replies[at]):
            if isinstance(piece, ModelError):
                raise piece
            yield piece

    def _pieces(self, request: ModelRequest, reply: ModelReply) -> Sequence[Piece | ModelError]:
        if isinstance(reply, ModelError):
            return [reply]
        if isinstance(reply, str):
            return self._text(request, reply)
        return self._text(request, reply(request)) if callable(reply) else reply

    def _text(self, request: ModelRequest, text: str) -> list[Piece]:
        size = self._piece_chars
        asked = sum(len(message.text) for message in request.messages)
        usage = Usage(1, asked // _CHARS_PER_TOKEN, len(text) // _CHARS_PER_TOKEN)
        texts = [Text(text[at : at + size]) for at in range(0, len(text), size)]
        return [*texts, Ended(self._name, usage)]
