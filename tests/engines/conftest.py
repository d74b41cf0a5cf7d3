"""Each test of the engine runs without a journal, with one in a file, and with one in Postgres."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.stores import Files, Stores, Tables
from toolplan.engine._recorder import EventRecorder
from toolplan.events import Event
from toolplan.storage.journal import Store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test for each place; those with journals of their own have `stores` for it."""
    places = ["memory"] if "stores" in metafunc.fixturenames else ["memory", "sqlite", "postgres"]
    metafunc.parametrize("kept", places, indirect=True)


@pytest.fixture(autouse=True)
def kept(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Stores | None]:
    """Where runs are kept for which the test names no journal; None keeps them in memory."""
    if request.param == "memory":
        yield None
        return
    in_file = request.param == "sqlite"
    found = Files(tmp_path / "kept") if in_file else Tables(request.getfixturevalue("postgres"))
    with found.opened:
        journal = found.open()
        whole = EventRecorder.__init__

        def init(
            recorder: EventRecorder,
            given: Store | None,
            on_event: Callable[[Event], None] | None,
            *,
            timeout_s: float,
        ) -> None:
            whole(recorder, journal if given is None else given, on_event, timeout_s=timeout_s)

        monkeypatch.setattr(EventRecorder, "__init__", init)
        yield found
