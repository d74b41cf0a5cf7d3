"""Workers that are processes, which tests kill."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SETTINGS = '[toolboxes.office]\ntools = ["tests.workers.tools:TOOLS"]\n'


class Crew:
    """Processes of `toolplan worker office` on one journal; the ledger is in their folder."""

    def __init__(self, url: str, folder: Path, settings: str = SETTINGS) -> None:
        self.folder = folder
        self.kills = 0
        self._url = url
        self._workers: list[subprocess.Popen[bytes]] = []
        (folder / "toolplan.toml").write_text(settings)

    def hire(self, count: int = 1, inside: Sequence[str] = ()) -> None:
        """Start workers; `inside` begins their command, as of a network namespace."""
        environment = {
            **os.environ,
            "TOOLPLAN_HOME": str(self.folder),
            "TOOLPLAN_JOURNAL": self._url,
        }
        for _ in range(count):
            log = (self.folder / f"log{len(list(self.folder.glob('log*')))}").open("wb")
            self._workers.append(
                subprocess.Popen(
                    [*inside, sys.executable, "-m", "toolplan", "worker", "office", "--grace", "5"],
                    cwd=ROOT,
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
            log.close()

    def wait_ready(self, *, alive: bool = True) -> None:
        """Wait until each of the workers takes runs; with `alive` none has ended meanwhile."""
        for at in range(len(self._workers)):
            while b"takes runs" not in (self.folder / f"log{at}").read_bytes():
                assert not alive or self._workers[at].poll() is None, self.logs()
                time.sleep(0.05)

    def kill(self, chance: random.Random) -> None:
        """Kill one of them at once, and start another."""
        living = [each for each in self._workers if each.poll() is None]
        victim = chance.choice(living)
        victim.kill()
        victim.wait()
        self.kills += 1
        self.hire()

    def kill_first(self) -> None:
        """Kill the one that was started first."""
        self._workers[0].kill()
        self._workers[0].wait()

    def hang(self, chance: random.Random, seconds: float) -> None:
        """Let one of them stand still for a while."""
        victim = chance.choice([each for each in self._workers if each.poll() is None])
        victim.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        victim.send_signal(signal.SIGCONT)

    def leave_first(self, count: int) -> None:
        """Ask the first of them to leave, one after another."""
        for each in self._workers[:count]:
            each.send_signal(signal.SIGTERM)
            each.wait(90)

    def replace_dead(self) -> None:
        """Start a worker for each that has ended, and wait until they take runs."""
        for each in [each for each in self._workers if each.poll() is not None]:
            self._workers.remove(each)
            self.hire()

    def leave(self) -> None:
        """Ask all of them to leave, and wait until they have."""
        for each in self._workers:
            with suppress(ProcessLookupError):
                each.send_signal(signal.SIGTERM)
        for each in self._workers:
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()

    @property
    def codes(self) -> list[int | None]:
        """The exit codes of the processes; None of those that run."""
        return [each.poll() for each in self._workers]

    def logs(self) -> str:
        """Return what the workers have printed."""
        return "\n".join(
            file.read_text(errors="replace") for file in sorted(self.folder.glob("log*"))
        )


@contextmanager
def crew(url: str, folder: Path, count: int, settings: str = SETTINGS) -> Generator[Crew]:
    """Have some workers for a while."""
    found = Crew(url, folder, settings)
    try:
        found.hire(count)
        yield found
    finally:
        found.leave()
