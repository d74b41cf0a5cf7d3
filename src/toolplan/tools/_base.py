"""The interface of a source of tools: the entry points of the group `toolplan.sources`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field

from toolplan.schema.tool import Tool, Toolbox, ToolObjectError

_OTHER: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME: Final = 64


def plain_name(text: str) -> str:
    """Return `text` as a name of a tool that plans can write; empty where it has no letters.

    >>> plain_name("repos/get")
    'repos_get'
    """
    name = _OTHER.sub("_", text).strip("_")
    return name[:_LONGEST_NAME]


class SourceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [sources.NAME] of the settings.

    `trusted`: statements of the source count. `headers` are sent with each request.
    """

    trusted: bool = False
    headers: dict[str, str] = {}


class SourceContext(Struct, frozen=True):
    """The resources of a source when it opens tools.

    Attributes:
        folder: where relative paths and modules are looked up.
        environment: the variables that a source may read.
        settings: tables of the user's `toolplan.toml`, by name.
        settings_path: the file of the settings, for messages.
        data: the user's data folder; it may not exist yet.
        base_url: the address of the service, where the user gave one.
        note: called with each sentence that the user should know. It may hold text of a server.
        ask: called with the claims of a source about its tools and the question if they count;
            returns None where no person can be asked.
        grace_s: seconds to wait for slow servers once others have answered; tools that come
            later are in `OpenedTools.late`. None: as long as they take to start.
        accepts: the command accepts the tools, so that nothing tells how to.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]]
    )
    settings_path: Path = Path("toolplan.toml")
    data: Path = Path()
    base_url: str | None = None
    note: Callable[[str], None] = lambda _: None
    ask: Callable[[str], bool | None] = lambda _: None
    grace_s: float | None = None
    accepts: bool = False

    def table_of(self, source: str) -> SourceTable:
        """Return what the settings say of the source called `source`, as written there.

        Raises:
            ToolObjectError: [sources.NAME] cannot be read.
        """
        try:
            return msgspec.convert(self.settings.get("sources", {}).get(source, {}), SourceTable)
        except msgspec.ValidationError:
            raise ToolObjectError(
                f"{self.settings_path}: [sources.{source}] cannot be used.",
                "It has a line such as `trusted = true`, or a table [sources.NAME.headers] of"
                " texts.",
            ) from None


class ServerStatus(Struct, frozen=True):
    """The state of a server of tools after opening. No text of it holds a secret.

    Attributes:
        name: its name in the configuration.
        text: a clause: its tools, and who is signed in; or why it cannot be used.
        is_usable: whether it has given its tools.
    """

    name: str
    text: str
    is_usable: bool = True


class OpenedTools(Struct, frozen=True):
    """Tools that can be called until their source is closed.

    `insights` are functions that find sentences in what the tools return (`toolplan.show.answer`).
    `accept` pins all tools as they are now, or the one of that name, and returns the lock file; it
    is None where tools cannot change by themselves. `faults` say which servers or operations
    cannot be used, and why. `address` is the URL of the service, where the user has set it.
    `servers` are all that were asked for tools. `pins` says in a clause where the tools are pinned.
    `late` returns the tools again where a slow server has answered or failed since, else None;
    `has_news` says at once whether it has some; without it, `late` is asked each time.
    """

    tools: Toolbox
    insights: tuple[Callable[..., object], ...] = ()
    accept: Callable[[str | None], Path] | None = None
    faults: tuple[str, ...] = ()
    address: str | None = None
    servers: tuple[ServerStatus, ...] = ()
    pins: str = ""
    late: Callable[[], OpenedTools | None] | None = None
    has_news: Callable[[], bool] | None = None


class ToolSource(Protocol):
    """Opens the tools that a text names: one entry point of the group `toolplan.sources`.

    `takes_base_url` says whether `--base-url` has a meaning for it; `help` is one sentence for a
    person whose tools cannot be opened.
    """

    takes_base_url: bool
    help: str

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` names tools of this kind; relative paths start in `folder`."""
        ...

    def open(self, spec: str, context: SourceContext) -> AbstractContextManager[OpenedTools]:
        """Open the tools; leaving the context closes them.

        Raises:
            ToolObjectError: there are no such tools, or they cannot be used.
        """
        ...


def claim_lines(tools: Iterable[Tool]) -> Iterator[str]:
    """Yield the claims of sources that would lower the guard of their tools, tools by claim."""
    by_claim: dict[tuple[str, str], list[str]] = {}
    for tool in tools:
        if tool.claim is not None:
            by_claim.setdefault((tool.source, str(tool.claim)), []).append(tool.name)
    for (source, claim), names in by_claim.items():
        yield f"{source} says that {claim}: {', '.join(names)}"
