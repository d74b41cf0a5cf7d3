"""`python -m benchmarks.policy_mutants [--only TEXT] [--jobs N]`: exit 1 where one survives."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired, run
from types import ModuleType
from typing import Final

import pytest

from benchmarks.policy_mutants.mutants import MUTANTS, Mutant

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = (
    "tests/flows/test_rules_by_hand.py",
    "tests/flows/test_attacks.py",
    "tests/flows/test_plan_attacks.py",
    "tests/flows/test_policy.py",
    "tests/flows/test_guards.py",
    "tests/test_extract.py",
    "tests/flows/test_plan_flows.py",
    "tests/flows/test_lineage_laws.py",
)
_SLOW: Final = "not chains_and_long_plans and not column_outside"
_TESTS_OF: Final = {
    "toolplan.tools.extract": (
        "tests/test_extract.py",
        "tests/flows/test_attacks.py",
        "tests/flows/test_plan_attacks.py",
    ),
    "toolplan_sql._lineage": (
        "tests/flows/test_attacks.py",
        "tests/flows/test_sql_attacks.py",
        "tests/flows/test_plan_flows.py",
    ),
}
_LONGEST_S: Final = 300
_NOT_LOADED: Final = 2
"""How pytest ends where the tests cannot be collected, as the package cannot be loaded."""
_NOT_MUTATED: Final = 9


class _Mutating(SourceFileLoader):
    """Loads one module with one piece of it replaced."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
        text = mutated(self._mutant, Path(self.path).read_text("utf-8"))
        return compile(text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            loader: Loader = _Mutating(self._mutant, spec.origin)
            spec.loader = loader
        return spec


def mutated(mutant: Mutant, text: str) -> str:
    """Return the text of a module with its mutant in it.

    Raises:
        ValueError: it has the piece not at all, or more than once.
    """
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.module} has {text.count(mutant.old)} times {mutant.old!r}.")
    return text.replace(mutant.old, mutant.new)


def survives(number: int) -> bool:
    """Return whether all tests pass with a mutant, in a process of its own; -1 is none.

    Raises:
        RuntimeError: the tests could not be run.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.policy_mutants", "--run", str(number)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": folder}
        try:
            ended = run(
                command, cwd=ROOT, stdout=DEVNULL, stderr=DEVNULL, env=environment, check=False,
                timeout=_LONGEST_S,
            )  # fmt: skip
        except TimeoutExpired:
            return False
    # 1: a test failed
    if ended.returncode == _NOT_MUTATED:
        raise RuntimeError("The tests ran without the mutant.")
    if ended.returncode not in (0, 1, _NOT_LOADED):
        raise RuntimeError(f"pytest ended with {ended.returncode}.")
    return ended.returncode == 0


def _run_tests(number: int) -> int:
    tests: tuple[str, ...] = TESTS
    if number >= 0:
        mutant = MUTANTS[number]
        sys.meta_path.insert(0, _Finder(mutant))
        tests = _TESTS_OF.get(mutant.module, TESTS)
    # plain: pytest would load the modules of a package with a plugin itself, without the mutant
    options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--assert=plain", "-k", _SLOW)
    ended = int(pytest.main([*options, *tests]))
    if number >= 0 and ended != _NOT_LOADED:
        loaded = sys.modules[MUTANTS[number].module].__spec__
        if loaded is None or not isinstance(loaded.loader, _Mutating):
            return _NOT_MUTATED
    return ended


def main() -> int:
    """Run the tests with each mutant, and name those that they do not find."""
    parser = argparse.ArgumentParser(prog="benchmarks.policy_mutants", description=__doc__)
    parser.add_argument("--only", default="", help="only mutants of modules with this text")
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time")
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run is not None:
        return _run_tests(given.run)
    chosen = [at for at, each in enumerate(MUTANTS) if given.only in each.module]
    if not survives(-1):
        raise SystemExit("The tests fail without a mutant.")
    began = time.monotonic()
    alive = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for at, lives in zip(chosen, pool.map(survives, chosen), strict=True):
            alive += lives
            if lives:
                each = MUTANTS[at]
                print(f"survives: {each.module}\n  - {each.old!r}\n  + {each.new!r}", flush=True)
    took = time.monotonic() - began
    print(f"{len(chosen)} mutants, {len(chosen) - alive} found, {alive} survive ({took:.0f} s).")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main())
