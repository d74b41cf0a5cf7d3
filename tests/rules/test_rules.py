"""File pairs: `<rule>/<case>.json` is a plan, `<rule>/<case>.out` the exact words said about it.

`UPDATE_SNAPSHOTS=1 pytest tests/rules` writes the words; whoever does so reads the difference.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolplan import Policy, Severity
from toolplan.compiler.rules import RULES, SYNTAX_PAGES, PlanContext, Rule, diagnose
from toolplan.compiler.rules import _all as all_rules
from toolplan.plan.canonical import load
from toolplan.schema.tool import LearnedOutput, Toolbox

HERE = Path(__file__).parent
TOOLS = Toolbox.from_json(json.loads((HERE / "tools.json").read_text("utf-8")))
CASES = sorted(HERE.glob("*/*.json"))


def said(case: Path) -> str:
    """Return what all rules together say about the plan of `case`."""
    document: dict[str, Any] = json.loads(case.read_text("utf-8"))
    parsed = load(document["plan"])
    assert parsed.plan is not None
    assert not [each for each in parsed.diagnostics if each.severity is Severity.ERROR]
    allow = document.get("allow")
    learned = {name: LearnedOutput(*each) for name, each in document.get("learned", {}).items()}
    tools = Toolbox(replace(tool, learned=learned.get(tool.name)) for tool in TOOLS.values())
    policy = replace(Policy.from_json(document.get("policy", {})), allow=allow and tuple(allow))
    context = PlanContext(parsed.plan, tools, policy)
    lines: list[str] = []
    for each in diagnose(context):
        lines.append(f"{each.severity.value}[{each.code}] {each.step} {each.pointer}")
        lines.append(f"    {each.message}")
        if each.help:
            lines.append(f"    help: {each.help}")
        if each.fix:
            lines.append(f"    {'safe' if each.fix.safe else 'unsafe'} fix:")
            lines += [
                f"      {edit.pointer} = {json.dumps(edit.value, ensure_ascii=False)}"
                for edit in each.fix.edits
            ]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_says_exactly_what_is_wrong(case: Path) -> None:
    expected = case.with_suffix(".out")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        expected.write_text(said(case), "utf-8")
    assert said(case) == expected.read_text("utf-8")


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_each_rule_fires_in_one_pair_and_is_silent_in_another(code: str) -> None:
    outs = {path.stem: path.read_text("utf-8") for path in (HERE / code).glob("*.out")}
    assert any(f"[{code}]" in text for text in outs.values())
    assert f"[{code}]" not in outs["silent"]


def test_every_rule_of_every_module_is_in_the_tuple() -> None:
    folder = Path(all_rules.__file__).parent
    modules = [
        import_module(f"{all_rules.__package__}.{path.stem}")
        for path in sorted(folder.glob("[!_]*.py"))
    ]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rule)]
    assert {rule.code for rule in found} == {rule.code for rule in RULES}


def test_codes_are_unique_and_every_code_has_a_page_with_a_summary() -> None:
    codes = [rule.code for rule in RULES] + list(SYNTAX_PAGES)
    assert len(codes) == len(set(codes))
    for rule in RULES:
        assert rule.summary.endswith(".")
        assert "How to fix:" in rule.page
    for page in SYNTAX_PAGES.values():
        assert page.partition("\n")[0].endswith(".")
