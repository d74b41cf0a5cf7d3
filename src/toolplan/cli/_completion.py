"""`toolplan --install-completion [SHELL]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from toolplan.cli._commands import commands
from toolplan.cli.terminal import CommandError, Exit, note, out

Shell = Annotated[
    Literal["bash", "zsh", "fish"] | None,
    Parameter(name="SHELL", help="The shell; by default the one that this is called from."),
]

_START: Final = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }"
"""Starts completion in zsh where nothing has; a new `.zshrc` starts none."""


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
        if wanted == "zsh":
            _start_in_zsh(path)
    except ShellDetectionError:
        raise CommandError(
            "usage", "The shell is not known.", "Name it: toolplan --install-completion bash."
        ) from None
    out().print(f"wrote {path}", soft_wrap=True)
    note("Open a new shell to use it.")
    return Exit.FINE.value


def _start_in_zsh(script: Path) -> None:
    """Have `.zshrc` start completion at its end, where it is what loads `script`."""
    startup = Path.home() / ".zshrc"
    try:
        text = startup.read_text("utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return
    if str(script.parent) in text and _START not in text:
        ending = "" if text.endswith("\n") else "\n"
        text += f"{ending}# toolplan: start completion where nothing has\n{_START}\n"
        startup.write_text(text, "utf-8", errors="surrogateescape")
