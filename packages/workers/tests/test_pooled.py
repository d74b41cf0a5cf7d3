"""A journal behind a pool that shares sessions between clients is refused by name."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres import USER, Server, as_user
from toolplan.storage.journal import JournalError
from toolplan_workers.journal import SharedJournal

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None, reason="PgBouncer is not installed (Debian: apt-get install pgbouncer)"
)


@contextmanager
def pool(server: Server, tmp_path: Path, *settings: str) -> Generator[str]:
    """Run a pool in front of a server, and yield the address of a database behind it."""
    assert PGBOUNCER is not None
    folder = server.folder / "pool"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = (
        "[databases]", f"* = host={server.folder} user={USER}", "[pgbouncer]",
        "listen_addr = 127.0.0.1", f"listen_port = {port}", "auth_type = any",
        f"unix_socket_dir = {folder}", "pool_mode = transaction", *settings,
    )  # fmt: skip
    configuration = folder / f"{port}.ini"
    configuration.write_text("\n".join(lines) + "\n", "utf-8")
    configuration.chmod(0o644)
    log = (tmp_path / "pool.log").open("wb")
    with (
        log,
        subprocess.Popen(
            [*as_user(), PGBOUNCER, str(configuration)], stdout=log, stderr=log, cwd="/"
        ) as running,
    ):
        try:
            deadline = time.monotonic() + 20
            while not (folder / f".s.PGSQL.{port}").exists():
                assert running.poll() is None, (tmp_path / "pool.log").read_text("utf-8")
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield f"postgres://{USER}@127.0.0.1:{port}/postgres"
        finally:
            running.terminate()


@pytest.mark.parametrize(
    "settings",
    [
        (),  # refuses options
        ("ignore_startup_parameters = options",),  # drops them: tables would be made elsewhere
        ("ignore_startup_parameters = options", "pool_mode = session"),
        ("ignore_startup_parameters = options", "pool_mode = statement"),
    ],
)
def test_a_pool_is_named_and_no_table_is_made(
    postgres: Server, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    with pool(postgres, tmp_path, *settings) as address:
        with pytest.raises(JournalError) as error:
            SharedJournal(address)
        assert error.value.code == "journal-pooled"
        assert "without the pool" in (error.value.help or "")
    SharedJournal(postgres.schema()).close()
