"""A model that says what it was told to say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, TypeAlias

from toolplan.providers import Ended, ModelError, ModelRequest, Piece, Text, Usage

ModelReply: TypeAlias = (
    str | ModelError | Sequence[Piece | ModelError] | Callable[[ModelRequest], str]
)

_CHARS_PER_TOKEN: Final = 4


class ScriptedModel:
    """Gives `replies` one after the other, and the last one for ever.

    A reply is a text, which comes in pieces of `piece_chars` characters and then ends; an error,
    which is raised; a list of pieces, given as they are, an error among them being raised at its
    place (without `Ended` the reply is never whole); or a function that makes a text of the
    request. A lone text is a script of one reply. `requests` holds every request so far.
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
        """How it is told apart."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the next reply.

        Raises:
            ModelError: the script says so.
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
            return self._told(request, reply)
        return self._told(request, reply(request)) if callable(reply) else reply

    def _told(self, request: ModelRequest, text: str) -> list[Piece]:
        size = self._piece_chars
        asked = sum(len(message.text) for message in request.messages)
        usage = Usage(1, asked // _CHARS_PER_TOKEN, len(text) // _CHARS_PER_TOKEN)
        texts = [Text(text[at : at + size]) for at in range(0, len(text), size)]
        return [*texts, Ended(self._name, usage)]
