"""The rules for who works on the grammar: sizes, and that no code speaks of a domain."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from toolplan_demo import TOOLS
from toolplan_offline import deeds, follow_ups, phrases, questions
from toolplan_offline.grammar import load
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.reading import FUNCTIONS
from toolplan_offline.schemas import Schemas

SOURCE = Path(__file__).parents[1] / "src" / "toolplan_offline"
MODULES = sorted(SOURCE.glob("*.py"))
MOST_LINES = 4_500
MOST_GRAMMAR = 400
MOST_FUNCTION = 15


def functions_of_meaning() -> Iterator[tuple[str, int]]:
    """Yield each function that a grammar may name, with the lines of its body."""
    for name, function in FUNCTIONS.items():
        node = ast.parse(inspect.getsource(function)).body[0]
        assert isinstance(node, ast.FunctionDef)
        yield name, (node.end_lineno or 0) - node.body[0].lineno


def test_the_planner_and_its_grammar_stay_small() -> None:
    lines = {
        path.name: path.read_text("utf-8").count("\n")
        for path in SOURCE.iterdir()
        if path.is_file()
    }
    assert sum(lines.values()) <= MOST_LINES
    assert lines["grammar.txt"] <= MOST_GRAMMAR


def test_functions_of_meaning_are_short() -> None:
    assert [(name, lines) for name, lines in functions_of_meaning() if lines > MOST_FUNCTION] == []


def test_each_function_of_a_rule_is_there_and_each_one_is_used() -> None:
    rules = [*load().rules, *load("deeds.txt").rules]
    named = {rule.function for rule in rules}
    assert named == set(FUNCTIONS)


def test_each_part_of_a_rule_can_come_of_something() -> None:
    grammars = load(), load("deeds.txt")
    made = {rule.category for grammar in grammars for rule in grammar.rules}
    classes = [found for grammar in grammars for found in grammar.classes.values()]
    made |= {category for entries in classes for category, _ in entries}
    given = {
        "N",
        "N1",
        "NK",
        "ND",
        "V",
        "VN",
        "VN1",
        "VP",
        "C",
        "F",
        "FS",
        "GK",
        "GKS",
        "U",
        "ID",
        "VR",
        "TOP",
    }
    given |= {"R", "RN", "TF", "UN", "WHO"}
    given |= {"VERB", "MORE", "LESS", "HIGH", "DID", "DONE", "REPORT", "NUM", "WHEN", "UNK", "CODE"}
    parts = {part for grammar in grammars for rule in grammar.rules for part in rule.parts}
    assert parts <= made | given


def test_no_word_of_a_domain_stands_in_code() -> None:
    lexicon = Lexicon(Schemas(TOOLS.values()))
    fields = [f for entity in lexicon.entities.values() for f in entity.fields.values()]
    values = {str(v).lower() for f in fields if f.kind != "bool" for v in f.values if f.values}
    words = {*lexicon.entities} | {value for value in values if len(value) > 4 and " " not in value}
    words -= {"other", "pending"}  # a clarification without an answer is pending
    found = {
        (path.name, word)
        for path in MODULES
        for word in re.findall(r"[a-z]+", path.read_text("utf-8").lower())
        if word in words
    }
    assert found == set()


def test_no_two_functions_of_meaning_share_a_name() -> None:
    modules = (phrases, questions, follow_ups, deeds)
    names = [
        name
        for module in modules
        for name, found in vars(module).items()
        if inspect.isfunction(found) and found.__module__ == module.__name__ and name[0] != "_"
    ]
    assert sorted(names) == sorted(FUNCTIONS)
