"""The command line: modules of commands that belong together, loaded when one is used."""

from toolplan.cli._commands import main

__all__ = ["main"]
