"""`toolplan studio`."""

from __future__ import annotations

import os
import threading
import webbrowser
from typing import Annotated

from cyclopts import Parameter

from toolplan import open
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli.terminal import CommandError, Exit, note
from toolplan.mcp_server.http.serving import CannotServe
from toolplan_studio._page import HOW_TO_BUILD, NOT_BUILT, is_built
from toolplan_studio._server import DEFAULT_PORT, TOKEN, serve, session_key
from toolplan_studio._session import Sessions

NoOpenFlag = Annotated[
    bool, Parameter(name="--no-open", help="Print the address; open no browser.")
]
LinkFlag = Annotated[
    bool,
    Parameter(
        name="--link",
        help="Print an address that lets another browser into the studio that runs; serve none.",
    ),
]
HostOption = Annotated[
    str, Parameter(help="The address to listen on; all but loopback need TOOLPLAN_STUDIO_TOKEN.")
]
OriginOption = Annotated[
    tuple[str, ...],
    Parameter(help="Another address of the studio, as https://plans.example (repeatable)."),
]
UserHeaderOption = Annotated[
    str | None,
    Parameter(help="The header in which a proxy names the user, as X-Forwarded-User."),
]


def studio_command(
    opening: options.PlannerOptions = options.PlannerOptions(),
    *,
    journal: options.JournalOption = None,
    host: HostOption = "127.0.0.1",
    port: options.PortOption = DEFAULT_PORT,
    no_open: NoOpenFlag = False,
    link: LinkFlag = False,
    origin: OriginOption = (),
    user_header: UserHeaderOption = None,
) -> int:
    """Open the page on which plans are asked for, approved and watched.

    The address that it prints lets one browser in, once. Other computers
    reach it only with --host and a token of 16 characters or more in
    TOOLPLAN_STUDIO_TOKEN. Runs that are active when it ends can be resumed.
    """
    token = os.environ.get(TOKEN) or None
    if link:
        if port == 0 and not origin:
            message = "--link needs the port of the studio that runs."
            raise CommandError("usage", message, "Name it with --port.")
        shown = f"[{host}]" if ":" in host else host
        address = origin[0].rstrip("/") if origin else f"http://{shown}:{port}"
        note(f"The studio: {address}/#token={Sessions(session_key(token)).one_time_token()}")
        return Exit.FINE.value
    if not is_built():
        note(f"{NOT_BUILT} {HOW_TO_BUILD} The API is served without it.")

    def ready(url: str) -> None:
        note(f"The studio: {url}")
        if not no_open and is_built():
            # a browser that does not come back at once may not hold up the server
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    with open(**vars(opening), journal=journal, on_note=note) as app:
        serving = serve(
            app, host=host, port=port, token=token, origins=origin,
            user_header=user_header, on_ready=ready,
        )  # fmt: skip
        try:
            run_to_end(serving)
        except CannotServe as error:
            about_token = error.code in ("not-loopback", "weak-token")
            more = f" A token is read from {TOKEN}." if about_token else ""
            raise CommandError(error.code, error.message, f"{error.help or ''}{more}") from None
    return Exit.FINE.value
