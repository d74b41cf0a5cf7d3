"""To add a rule: what CONTRIBUTING says is all there is to do, in this tree or in a package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path

import pytest

from toolplan import App, Plan, Severity, Step, Toolbox, ToolplanError
from toolplan.base import extensions
from toolplan.base.extensions import EntryPoint, entry_points
from toolplan.compiler import check, compile_plan, compile_stream
from toolplan.compiler.rules import (
    RULES,
    PlanContext,
    Problem,
    all_rules,
    diagnose,
    rule,
    rule_pages,
)
from toolplan.planners import Refusal
from toolplan.testing import ScriptedPlanner

ROOT = Path(__file__).parents[2]
RULE = '''"""The rule `no-shouting`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule


@rule()
def no_shouting(context: PlanContext) -> Iterator[Problem]:
    """The id of a step is in capitals.

    How to fix: write it in small letters.
    """
    for position, step in enumerate(context.plan.steps):
        if step.id.isupper():
            yield Problem(f"{step.id!r} is in capitals.", f"/steps/{position}/id", step.id)
'''


def test_what_contributing_says_is_all_there_is_to_do(tmp_path: Path) -> None:
    for name in ("src", "tools", "docs/rules", "docs/decisions", "tests/rules"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in (
        "tests/__init__.py",
        "conftest.py",
        "tests/postgres.py",
        "tests/slow.py",
        "tests/slow_tests.txt",
        "tests/stores.py",
        "pyproject.toml",
    ):
        shutil.copy(ROOT / name, tmp_path / name)
    rules = tmp_path / "src/toolplan/compiler/rules"
    (rules / "no_shouting.py").write_text(RULE, "utf-8")
    table = (rules / "_all.py").read_text("utf-8")
    table = table.replace("    order,\n", "    no_shouting,\n    order,\n", 1)
    last = "    lists.fan_out_large,\n"
    table = table.replace(f"{last})", f"{last}    no_shouting.no_shouting,\n)", 1)
    (rules / "_all.py").write_text(table, "utf-8")
    pair = tmp_path / "tests/rules/no-shouting"
    pair.mkdir()
    plan = '{"plan": {"toolplan": 1, "steps": [{"id": "ID", "tool": "free"}]}}'
    (pair / "fires.json").write_text(plan.replace("ID", "A"), "utf-8")
    (pair / "silent.json").write_text(plan.replace("ID", "a"), "utf-8")

    for command in _commands("Add a rule"):
        _run(tmp_path, command)

    assert "[no-shouting] A /steps/0/id" in (pair / "fires.out").read_text("utf-8")
    assert (pair / "silent.out").read_text("utf-8") == ""
    assert "How to fix:" in (tmp_path / "docs/rules/no-shouting.md").read_text("utf-8")
    _run(tmp_path, ".venv/bin/python tools/generate.py --check")
    _run(tmp_path, ".venv/bin/pytest tests/rules")


def _commands(heading: str) -> Iterator[str]:
    """Yield the commands that CONTRIBUTING gives under `heading`."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    yield from re.findall(r"^ {7}(\S.*)$", section, re.MULTILINE)


def _run(folder: Path, command: str) -> None:
    *settings, program, argument = command.split(maxsplit=command.count("=") + 1)
    arguments = argument.split()
    if program.endswith("pytest"):
        one = "-k=no-shouting or every_module or unique"  # the others are those of this tree
        arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", one, *arguments]
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            **dict(s.split("=") for s in settings),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


# Rules of other packages


@rule(Severity.WARNING)
def single_step(context: PlanContext) -> Iterator[Problem]:
    """The plan has one step only."""
    if len(context.plan.steps) == 1:
        yield Problem("There is one step.", "/steps/0")


Offer = Callable[..., None]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Yield a function that makes installed packages offer these objects of this module."""

    def offer(**named: str) -> None:
        values = ((name, f"{__name__}:{value}") for name, value in named.items())
        theirs = [EntryPoint("a-package", "toolplan.rules", name, value) for name, value in values]

        def installed(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
            return (*theirs, *entry_points(path))

        monkeypatch.setattr(extensions, "entry_points", installed)
        all_rules.cache_clear()

    yield offer
    all_rules.cache_clear()


AGAIN = RULES[0]
NO_RULE = "a text"
PLAN = Plan((Step("a", "t"),))
TEXT = '{"toolplan": 1, "steps": [{"id": "a", "tool": "t"}]}'
TOOLS = Toolbox.from_json([{"name": "t", "input_schema": {"type": "object"}}])


def test_rules_of_packages_run_after_ours_everywhere(offer: Offer) -> None:
    offer(a_package="single_step")
    assert [*map(str, all_rules())] == [*map(str, RULES), "single-step"]
    assert rule_pages()["single-step"] == "The plan has one step only."
    assert [each.code for each in check(PLAN, TOOLS)] == ["single-step"]
    assert [each.code for each in compile_plan(TEXT, tools=TOOLS).diagnostics] == ["single-step"]
    assert [each.code for each in diagnose(PlanContext(PLAN, TOOLS), RULES)] == []


def test_rules_may_be_named_at_every_way_in(offer: Offer) -> None:
    offer()
    for rules in ((), [single_step]):
        codes = [each.code for each in rules]
        assert [each.code for each in check(PLAN, TOOLS, rules=rules)] == codes
        compiled = compile_plan(TEXT, tools=TOOLS, rules=rules)
        assert [each.code for each in compiled.diagnostics] == codes
        app = App(TOOLS, ScriptedPlanner(Refusal("no")), rules=rules)
        assert [each.code for each in app.check(TEXT).diagnostics] == codes


@pytest.mark.parametrize(
    ("value", "says"), [("NO_RULE", "is not a Rule"), ("AGAIN", "a second rule 'unknown-tool'")]
)
def test_what_is_no_rule_or_a_second_one_is_refused(offer: Offer, value: str, says: str) -> None:
    offer(odd=value)
    with pytest.raises(ToolplanError, match=says) as raised:
        all_rules()
    assert raised.value.code == "bad-extension"


def test_signatures_do_not_print_the_pages_of_rules() -> None:
    assert repr(single_step) == "single-step"
    assert all(len(str(signature(each))) < 700 for each in (compile_plan, compile_stream, diagnose))
