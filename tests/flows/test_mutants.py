"""The weakened rules of `benchmarks.policy_mutants`: each is still a piece of its module."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.policy_mutants.__main__ import mutated
from benchmarks.policy_mutants.mutants import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=range(len(MUTANTS)))
def test_each_mutant_is_a_change_of_a_module(mutant: Mutant) -> None:
    found = find_spec(mutant.module)
    assert found is not None
    assert found.origin is not None
    text = Path(found.origin).read_text("utf-8")
    changed = mutated(mutant, text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
