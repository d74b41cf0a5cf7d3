"""Small files that several processes change: one at a time, and each time as a whole."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Let no other process into such a block for files in the folder of `path`.

    Raises:
        OSError: the folder cannot be locked.
    """
    if sys.platform == "win32":
        with path.with_name(f".{path.name}.lock").open("a+b") as file:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        return
    folder = os.open(path.parent, os.O_RDONLY)  # the folder itself: no file is left behind
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def try_lock(path: Path) -> Callable[[], None] | None:
    """Lock the file `path`; return what releases it, or None where another process has it.

    The file is created and stays. The lock ends with this process.

    Raises:
        OSError: the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return partial(os.close, descriptor)


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o600) -> None:
    """Write the file, synced, whole or not at all, with `mode`.

    Raises:
        OSError: it cannot be written.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
