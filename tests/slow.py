"""Which tests are slow: `make test` leaves them out, `make slow` runs them, CI runs both.

`slow_tests.txt` names them: those that take 0.12 s of CPU or more, the processes that they start
included, on average over their parameters. They are measured by

    pytest -n auto -p tests.slow --cpu-times FOLDER && python -m tests.slow FOLDER

which writes the file anew.
"""

import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from statistics import mean
from typing import Final

import pytest

LEAST_S: Final = 0.12
LISTED: Final = Path(__file__).with_name("slow_tests.txt")
_FOLDER: Final = pytest.StashKey[Path]()


def slow_tests() -> frozenset[str]:
    """Return the slow tests: `tests/test_path.py::test_name`, without parameters."""
    return frozenset(LISTED.read_text("utf-8").split())


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the slow ones among `items` with `slow`."""
    slow = slow_tests()
    for item in items:
        if _name(item) in slow:
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-times", type=Path, help="Write the CPU time of each test there.")


def pytest_configure(config: pytest.Config) -> None:
    folder: Path | None = config.getoption("--cpu-times")
    if folder is not None:
        if not hasattr(config, "workerinput") and folder.exists():
            raise pytest.UsageError(f"{folder} is there; times of two runs are not to be mixed")
        folder.mkdir(exist_ok=True)
        config.stash[_FOLDER] = folder


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = _cpu_s()
    try:
        return (yield)
    finally:
        if folder := item.config.stash.get(_FOLDER, None):
            line = json.dumps([_name(item), _cpu_s() - before])
            with (folder / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(f"{line}\n")


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(folder: Path) -> None:
    """Write the list of slow tests from the times in `folder`."""
    times: dict[str, list[float]] = defaultdict(list)
    for file in folder.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            name, seconds = json.loads(line)
            times[name].append(seconds)
    tests = {name: mean(each) for name, each in times.items() if "tests/" in name}
    slow = sorted(name for name, seconds in tests.items() if seconds >= LEAST_S)
    LISTED.write_text("\n".join(slow) + "\n", "utf-8")
    print(f"{len(slow)} of {len(tests)} tests are slow.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
