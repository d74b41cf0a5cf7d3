"""A socket and a file that nothing may touch, for scripts that are run beside them."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest


def output_beside_bait(script: str, folder: Path) -> str:
    """Run `script` with the port of a socket and the path of a file, and give what it printed.

    It fails where the script fails, or where anybody connects to the socket.
    """
    canary = folder / "canary.json"
    canary.write_text('{"type": "string"}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-c", script, str(port), str(canary)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()
    return done.stdout
