"""The help of the program, and what the words of a call may look like."""

from __future__ import annotations

import pytest

from tests.cli.calls import Call
from toolplan.cli._commands import COMMANDS, commands


def test_the_commands_are_those_that_are_registered() -> None:
    registered = {
        name: app.help
        for name in commands()
        if not name.startswith("-") and (app := commands()[name])
    }
    assert registered == COMMANDS


@pytest.mark.parametrize("words", [(), ("-h",), ("--help",)])
def test_every_way_of_asking_for_help_prints_it(words: tuple[str, ...], call: Call) -> None:
    said = call(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Usage: toolplan COMMAND\n")
    assert all(name in said.out for name in COMMANDS)
