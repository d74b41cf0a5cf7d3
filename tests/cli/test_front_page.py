"""The help of the program: printed without the libraries that commands need."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.cli.calls import Call
from toolplan.cli._front_page import COMMANDS, front_page
from toolplan.cli._library import commands


def printed_by_the_library(width: int) -> str:
    file = io.StringIO()
    commands().help_print([], console=Console(file=file, width=width))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 137])
def test_the_help_is_what_the_library_prints(width: int) -> None:
    assert front_page(width) == printed_by_the_library(width)


def test_the_commands_are_those_that_are_registered() -> None:
    registered = {
        name: app.help
        for name in commands()
        if not name.startswith("-") and (app := commands()[name])
    }
    assert registered == COMMANDS


@pytest.mark.parametrize("words", [(), ("-h",), ("--help",)])
def test_every_way_of_asking_for_help_prints_it(
    words: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    said = call(*words)
    assert (said.code, said.out, said.err) == (0, front_page(72), "")


def test_output_that_is_not_utf_gets_plain_lines() -> None:
    assert front_page(80, is_ascii=True).isascii()


def test_a_terminal_too_narrow_for_the_table_still_gets_it() -> None:
    assert front_page(1) == front_page(40)
