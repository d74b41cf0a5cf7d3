"""Plain calls are read without cyclopts, and as cyclopts reads them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.calls import Call
from tests.sizes import share_of
from toolplan.cli._front_page import COMMANDS
from toolplan.cli._library import commands
from toolplan.cli._parameter import Parameter
from toolplan.cli._plain_call import plain_call

VALUES = (
    "x", "plan.json", "-", "3", "0", "2.5", "1e3", "0x10", "007", "none", "NULL", "true", "a=b",
    "[1]", "{}", "", " ", "--", "-x", "--json", "--yes", "calendar", "json", "init", "check",
    "rolling", "Rolling", "2026-01-01", "--tools", "--tools=", "--tools=a", "--yes=true", "-n",
    "--no-json", "--plan_only", "--help", "a b",
)  # fmt: skip


def command_of(name: str) -> Callable[..., object]:
    return getattr(import_module(f"toolplan.cli.{name}"), f"{name}_command")


def options_of(name: str) -> list[str]:
    hints = command_of(name).__annotations__
    module = vars(import_module(f"toolplan.cli.{name}"))
    said = [
        each
        for hint in hints.values()
        for each in getattr(module.get(hint), "__metadata__", ())
        if isinstance(each, Parameter)
    ]
    return [option for each in said for option in each.options]


def bound(command: Callable[..., object], *arguments: object, **options: object) -> dict[str, Any]:
    return inspect.signature(command).bind(*arguments, **options).arguments


def as_read_plainly(name: str, words: list[str]) -> dict[str, Any] | None:
    command = command_of(name)
    call = plain_call(command, words)
    if call is None:
        return None
    made = cast("partial[object]", call)
    return bound(command, *made.args, **made.keywords)


def as_the_library_reads(name: str, words: list[str]) -> dict[str, Any]:
    found = commands().parse_args([name, *words], exit_on_error=False, print_error=False)
    return bound(command_of(name), *found[1].args, **found[1].kwargs)


@settings(max_examples=share_of(400), deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(COMMANDS)))
def test_what_is_read_plainly_is_read_by_the_library_alike(data: st.DataObject, name: str) -> None:
    words = data.draw(st.lists(st.sampled_from((*options_of(name), *VALUES)), max_size=6))
    plainly = as_read_plainly(name, words)
    if plainly is not None:
        assert plainly == as_the_library_reads(name, words)


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Who did it?"),
        ("ask", "Who?", "--tools", "a.json", "--model", "a:b", "--model", "c:d", "--yes", "--json"),
        ("ask", "Who?", "--timeout", "2.5", "--weeks", "calendar", "--today=2026-01-01"),
        ("ask", "--eager", "--", "Why?"),
        ("check", "a.json", "b.json", "--tools", "toolplan.demo:TOOLS"),
        ("check", "-", "--format", "sarif", "--fix"),
        ("run", "plan.json", "--tools", "a.json", "--concurrency", "4", "--concurrency", "a=1"),
        ("runs", "--limit", "3"),
        ("test", "a.yaml", "b.yaml", "-n", "3", "--junit", "out.xml"),
        ("policy", "check", "plan.json"),
        ("explain",),
        ("init", "folder"),
    ],
)
def test_usual_calls_are_plain(words: tuple[str, ...]) -> None:
    name, *rest = words
    plainly = as_read_plainly(name, rest)
    assert plainly is not None
    assert plainly == as_the_library_reads(name, rest)


@pytest.mark.parametrize(
    "words",
    [
        ("ask",),
        ("ask", "--help"),
        ("ask", "Who", "did it?"),
        ("ask", "Who?", "--modle", "a:b"),
        ("ask", "Who?", "--weeks", "monthly"),
        ("ask", "Who?", "--timeout", "long"),
        ("check", "--fix"),
        ("check", "--no-such-option"),
        ("run", "plan.json"),
    ],
)
def test_what_is_not_plain_is_left_to_the_library(words: tuple[str, ...]) -> None:
    name, *rest = words
    assert as_read_plainly(name, rest) is None


def test_each_command_is_found_by_the_library_under_a_name_of_its_own() -> None:
    for name in COMMANDS:
        found = vars(commands()[name].default_command)["__wrapped__"]
        assert found is command_of(name)


def test_a_value_that_a_validator_refuses_is_left_to_the_library() -> None:
    assert as_read_plainly("ask", ["Who?", "--approve", " "]) is None


@pytest.mark.parametrize("word", ["--no-fix", "--empty-effects"])
def test_no_option_is_offered_that_there_is_not(word: str, call: Call) -> None:
    said = call("check", "plan.json", word)
    assert said.code == 2
    assert word not in said.err.partition("Did you mean")[2]
