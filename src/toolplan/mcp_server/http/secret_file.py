"""Secrets of servers in files that only their owner can read."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from toolplan.base.errors import ToolplanError


def kept_secret(path: Path, new: bytes) -> tuple[bytes, bool]:
    """Return the secret in the file at `path`, else write `new`; and whether that was written.

    The file has mode 600; one that others can read is not used.

    Raises:
        ToolplanError: the file cannot be read or written (`storage`), or others can read it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists() and _write_new(path, new)
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ToolplanError(
                "storage",
                f"The file {path} can be read by others.",
                f"Delete it: another one is made. Or make it yours alone: chmod 600 {path}",
            )
        return path.read_bytes(), is_new
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolplanError("storage", f"The file {path} cannot be used: {reason}.") from None


def _write_new(path: Path, secret: bytes) -> bool:
    """Write a file that only its owner can read, whole at once, unless there is one by now."""
    written = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
    try:
        with suppress(FileExistsError):
            os.link(written, path)
            return True
        return False
    finally:
        written.unlink()
