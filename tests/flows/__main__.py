"""Laws of flows on many random plans, for minutes or hours.

`python -m tests.flows [--plans N] [--statements N] [--taints N] [--first SEED]` exits with an error
at the first plan or statement that breaks one, and names its seed.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from tests.flows import test_lineage_laws, test_non_interference, test_taints

_Found = TypeVar("_Found")


def main() -> None:
    """Check the laws on as many seeds as are asked for."""
    parser = argparse.ArgumentParser(prog="tests.flows", description=__doc__)
    parser.add_argument("--plans", type=int, default=0, help="plans run with other outputs")
    parser.add_argument("--statements", type=int, default=0, help="statements of SQL")
    parser.add_argument("--taints", type=int, default=0, help="plans followed value by value")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    _repeat("plans", given.plans, given.first, test_non_interference.check)
    _repeat("statements", given.statements, given.first, _statement)
    totals = _repeat("taints", given.taints, given.first, test_taints.check)
    if given.taints:
        flows, stricter = sum(each[0] for each in totals), sum(each[1] for each in totals)
        print(f"{flows:,} flows, {stricter:,} stricter ({stricter / flows:.1%}), none looser.")


def _statement(seed: int) -> bool:
    return test_lineage_laws.check(seed, known=seed % 2 == 0)


def _repeat(what: str, count: int, first: int, check: Callable[[int], _Found]) -> list[_Found]:
    found: list[_Found] = []
    began = time.monotonic()
    for seed in range(first, first + count):
        try:
            found.append(check(seed))
        except AssertionError as error:
            raise SystemExit(f"{what}, seed {seed}: {error}") from error
    if count:
        print(f"{count:,} {what} from seed {first} ({time.monotonic() - began:.0f} s).")
    return found


if __name__ == "__main__":
    main()
