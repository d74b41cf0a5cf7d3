"""A network namespace behind a cable that can be cut, in either direction."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Literal

Way = Literal["both", "in", "out"]
"""Which packets of who is in the namespace are lost."""

_HOOKS: Final[dict[Way, tuple[str, ...]]] = {
    "both": ("input", "output"),
    "in": ("input",),
    "out": ("output",),
}


def why_not() -> str:
    """Return why there can be no such namespace here; empty if there can."""
    missing = [name for name in ("ip", "nft") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is missing (Debian: apt-get install iproute2 nftables)"
    if os.geteuid():
        return "only root may make a network namespace"
    name = f"tp-try-{os.getpid()}"
    for words in (("netns", "add", name), ("netns", "del", name)):
        tried = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if tried.returncode:
            return f"no network namespace can be made: {tried.stderr.strip()}"
    return ""


class Cable:
    """A namespace whose only way out leads to `address`, which is on this machine."""

    def __init__(self) -> None:
        number = os.getpid()
        self._space, self._here = f"tp-{number}", f"tph{number}"
        beginning, first = f"10.213.{number // 60 % 250}", number % 60 * 4
        self.network = f"{beginning}.{first}/30"
        self.address, self._there = f"{beginning}.{first + 1}", f"{beginning}.{first + 2}"
        self.inside = ("ip", "netns", "exec", self._space)

    def lay(self) -> None:
        """Make it."""
        there = f"tpt{os.getpid()}"
        _call("ip", "netns", "add", self._space)
        _call("ip", "link", "add", self._here, "type", "veth", "peer", "name", there)
        _call("ip", "link", "set", there, "netns", self._space)
        _call("ip", "addr", "add", f"{self.address}/30", "dev", self._here)
        _call("ip", "link", "set", self._here, "up")
        _call(*self.inside, "ip", "addr", "add", f"{self._there}/30", "dev", there)
        _call(*self.inside, "ip", "link", "set", there, "up")

    def cut(self, way: Way) -> None:
        """Lose packets, without a word to anybody, until `mend`."""
        self._nft("add table inet cut")
        for hook in _HOOKS[way]:
            chain = f"{{ type filter hook {hook} priority 0 ; policy drop ; }}"
            self._nft(f"add chain inet cut {hook} {chain}")

    def mend(self) -> None:
        """Lose no more packets."""
        self._nft("delete table inet cut")

    def remove(self) -> None:
        """Remove the cable and its namespace.

        The kernel takes an end away some time after its namespace, so a next cable of the same
        name may come too early: this end is deleted by name, which waits for both.
        """
        for words in (("link", "del", self._here), ("netns", "del", self._space)):
            subprocess.run(["ip", *words], check=False)

    def _nft(self, words: str) -> None:
        _call(*self.inside, "nft", words)


@contextmanager
def cable() -> Generator[Cable]:
    """Have a cable for a while."""
    found = Cable()
    try:
        found.lay()
        yield found
    finally:
        found.remove()


def _call(*words: str) -> None:
    subprocess.run(words, check=True)
