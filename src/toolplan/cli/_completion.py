"""`toolplan --install-completion [SHELL]`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from toolplan.cli._app import commands
from toolplan.cli._terminal import CommandError, Exit, note, out

Shell = Annotated[
    Literal["bash", "zsh", "fish"] | None,
    Parameter(name="SHELL", help="The shell; by default the one that this is called from."),
]


def install_completion(shell: Shell = None, /) -> int:
    """Install completion for the shell: bash, zsh or fish.

    A script is written to the folder of the shell, and for bash and zsh a line that loads it is
    added to ~/.bashrc or ~/.zshrc. Call it again after an upgrade.
    """
    try:
        wanted = shell or detect_shell()
        if wanted == "powershell":
            raise ShellDetectionError
        path = commands().install_completion(shell=wanted)
    except ShellDetectionError:
        raise CommandError(
            "usage", "The shell is not known.", "Name it: toolplan --install-completion bash."
        ) from None
    out().print(f"wrote {path}", soft_wrap=True)
    note("Open a new shell to use it.")
    return Exit.FINE.value
