"""The command line: one command a file, loaded when it is used."""

from toolplan.cli._commands import main

__all__ = ["main"]
