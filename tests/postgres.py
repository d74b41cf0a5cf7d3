"""A Postgres server for tests, in a temporary folder, reachable by a socket only.

`python -m tests.postgres COMMAND…` runs a command with the address of a fresh one in POSTGRES_URL.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

PLACES: Final = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")
USER: Final = "toolplan"
_START_S: Final = 60


@cache
def programs() -> Path | None:
    """Return the folder of `initdb`, `postgres` and `pg_ctl`, or None."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    for place in PLACES:
        folders += sorted(Path(place).glob("**/bin"), reverse=True)
    return next((each for each in folders if (each / "initdb").exists()), None)


def missing() -> str:
    """Return why there can be no server; empty if there can."""
    if programs() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and not as_user():
        return "PostgreSQL does not run as root, and there is no other user to run it"
    return ""


@cache
def as_user() -> tuple[str, ...]:
    """Return what a command begins with to run as another user than root."""
    if os.geteuid():
        return ()
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        if shutil.which("setpriv"):
            ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
            return ("setpriv", *ids)
    return ()


class Server:
    """A server that runs; `options` are settings of it, and `place` has its folder."""

    def __init__(
        self, options: Sequence[str] = (), primary: Server | None = None, place: str = "/tmp"
    ) -> None:
        bin_ = programs()
        assert bin_ is not None
        self._bin = bin_
        self.folder = Path(tempfile.mkdtemp(prefix="tp-pg-", dir=place))
        self._data = self.folder / "data"
        self._end = self._ends_with_this_process()
        if os.geteuid() == 0:
            user = next(each for each in as_user() if each.startswith("--reuid="))
            os.chown(self.folder, int(user.partition("=")[2]), -1)
        if primary is None:
            self._call(
                "initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync", "--no-instructions",
            )  # fmt: skip
        else:
            self._call(
                "pg_basebackup", "-h", str(primary.folder), "-U", USER, "-D", str(self._data),
                "-R", "--checkpoint=fast", "--no-sync",
            )  # fmt: skip
        settings = (
            "listen_addresses=''", f"unix_socket_directories='{self.folder}'", "fsync=off",
            "max_connections=200", "shared_buffers=32MB", "autovacuum=off", *options,
        )  # fmt: skip
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n".join(settings) + "\n")
        self.start()

    def start(self) -> None:
        """Start it, and wait until it can be used."""
        log = str(self.folder / "log")
        self._call("pg_ctl", "-D", str(self._data), "-l", log, "-w", "-t", str(_START_S), "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; with `immediate` as if it crashed."""
        self._call("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def standby(self, *, synchronous: bool) -> Server:
        """Return a standby of this server that runs and has all of its records."""
        found = Server(primary=self)
        if synchronous:
            self.set("synchronous_standby_names", "*")
        return found

    def promote(self) -> None:
        """Let this standby take over."""
        self._call("pg_ctl", "-D", str(self._data), "-w", "promote")

    def set(self, name: str, value: str) -> None:
        """Change a setting while it runs."""
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{name} = '{value}'\n")
        self._call("pg_ctl", "-D", str(self._data), "reload")
        time.sleep(0.3)  # until its processes have read it

    def let_in(self, addresses: str) -> None:
        """Let clients with `addresses`, such as 10.0.0.0/8, connect without a password."""
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {addresses} trust\n")
        self.set("log_connections", "on")

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        status = (*as_user(), str(self._bin / "pg_ctl"), "-D", str(self._data), "status")
        return subprocess.run(status, cwd="/", capture_output=True, check=False).returncode == 0

    @property
    def pid(self) -> int:
        """The number of its first process, whose children serve the clients."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def url(self, schema: str = "", name: str = "postgres") -> str:
        """Return the address of a database on it, with tables in `schema`."""
        options = f"&options={quote(f'-c search_path={schema}')}" if schema else ""
        return f"postgres://{USER}@/{name}?host={quote(str(self.folder), safe='')}{options}"

    def schema(self) -> str:
        """Return an address with a schema that is not used yet."""
        return self.url(f"t_{uuid.uuid4().hex[:12]}")

    def close(self) -> None:
        """Stop it, and delete what it has kept."""
        self._end.communicate()

    def _ends_with_this_process(self) -> subprocess.Popen[bytes]:
        """Have a process stop the server and delete what it has kept, at the end of its input.

        Tests are killed: then nobody calls `close`, and the input ends all the same.
        """
        stop = (str(self._bin / "pg_ctl"), "-D", str(self._data), "-m", "immediate", "-w", "stop")
        return subprocess.Popen(
            ["sh", "-c", 'cat; "$@"; rm -rf "$0"', str(self.folder), *as_user(), *stop],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tests
        )

    def _call(self, program: str, *words: str) -> None:
        # its output goes to a file: the server would keep a pipe open
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [*as_user(), str(self._bin / program), *words],
                cwd="/",
                stdout=output,
                stderr=output,
                check=False,
            )
            output.seek(0)
            assert done.returncode == 0, f"{program}: {output.read()}"


@contextmanager
def server(options: Sequence[str] = ()) -> Generator[Server]:
    """Run a server for a while."""
    running = Server(options)
    try:
        yield running
    finally:
        running.close()


if __name__ == "__main__":
    if reason := missing():
        sys.exit(f"{reason}.")
    with server(("fsync=on", "autovacuum=on")) as one:
        sys.exit(
            subprocess.run(
                sys.argv[1:], env={**os.environ, "POSTGRES_URL": one.schema()}, check=False
            ).returncode
        )
