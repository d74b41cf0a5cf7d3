"""What cannot work is said with a code, the place and what to do; no password is shown."""

import json
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.cli.calls import Call, Said
from tests.postgres import Server, missing, server
from tests.workers.crew import SETTINGS, crew
from toolplan_workers.postgres.schema import MIGRATIONS

PLAN = {"toolplan": 1, "steps": [{"id": "w", "tool": "write", "args": {"x": "one"}}]}
SECRET = "s3cret-Pa55"
_PATIENCE_S = 60
ROLES = f"""
    CREATE ROLE locked LOGIN PASSWORD '{SECRET}';
    CREATE ROLE reader LOGIN;
    CREATE ROLE few LOGIN CONNECTION LIMIT 0;
"""


@pytest.fixture(scope="module")
def own() -> Generator[Server]:
    """A server that asks one user for a password, and has few places."""
    if reason := missing():
        pytest.skip(f"{reason}.")
    with server(("max_connections=12", "max_wal_senders=2")) as running:
        access = running.folder / "data" / "pg_hba.conf"
        access.write_text("local all locked scram-sha-256\n" + access.read_text())
        with psycopg.connect(running.url(), autocommit=True) as connection:
            connection.execute(ROLES)
            connection.execute("SELECT pg_reload_conf()")
        yield running


@pytest.fixture
def use(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the commands use the journal at an address, with a toolbox."""
    (home / "toolplan.toml").write_text(SETTINGS)
    return lambda url: monkeypatch.setenv("TOOLPLAN_JOURNAL", url)


def _refused(said: Said, *words: str) -> None:
    text = " ".join((said.out + said.err).split())
    assert said.code not in (0, 1), text
    for word in words:
        assert word in text
    assert "Traceback" not in text
    assert SECRET not in text
    # what to do stands under what is wrong, or beside it
    assert len(said.err.strip().splitlines()) >= 2 or '"help": "' in said.err


def _url(own: Server, user: str, *, name: str = "postgres", host: str = "") -> str:
    place = quote(host or str(own.folder), safe="")
    return f"postgres://{user}:{SECRET}x@/{name}?host={place}"


@pytest.mark.parametrize(
    ("url", "code", "word"),
    [
        ("postgres://ann:{}@127.0.0.1:1/runs", "journal-unavailable", "127.0.0.1:1"),
        ("postgres://ann:{}@no-such-host.invalid/runs", "journal-unavailable", "no-such-host"),
        ("postgre://ann:{}@127.0.0.1:1/runs", "journal-address", "postgres://"),
        ("postgresqll://ann:{}@127.0.0.1:1/runs", "journal-address", "postgres://"),
        ("postgres:/ann:{}@127.0.0.1:1/runs", "journal-address", "postgres://"),
        ("mysql://ann:{}@127.0.0.1/runs", "journal-address", "path of a file"),
        ("postgres://ann:{}@127.0.0.1:port/runs", "journal-address", "HOST:PORT"),
        ("postgres://ann:{}@127.0.0.1:1/runs?ssl=on", "journal-address", "HOST:PORT"),
    ],
)
def test_an_address_with_a_mistake(
    url: str,
    code: str,
    word: str,
    home: Path,
    use: Callable[[str], None],
    call: Call,
    plan_file: Callable[[object], str],
) -> None:
    use(url.format(SECRET))
    worker = () if code == "journal-unavailable" else (("worker", "office"),)  # it waits
    for words in (*worker, ("submit", plan_file(PLAN), "office"), ("runs",)):
        _refused(call(*words), code, word)
    settings = SETTINGS + f'[runs]\njournal = "{url.format(SECRET)}"\n'
    use("")
    (home / "toolplan.toml").write_text(settings)
    _refused(call("runs"), code, word)
    assert SECRET not in "".join(str(each) for each in home.rglob("*"))


@pytest.mark.parametrize(
    ("user", "name", "code", "word"),
    [
        ("locked", "postgres", "journal-unavailable", "password authentication failed"),
        ("nobody", "postgres", "journal-unavailable", 'role "nobody" does not exist'),
        ("toolplan", "nothing", "journal-unavailable", 'database "nothing" does not exist'),
        ("reader", "postgres", "journal-read-only", "permission denied"),
        ("few", "postgres", "journal-locked", "too many connections"),
    ],
)
def test_a_server_that_lets_nobody_in(
    user: str, name: str, code: str, word: str, own: Server, use: Callable[[str], None], call: Call
) -> None:
    use(_url(own, user, name=name))
    for words in (("worker", "office"), ("runs",)):
        _refused(call(*words), code, word, f"postgres://{user}@", name)


@pytest.mark.timeout(240)
def test_what_was_submitted_is_run_after_the_server_could_not_be_used(
    own: Server,
    home: Path,
    use: Callable[[str], None],
    call: Call,
    plan_file: Callable[[object], str],
) -> None:
    url = own.schema()
    use(url)
    submit = ("submit", plan_file(PLAN), "office", "--yes", "--json")
    run = json.loads(call(*submit).out)["run"]
    waits = json.loads(call("submit", plan_file(PLAN), "office", "--json").out)["run"]
    assert "Traceback" not in call("approve", waits, "0" * 64, code=1).err

    with ExitStack() as taken:  # no connection is free
        with suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(psycopg.connect(own.url()))
        for words in (("worker", "office"), submit):
            _refused(call(*words), "journal-locked", "Wait, and try again")

    own.stop()
    _refused(call(*submit), "journal-unavailable")
    standby = own.folder / "data" / "standby.signal"
    standby.touch()
    own.start()  # it only follows another server; a worker waits until it leads
    _refused(call(*submit), "journal-read-only", "a server that can be written")
    standby.unlink()
    own.stop()
    own.start()

    version = len(MIGRATIONS)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"UPDATE toolplan_schema SET version = {version + 1}".encode())
        for words in (("worker", "office"), submit, ("runs",)):
            _refused(call(*words), "journal-newer", "Use the newer toolplan")
        connection.execute(f"UPDATE toolplan_schema SET version = {version}".encode())

    with crew(url, home, 1) as hired:
        hired.wait_ready()
        call(*submit, "--wait", code=0)
        # the worker has both runs at once, and either may end first
        until = time.monotonic() + _PATIENCE_S
        while "succeeded" not in call("show", run).out:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert sorted((home / "ledger").read_text().split()) == ["begin:one"] * 2 + ["end:one"] * 2


@pytest.mark.parametrize(
    ("settings", "toolbox", "words"),
    [
        ("", "office", ("there is no toolbox 'office'", "[toolboxes.office] has a line")),
        (SETTINGS, "offise", ("there is no toolbox 'offise'", "office")),
        ("[toolboxes.office]\ntools = []\n", "office", ("cannot be used", "at least one text")),
        (
            '[toolboxes.office]\ntools = ["tests.workers.nothing:TOOLS"]\n',
            "office",
            ("tests.workers.nothing",),
        ),
    ],
)
def test_a_worker_without_its_tools(
    settings: str,
    toolbox: str,
    words: tuple[str, ...],
    own: Server,
    home: Path,
    use: Callable[[str], None],
    call: Call,
) -> None:
    use(own.schema())
    (home / "toolplan.toml").write_text(settings)
    _refused(call("worker", toolbox), *words)
