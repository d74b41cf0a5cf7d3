"""Hypothesis profiles: `default` is quick and always the same, `long` looks harder.

`HYPOTHESIS_PROFILE=long pytest tests/dialects` runs the laws with 2,000 examples each.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import Server, missing, server
from tests.slow import mark_slow
from tests.stores import Files, Stores, Tables

settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "long", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# The demo's rows are generated once for all tests, and not in the user's own cache.
os.environ["TOOLPLAN_CACHE"] = str(Path(__file__).parent / ".pytest_cache" / "toolplan")

# Tests keep sign-ins in files: the user's key ring is not touched.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# Where the tests run in the background, Ctrl-C is ignored, by what they start as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest-xdist gives its workers a width: sentences for a program are not wrapped.
os.environ.pop("COLUMNS", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, which `make test` leaves out."""
    mark_slow(items)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are new, one for each test.

    pytest looks through all earlier numbered folders for the next one; with thousands of tests that
    takes longer than most tests do.
    """
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for the journal of each test: the user's is not touched."""
    folder = next(homes)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TOOLPLAN_HOME", str(folder))
    monkeypatch.delenv("TOOLPLAN_JOURNAL", raising=False)
    return folder


@pytest.fixture(scope="session")
def postgres() -> Generator[Server]:
    """A server of Postgres for the tests of one process, which may stop and start it."""
    if reason := missing():
        pytest.skip(f"{reason}.")
    with server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Stores]:
    """A place for a journal, of each kind."""
    is_file = request.param == "sqlite"
    found = Files(tmp_path / "j") if is_file else Tables(request.getfixturevalue("postgres"))
    with found.opened:
        yield found
