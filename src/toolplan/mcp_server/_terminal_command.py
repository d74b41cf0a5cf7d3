"""Commands for the person: complete, so that they work in any terminal of this machine."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from toolplan.app.settings import VARIABLE


def own_command() -> list[str]:
    """Return the words that start this toolplan from anywhere."""
    script = Path(sys.executable).with_name("toolplan.exe" if os.name == "nt" else "toolplan")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "toolplan"]


def terminal_command(*arguments: str) -> str:
    """Return a command line that runs this toolplan as this process would.

    A client starts the server in a folder and with variables of its own, and its `toolplan` need
    not be on the person's PATH. So the line names the executable, the data folder, and the folder
    from which the names of tools are read.
    """
    called = own_command()
    named = os.environ.get(VARIABLE)
    home = None if named is None else str(Path(named).absolute())
    folder = str(Path.cwd())
    if os.name == "nt":
        at = "" if home is None else f'set "{VARIABLE}={home}" && '
        return f'cd /d "{folder}" && {at}{subprocess.list2cmdline([*called, *arguments])}'
    at = "" if home is None else f"{VARIABLE}={shlex.quote(home)} "
    return f"cd {shlex.quote(folder)} && {at}{shlex.join([*called, *arguments])}"
