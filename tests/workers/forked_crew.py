"""Workers that are forked from a process that has loaded everything: they start at once. On Linux.

`python -m tests.workers.forked_crew FOLDER` is that process. It forks a worker for each line of its
input and prints the worker's number; at the end of its input all of them end.
"""

import gc
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import toolplan_workers
import toolplan_workers.commands
import toolplan_workers.queue.procrastinate
from tests.workers.crew import ROOT
from tests.workers.sabotage import NAME, SABOTAGES
from toolplan.cli import main as toolplan_main

_LOADED = (toolplan_workers.commands, toolplan_workers.queue.procrastinate, toolplan_workers)
_READY = b"takes runs"


class ForkedCrew:
    """Workers of the toolbox `office`; their settings, and a log of each, are in `folder`."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._forking = subprocess.Popen(
            [sys.executable, "-m", "tests.workers.forked_crew", str(folder)],
            cwd=ROOT,
            env={**os.environ, "TOOLPLAN_HOME": str(folder), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._logs: dict[int, Path] = {}  # by a handle, which is of no other process later
        self._hired = 0
        self._stopped: set[int] = set()

    def hire(self) -> None:
        """Start a worker."""
        sender, receiver = self._forking.stdin, self._forking.stdout
        assert sender is not None
        assert receiver is not None
        log = self.folder / f"log{self._hired}"
        log.touch()
        sender.write("\n")
        sender.flush()
        self._logs[os.pidfd_open(int(receiver.readline()))] = log
        self._hired += 1

    def active(self) -> list[int]:
        """Return the workers that have not ended, without those that stand still."""
        for ended in select.select([*self._logs], [], [], 0)[0]:
            del self._logs[ended]
            self._stopped.discard(ended)
            os.close(ended)
        return [each for each in self._logs if each not in self._stopped]

    def ready(self) -> list[int]:
        """Return the active workers that take runs."""
        return [each for each in self.active() if _READY in self._logs[each].read_bytes()]

    def kill(self, worker: int) -> None:
        """Kill a worker at once."""
        _send(worker, signal.SIGKILL)
        select.select([worker], [], [])

    def stop(self, worker: int) -> None:
        """Let a worker stand still."""
        self._stopped.add(worker)
        _send(worker, signal.SIGSTOP)

    def wake(self, worker: int) -> None:
        """Let a worker go on that stood still, if it is there."""
        self.active()
        if worker in self._stopped:
            self._stopped.discard(worker)
            _send(worker, signal.SIGCONT)

    def close(self) -> None:
        """Ask all of them to leave, and end those that do not within a while."""
        for worker in [*self._stopped]:
            self.wake(worker)
        for worker in self.active():
            _send(worker, signal.SIGTERM)
        end = time.monotonic() + 20
        while self.active() and time.monotonic() < end:
            time.sleep(0.05)
        self._forking.communicate()

    def logs(self) -> str:
        """Return the last words of each worker that has not ended."""
        return "\n".join(log.read_text(errors="replace")[-400:] for log in self._logs.values())


@contextmanager
def forked_crew(folder: Path, environment: Mapping[str, str]) -> Generator[ForkedCrew]:
    """Have a crew for a while; nobody is hired yet."""
    found = ForkedCrew(folder, environment)
    try:
        yield found
    finally:
        found.close()


def _send(worker: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(worker, number)


def _work(log: Path) -> None:
    """Become a worker."""
    file = os.open(log, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(file, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["toolplan", "worker", "office", "--grace", "5"]
    toolplan_main()


def main() -> None:
    """Fork a worker for each line."""
    if wrong := os.environ.get(NAME):
        SABOTAGES[wrong]()
    gc.freeze()
    folder = Path(sys.argv[1])
    for number, _ in enumerate(sys.stdin):
        worker = os.fork()
        if not worker:
            try:
                _work(folder / f"log{number}")
            finally:
                sys.stderr.flush()
                os._exit(0)
        # nobody waits for it, so its number is of no other process before its handle was opened
        print(worker, flush=True)
    os.killpg(0, signal.SIGKILL)  # those that stand still as well


if __name__ == "__main__":
    main()
